"""Reading the client's own record: the tokens in the context now, and every line of it, whatever stands there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from holdfast import transcript
from holdfast.errors import HoldfastError, Refused
from holdfast.transcript import Usage, read_lines, read_usage
from tests.world.transcripts import MODEL, Transcript


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
    sizes = [1, transcript.CHUNK - 500, 3, 2 * transcript.CHUNK, 1]
    for size in sizes:
        told.prompt("x" * size)
    found = list(read_lines(told.write(tmp_path / "c.jsonl")))
    assert [len(line["message"]["content"]) for line in found] == sizes


def test_a_line_that_is_too_long_is_passed_over_and_the_next_is_not(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    line = json.dumps({"type": "user", "n": 1}).encode() + b"\n"
    path.write_bytes(line + b'"user"' + b"x" * (transcript.LONGEST + transcript.CHUNK) + b"\n" + line)
    assert [found["n"] for found in read_lines(path)] == [1, 1]
