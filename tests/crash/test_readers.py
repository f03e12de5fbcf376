"""Whoever reads a file while others write it finds one complete version; a writer that does it wrong is caught."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

WRITERS, READERS, WRITES = 4, 4, 150

WRITE = """
import json, sys
from pathlib import Path
from holdfast import files
path, who, writes, how = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
for number in range(writes):
    data = json.dumps({"who": who, "number": number, "filler": who * 20_000}).encode()
    if how == "ours":
        files.write(path, data)
    else:
        path.write_bytes(data)
"""
READ = """
import json, sys
from pathlib import Path
path, reads, torn = Path(sys.argv[1]), 0, 0
while not Path(sys.argv[2]).exists():
    reads += 1
    try:
        state = json.loads(path.read_bytes())
        torn += state["filler"] != state["who"] * 20_000
    except ValueError:
        torn += 1
print(reads, torn)
"""


def _race(directory: Path, how: str) -> tuple[int, int]:
    """How often the file was read while it was being written, and how often it was not whole."""
    path, over = directory / "state.json", directory / "over"
    path.write_bytes(b'{"who": "", "filler": ""}')
    arguments = [sys.executable, "-c"]
    readers = [
        subprocess.Popen([*arguments, READ, str(path), str(over)], stdout=subprocess.PIPE, text=True)
        for _ in range(READERS)
    ]
    writers = [subprocess.Popen([*arguments, WRITE, str(path), str(who), str(WRITES), how]) for who in range(WRITERS)]
    codes = [writer.wait() for writer in writers]
    over.touch()
    found = [reader.communicate()[0].split() for reader in readers]
    assert codes == [0] * WRITERS
    return sum(int(reads) for reads, _ in found), sum(int(torn) for _, torn in found)


@pytest.mark.promise(3)
def test_a_reader_always_finds_one_complete_version(tmp_path: Path) -> None:
    reads, torn = _race(tmp_path, "ours")
    assert reads > WRITERS * WRITES
    assert torn == 0
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["over", "state.json"]


@pytest.mark.promise(3)
def test_a_writer_that_writes_in_place_is_caught_by_the_same_readers(tmp_path: Path) -> None:
    assert _race(tmp_path, "in place")[1] > 0
