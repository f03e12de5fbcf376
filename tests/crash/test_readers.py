"""Whoever reads a file while others write it finds one complete version; a writer that does it wrong is caught.

The tier of every commit reads a few thousand times; `-m long` reads more than 100,000 times.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.explorer import work_directory
from tests.promises import Figure

WRITERS = 4
FEW, MANY = (4, 1_000), (10, 10_100)  # readers, and how often each of them reads

WRITE = """
import json, sys
from pathlib import Path
from holdfast.system import files, shared_files as sharing
path, over, who, how = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]
number = 0
while not over.exists():
    number += 1
    data = json.dumps({"who": who, "number": number, "filler": who * 20_000}).encode()
    if how == "ours":
        files.write(path, data)
    elif how == "shared":
        sharing.replace_shared(path, path.read_bytes(), data)
    else:
        path.write_bytes(data)
print(number)
"""
READ = """
import json, sys
from pathlib import Path
path, torn = Path(sys.argv[1]), 0
for _ in range(int(sys.argv[2])):
    try:
        state = json.loads(path.read_bytes())
        torn += state["filler"] != state["who"] * 20_000
    except ValueError:
        torn += 1
print(torn)
"""


@pytest.fixture
def directory() -> Iterator[Path]:
    """In memory, if that can be had: a disk that syncs slowly would let thousands read between two writes."""
    with work_directory() as directory:
        yield directory


def _start(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", script, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def _numbers(processes: list[subprocess.Popen[str]]) -> list[int]:
    said = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return [int(number) for number in said]


def _race(directory: Path, how: str, readers: int, reads: int) -> int:
    """Let writers write until all readers have read so often; answers with how often the file was not whole."""
    path, over = directory / "state.json", directory / "over"
    path.write_bytes(b'{"who": "", "filler": ""}')
    writing = [_start(WRITE, path, over, who, how) for who in range(WRITERS)]
    torn = _numbers([_start(READ, path, reads) for _ in range(readers)])
    over.touch()
    written = _numbers(writing)
    print(f"{readers * reads} reads against {sum(written)} writes, {sum(torn)} torn")
    assert min(written) > 0, "nobody wrote meanwhile"
    return sum(torn)


def _find_one_version(directory: Path, how: str, figure: Figure, readers: int, reads: int) -> None:
    figure("reads", readers * reads)
    assert _race(directory, how, readers, reads) == 0
    assert [path.name for path in sorted(directory.iterdir())] == ["over", "state.json"]


ways = pytest.mark.parametrize("how", ["ours", "shared"])  # files of our own, and those that others write too


@pytest.mark.promise(3)
@ways
def test_a_reader_always_finds_one_complete_version(directory: Path, how: str, figure: Figure) -> None:
    _find_one_version(directory, how, figure, *FEW)


@pytest.mark.long
@pytest.mark.promise(3)
@ways
def test_a_hundred_thousand_reads_all_find_one_complete_version(directory: Path, how: str, figure: Figure) -> None:
    _find_one_version(directory, how, figure, *MANY)


@pytest.mark.promise(3)
def test_a_writer_that_writes_in_place_is_caught_by_the_same_readers(directory: Path) -> None:
    assert _race(directory, "in place", *FEW) > 0
