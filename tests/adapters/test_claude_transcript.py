"""Reading the client's own record: the tokens in the context now, and every line of it, whatever stands there."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.agents import jsonl
from holdfast.agents.claude import transcript
from holdfast.agents.claude.transcript import read_lines, read_usage
from holdfast.agents.protocol import Usage
from holdfast.core.errors import HoldfastError, Refused
from tests.promises import Figure
from tests.transcripts import MODEL, Transcript


@pytest.fixture
def told() -> Transcript:
    return Transcript("/project")


def test_tokens_are_all_that_the_last_answer_read_and_wrote(told: Transcript, tmp_path: Path) -> None:
    told.say("first", tokens=50_000)
    line = told.say("last", tokens=1)
    line["message"]["usage"] = {
        "input_tokens": 3, "cache_creation_input_tokens": 400, "cache_read_input_tokens": 80_000, "output_tokens": 97,
        "service_tier": "standard", "iterations": [],
    }  # fmt: skip
    assert read_usage(told.write(tmp_path / "c.jsonl")) == Usage(80_500, MODEL)


@pytest.mark.parametrize(
    "fields",
    [{"isSidechain": True}, {"message": {"model": "<synthetic>", "usage": {"input_tokens": 9}}}, {"message": 7}],
)
def test_what_is_no_answer_of_the_conversation_itself_does_not_count(
    told: Transcript, tmp_path: Path, fields: dict[str, Any]
) -> None:
    told.say("answer", tokens=1000, output=20)
    told.say("another", tokens=77_777, **fields)
    assert read_usage(told.write(tmp_path / "c.jsonl")) == Usage(1020, MODEL)


def test_after_a_compaction_only_what_follows_counts(told: Transcript, tmp_path: Path) -> None:
    told.say("before", tokens=190_000)
    told.compact(left=2_666)
    assert read_usage(told.write(tmp_path / "c.jsonl")) == Usage(2_666)
    told.say("after", tokens=5_000, output=0)
    assert read_usage(told.write(tmp_path / "c.jsonl")) == Usage(5_000, MODEL)


def test_a_compaction_that_does_not_say_what_is_left_leaves_nothing_known(told: Transcript, tmp_path: Path) -> None:
    told.say("before", tokens=190_000)
    told.compact(left=None)
    assert read_usage(told.write(tmp_path / "c.jsonl")) is None


def test_the_last_answer_is_found_however_much_follows_it(told: Transcript, tmp_path: Path) -> None:
    told.say("answer", tokens=1000, output=20)
    told.lines.append({"type": "api-request-blob", "text": "x" * (3 * transcript.FIRST_TAIL)})
    assert read_usage(told.write(tmp_path / "c.jsonl")) == Usage(1020, MODEL)


def test_it_is_not_looked_for_in_more_than_a_bounded_end(told: Transcript, tmp_path: Path) -> None:
    told.say("answer")
    path = told.write(tmp_path / "c.jsonl")
    with open(path, "ab") as file:
        file.truncate(path.stat().st_size + 4 * transcript.LAST_TAIL)  # a hole, which costs nothing
    assert read_usage(path) is None


@pytest.mark.parametrize("tokens", ["many", None, True, -1, 1.5, 10**30, [], {}])
def test_a_number_that_is_none_counts_as_nothing(told: Transcript, tmp_path: Path, tokens: object) -> None:
    line = told.say("answer", tokens=5, output=7)
    line["message"]["usage"]["input_tokens"] = tokens
    assert read_usage(told.write(tmp_path / "c.jsonl")) == Usage(7, MODEL)


def test_a_line_in_the_making_and_a_damaged_one_are_passed_over(told: Transcript, tmp_path: Path) -> None:
    told.say("answer", tokens=1000, output=20)
    told.lines += [b'{"type":"assistant","message":{"usage":{"input', b"\xff\xfe", b"[1]", b"", b'"usage"']
    path = told.write(tmp_path / "c.jsonl")
    assert read_usage(path) == Usage(1020, MODEL)
    assert [line["type"] for line in read_lines(path)] == ["assistant"]


def test_half_a_character_is_put_up_with(told: Transcript, tmp_path: Path) -> None:
    told.prompt("half \ud83d of one")
    (line,) = read_lines(told.write(tmp_path / "c.jsonl"))
    assert line["message"]["content"].startswith("half ")


def test_nothing_but_a_regular_file_is_read(told: Transcript, tmp_path: Path) -> None:
    real = told.write(tmp_path / "real.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "link.jsonl").symlink_to(real)
    for name in ("pipe.jsonl", "link.jsonl", "nothing.jsonl", ".", "nul\0.jsonl"):
        assert read_usage(tmp_path / name) is None
    for name in ("pipe.jsonl", "link.jsonl"):
        with pytest.raises(Refused):
            list(read_lines(tmp_path / name))
    with pytest.raises(HoldfastError):
        list(read_lines(tmp_path / "nothing.jsonl"))


def test_lines_are_told_whole_wherever_a_piece_of_the_file_ends(told: Transcript, tmp_path: Path) -> None:
    sizes = [1, jsonl.CHUNK - 500, 3, 2 * jsonl.CHUNK, 1]
    for size in sizes:
        told.prompt("x" * size)
    found = list(read_lines(told.write(tmp_path / "c.jsonl")))
    assert [len(line["message"]["content"]) for line in found] == sizes


def test_a_line_that_is_too_long_is_passed_over_and_the_next_is_not(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    line = json.dumps({"type": "user", "n": 1}).encode() + b"\n"
    path.write_bytes(line + b'"user"' + b"x" * (jsonl.LONGEST + jsonl.CHUNK) + b"\n" + line)
    assert [found["n"] for found in read_lines(path)] == [1, 1]


def a_conversation(directory: Path, records: int = 30) -> bytes:
    told = Transcript(str(directory), "c1")
    for number in range(records):
        told.prompt(f"prompt {number}", uuid=f"u{number}")
    return told.write(directory / "whole.jsonl").read_bytes()


def torn(data: bytes) -> Iterator[tuple[bytes, set[str], int]]:
    """A transcript cut off at every 64th byte; the records that are still whole; and how many lines are not."""
    for at in range(64, len(data), 64):
        kept = data[:at].count(b"\n") + (data[at : at + 1] == b"\n")
        yield data[:at], {f"u{n}" for n in range(kept)}, int(data[at - 1 : at] != b"\n" and data[at : at + 1] != b"\n")


def overwritten(data: bytes) -> Iterator[tuple[bytes, set[str], int]]:
    """A block of NULs within a line, in place of what was there."""
    lines = data.split(b"\n")[:-1]
    for hurt, line in enumerate(lines):
        for begin in range(0, len(line) - 200, 40):
            bad = line[:begin] + bytes(min(200 + begin, len(line) - begin)) + line[begin + 200 + begin :]
            whole = b"".join(each + b"\n" for each in [*lines[:hurt], bad, *lines[hurt + 1 :]])
            yield whole, {f"u{n}" for n in range(len(lines)) if n != hurt}, 1


def otherwise(data: bytes) -> Iterator[tuple[bytes, set[str], int]]:
    every = {f"u{n}" for n in range(data.count(b"\n"))}
    lines = data.splitlines(keepends=True)
    yield b"\xef\xbb\xbf" + data, every, 0
    yield data + b"".join(lines[-3:]), every, 0
    yield data.replace(b"prompt", "\u2028".encode()), every, 0
    yield data + b"\xff\xfe" + "more".encode("utf-16-le") + b"\n", every, 1
    yield data + b'{"type":"user","x":"' + b"x" * (20 << 20) + b'"}\n', every | {""}, 0
    for coding in ("utf-16", "utf-16-le", "utf-16-be"):  # as some editors save it, with a mark and without
        wide = data.decode().encode(coding)
        yield wide, every, 0
        yield wide[:-1], every, 0  # half a line end
    yield data.decode().encode("utf-16")[:-401], every - {f"u{len(lines) - 1}"}, 1
    for cut in range(1, 200, 10):  # a client that crashed, and the next one that goes on behind what it left
        yield lines[0] + lines[1][:cut] + b"".join(lines[2:]), every - {"u1"}, 1
        yield lines[0] + bytes(cut) + b"".join(lines[1:]), every, 1


@pytest.mark.promise(6)
def test_damage_costs_no_more_than_itself_and_is_counted(tmp_path: Path, figure: Figure) -> None:
    data = a_conversation(tmp_path)
    path = tmp_path / "damaged.jsonl"
    cases = [*torn(data), *overwritten(data), *otherwise(data)]
    assert len(cases) > 200
    for number, (damaged, whole, lost) in enumerate(cases):
        path.write_bytes(damaged)
        count = itertools.count()
        found = {line.get("uuid", "") for line in read_lines(path, count.__next__)}
        assert (number, found, next(count)) == (number, whole, lost)
    figure("damaged transcripts", len(cases))
