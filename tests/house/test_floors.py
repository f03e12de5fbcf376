"""Five floors, and imports only go down."""

from __future__ import annotations

import graphlib

import pytest

from holdfast.cli.verbs import VERBS

from .tree import modules, own_imports

# Each module may import only what stands before it in this table. A new module needs a place in it.
FLOORS = {
    "1 what things are": ["errors", "hashing", "ids", "text", "standing", "reason", "model"],
    "2 what follows from what": ["density", "stamps", "fence", "lifecycle", "searching", "wording", "suggesting", "delta", "narration", "ledger", "fill", "doings", "orchestrator", "orchestrator.crew", "steps", "goteam", "goteam.teamwork", "recovery", "goteam.teamfiles", "goteam.teammerging", "goteam.screens", "owning", "labels", "priming", "history", "spending", "markup", "joining", "recounting", "timeline", "retention", "observer", "conditions", "faber", "faber.origin", "faber.records", "goteam.teamreading", "goteam.teamedits", "orchestrator.orchestra", "orchestrator.following", "salvage", "orchestrator.bannering", "faber.critical", "faber.reporting", "faber.summarising"],
    "3 the world": [
        "spool", "inbox", "clock", "inside", "files", "sharing", "holding", "redaction", "redaction.ruleset", "redaction.linear", "redaction.encoded", "redaction.secretive", "redaction.harmless", "redaction.tokens", "redaction.extent", "redaction.judging", "redaction.contexts", "redaction.patterns", "redaction.marking", "redaction.showing", "redaction.sieve", "redaction.members", "redaction.nesting", "redaction.known", "generations", "redaction.redact", "redaction.unredact", "process", "packing", "departed", "places", "projects", "config", "intake",
        "worktree", "worktree.beside", "worktree.objects", "worktree.remains", "repository", "git", "worktree.headstart", "worktree.syncing", "worktree.filters", "worktree.paths", "worktree.borders", "worktree.watching", "worktree.gitlock", "worktree.vault", "worktree.looking", "worktree.staging", "worktree.shadow", "worktree.reach", "worktree.naming", "worktree.pruning", "care", "care.room", "worktree.aside", "worktree.kept", "worktree.putting", "worktree.packfile", "worktree.restoring", "worktree.sparing", "artifacts", "grants",
        "sources.protocol", "sources.command", "sources.directory", "sources.document", "sources.repository", "sources",
        "care.archive", "care.rotation", "care.mentions", "stores", "stores.protocol", "stores.queries", "stores.connecting", "stores.pages", "stores.copying", "stores.sqlite_values", "stores.reindexing", "stores.upgrading", "stores.sqlite_checks", "stores.sqlite_lists", "stores.sqlite_view", "stores.shrinking", "stores.scrubbing", "stores.sqlite", "stores.leaves", "stores.plans", "stores.salvaging", "stores.replacing",
        "agents.protocol", "agents.plain", "agents.claude", "agents", "layouts.protocol", "layouts.native", "layouts.faber", "layouts.orchestrator", "layouts.goteam", "layouts", "invocation", "bindings", "claude", "claude.transcript", "parcel", "claude.gauge", "claude.retelling", "rows", "journal",
        "hooking", "jsonedit", "faces", "claude.hookfile", "claude.installing", "faber.workflows", "claude.client", "claude.plugged", "faber.clienthooks",
    ],
    "4 what one can do": [
        "workspace", "care.filling", "care.originals", "care.rescan", "attending", "choosing", "filtering", "settling", "moving", "care.striking", "placing", "measuring", "taking", "adopting", "orchestrator.sessionfile", "orchestrator.projecting", "checkpointing", "bystanders", "refusing", "bearings", "goteam.ways", "goteam.stepping", "goteam.teamfaces", "goteam.teamtaking", "goteam.teaming", "goteam.teammending", "catchup", "verbs", "previewing", "trusting", "goteam.startup", "goteam.meaning", "recorder", "care.proving", "care.examining", "care.checking", "continuing", "returning", "goteam.pointing", "keeping", "care.thinning", "care.tidying", "faber.backups", "care.rebuilding", "care.reshelving", "care.mending", "care.safekeeping", "care.capping", "later", "saving", "leftovers", "briefing", "faber.finding", "faber.fetching", "faber.statefile", "faber.loading", "faber.parting", "faber.windows", "answering", "claude.importing", "receiving", "goteam.teampurging", "care.purging", "operations",
        "supervision", "supervision.child", "supervision.monitor", "supervision.relay", "supervision.supervisor", "operations.agent", "operations.backup", "operations.brief", "operations.budget", "operations.compressed", "operations.import_claude", "operations.import_run", "operations.checkpoint", "operations.checkpoints", "operations.cleanup", "operations.configure", "operations.decide", "operations.delete", "operations.discard", "operations.doctor", "operations.export", "operations.forget",
        "operations.guard", "operations.initialise", "operations.join", "operations.leave", "operations.look", "operations.note",
        "operations.past", "operations.pin", "operations.points", "operations.record", "operations.recover", "operations.rename", "operations.repair", "operations.restore", "operations.resume", "operations.rollback", "operations.run", "operations.runs", "operations.search", "operations.report", "operations.everywhere", "operations.save", "operations.scan", "operations.settle", "operations.sizes", "operations.start",
        "operations.status", "operations.step", "operations.sweep", "operations.switch", "operations.task", "operations.team", "operations.tidy", "operations.trust", "operations.uninstall", "operations.verify",
        "operations.session", "goteam.teamcommands", "operations.command", "observing",
    ],
    "5 how it is said": [
        "cli", "cli.verbs", "cli.words", "cli.progress", "cli.discretion", "cli.outcome", "cli.sizing", "cli.listing", "cli.ends", "cli.saying", "cli.telling", "cli.picker", "cli.command",
        "cli.agent", "cli.back", "cli.backup", "cli.brief", "cli.bring", "cli.context", "cli.care", "cli.find", "cli.go", "cli.look", "cli.observer", "cli.remove", "cli.resume", "cli.run", "cli.scan", "cli.session", "cli.settle", "cli.setup", "cli.show", "cli.status", "cli.step", "cli.team", "cli.tell", "cli.trust",
        "cli.app", "cli.quick", "statusline", "answer", "door", "__main__",
    ],
}  # fmt: skip
ORDER = [module for floor in FLOORS.values() for module in floor]
FLOOR_OF = {module: floor for floor, listed in FLOORS.items() for module in listed}
PUBLIC = "__init__"  # names only, each loaded when it is used; everybody may ask it for the version
LOADED_BY_NAME = {
    "cli.app": {f"cli.{verb.module}" for verb in VERBS.values()},
    "hashing": set[str](),  # a part of Python that not every Python has
}


def uses(name: str) -> set[str]:
    """What a module needs, written down or loaded by name."""
    return (own_imports(modules()[name]) | LOADED_BY_NAME.get(name, set())) - {PUBLIC}


def test_every_module_has_a_place_in_the_table_and_the_table_has_no_other() -> None:
    found = set(modules()) - {PUBLIC}
    assert len(set(ORDER)) == len(ORDER)
    assert found - set(ORDER) == set(), "these modules are new: give each its place in FLOORS"
    assert set(ORDER) - found == set(), "these modules are gone: take them out of FLOORS"


def test_imports_only_go_down() -> None:
    wrong = [
        f"{name} (floor {FLOOR_OF[name]}) imports {other} (floor {FLOOR_OF.get(other, '?')})"
        for place, name in enumerate(ORDER)
        for other in sorted(uses(name) - set(ORDER[:place]))
    ]
    assert wrong == []


def test_there_is_no_cycle() -> None:
    graph = {name: uses(name) for name in ORDER if name in modules()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(f"a cycle of imports: {' > '.join(error.args[1])}")


def test_the_package_itself_imports_nothing_of_its_own_before_it_is_used() -> None:
    assert own_imports(modules()[PUBLIC]) == set()


def test_modules_are_loaded_by_name_only_where_the_table_above_knows_it() -> None:
    loaders = {
        name for name, module in modules().items() if "import_module" in module.text or "__import__" in module.text
    }
    assert loaders == {PUBLIC, *LOADED_BY_NAME}
