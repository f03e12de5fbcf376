"""Coverage of the fuzzing: each module that parses foreign input is fuzzed, or the table gives the reason why not."""

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

# module: names of its fuzz targets, or a reason, which begins with `it`
FUZZED = {
    "layouts.faber.reconcile": "seen files of FABER",
    "agents.claude.events": "payload of a hook",
    "system.locate": "git file",
    "agents.protocol": "payload of a hook",
    "surfaces.hooks.handle_call": ONLY_CALLS,
    "project.artifacts.declared": ONLY_CALLS,
    "project.sessions": "it reads one time that it wrote itself, and takes anything else for none",
    "project.briefs": "it converts a record of ours back after secrets were taken out of it",
    "journal.backup_file": "backup",
    "project.quota": "last tidying",
    "maintenance.purge": "unfinished purge",
    "maintenance.repair.packs": "it reads objects that git has just written for us",
    "maintenance.backup": "it reads a part of a backup whose hash was proven",
    "project.runs.select": "list of rows",
    "agents.claude.installed": "plugins of the client",
    "project.context_windows": "gauges",
    "agents.claude.settings_file": "settings of the client",
    "agents.install": "record of an installation",
    "agents.claude.transcript_events": "lines of a transcript",
    "agents.claude.transcript": "transcript",
    "agents.jsonl": "transcript",
    "ingest.import_conversations": "transcript",
    "surfaces.cli.parser": SAID,
    "operations.parameters": SAID,
    "surfaces.cli.app": SAID,
    "project.settings": "settings of a project",
    "project.runs.tombstones": "unfinished purge",
    "layouts.faber.client_hooks": "hooks of a plugin",
    "layouts.faber.artifact_rules": "workflow",
    "layouts.faber.session_records": "FABER state",
    "layouts.faber.files": "glance at a state",
    "layouts.faber.artifact_loader": "shown text",
    "layouts.faber.workflows": "workflow",
    "layouts.json_file": "face",
    "layouts.memory": "seen files of FABER",
    "system.git.command": GIT,
    "layouts.goteam.files": "written Go Team files",
    "core.fold.team": OURS,
    "project.trust": "grant",
    "core.model": OURS,
    "system.safe_paths": "it opens files and looks for zero bytes in them",
    "project.inbox": "kept call",
    "journal.journal": OURS,
    "core.formats.json_edit": "settings of the client",
    "maintenance.background": OURS,
    "layouts.faber.schema": "FABER state",
    "core.chat_commands": "typed command",
    "layouts.orchestrator.schema": "orchestrator session",
    "layouts.orchestrator.files": "session file",
    "journal.codec": "stored body",
    "project.transfer.bundle": "exported run",
    "system.process": "line about a process",
    "project.known_projects": "claim",
    "project.transfer.import_plan": "sealed run",
    "redaction.json_values": "hidden text",
    "redaction.redactor": "hidden text",
    "core.formats.json_salvage": "broken face",
    "core.search_terms": "search",
    "project.artifacts.git_info": "git command of a workflow",
    "core.text": "FABER state",
    "journal.sqlite.page_checksums": "log of the database",
    "journal.sqlite.rebuild": "it reads a plan that the same repair has just written",
    "journal.sqlite.salvage": "page of the database",
    "journal.sqlite.transaction": OURS,
    "worktree.metadata": "list beside a tree",
    "worktree.packs.prune": "it compares an object with its id",
    "worktree.scan": "it reads files of the worktree as bytes",
    "system.git.repository": "pack index",
    "worktree.packs.portable": "pack",
    "worktree.packs.reachability": GIT,
    "worktree.packs.salvage": "damaged pack",
    "worktree.capture": "memory of a worktree",
    "worktree.user_index": "it reads objects that git has just written for us",
}
ALSO = {  # fuzz targets of parsers that span modules
    *("HEAD", "packed refs", "git configuration", "alternates", "difference", "stored difference", "id"),
    "index of a damaged pack",
    *("Go Team file", "settings of the user", "settings that are changed", "settings that call us"),
    *("workflow that waits", "condition", "troubles of hooks", "projects of the client", "written session file"),
    *("catalog of a marketplace", "command of a workflow"),
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
    assert parses(modules()["core.formats.json_edit"])
    assert not parses(modules()["core.untrusted_text"])
