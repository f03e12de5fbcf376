"""Taking kept calls apart: in the order in which they were made, whatever the clocks say and whatever they hold."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import holdfast
from holdfast.core.errors import Trouble
from holdfast.journal import codec
from holdfast.project import inbox as intake
from holdfast.project.inbox import NotACall
from holdfast.project.workspace import Workspace
from tests.hook_calls import keep_by_hand, kept_files

HOUR = 3600.0


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    inbox = tmp_path / "project" / ".git" / "holdfast" / "inbox"
    inbox.mkdir(parents=True)
    return inbox


@contextmanager
def emptied(inbox: Path) -> Iterator[None]:
    """For properties, which run many times in one directory."""
    yield
    for path in kept_files(inbox):
        path.unlink()


def events_of(project: Workspace) -> list[str]:
    """What the calls of the run say, in the order of the journal."""
    return [event.body["event"] for event in holdfast.log(project).events if event.kind == "call.kept"]


# order

MOMENT = st.tuples(st.integers(0, 10**15), st.integers(1, 4_000_000))
WALL = st.floats(0, 4e9)


@pytest.mark.promise(16)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=st.dictionaries(MOMENT, WALL, min_size=2, max_size=8))
def test_calls_of_one_boot_come_by_the_boot_clock_and_the_pid(inbox: Path, calls: dict[tuple[int, int], float]) -> None:
    with emptied(inbox):
        for (monotonic, pid), when in calls.items():
            keep_by_hand(inbox, monotonic=monotonic, pid=pid, when=when)
        waiting = [tuple(map(int, name.split("-")[0::2][:2])) for name in intake.waiting(inbox)]
        assert waiting == sorted(calls)


@pytest.mark.promise(16)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    earlier=st.lists(st.lists(MOMENT, min_size=1, max_size=4, unique=True), min_size=1, max_size=3),
    now=st.lists(MOMENT, min_size=1, max_size=4, unique=True),
    wall_of_now=WALL,
)
def test_calls_of_earlier_boots_come_first(
    inbox: Path, earlier: list[list[tuple[int, int]]], now: list[tuple[int, int]], wall_of_now: float
) -> None:
    expected = []
    with emptied(inbox):
        for number, moments in enumerate(earlier):
            for monotonic, pid in sorted(moments):
                path = keep_by_hand(inbox, monotonic=monotonic, pid=pid, boot=f"{number:08x}", when=1e9 + number * HOUR)
                expected.append(path.name)
        for monotonic, pid in sorted(now):
            expected.append(keep_by_hand(inbox, monotonic=monotonic, pid=pid, when=wall_of_now).name)
        assert intake.waiting(inbox) == expected


@pytest.mark.promise(16)
def test_journal_keeps_the_order_while_the_wall_clock_jumps(project: Workspace) -> None:
    holdfast.start(project, "work")
    jumps = [1767268800, 0, 4102444800, 1767268800 - 3600, 2**31, 1, 1767268800 + 86400, 1767268799]
    for number, wall in enumerate(jumps):
        keep_by_hand(project.inbox, monotonic=number, event=f"{number}", time=f"{wall * 10**9}", when=float(wall))
    assert events_of(project) == [f"{number}" for number in range(len(jumps))]
    found = [event for event in holdfast.log(project).events if event.kind == "call.kept"]
    assert [event.seq for event in found] == list(range(2, len(jumps) + 2))
    assert [int(event.time.timestamp()) for event in found] == jumps


@pytest.mark.promise(16)
def test_later_calls_come_after_earlier_ones_although_their_clock_is_behind(project: Workspace) -> None:
    holdfast.start(project, "work")
    for number, wall in enumerate((4102444800, 1)):
        keep_by_hand(project.inbox, monotonic=number, event=f"{number}", time=f"{wall * 10**9}")
        holdfast.sweep(project)
    assert events_of(project) == ["0", "1"]


@pytest.mark.parametrize("time", ["99999999999999999999999", "-5", "", "soon", "9" * 19, "1" * 5000])
def test_time_that_no_calendar_has_does_not_stop_the_journal(project: Workspace, time: str) -> None:
    holdfast.start(project, "work")
    keep_by_hand(project.inbox, time=time)
    assert events_of(project) == ["Did"]


@pytest.mark.parametrize(
    "name", [".hidden", "README", "1-2-3", "x-00000000-1-00000000", "1-b-x-0", "1-b-1-0-more", "listed.json"]
)
def test_what_is_not_named_like_a_call_is_none(inbox: Path, name: str) -> None:
    (inbox / name).write_bytes(b"holdfast-call 1\0\0{}")
    assert intake.waiting(inbox) == []


# what calls hold


JSON: list[tuple[bytes, Any]] = [
    (b"", None),
    (b" \n", None),
    (b"null", None),
    (b"3", 3),
    (b'"text"', "text"),
    (b"[]", []),
    (b"true", True),
    (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
    (b'{"a": "\\ud800"}', {"a": "\ufffd"}),
    (b'{"\\udfff": "\\ud83d\\ude00 \\ud83d"}', {"\ufffd": "😀 \ufffd"}),
    (b'{"a": 1, "a": 2}', {"a": 2}),
    (b'{"a": 9007199254740993}', {"a": 9007199254740993}),
    (b'{"a": 18446744073709551616}', {"a": 2**64}),
    (b'{"a": -1' + b"0" * 400 + b"}", {"a": -(10**400)}),
    (b'{"a": 1e308}', {"a": 1e308}),
    (b'{"a": 1e-999}', {"a": 0.0}),
    (b'{"a": "\\u0000"}', {"a": "\0"}),
    (b'{"a": "\xe2\x80\xa8"}', {"a": "\u2028"}),
    (b'{"$blob": "00"}', {"$blob": "00"}),
    (b'{"$": {"$blob": "no hash"}}', {"$": {"$blob": "no hash"}}),
    (b'{"a": "' + b"long " * 1000 + b'"}', {"a": "long " * 1000}),
    (b'{"": {"": ""}}', {"": {"": ""}}),
]


@pytest.mark.promise(6, 19)
@pytest.mark.parametrize(("body", "expected"), JSON, ids=lambda value: repr(value)[:30])
def test_json_of_any_kind_becomes_an_event(project: Workspace, body: bytes, expected: Any) -> None:
    holdfast.start(project, "work")
    keep_by_hand(project.inbox, body)
    swept = holdfast.sweep(project)
    (event,) = holdfast.log(project, newest=1).events
    assert (swept.taken_in, swept.set_aside, event.body["call"]) == (1, 0, expected)
    assert kept_files(project.inbox) == []


NOT_JSON = [
    b"not json",
    b"{",
    b'{"a": 1} more',
    b"{'a': 1}",
    b"\xff\xfe{\x00}\x00",
    b'{"a": "\xff"}',
    b"\x00",
    b'{"a": NaN}',
    b'{"a": Infinity}',
    b'{"a": -Infinity}',
    b'{"a": 01}',
    b'{"a": 1' + b"0" * 5000 + b"}",
    b'{"a": "half',
    b"[" * 100_000,
]


@pytest.mark.promise(6, 19)
@pytest.mark.parametrize("body", NOT_JSON, ids=lambda body: repr(body[:20]))
def test_what_is_not_json_is_set_aside_reported_and_kept_to_the_byte(project: Workspace, body: bytes) -> None:
    holdfast.start(project, "work")
    keep_by_hand(project.inbox, b'{"n": 1}', monotonic=1, event="before")
    strange = keep_by_hand(project.inbox, body, monotonic=2)
    data = strange.read_bytes()
    keep_by_hand(project.inbox, b'{"n": 2}', monotonic=3, event="after")
    swept = holdfast.sweep(project)
    assert (swept.taken_in, swept.set_aside) == (2, 1)
    assert events_of(project) == ["before", "after"]
    assert (project.inbox / "aside" / strange.name).read_bytes() == data
    assert holdfast.status(project).set_aside == [strange.name]
    assert holdfast.verify(project).set_aside == 1


def is_sane(project: Workspace, path: Path) -> bool:
    """A call is either an event or set aside; the verbs work on."""
    swept = holdfast.sweep(project)
    aside = (project.inbox / "aside" / path.name).exists()
    return (swept.taken_in, swept.set_aside) == ((0, 1) if aside else (1, 0)) and holdfast.status(
        project
    ).run is not None


@pytest.mark.promise(6, 19)
@pytest.mark.parametrize("pair", [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")], ids=["lists", "objects", "both"])
@pytest.mark.parametrize("depth", [100, 300, 450, 600, 900, 1000, 5_000, 100_000])
def test_nesting_of_any_depth_stops_nobody(project: Workspace, pair: tuple[bytes, bytes], depth: int) -> None:
    holdfast.start(project, "work")
    opening, closing = pair
    path = keep_by_hand(project.inbox, b'{"a": ' + opening * depth + b"1" + closing * depth + b"}")
    assert is_sane(project, path)


@pytest.mark.promise(6)
@pytest.mark.parametrize("body", [b'{"a": 1e999}', b'{"a": [-1e400]}', b"1e999"])
def test_number_that_cannot_be_held_is_not_dropped_silently(project: Workspace, body: bytes) -> None:
    holdfast.start(project, "work")
    path = keep_by_hand(project.inbox, body)
    assert is_sane(project, path)
    for event in holdfast.log(project).events[1:]:
        assert "e" in str(event.body["call"])


PIECES = [
    *(bytes([byte]) for byte in b'{}[]:,"\\ 01-.eE\n\0\x80\xff'),
    b"\xed\xa0\x80",
    b"\\u",
    b"d800",
    b'"a"',
    b"true",
]
JSON_LIKE = st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)


@pytest.mark.promise(19)
@settings(max_examples=300)
@given(st.binary(max_size=30) | JSON_LIKE | JSON_LIKE.map(lambda data: b'{"a": "' + data + b'"}'))
def test_any_bytes_are_json_that_can_be_stored_or_are_none(data: bytes) -> None:
    try:
        value = intake.parse(data)
    except NotACall:
        return
    packed, blobs = codec.pack({"call": value})
    assert codec.unpack(packed, blobs.get) == {"call": value}


# heads

HEADS = [
    b"",
    b"\0\0",
    b"{}",
    b"holdfast-call 2\0agent=x\0\0{}",
    b"holdfast-call 1",
    b"holdfast-call 1\0agent=x",
    b"Holdfast-call 1\0\0{}",
    b"holdfast-call 1\0" + b"x" * intake.HEADER_LIMIT + b"\0\0{}",
]


@pytest.mark.promise(6)
@pytest.mark.parametrize("data", HEADS, ids=lambda data: repr(data[:25]))
def test_file_that_does_not_begin_as_a_call_is_set_aside(project: Workspace, data: bytes) -> None:
    path = keep_by_hand(project.inbox)
    path.write_bytes(data)
    swept = holdfast.sweep(project)
    assert (swept.taken_in, swept.set_aside) == (0, 1)
    assert (project.inbox / "aside" / path.name).read_bytes() == data


def test_head_without_fields_is_enough(project: Workspace) -> None:
    keep_by_hand(project.inbox).write_bytes(b"holdfast-call 1\0\0{}")
    assert holdfast.sweep(project).taken_in == 1
    assert events_of(project) == [""]


@pytest.mark.promise(21)
@pytest.mark.parametrize(
    "text", ["\udcff", "a\nb", "../../..", "'; DROP TABLE run", "x" * 10_000, "%s{}", "run-\u202e"]
)
def test_head_may_say_anything(project: Workspace, text: str) -> None:
    """Who can make hooks be called chooses every field."""
    holdfast.start(project, "work")
    names = ("agent", "event", "directory", "parent", "client", "env__HOLDFAST_RUN", "env__HOLDFAST_SESSION")
    fields: dict[str, Any] = dict.fromkeys(names, text)
    keep_by_hand(project.inbox, **fields)
    before = sorted(project.root.parent.rglob("*"))
    assert holdfast.sweep(project).taken_in == 1
    assert set(project.root.parent.rglob("*")) <= set(before)


def as_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def as_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/passwd")


def as_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def as_socket(path: Path) -> None:
    path.unlink()
    os.mknod(path, stat.S_IFSOCK | 0o600)


def as_giant(path: Path) -> None:
    with open(path, "r+b") as file:
        file.truncate(intake.READ_LIMIT + 1)


@pytest.mark.promise(22)
@pytest.mark.parametrize("change", [as_fifo, as_link, as_directory, as_socket, as_giant])
def test_what_is_no_ordinary_file_is_set_aside_unread(project: Workspace, change: Callable[[Path], None]) -> None:
    path = keep_by_hand(project.inbox)
    change(path)
    swept = holdfast.sweep(project)
    assert (swept.taken_in, swept.set_aside) == (0, 1)
    assert holdfast.status(project).set_aside == [path.name]


@contextmanager
def no_more_files() -> Iterator[None]:
    """Nothing can be opened any more, as when a program has used up its descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.promise(5)
def test_call_that_cannot_be_read_at_the_moment_is_not_taken_for_nonsense(inbox: Path) -> None:
    path = keep_by_hand(inbox)
    with no_more_files(), pytest.raises(Trouble):
        intake.read(inbox, path.name)
    assert intake.read(inbox, path.name) is not None


def test_call_that_somebody_else_took_in_is_none(inbox: Path) -> None:
    assert intake.read(inbox, "00000000000000000001-abcdef01-1-00000000") is None
    intake.remove(inbox, ["00000000000000000001-abcdef01-1-00000000"])
    intake.set_aside(inbox, "00000000000000000001-abcdef01-1-00000000")
    assert intake.aside(inbox) == []


# leftovers

GONE = 2**22 + 1  # above every pid that Linux gives
ALIVE = 1


@pytest.mark.parametrize(
    ("age", "pid", "boot", "cleared"),
    [
        (0.0, GONE, None, False),
        (intake.STALE - 60, GONE, None, False),
        (intake.STALE + 60, GONE, None, True),
        (intake.STALE + 60, ALIVE, None, False),
        (intake.STALE + 60, ALIVE, "0badb007", True),
        (0.0, ALIVE, "0badb007", False),
        (-HOUR, GONE, None, False),
        (365 * 24 * HOUR, ALIVE, None, False),
    ],
)
def test_leftovers_of_killed_hooks_are_cleared_only_when_they_are_stale(
    inbox: Path, age: float, pid: int, boot: str | None, cleared: bool
) -> None:
    now = 2e9
    path = keep_by_hand(inbox, b'{"half', pid=pid, boot=boot)
    leftover = path.rename(path.with_name("." + path.name))
    os.utime(leftover, (now - age, now - age))
    assert intake.clear_leftovers(inbox, now) == cleared
    assert leftover.exists() != cleared


def test_only_leftovers_of_hooks_are_cleared(inbox: Path) -> None:
    names = [keep_by_hand(inbox).name, ".other", "visible", ".1-2-3"]
    for name in names[1:]:
        (inbox / name).write_bytes(b"")
    for name in names:
        os.utime(inbox / name, (0, 0))
    assert intake.clear_leftovers(inbox, 2e9) == 0
    assert sorted(os.listdir(inbox)) == sorted(names)


def test_leftovers_are_never_taken_in(project: Workspace) -> None:
    path = keep_by_hand(project.inbox)
    path.rename(path.with_name("." + path.name))
    assert holdfast.sweep(project).taken_in == 0
    assert len(kept_files(project.inbox)) == 1


# troubles


def test_troubles_come_oldest_first_and_noise_is_passed_over(tmp_path: Path) -> None:
    lines = [b"20 robot Did second", b"10 robot Did first", b"", b"noise", b"\xff\xfe", b"10 robot Did first"]
    (tmp_path / "trouble").write_bytes(b"\n".join(line.ljust(100) for line in lines))
    assert intake.troubles(tmp_path) == ["10 robot Did first", "20 robot Did second"]


def test_without_a_trouble_file_there_is_no_trouble(tmp_path: Path) -> None:
    assert intake.troubles(tmp_path) == []
