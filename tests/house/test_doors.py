"""Who may do what: members of a shelf stand alone, rooms use the rooms before them, few start processes, only stores
speak SQL, the hook is bare."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.cli.verbs import VERBS
from holdfast.workspace import Workspace
from tests.tools import INBOX

from .tree import Module, fitting, foreign_imports, modules, own_imports, texts, used_names

# A shelf holds several of one kind. shelf: the modules on it that the others may import
SHARED = {
    "operations": set[str](),
    "agents": {"protocol"},
    "stores": {
        "connecting",
        "copying",
        "leaves",
        "pages",
        "protocol",
        "queries",
        "reindexing",
        "scrubbing",
        "sqlite",
        "sqlite_checks",
        "sqlite_lists",
        "sqlite_values",
        "sqlite_view",
        "upgrading",
    },
    "layouts": {"protocol"},
    "sources": {"protocol"},
    "cli": {
        "command",
        "ends",
        "listing",
        "discretion",
        "outcome",
        "picker",
        "telling",
        "progress",
        "saying",
        "sizing",
        "verbs",
        "words",
    },
}
# A room holds one subject, and its modules use each other. It uses only the rooms that stand before it.
ROOMS = ("redaction", "worktree", "claude", "faber", "orchestrator", "goteam", "supervision", "care")
# that is what these are for
COLLECTORS = {"agents", "layouts", "sources", "cli.app", "cli.quick", "operations.command", "operations.session"}


def members() -> list[str]:
    shared = {f"{folder}.{name}" for folder, names in SHARED.items() for name in names}
    on_shelves = [name for name in modules() if "." in name and modules()[name].folder in SHARED]
    return [name for name in on_shelves if name not in shared | COLLECTORS]


def written(directory: Path, text: str) -> Module:
    """A module that somebody could write, to see that a rule sees it."""
    (directory / "written.py").write_text(text)
    return Module(directory / "written.py", directory)


def test_every_folder_is_a_shelf_or_a_room() -> None:
    assert {module.folder for module in modules().values()} - {""} == {*SHARED, *ROOMS}
    assert set(SHARED) & set(ROOMS) == set()


def siblings(name: str) -> set[str]:
    """What a member imports from its own folder, and should not."""
    folder = modules()[name].folder
    allowed = {f"{folder}.{other}" for other in SHARED[folder]} | {folder}
    return {found for found in own_imports(modules()[name]) if found.partition(".")[0] == folder} - allowed


def test_members_of_one_shelf_do_not_import_each_other() -> None:
    assert {name: found for name in members() if (found := siblings(name))} == {}


def later_rooms(name: str) -> set[str]:
    """What a module of a room imports from rooms that stand behind its own."""
    behind = ROOMS[ROOMS.index(modules()[name].folder) + 1 :]
    return {found for found in own_imports(modules()[name]) if found.partition(".")[0] in behind}


def test_a_room_uses_only_the_rooms_before_it() -> None:
    inside = [name for name, module in modules().items() if module.folder in ROOMS]
    assert len(inside) > 2 * len(ROOMS)
    assert {name: found for name in inside if (found := later_rooms(name))} == {}


def test_every_command_module_is_a_member() -> None:
    assert {f"cli.{verb.module}" for verb in VERBS.values()} <= set(members())


# Processes

MAY_START_PROCESSES = {
    "process",
    "git",
    "spool",
    "sources.command",
    "supervision.monitor",
    "supervision.relay",
    "supervision.supervisor",
}
STARTERS = ["subprocess*", "multiprocessing*", "concurrent.futures*", "pty*", "pexpect*", "asyncio*"]
CALLS = ["fork*", "exec*", "spawn*", "posix_spawn*", "system", "popen"]
STARTING_CALLS = ["psutil.Popen", *(f"{module}.{call}" for module in ("os", "posix") for call in CALLS)]


def starters(module: Module) -> set[str]:
    return fitting(foreign_imports(module), STARTERS) | fitting(used_names(module), STARTING_CALLS)


def test_only_these_modules_may_start_a_process() -> None:
    found = {name: starters(module) for name, module in modules().items()}
    assert {name: calls for name, calls in found.items() if calls and name not in MAY_START_PROCESSES} == {}


@pytest.mark.parametrize(
    "text",
    ["import subprocess", "from subprocess import run", "import os\nos.fork()", "from os import execv",
     "os.posix_spawnp()", "import posix\nposix.fork()", "from multiprocessing.pool import Pool",
     "os.system('x')", "psutil.Popen()"],
)  # fmt: skip
def test_starting_a_process_is_known_when_it_is_seen(tmp_path: Path, text: str) -> None:
    assert starters(written(tmp_path, text)) != set()


def exposed(module: Module) -> list[str]:
    """Commands that start Python in a place where a project's modules come before ours."""
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


def test_only_stores_know_sql() -> None:
    found = {name: sql(module) for name, module in modules().items() if module.folder != "stores"}
    assert {name: spoken for name, spoken in found.items() if spoken} == {}


def test_sql_is_known_when_it_is_seen() -> None:
    assert len(sql(modules()["stores.sqlite_view"])) > 10


# Modules that format a time by themselves, and why: all others print it with `stamps.shown` or `clock.shown`.
TIMES = {
    "stamps": "the form in which times are printed, and that of other systems' files",
    "goteam.teamfiles": "the form of Go Team's files",
    "goteam.teamreading": "an event that is stored, in UTC",
    "care.safekeeping": "the contents of a backup",
    "stores.upgrading": "the contents of a backup",
    "cli.outcome": "HOLDFAST_LOG",
}


def test_times_are_printed_in_one_place() -> None:
    assert {module.name for module in modules().values() if "%H:%M" in module.text} == TIMES.keys()


def test_nobody_uses_the_standard_sqlite_beside_ours() -> None:
    """Two copies of SQLite in one process break each other's locks."""
    assert [name for name, module in modules().items() if fitting(foreign_imports(module), ["sqlite3*"])] == []


# The hook

# All that the hook's door and what it runs may name. Each is built into the interpreter.
HOOK_IMPORTS = {"inbox": {"posix", "sys", "_frozen_importlib_external"}, "spool": {"posix", "sys", "time", "_signal"}}
# What a hook loads beyond what `python -I -S -c pass` has loaded anyway.
HOOK_LOADS: set[str] = set()


@pytest.mark.parametrize("name", HOOK_IMPORTS)
def test_the_hook_imports_only_what_is_built_in(name: str) -> None:
    assert foreign_imports(modules()[name]) == HOOK_IMPORTS[name]
    assert own_imports(modules()[name]) == set()
    built_in = {*sys.builtin_module_names, "_frozen_importlib_external"}
    assert built_in >= HOOK_IMPORTS[name]


def loaded(*arguments: str, directory: Path) -> set[str]:
    """The modules that an interpreter loads, as it says itself."""
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
    hook = loaded(str(INBOX), "robot", "Did", directory=project.root)
    assert hook - bare == HOOK_LOADS
    assert len(os.listdir(project.inbox)) == 1, "the call was not kept, so this proves nothing"
