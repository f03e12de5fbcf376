"""Mending and proving a large store takes no more memory than a small one: measured in processes of their own."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

import holdfast
from holdfast.core.model import Draft
from holdfast.project.workspace import Workspace
from tests.crash.damage import write_back

MEGABYTE = 1_000_000
GROWTH = 32 * MEGABYTE  # half of it is the cache of SQLite, which a small store does not fill
PEAK = """
def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))
"""
SALVAGE = """
import sys
from pathlib import Path
import apsw
from holdfast.journal.sqlite.salvage import SCHEMA, salvage
left = apsw.Connection("")
left.execute(SCHEMA)
salvage(Path(sys.argv[1]), Path(sys.argv[2]), left)
print(left.execute("SELECT count(*) FROM event JOIN run ON run.key = event.run").get, peak())
"""
VERB = """
import sys, holdfast
with holdfast.open(sys.argv[1]) as workspace:
    if sys.argv[2] == "verify":
        found = len(holdfast.verify(workspace, deep=True).problems)
    else:
        found = len(holdfast.repair(workspace).store.mended)
print(found, peak())
"""

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="NOT PROVED HERE: there is no /proc")


def measured(script: str, *arguments: object) -> tuple[int, int]:
    """What a script counts, and how many bytes of memory it needed at most."""
    command = [sys.executable, "-c", PEAK + script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    found, peak = done.stdout.split()
    return int(found), int(peak)


def some_events(project: Workspace, count: int = 50) -> str:
    run = holdfast.start(project, "goal").run.id
    with project.writing() as journal:
        journal.append(run, *(Draft("note.added", {"text": f"note {number}"}) for number in range(count)))
    return run


@pytest.mark.parametrize("damage", [(24, b"\xff" * 4), (0, b"x" * 4096)], ids=["its head", "its first page"])
@pytest.mark.promise(4)
def test_what_is_left_of_a_large_database_is_read_page_by_page(
    project: Workspace, tmp_path: Path, damage: tuple[int, bytes]
) -> None:
    some_events(project)
    write_back(project)
    project.close()
    small, large = tmp_path / "small.db", tmp_path / "large.db"
    for path, values in ((small, 10), (large, 3_000)):
        path.write_bytes((project.place / "journal.db").read_bytes())
        connection = apsw.Connection(str(path))
        connection.execute("PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF")
        number = "WITH RECURSIVE number (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM number WHERE n < ?)"
        insert = f"{number} INSERT INTO blob SELECT randomblob(16), randomblob(10000) FROM number"
        connection.execute(insert, (values,))
        connection.close()
        with open(path, "r+b") as file:
            file.seek(damage[0])
            file.write(damage[1])
        (tmp_path / path.stem).mkdir()
    assert large.stat().st_size > small.stat().st_size + 30 * MEGABYTE
    found, needed = measured(SALVAGE, small, tmp_path / "small")
    again, more = measured(SALVAGE, large, tmp_path / "large")
    assert found == again == 51
    assert more - needed < 8 * MEGABYTE


def a_store(root: Path, events: int, values: int) -> None:
    """A store with many small events, and many large values."""
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    chance = random.Random(1)
    with holdfast.open(root) as workspace:
        holdfast.init(workspace)
        run = holdfast.start(workspace, "goal").run.id
        for count, size in ((events, 150), (values, 15_000)):
            for first in range(0, count, 100):
                texts = [chance.randbytes(size).hex() for _ in range(min(100, count - first))]
                with workspace.writing() as journal:
                    journal.append(run, *(Draft("call.kept", {"call": text}) for text in texts))
        write_back(workspace)


@pytest.mark.long
@pytest.mark.promise(4)
def test_verify_and_repair_of_a_large_store_need_little_more_memory_than_of_a_small_one(tmp_path: Path) -> None:
    needed = {}
    for name, events, values in (("small", 2_000, 100), ("large", 60_000, 2_000)):
        root = tmp_path / name
        a_store(root, events, values)
        found, needed[name, "verify"] = measured(VERB, root, "verify")
        assert found == 0
        with open(root / ".git/holdfast/journal.db", "r+b") as file:
            file.write(b"x" * 100)
        found, needed[name, "repair"] = measured(VERB, root, "repair")
        assert found > 0
    print({f"{verb} of the {name} store": f"{size / MEGABYTE:.0f} MB" for (name, verb), size in needed.items()})
    for verb in ("verify", "repair"):
        assert needed["large", verb] - needed["small", verb] < GROWTH
