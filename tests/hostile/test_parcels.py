"""An exported run that somebody has damaged or made up: it is refused in a sentence, and nothing of it is taken in."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import ids, parcel, receiving
from holdfast.errors import Damaged, HoldfastError, NotFound, Refused
from holdfast.objects import Format
from holdfast.packfile import format_pack, parse_pack
from holdfast.parcel import MAGIC
from holdfast.workspace import Workspace
from tests.conftest import TickingClock
from tests.operations.trees import put, take
from tests.promises import Figure

SHA1 = Format("sha1")
Parts = dict[str, Any]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A store that takes nothing in, all the time, so that one is enough; in the end it must be whole."""
    base = tmp_path_factory.mktemp("stage")
    subprocess.run(["git", "init", "-q", str(base / "project")], check=True)
    environ = {**os.environ, "HOME": str(base / "home"), "HOLDFAST_STATE_DIR": str(base / "state")}
    with holdfast.open(base / "project", environ=environ, clock=TickingClock()) as workspace:
        yield workspace
        assert holdfast.verify(workspace, deep=True).problems == []


@pytest.fixture(scope="module")
def file(stage: Workspace) -> Path:
    """A whole export of a run with code, which is not in that store any more."""
    run = holdfast.start(stage, "goal").run.id
    put(stage.root, {"a.py": "one\n" * 20, "src/b.py": "two\n"})
    (stage.root / "tool").write_text("x")
    (stage.root / "tool").chmod(0o700)
    take(stage, "first")
    holdfast.join(stage, agent="robot")
    holdfast.note(stage, "a note")
    path = stage.root.with_name("run.holdfast")
    holdfast.export(stage, run, path, raw=True)
    holdfast.delete(stage, run, purge=True)
    return path


@contextmanager
def nothing_happens(project: Workspace) -> Iterator[None]:
    """Whatever is tried inside, the store and the repository's objects stay as they are."""
    before = seen(project)
    yield
    assert seen(project) == before


def seen(project: Workspace) -> tuple[object, ...]:
    shown = holdfast.runs(project).runs
    packs = sorted(os.listdir(project.root / ".git/objects/pack"))
    refs = [path.read_bytes() for path in sorted((project.root / ".git/refs/holdfast").glob("*"))]
    return [run.id for run in shown], packs, refs, len(holdfast.checkpoints(project).checkpoints)


def refused(project: Workspace, path: Path) -> HoldfastError:
    with pytest.raises((Damaged, Refused)) as error, nothing_happens(project):
        holdfast.import_run(project, path)
    return error.value


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


def parts_of(file: Path) -> Parts:
    """The parts of an exported run, expanded, and its manifest."""
    data = file.read_bytes()
    end = len(data) - 40
    length = int.from_bytes(data[end : end + 8])
    told = json.loads(data[end - length : end])
    parts: Parts = {"manifest": told}
    at = len(MAGIC)
    for part in told["parts"]:
        raw = data[at : at + part["size"]]
        parts[part["name"]] = zlib.decompress(raw) if part["form"] == "zlib" else raw
        at += part["size"]
    return parts


def forged(file: Path, change: Callable[[Parts], None]) -> Path:
    """The same file with other parts, sealed as `export` seals."""
    parts = parts_of(file)
    change(parts)
    target = file.with_name("forged")
    target.write_bytes(sealed(parts))
    return target


def sealed(parts: Parts) -> bytes:
    body = MAGIC
    told = parts["manifest"]
    told["parts"] = told.pop("parts_as_they_are", None) or []
    for name, content in parts.items():
        if name == "manifest":
            continue
        if not any(part["name"] == name for part in told["parts"]):
            digest = hashlib.sha256(content).hexdigest()
            told["parts"].append(
                {"name": name, "form": "plain", "size": len(content), "length": len(content), "sha256": digest}
            )
        body += content
    text = json.dumps(told).encode()
    body += text + len(text).to_bytes(8)
    return body + hashlib.sha256(body).digest()


def an_event(number: int, **changes: Any) -> Callable[[Parts], None]:
    """Another event in the place of one."""

    def change(parts: Parts) -> None:
        lines = parts["events"].splitlines()
        event = json.loads(lines[number])
        for name, value in changes.items():
            if name.startswith("body_"):
                event["body"][name[5:]] = value
            else:
                event[name] = value
        lines[number] = json.dumps(event).encode()
        parts["events"] = b"".join(line + b"\n" for line in lines)

    return change


def told(**changes: Any) -> Callable[[Parts], None]:
    return lambda parts: parts["manifest"].update(changes)


def a_checkpoint(**changes: Any) -> Callable[[Parts], None]:
    def change(parts: Parts) -> None:
        record = {**json.loads(parts["checkpoints"]), **changes}
        parts["checkpoints"] = json.dumps(record).encode() + b"\n"

    return change


def an_event_with(text: bytes) -> Callable[[Parts], None]:
    def change(parts: Parts) -> None:
        parts["events"] = parts["events"].replace(b'"a note"', text)

    return change


def without(name: str) -> Callable[[Parts], None]:
    return lambda parts: parts.pop(name)


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


# Code that would do harm


def tree(*entries: tuple[str, bytes, str]) -> tuple[str, bytes]:
    return "tree", b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(id) for mode, name, id in entries)


def id_of(found: tuple[str, bytes]) -> str:
    return SHA1.id_of(*found)


BLOB = ("blob", b"#!/bin/sh\ntouch pwned\n")
EMPTY = ("blob", b"")


def code(root: tuple[str, bytes], *others: tuple[str, bytes], beside: bytes = b"") -> Callable[[Parts], None]:
    """A checkpoint of this tree."""

    def change(parts: Parts) -> None:
        around = ("blob", beside)
        objects = [root, BLOB, around, *others]
        parts["objects"] = b"".join(format_pack(objects, len(objects), SHA1))
        a_checkpoint(tree=id_of(root), beside=id_of(around), staged=None)(parts)

    return change


def nested(name: bytes) -> tuple[tuple[str, bytes], tuple[str, bytes]]:
    inner = tree(("100755", name, id_of(BLOB)))
    return tree(("40000", b"sub", id_of(inner))), inner


def plain(*, beside: bytes = b"") -> Callable[[Parts], None]:
    return code(tree(("100644", b"a", id_of(BLOB))), beside=beside)


TREES = {
    "git": code(
        tree(("40000", b".git", id_of(tree(("100755", b"x", id_of(BLOB)))))), tree(("100755", b"x", id_of(BLOB)))
    ),
    "git-below": code(*nested(b".git")),
    "git-in-other-letters": code(*nested(b".GiT")),
    "ours": code(tree(("100644", b".holdfast", id_of(BLOB)))),
    "parent": code(*nested(b"..")),
    "here": code(*nested(b".")),
    "slash": code(tree(("100644", b"../../x", id_of(BLOB)))),
    "nothing": code(tree(("100644", b"", id_of(BLOB)))),
    "twice": code(tree(("120000", b"a", id_of(BLOB)), ("40000", b"a", id_of(tree()))), tree()),
    "submodule": code(tree(("160000", b"a", id_of(BLOB)))),
    "odd-mode": code(tree(("104755", b"a", id_of(BLOB)))),
    "file-is-missing": code(tree(("100644", b"a", "1" * 40))),
    "directory-is-a-file": code(tree(("40000", b"a", id_of(BLOB)))),
    "file-is-a-directory": code(tree(("100644", b"a", id_of(tree()))), tree()),
    "not-a-tree": code(("tree", b"nonsense")),
    "cut": code(("tree", b"100644 a\0short")),
    "beside-leads-out": plain(beside=b"mode 644 ../x\0"),
    "beside-leads-to-git": plain(beside=b"empty .git/hooks\0"),
    "beside-leads-to-a-nested-git": plain(beside=b"empty sub/.git/hooks\0"),
    "beside-is-absolute": plain(beside=b"empty /etc/x\0"),
    "beside-acts-for-others": plain(beside=b"mode 4755 a\0"),
    "beside-is-nonsense": plain(beside=b"mode nine a\0"),
}


@pytest.mark.promise(22, 23)
@pytest.mark.parametrize("harm", TREES.values(), ids=TREES)
def test_code_that_would_leave_the_worktree_is_refused(
    stage: Workspace, file: Path, harm: Callable[[Parts], None]
) -> None:
    error = refused(stage, forged(file, harm))
    assert "code in this file" in error.message


def test_code_of_plain_files_is_taken_in(project: Workspace, file: Path) -> None:
    assert holdfast.import_run(project, forged(file, plain(beside=b"mode 600 a\0"))).checkpoints == 1


def a_pack(data: bytes) -> Callable[[Parts], None]:
    return lambda parts: parts.update(objects=data)


def packed(head: int, size: int, stream: bytes) -> bytes:
    """An object that says it has this size; of a kind, the number in the head."""
    first, rest = head << 4 | size & 15, size >> 4
    out = bytearray()
    while rest:
        out.append(first | 0x80)
        first, rest = rest & 0x7F, rest >> 7
    return b"PACK\0\0\0\2\0\0\0\1" + bytes([*out, first]) + stream + b"\0" * 20


BOMBS = {
    "larger-than-it-says": packed(3, 10, zlib.compress(b"x" * 1000)),
    "smaller-than-it-says": packed(3, 1000, zlib.compress(b"x" * 10)),
    "says-it-is-absurd": packed(3, 1 << 60, zlib.compress(b"x")),
    "says-it-is-too-large": packed(3, 1 << 40, zlib.compress(b"x")),
    "difference": packed(7, 10, b"\0" * 20 + zlib.compress(b"x" * 10)),
    "commit": packed(1, 1, zlib.compress(b"x")),
    "not-compressed": packed(3, 10, b"0123456789"),
    "breaks-off": packed(3, 1000, zlib.compress(os.urandom(1000))[:100])[:-20],
    "goes-on": b"".join(format_pack([BLOB], 1, SHA1)) + b"more",
    "many": b"PACK\0\0\0\2\xff\xff\xff\xff",
    "other-version": b"PACK\0\0\0\3\0\0\0\0",
    "empty": b"",
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_pack_that_is_no_pack_of_ours_is_refused(stage: Workspace, file: Path, bomb: bytes) -> None:
    refused(stage, forged(file, a_pack(bomb)))


def a_part(**changes: Any) -> Callable[[Parts], None]:
    """The manifest says something else of the first part."""

    def change(parts: Parts) -> None:
        known = [
            {
                "name": name,
                "form": "plain",
                "size": len(data),
                "length": len(data),
                "sha256": hashlib.sha256(data).hexdigest(),
            }
            for name, data in parts.items()
            if name != "manifest"
        ]
        known[0].update(changes)
        parts["manifest"]["parts_as_they_are"] = known

    return change


def a_bomb(parts: Parts) -> None:
    """A few kilobytes that expand to seventy megabytes."""
    bomb = zlib.compressobj(9)
    data = b"".join(bomb.compress(b"\0" * (1 << 20)) for _ in range(70)) + bomb.flush()
    parts["events"] = data
    a_part(form="zlib", length=70 << 20, sha256=hashlib.sha256(data).hexdigest())(parts)


ODD_PARTS = {
    "negative": a_part(size=-1),
    "longer": a_part(length=10**15),
    "shorter": a_part(length=1),
    "other-digest": a_part(sha256="0" * 64),
    "odd-form": a_part(form="lzma"),
    "not-compressed": a_part(form="zlib"),
    "name-twice": a_part(name="objects"),
}


def test_bomb_is_known_before_it_goes_off(stage: Workspace, file: Path) -> None:
    with pytest.raises(Refused, match="too large"):
        holdfast.import_run(stage, forged(file, a_bomb))
    small = packed(3, 10, zlib.compress(b"x" * (1 << 27)))
    tracemalloc.start()
    with pytest.raises(Damaged, match="larger than it says"):
        list(parse_pack([small], SHA1, 1 << 30))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 22


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
def test_whatever_stands_in_a_sealed_file_it_is_read_or_refused_in_a_sentence(file: Path) -> None:
    chance, path, base = random.Random(11), file.with_name("fuzzed"), parts_of(file)
    for _ in range(int(os.environ.get("FUZZ_INPUTS", "500"))):
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
            with parcel.opened(path, 1 << 24) as incoming:
                receiving.check(incoming, 1 << 24)
        except HoldfastError as error:
            told = (error.message, error.hints)
            assert all(told), told
