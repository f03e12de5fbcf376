"""Contract of every store for rows: stored exactly once, atomic transactions, consistent snapshots for readers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from holdfast.core.errors import Busy
from holdfast.journal.store import Reader, RunQuery, Snapshot, Store, Writer
from tests.contract.conftest import Opener
from tests.contract.makers import a_run_row, a_session_row, add_run, an_event_row

ROOT = Path(__file__).parents[2]


class Changed(Exception):
    """Raised in the middle of a transaction to abort it."""


def fill(writer: Writer, run: str = "run-a", *, blob: bytes = b"digest") -> None:
    """Insert a row into every table."""
    add_run(writer, run, "alpha beta", labels=frozenset({"tag:one"}))
    writer.put_session(a_session_row(f"ses-{run}", run))
    writer.put_snapshot(run, Snapshot(1, 1, b"state"))
    writer.put_blob(run, blob, b"large")
    writer.point(f"/of/{run}", run)


def everything(reader: Reader, *runs: str) -> dict[str, Any]:
    """All rows that a reader can find."""
    names = runs or tuple(reader.all_run_ids())
    return {
        "runs": reader.list_runs(RunQuery()).rows,
        "ids": reader.all_run_ids(),
        "found": [reader.find_run(run) for run in names],
        "events": {run: list(reader.events(run)) for run in names},
        "sessions": reader.list_sessions(),
        "snapshots": {run: reader.snapshots(run) for run in names},
        "uses": {run: reader.blob_uses(run) for run in names},
        "blob": reader.blob(b"digest"),
        "pointers": reader.pointers(),
        "searched": reader.list_runs(RunQuery(search="alpha")).rows,
    }


def change_mind(store: Store, change: Callable[[Writer], object], error: type[BaseException] = Changed) -> None:
    with store.writing() as writer:
        change(writer)
        raise error


def fails(action: Callable[[], object]) -> bool:
    """True if an action raises any exception; its type depends on the database."""
    try:
        action()
    except Exception:
        return True
    return False


# events


def test_event_is_stored_exactly_once_by_its_id(store: Store) -> None:
    with store.writing() as writer:
        writer.put_run(a_run_row())
        first = writer.add_event(an_event_row(1), "word")
        again = [writer.add_event(an_event_row(1, body=b"j[]"), "word") for _ in range(5)]
    with store.writing() as writer:
        later = writer.add_event(an_event_row(2, id=an_event_row(1).id), "word")
    assert (first, again, later) == (True, [False] * 5, False)
    with store.reading() as reader:
        assert list(reader.events("run-a")) == [an_event_row(1)]


def test_id_of_an_event_is_known_to_all_runs(store: Store) -> None:
    with store.writing() as writer:
        add_run(writer, "run-a", "word")
        writer.put_run(a_run_row("run-b"))
        assert not writer.add_event(an_event_row(1, "run-b", id=an_event_row(1).id), "other")
        assert list(writer.events("run-b")) == []
        assert writer.list_runs(RunQuery(search="other")).rows == []


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"after": 2}, [3, 4, 5]),
        ({"until": 2}, [1, 2]),
        ({"until": 0}, []),
        ({"after": 1, "until": 4}, [2, 3, 4]),
        ({"after": 4, "until": 1}, []),
        ({"newest": 2}, [4, 5]),
        ({"newest": 0}, []),
        ({"newest": 99}, [1, 2, 3, 4, 5]),
        ({"newest": 2, "until": 3}, [2, 3]),
        ({"newest": 9, "after": 3}, [4, 5]),
    ],
)
def test_events_come_in_order_within_their_bounds(store: Store, bounds: dict[str, Any], expected: list[int]) -> None:
    with store.writing() as writer:
        add_run(writer, "run-b", "of another run")
        writer.put_run(a_run_row())
        for number in (3, 1, 5, 2, 4):
            writer.add_event(an_event_row(number), "")
    with store.reading() as reader:
        assert [row.seq for row in reader.events("run-a", **bounds)] == expected


def test_place_in_a_run_is_given_once(store: Store) -> None:
    with store.writing() as writer:
        add_run(writer, "run-a", "word")

    def take_the_same_place() -> None:
        with store.writing() as writer:
            writer.add_event(an_event_row(2), "")
            writer.add_event(an_event_row(1, id=b"another"), "")

    assert fails(take_the_same_place)
    with store.reading() as reader:
        assert [row.seq for row in reader.events("run-a")] == [1]


@pytest.mark.parametrize(
    "change",
    [
        lambda writer: writer.add_event(an_event_row(1, "run-missing"), ""),
        lambda writer: writer.put_session(a_session_row(run="run-missing")),
        lambda writer: writer.put_snapshot("run-missing", Snapshot(1, 1, b"")),
        lambda writer: writer.point("/project", "run-missing"),
    ],
    ids=["event", "session", "snapshot", "pointer"],
)
def test_nothing_belongs_to_a_run_that_is_not_there(store: Store, change: Callable[[Writer], object]) -> None:
    def commit() -> None:
        with store.writing() as writer:
            change(writer)

    assert fails(commit)


def test_fields_of_rows_come_back_as_they_were_put(store: Store) -> None:
    run = a_run_row(labels=frozenset({"agent:x", "tag:y"}), state=b"\x00\xff" * 500, updated=-5, seq=1)
    event = an_event_row(1, session="ses-a", agent="robot", body=b"\x00body\xff", time=-1)
    session = a_session_row(has_process=True, agent_session="theirs", record=b"\x01")
    with store.writing() as writer:
        writer.put_run(run)
        writer.add_event(event, "words")
        writer.put_session(session)
    with store.reading() as reader:
        found = reader.find_run("run-a")
        assert found is not None
        assert found._replace(key=0) == run
        assert list(reader.events("run-a")) == [event]
        assert reader.find_session("ses-a") == session


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXT, data=st.binary(max_size=60))
def test_any_text_and_any_bytes_can_be_stored(store: Store, text: str, data: bytes) -> None:
    event = an_event_row(1, text, kind=text, session=text, agent=text, body=data)

    def store_and_look(writer: Writer) -> None:
        writer.put_run(a_run_row(text, worktree=text, labels=frozenset({text})))
        writer.add_event(event, text)
        writer.point(text, text)
        assert list(writer.events(text)) == [event]
        assert writer.pointer(text) == text
        assert [row.id for row in writer.list_runs(RunQuery(labels=frozenset({text}), worktree=text)).rows] == [text]

    with pytest.raises(Changed):  # each example starts with an empty store
        change_mind(store, store_and_look)


# all or nothing


@pytest.mark.parametrize("error", [Changed, KeyboardInterrupt, SystemExit])
def test_exception_leaves_nothing_behind(store: Store, error: type[BaseException]) -> None:
    with store.writing() as writer:
        fill(writer, "run-b")
    with store.reading() as reader:
        before = everything(reader, "run-a", "run-b")

    def change_everything(writer: Writer) -> None:
        fill(writer, "run-a")
        writer.delete_run("run-b")

    with pytest.raises(error):
        change_mind(store, change_everything, error)
    with store.reading() as reader:
        assert everything(reader, "run-a", "run-b") == before


def test_store_works_on_after_a_failed_transaction(store: Store) -> None:
    with pytest.raises(Changed):
        change_mind(store, fill)
    with store.writing() as writer:
        fill(writer)
    with store.reading() as reader:
        assert reader.all_run_ids() == ["run-a"]


def test_what_was_committed_is_there_when_the_store_is_opened_again(open_store: Opener) -> None:
    store = open_store()
    with store.writing() as writer:
        fill(writer)
        written = everything(writer)
    store.close()
    with open_store().reading() as reader:
        assert everything(reader) == written


# several at once


def test_reader_keeps_one_view_while_another_connection_writes(open_store: Opener, store: Store) -> None:
    other = open_store()
    with store.writing() as writer:
        fill(writer)
    with store.reading() as reader:
        before = everything(reader, "run-a", "run-b")
        with other.writing() as writer:
            fill(writer, "run-b", blob=b"second")
            writer.add_event(an_event_row(2), "alpha")
        assert everything(reader, "run-a", "run-b") == before
    with store.reading() as reader:
        assert reader.all_run_ids() == ["run-a", "run-b"]
        assert len(list(reader.events("run-a"))) == 2


WRITE_ELSEWHERE = """
import sys
from pathlib import Path
from tests.contract.makers import MAKERS, an_event_row
store = MAKERS[sys.argv[1]](Path(sys.argv[2]), 10.0)
with store.writing() as writer:
    writer.add_event(an_event_row(2), "alpha")
store.close()
"""


def test_reader_keeps_one_view_while_another_process_writes(store: Store, kind: str, place: Path) -> None:
    with store.writing() as writer:
        fill(writer)
    with store.reading() as reader:
        before = everything(reader)
        write = [sys.executable, "-c", WRITE_ELSEWHERE, kind, str(place)]
        subprocess.run(write, cwd=ROOT, env=os.environ, check=True, timeout=60)
        assert everything(reader) == before
    with store.reading() as reader:
        assert [row.seq for row in reader.events("run-a")] == [1, 2]


def test_nobody_sees_what_is_not_committed(open_store: Opener, store: Store) -> None:
    other = open_store()
    with store.writing() as writer:
        fill(writer)
        with other.reading() as reader:
            assert reader.all_run_ids() == []
    with other.reading() as reader:
        assert reader.all_run_ids() == ["run-a"]


@pytest.mark.promise(12)
def test_second_writer_is_told_that_the_store_is_busy(open_store: Opener, store: Store) -> None:
    impatient = open_store(deadline=0.1)
    with store.writing() as writer:
        fill(writer)
        with pytest.raises(Busy), impatient.writing():
            pytest.fail("two writers at once")
    with impatient.writing() as writer:
        assert writer.all_run_ids() == ["run-a"]


# sessions, snapshots, blobs, pointers


def test_session_is_replaced_by_its_newer_row(store: Store) -> None:
    ended = a_session_row(is_open=False, record=b"ended")
    with store.writing() as writer:
        writer.put_run(a_run_row())
        writer.put_session(a_session_row())
        writer.put_session(ended)
        assert writer.list_sessions() == [ended]
        assert writer.find_session("ses-a") == ended
        assert writer.find_session("ses-unknown") is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["ses-4", "ses-3", "ses-2", "ses-1"]),
        ({"run": "run-a"}, ["ses-3", "ses-2", "ses-1"]),
        ({"run": "run-unknown"}, []),
        ({"only_open": True}, ["ses-4", "ses-2", "ses-1"]),
        ({"with_process": True}, ["ses-3", "ses-2"]),
        ({"only_open": True, "with_process": True}, ["ses-2"]),
        ({"run": "run-a", "only_open": True, "limit": 1}, ["ses-2"]),
        ({"limit": 2}, ["ses-4", "ses-3"]),
    ],
)
def test_sessions_are_listed_newest_first(store: Store, query: dict[str, Any], expected: list[str]) -> None:
    with store.writing() as writer:
        writer.put_run(a_run_row("run-a"))
        writer.put_run(a_run_row("run-b"))
        writer.put_session(a_session_row("ses-2", opened=20, has_process=True))
        writer.put_session(a_session_row("ses-1", opened=10))
        writer.put_session(a_session_row("ses-3", opened=20, is_open=False, has_process=True))
        writer.put_session(a_session_row("ses-4", "run-b", opened=30))
    with store.reading() as reader:
        assert [row.id for row in reader.list_sessions(**query)] == expected


def test_snapshots_are_kept_by_their_place(store: Store) -> None:
    with store.writing() as writer:
        writer.put_run(a_run_row("run-a"))
        writer.put_run(a_run_row("run-b"))
        for seq in (512, 256):
            writer.put_snapshot("run-a", Snapshot(seq, 1, b"%d" % seq))
        writer.put_snapshot("run-b", Snapshot(256, 1, b"other"))
        writer.put_snapshot("run-a", Snapshot(256, 2, b"anew" * 500))
    with store.writing() as writer:
        assert writer.snapshots("run-a") == [Snapshot(256, 2, b"anew" * 500), Snapshot(512, 1, b"512")]
        assert [found.seq for found in writer.snapshots("run-a", until=511)] == [256]
        assert writer.snapshots("run-a", until=255) == []
        assert writer.snapshots("run-b") == [Snapshot(256, 1, b"other")]


@pytest.mark.parametrize("data", [b"", b"\x00", b"same " * 10_000, os.urandom(5_000)], ids=len)
def test_blob_comes_back_as_it_was_put(store: Store, data: bytes) -> None:
    with store.writing() as writer:
        writer.put_run(a_run_row())
        writer.put_blob("run-a", b"digest", data)
    with store.reading() as reader:
        assert reader.blob(b"digest") == data
        assert reader.blob(b"unknown") is None


def test_blob_is_stored_once_and_every_use_is_known(store: Store) -> None:
    with store.writing() as writer:
        for run in ("run-a", "run-b"):
            writer.put_run(a_run_row(run))
            writer.put_blob(run, b"shared", b"data")
            writer.put_blob(run, b"shared", b"data")
        writer.put_blob("run-b", b"own", b"data")
        assert writer.blob_uses("run-a") == {b"shared"}
        assert writer.blob_uses("run-b") == {b"shared", b"own"}
        assert writer.blob_uses("run-unknown") == set()


def test_worktree_points_at_one_run_until_it_is_told_otherwise(store: Store) -> None:
    with store.writing() as writer:
        writer.put_run(a_run_row("run-a"))
        writer.put_run(a_run_row("run-b"))
        writer.point("/one", "run-a")
        writer.point("/two", "run-a")
        writer.point("/one", "run-b")
        assert writer.pointers() == {"/one": "run-b", "/two": "run-a"}
        assert (writer.pointer("/one"), writer.pointer("/three")) == ("run-b", None)
        writer.point("/one", None)
        writer.point("/three", None)
        assert writer.pointers() == {"/two": "run-a"}


# deleting


def test_deleted_run_leaves_nothing_and_others_lose_nothing(store: Store) -> None:
    with store.writing() as writer:
        fill(writer, "run-b")
    with store.reading() as reader:
        before = everything(reader)
    with store.writing() as writer:
        fill(writer, "run-a")
        writer.put_blob("run-a", b"own", b"data")
    with store.writing() as writer:
        writer.delete_run("run-a")
    with store.reading() as reader:
        assert everything(reader) == before
        assert reader.find_run("run-a") is None
        assert reader.find_session("ses-run-a") is None
        assert (reader.blob(b"own"), reader.blob(b"digest")) == (None, b"large")
        assert reader.blob_uses("run-a") == set()


def test_run_that_comes_back_under_a_deleted_name_inherits_nothing(store: Store) -> None:
    with store.writing() as writer:
        fill(writer)
        writer.delete_run("run-a")
        writer.put_run(a_run_row())
        assert list(writer.events("run-a")) == []
        assert writer.snapshots("run-a") == []
        assert writer.list_sessions("run-a") == []
        assert writer.pointers() == {}
        assert writer.list_runs(RunQuery(search="alpha")).rows == []
        assert writer.list_runs(RunQuery(labels=frozenset({"tag:one"}))).rows == []
        assert writer.add_event(an_event_row(1), "alpha")


def test_deleting_a_run_that_is_not_there_changes_nothing(store: Store) -> None:
    with store.writing() as writer:
        fill(writer)
    with store.writing() as writer:
        before = everything(writer)
        writer.delete_run("run-unknown")
        assert everything(writer) == before


def test_events_of_some_kinds_are_listed_without_the_others(store: Store) -> None:
    with store.writing() as writer:
        add_run(writer, "a")
        for seq, kind in enumerate(("prompt", "action", "prompt", "action"), 2):
            writer.add_event(an_event_row(seq, "a", kind=kind), "")
    with store.reading() as reader:
        assert [row.seq for row in reader.events("a", kinds=("prompt",))] == [2, 4]
        assert [row.seq for row in reader.events("a", until=3, newest=1, kinds=("prompt", "none"))] == [2]
        assert [row.seq for row in reader.events("a", after=2, kinds=("prompt", "action"))] == [3, 4, 5]
        assert list(reader.events("a", kinds=("none",))) == []
