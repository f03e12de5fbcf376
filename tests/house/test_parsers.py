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
    "artifacts": ONLY_CALLS,
    "attending": "it reads one time that it wrote itself, and takes anything else for none",
    "bindings": "command of a workflow",
    "briefing": "it converts a record of ours back after secrets were taken out of it",
    "care.archive": "backup",
    "care.filling": "last tidying",
    "care.purging": "unfinished purge",
    "care.reshelving": "it reads objects that git has just written for us",
    "care.safekeeping": "it reads a part of a backup whose hash was proven",
    "choosing": "list of rows",
    "claude.client": "plugins of the client",
    "claude.gauge": "gauges",
    "claude.hookfile": "settings of the client",
    "claude.importing": "transcript",
    "claude.installing": "record of an installation",
    "claude.retelling": "lines of a transcript",
    "claude.transcript": "transcript",
    "cli.back": SAID,
    "cli.command": SAID,
    "cli.quick": SAID,
    "config": "settings of a project",
    "departed": "unfinished purge",
    "faber.clienthooks": "hooks of a plugin",
    "faber.critical": "workflow",
    "faber.finding": "glance at a state",
    "faber.records": "FABER state",
    "faber.statefile": ONLY_CALLS,
    "faber.summarising": "shown text",
    "faber.workflows": "workflow",
    "faces": "face",
    "git": GIT,
    "goteam.teamfaces": "written Go Team files",
    "goteam.teampurging": "written Go Team files",
    "goteam.teamwork": OURS,
    "grants": "grant",
    "history": OURS,
    "inside": "it opens files and looks for zero bytes in them",
    "intake": "kept call",
    "invocation": "command of a workflow",
    "journal": OURS,
    "jsonedit": "settings of the client",
    "later": OURS,
    "layouts.faber": "FABER state",
    "ledger": OURS,
    "observer": "typed command",
    "orchestrator.orchestra": "orchestrator session",
    "orchestrator.sessionfile": "session file",
    "packing": "stored body",
    "parcel": "exported run",
    "process": "line about a process",
    "projects": "claim",
    "receiving": "sealed run",
    "redaction.nesting": "hidden text",
    "redaction.redact": "hidden text",
    "rows": OURS,
    "salvage": "broken face",
    "searching": "search",
    "sources.repository": "git command of a workflow",
    "stamps": "FABER state",
    "stores.leaves": "page of the database",
    "stores.pages": "log of the database",
    "stores.plans": "it reads a plan that the same repair has just written",
    "stores.salvaging": "it reads damaged databases; tests/crash/test_damage.py damages them",
    "stores.sqlite_lists": OURS,
    "stores.sqlite_values": OURS,
    "worktree.beside": "list beside a tree",
    "worktree.pruning": "it compares an object with its id",
    "worktree.looking": "it reads files of the worktree as bytes",
    "worktree.objects": "pack index",
    "worktree.packfile": "pack",
    "worktree.reach": GIT,
    "worktree.remains": "damaged pack",
    "worktree.shadow": "memory of a worktree",
    "worktree.staging": "it reads objects that git has just written for us",
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
