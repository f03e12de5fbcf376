"""An exported run that somebody has damaged or made up: it is refused in a sentence, and nothing of it is taken in."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.core import ids
from holdfast.core.errors import Damaged, HoldfastError, NotFound, Refused
from holdfast.project.transfer import bundle, import_plan
from holdfast.project.workspace import Workspace
from tests.hostile.forged_bundles import (
    Parts,
    a_checkpoint,
    a_part,
    an_event,
    an_event_with,
    forged,
    nothing_happens,
    parts_of,
    refused,
    sealed,
    told,
    without,
)
from tests.hostile.fuzzing import each_lesser_number
from tests.promises import Figure


@pytest.mark.promise(8)
def test_any_byte_that_is_flipped_is_found(stage: Workspace, file: Path, tmp_path: Path, figure: Figure) -> None:
    data = file.read_bytes()
    chance = random.Random(7)
    places = {*range(40), *range(len(data) - 60, len(data)), *(chance.randrange(len(data)) for _ in range(150))}
    with nothing_happens(stage):
        for place in sorted(places):
            broken = bytearray(data)
            broken[place] ^= 1 << chance.randrange(8)
            (tmp_path / "broken").write_bytes(broken)
            with pytest.raises(Damaged):
                holdfast.import_run(stage, tmp_path / "broken")
    figure("flipped bytes", len(places))


def test_file_that_is_cut_or_longer_is_found(stage: Workspace, file: Path, tmp_path: Path) -> None:
    data = file.read_bytes()
    with nothing_happens(stage):
        for broken in (
            *(data[:end] for end in range(0, len(data), 97)),
            data[:-1],
            data + b"\0",
            data + data,
            b"",
            data[1:],
        ):
            (tmp_path / "broken").write_bytes(broken)
            with pytest.raises(Damaged):
                holdfast.import_run(stage, tmp_path / "broken")


def test_whole_one_is_taken_in(project: Workspace, file: Path) -> None:
    """Or all of the above would prove nothing."""
    assert holdfast.import_run(project, forged(file, lambda parts: None)).checkpoints == 1


# Files that are whole, and lie


LIES = {
    "id-of-a-path": told(run="../../etc"),
    "id-of-a-ledger": told(run="ledger-main"),
    "id-of-a-session": told(run="ses-0123456789"),
    "id-too-long": told(run="r" * 500),
    "more-events": told(events=99),
    "other-checkpoints": told(checkpoints=2),
    "no-form": told(form=None),
    "odd-form": told(form="md5"),
    "no-events": without("events"),
    "no-objects": without("objects"),
    "no-checkpoints": without("checkpoints"),
    "seq": an_event(1, seq=7),
    "event-id": an_event(1, id="x" * 32),
    "event-id-path": an_event(1, id="../.."),
    "kind": an_event(1, kind="../../kind"),
    "second-start": an_event(1, kind="run.started"),
    "no-start": an_event(0, kind="note.added"),
    "ledger": an_event(0, body_layout="worktree"),
    "time": an_event(1, time=1 << 70),
    "time-is-text": an_event(1, time="now"),
    "session": an_event(1, session="../../x"),
    "agent": an_event(1, agent="a" * 5000),
    "body-is-a-list": an_event(1, body=[1]),
    "more-members": an_event(1, trust=True),
    "nested": an_event_with(b'{"a":' * 5000 + b"1" + b"}" * 5000),
    "nested-a-little-less": an_event_with(b"[" * 300 + b"]" * 300),
    "no-json": an_event_with(b"nan"),
    "huge-number": an_event_with(b"1e9999"),
    "not-utf-8": an_event_with(b'"\xff"'),
    "half-a-character": an_event_with(b'"\\ud800"'),
    "file-of-another-system": an_event(1, kind="owner.told", body_path="../../.bashrc"),
    "hooks-of-another-system": an_event(1, kind="owner.told", body_path=".git/hooks/pre-commit"),
    "checkpoint-id": a_checkpoint(id="../../x"),
    "checkpoint-of-another": a_checkpoint(run="run-0000000000"),
    "checkpoint-of-the-future": a_checkpoint(seq=500),
    "checkpoint-with-an-invisible-name": a_checkpoint(name="a\u202eb"),
    "checkpoint-without-a-tree": a_checkpoint(tree="0" * 40),
    "checkpoint-whose-tree-is-no-id": a_checkpoint(tree="--upload-pack=x"),
    "checkpoint-without-its-list": a_checkpoint(beside="0" * 40),
    "checkpoint-without-its-index": a_checkpoint(staged="0" * 40),
    "checkpoint-with-an-odd-number": a_checkpoint(number="one"),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_whole_file_that_lies_is_refused(stage: Workspace, file: Path, lie: Callable[[Parts], None]) -> None:
    refused(stage, forged(file, lie))


ODD_PARTS = {
    "negative": a_part(size=-1),
    "longer": a_part(length=10**15),
    "shorter": a_part(length=1),
    "other-digest": a_part(sha256="0" * 64),
    "odd-form": a_part(form="lzma"),
    "not-compressed": a_part(form="zlib"),
    "name-twice": a_part(name="objects"),
}


@pytest.mark.parametrize("odd", ODD_PARTS.values(), ids=ODD_PARTS)
def test_part_that_is_not_what_the_manifest_says_is_refused(
    stage: Workspace, file: Path, odd: Callable[[Parts], None]
) -> None:
    refused(stage, forged(file, odd))


def test_more_than_the_store_may_hold_is_refused(
    project: Workspace, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_STORE_CAP", "1")
    big = forged(file, lambda parts: parts.update({"transcripts/c1.jsonl": b"x" * 2_000_000}))
    with holdfast.open(project.root) as workspace, pytest.raises(Refused, match="too large"):
        holdfast.import_run(workspace, big)


def test_transcript_with_the_name_of_a_path_goes_nowhere(project: Workspace, file: Path) -> None:
    names = ("transcripts/../../x.jsonl", "transcripts//etc/x.jsonl", "transcripts/.jsonl", "../x.jsonl")
    odd = forged(file, lambda parts: parts.update(dict.fromkeys(names, b"{}\n")))
    assert holdfast.import_run(project, odd).transcripts == []
    assert not (project.place / "carried").exists()


@pytest.mark.parametrize("kind", ["pipe", "directory", "device", "nothing"])
def test_what_is_no_file_is_refused_at_once(stage: Workspace, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "odd"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "device":
        path = Path("/dev/zero")
    with pytest.raises((Refused, Damaged, NotFound)):
        holdfast.import_run(stage, path)


def test_event_ids_of_another_run_are_not_taken_away(project: Workspace, file: Path) -> None:
    """A file may name events that another run here has; both keep theirs."""
    first = holdfast.import_run(project, file).run
    other = holdfast.import_run(project, forged(file, lambda parts: rename(parts, ids.make("run"))))
    assert (other.outcome, other.run != first) == ("new", True)
    again = holdfast.import_run(project, forged(file, lambda parts: rename(parts, other.run)))
    assert (again.outcome, again.run) == ("known", other.run)
    assert len(holdfast.sessions(project, every=True).sessions) == 2
    assert holdfast.verify(project, deep=True).problems == []


def test_run_of_the_same_name_that_is_another_one_becomes_a_fork(project: Workspace, file: Path) -> None:
    mine = holdfast.import_run(project, file).run
    lines = parts_of(file)["events"].splitlines()

    def change(parts: Parts) -> None:
        others = [json.loads(line) | {"id": os.urandom(16).hex()} for line in lines]
        parts["events"] = b"".join(json.dumps(event).encode() + b"\n" for event in others)

    other = holdfast.import_run(project, forged(file, change))
    assert (other.outcome, other.forked_from, other.forked_at, other.run != mine) == ("forked", mine, 0, True)
    assert other.checkpoints == 0, "the state that both have is kept once"


def rename(parts: Parts, run: str) -> None:
    told(run=run)(parts)
    a_checkpoint(run=run)(parts)


@pytest.mark.promise(19)
@each_lesser_number
def test_whatever_stands_in_a_sealed_file_it_is_read_or_refused_in_a_sentence(
    file: Path, count: int, figure: Figure
) -> None:
    chance, path, base = random.Random(11), file.with_name("fuzzed"), parts_of(file)
    for _ in range(count):
        parts = {**base, "manifest": {**base["manifest"]}}
        name = chance.choice(["events", "events", "checkpoints", "objects"])
        data = bytearray(parts[name])
        for _ in range(chance.choice([1, 1, 2, 5, 50])):
            place = chance.randrange(len(data))
            data[place : place + chance.choice([0, 1, 1, 4])] = chance.choice(
                [b"", b"\0", b"9", b'"', b"{", b"\xff", os.urandom(3)]
            )
        parts[name] = bytes(data)
        path.write_bytes(sealed(parts))
        try:
            with bundle.opened(path, 1 << 24) as incoming:
                import_plan.check(incoming, 1 << 24)
        except HoldfastError as error:
            told = (error.message, error.hints)
            assert all(told), told
    figure("fuzzed inputs", count)
