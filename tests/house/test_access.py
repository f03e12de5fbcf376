"""Restricted access: few modules start processes, only the SQLite store has SQL, the hook imports next to nothing."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.project.workspace import Workspace
from holdfast.surfaces.hooks import entry
from tests.house.tree import Module, fitting, foreign_imports, modules, own_imports, texts, used_names
from tests.tools import ENTRY


def written(directory: Path, text: str) -> Module:
    """An offending module, to test that a rule detects it."""
    (directory / "written.py").write_text(text)
    return Module(directory / "written.py", directory)


# Processes

MAY_START_PROCESSES = {
    "system.process",
    "system.git.command",
    "ingest.detach",
    "surfaces.hooks.record",
    "project.artifacts.command",
    "system.pty.child",
    "system.pty.supervise",
}
STARTERS = ["subprocess*", "multiprocessing*", "concurrent.futures*", "pty*", "pexpect*", "asyncio*"]
CALLS = ["fork*", "exec*", "spawn*", "posix_spawn*", "system", "popen"]
STARTING_CALLS = ["psutil.Popen", *(f"{module}.{call}" for module in ("os", "posix") for call in CALLS)]


def starters(module: Module) -> set[str]:
    return fitting(foreign_imports(module), STARTERS) | fitting(used_names(module), STARTING_CALLS)


def test_only_these_modules_may_start_a_process() -> None:
    found = {name: starters(module) for name, module in modules().items()}
    assert {name: calls for name, calls in found.items() if calls and name not in MAY_START_PROCESSES} == {}


STARTING = [
    "import subprocess", "from subprocess import run", "import os\nos.fork()", "from os import execv",
    "os.posix_spawnp()", "import posix\nposix.fork()", "from multiprocessing.pool import Pool",
    "os.system('x')", "psutil.Popen()",
]  # fmt: skip


def test_starting_a_process_is_known_when_it_is_seen(tmp_path: Path) -> None:
    assert [text for text in STARTING if not starters(written(tmp_path, text))] == []


def exposed(module: Module) -> list[str]:
    """Commands that start Python without isolation, so that a project's modules could shadow ours."""
    lists = [node for node in ast.walk(module.tree) if isinstance(node, ast.List)]
    words = [[part.value for part in node.elts if isinstance(part, ast.Constant)] for node in lists]
    return [" ".join(map(str, found)) for found in words if "holdfast" in found and "-m" in found and "-I" not in found]


def test_our_own_module_is_never_looked_for_in_the_project() -> None:
    assert {name: found for name, module in modules().items() if (found := exposed(module))} == {}


def test_such_a_command_is_known_when_it_is_seen(tmp_path: Path) -> None:
    assert exposed(written(tmp_path, 'x = [sys.executable, "-m", "holdfast", "resume", run]')) == ["-m holdfast resume"]


# SQL

DATABASES = ["apsw*", "sqlite3*", "psycopg*", "asyncpg*", "sqlalchemy*"]
SQL = re.compile(
    r"\b(SELECT\s.+\sFROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|(CREATE|DROP|ALTER)\s+(VIRTUAL\s+)?TABLE"
    r"|PRAGMA\s|BEGIN\s+(IMMEDIATE|EXCLUSIVE)|ROLLBACK|COMMIT\b)",
    re.DOTALL,
)


def sql(module: Module) -> set[str]:
    spoken = {text for text in texts(module) if SQL.search(text)}
    return fitting(foreign_imports(module), DATABASES) | spoken


def _is_in_a_store(module: Module) -> bool:
    return len(module.place.parts) > 2 and module.folder == "journal"


def test_only_stores_know_sql() -> None:
    found = {name: sql(module) for name, module in modules().items() if not _is_in_a_store(module)}
    assert {name: spoken for name, spoken in found.items() if spoken} == {}


NAMES = re.compile(r"sqlite|apsw|journal\.db", re.IGNORECASE)


def test_only_the_journal_names_its_database() -> None:
    """Everything else reaches it through `open_store` and the Store protocol, as it would reach another one."""
    named = [name for name, module in modules().items() if module.folder != "journal" and NAMES.search(module.text)]
    assert named == []


def test_sql_is_known_when_it_is_seen() -> None:
    assert len(sql(modules()["journal.sqlite.transaction"])) > 10


# Modules that format a time by themselves, with the reason: all others use `clock.shown`.
TIMES = {
    "core.text": "the form in which times are printed, and that of other systems' files",
    "layouts.goteam.schema": "the form of Go Team's files",
    "maintenance.backup": "the contents of a backup",
    "journal.sqlite.migrations": "the contents of a backup",
    "surfaces.cli.runner": "HOLDFAST_LOG",
}


def test_times_are_printed_in_one_place() -> None:
    assert {module.name for module in modules().values() if "%H:%M" in module.text} == TIMES.keys()


def test_nobody_uses_the_standard_sqlite_beside_ours() -> None:
    """Two copies of SQLite in one process break each other's locks."""
    assert [name for name, module in modules().items() if fitting(foreign_imports(module), ["sqlite3*"])] == []


# The hook

# Modules that a hook loads besides its script. Their other imports are built into the interpreter.
HOOK = {f"holdfast.{name}" for name in entry.NAMES}
BUILT_IN = {*sys.builtin_module_names, "_frozen_importlib_external"}
# Modules that a hook may load in addition to those of `python -I -S -c pass`.
HOOK_LOADS: set[str] = set()


def test_the_hook_imports_only_what_is_built_in() -> None:
    for name in ("surfaces.hooks.entry", *entry.NAMES):
        assert foreign_imports(modules()[name]) <= BUILT_IN
        assert {f"holdfast.{other}" for other in own_imports(modules()[name])} <= HOOK


def loaded(*arguments: str, directory: Path) -> set[str]:
    """The modules that an interpreter loads, by its own report."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", *arguments],
        cwd=directory, env=dict(os.environ), input=b"{}", capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    lines = done.stderr.decode().splitlines()
    rows = [line.split("|") for line in lines if line.startswith("import time:") and "imported package" not in line]
    assert len(rows) > 5
    return {row[-1].strip() for row in rows}


@pytest.mark.promise(18)
def test_a_hook_call_loads_this_and_nothing_more(project: Workspace) -> None:
    bare = loaded("-c", "pass", directory=project.root)
    hook = loaded(str(ENTRY), "robot", "Did", directory=project.root)
    assert hook - bare == HOOK_LOADS
    assert len(os.listdir(project.inbox)) == 1, "the call was not kept, so this proves nothing"
