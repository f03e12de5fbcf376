"""Every module that reads what others may have written is fuzzed, or the table says why not."""

from __future__ import annotations

import ast

from tests.hostile.parsers import PARSERS
from tests.hostile.parsers_on_disk import ON_DISK

from .tree import Module, fitting, functions, modules

READERS = [
    *("json.load*", "msgspec.json.decode", "msgspec.json.Decoder", "msgspec.msgpack.decode", "msgspec.convert"),
    *("tomllib.load*", "tomlkit.parse", "shlex.split", "struct.unpack*", "zlib.decompress*", "*.fromisoformat"),
    *("bytes.fromhex", "intake.decode", "*.frombuf"),
]
NAMES = ("parse", "read_", "decode", "tokenise", "unpack", "salvage", "terms")

OURS = "it reads rows and values that the journal wrote, each with a checksum; tests/crash damages them"
GIT = "it reads what our own git calls answer"
SAID = "it reads arguments; test_fuzz.py fuzzes whole lines of them"
ONLY_CALLS = "it only calls a parser that is in this table"

# module: what fuzzes it, by name; or a reason, which begins with `it`
FUZZED = {
    "adopting": "seen files of FABER",
    "agents.claude": "payload of a hook",
    "agents.plain": "payload of a hook",
    "agents.protocol": "it is a protocol",
    "answer": ONLY_CALLS,
    "archive": "backup",
    "artifacts": ONLY_CALLS,
    "attending": "it reads one time that it wrote itself, and takes anything else for none",
    "beside": "list beside a tree",
    "briefing": "it converts a record of ours back after secrets were taken out of it",
    "choosing": "list of rows",
    "cli.back": SAID,
    "cli.command": SAID,
    "cli.quick": SAID,
    "bindings": "command of a workflow",
    "client": "plugins of the client",
    "config": "settings of a project",
    "critical": "workflow",
    "departed": "unfinished purge",
    "faces": "face",
    "filling": "last tidying",
    "finding": "glance at a state",
    "gauge": "gauges",
    "git": GIT,
    "grants": "grant",
    "history": OURS,
    "hookfile": "settings of the client",
    "importing": "transcript",
    "inside": "it opens files and looks for zero bytes in them",
    "installing": "record of an installation",
    "intake": "kept call",
    "invocation": "command of a workflow",
    "journal": OURS,
    "jsonedit": "settings of the client",
    "layouts.faber": "FABER state",
    "ledger": OURS,
    "looking": "it reads files of the worktree as bytes",
    "objects": "pack index",
    "observer": "typed command",
    "orchestra": "orchestrator session",
    "packfile": "pack",
    "packing": "stored body",
    "parcel": "exported run",
    "process": "line about a process",
    "projects": "claim",
    "purging": "unfinished purge",
    "reach": GIT,
    "receiving": "sealed run",
    "records": "FABER state",
    "nesting": "hidden text",
    "redact": "hidden text",
    "remains": "damaged pack",
    "reshelving": "it reads objects that git has just written for us",
    "retelling": "lines of a transcript",
    "rows": OURS,
    "safekeeping": "it reads a part of a backup whose hash was proven",
    "salvage": "broken face",
    "searching": "search",
    "sessionfile": "session file",
    "shadow": "memory of a worktree",
    "sources.repository": "git command of a workflow",
    "staging": "it reads objects that git has just written for us",
    "statefile": ONLY_CALLS,
    "stores.leaves": "page of the database",
    "stores.plans": "it reads a plan that the same repair has just written",
    "stores.pages": "log of the database",
    "stores.salvaging": "it reads damaged databases; tests/crash/test_damage.py damages them",
    "stores.sqlite_lists": OURS,
    "stores.sqlite_values": OURS,
    "summarising": "shown text",
    "teamfaces": "written Go Team files",
    "teampurging": "written Go Team files",
    "teamwork": OURS,
    "transcript": "transcript",
    "workflows": "workflow",
}
ALSO = {  # parsers that no module above stands for alone
    *("git file", "HEAD", "packed refs", "git configuration", "alternates", "difference", "stored difference", "id"),
    "index of a damaged pack",
    *("Go Team file", "settings of the user", "settings that are changed", "settings that call us"),
    *("workflow that waits", "condition", "troubles of hooks", "projects of the client", "written session file"),
}


def parses(module: Module) -> bool:
    calls = {ast.unparse(node.func) for node in ast.walk(module.tree) if isinstance(node, ast.Call)}
    named = [function.name for function in functions(module) if function.name.startswith(NAMES)]
    return bool(fitting(calls, READERS) or named)


def test_every_module_that_parses_is_fuzzed_or_says_why_not() -> None:
    assert {name for name, module in modules().items() if parses(module)} <= set(FUZZED)
    assert set(FUZZED) <= set(modules())


def test_every_name_in_the_table_is_a_parser_that_is_fuzzed() -> None:
    known = {*PARSERS, *ON_DISK}
    assert {what for what in FUZZED.values() if not what.startswith("it ")} | ALSO == known


def test_a_module_that_parses_is_known_when_it_is_seen() -> None:
    assert parses(modules()["jsonedit"])
    assert not parses(modules()["markup"])
