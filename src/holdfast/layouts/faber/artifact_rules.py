"""Critical artifacts: the declarations of a workflow, and the choice of those that a load takes.

Malformed declarations are skipped with a warning. A dry run and a load choose by the same pure function.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec import Struct

from holdfast.core.errors import WorkflowError
from holdfast.core.text import one_line, sound_text
from holdfast.layouts.faber.session_records import BEGINNING, CUT, State
from holdfast.layouts.json_file import object_of
from holdfast.project.artifacts.protocol import KINDS

ALWAYS, CONDITIONAL = "always_load", "conditional_load"
STRATEGIES = ("all", "latest_only", "summary")
BY_HAND = "manual"
PROTOCOL = "plugins/faber/docs/workflow-orchestration-protocol.md"
DEFAULTS: State = {
    ALWAYS: [
        {
            "id": "workflow-state",
            "type": "json",
            "path": ".fractary/faber/runs/{run_id}/state.json",
            "required": True,
            "description": "Current workflow state file",
        },
        {
            "id": "orchestration-protocol",
            "type": "markdown",
            "path": PROTOCOL,
            "description": "Workflow execution protocol",
        },
    ],
    CONDITIONAL: [
        {
            "id": "specification",
            "type": "markdown",
            "path_from_state": "artifacts.spec_path",
            "condition": "state.artifacts.spec_path != null",
            "description": "Technical specification",
        }
    ],
}


class Declared(Struct, frozen=True):
    id: str
    kind: str
    about: str = ""
    required: bool = False
    triggers: tuple[str, ...] = ()
    path: str | None = None
    path_from_state: str | None = None
    command: str | None = None
    condition: str | None = None
    strategy: str = "all"
    phase: str | None = None  # the only phase that loads it


class Choice(Struct):
    artifact: Declared
    load: bool
    why: str = ""


class Asked(Struct, frozen=True):
    trigger: str = BY_HAND
    only: tuple[str, ...] = ()
    force: bool = False
    phase: str | None = None


def read_declared(block: State, warnings: list[str]) -> list[Declared]:
    """List the artifacts of a workflow's block in order; the first declaration of an id counts."""
    phases = object_of(block.get("phase_specific"))
    lists: list[tuple[str, str | None, object]] = [(name, None, block.get(name)) for name in (ALWAYS, CONDITIONAL)]
    lists += [(f"phase_specific.{phase}", phase, items) for phase, items in phases.items()]
    found: dict[str, Declared] = {}
    for name, phase, items in lists:
        if items is not None and not isinstance(items, list):
            warnings.append(f"{one_line(name, 60)} of the workflow is not a list; it is passed over")
        for item in items if isinstance(items, list) else ():
            artifact = _read(item, phase, warnings)
            if artifact is not None and artifact.id in found:
                warnings.append(f"the artifact {artifact.id} is declared twice; the first declaration counts")
            elif artifact is not None:
                found[artifact.id] = artifact
    return list(found.values())


def _read(item: object, phase: str | None, warnings: list[str]) -> Declared | None:
    if not isinstance(item, dict) or not isinstance(item.get("id"), str) or not item["id"].strip():
        warnings.append("an artifact of the workflow has no id; it is passed over")
        return None
    id = one_line(item["id"], 80)
    kind = item.get("type")
    if kind not in KINDS:
        warnings.append(f"the artifact {id} has the unknown type {one_line(str(kind), 40)}; it is passed over")
        return None
    strategy = item.get("load_strategy")
    if strategy is not None and strategy not in STRATEGIES:
        warnings.append(f"the artifact {id} has an unknown load_strategy; all of it is loaded")
    triggers = item.get("reload_triggers")
    return Declared(
        id,
        kind,
        one_line(_text(item.get("description")) or "", 200),
        item.get("required") is True,
        tuple(found for found in triggers if isinstance(found, str)) if isinstance(triggers, list) else (),
        _text(item.get("path")),
        _text(item.get("path_from_state")),
        _text(item.get("command")),
        _text(item.get("condition")),
        strategy if strategy in STRATEGIES else "all",
        phase,
    )


def _text(value: object) -> str | None:
    return sound_text(value) if isinstance(value, str) and value.strip() else None


def choose(
    declared: list[Declared],
    state: State,
    asked: Asked,
    fresh_since: Callable[[str, datetime], datetime | None],
    now: datetime,
    warnings: list[str],
) -> list[Choice]:
    """Choose the artifacts to load, with a reason for each of the others."""
    unknown = [id for id in asked.only if id not in {artifact.id for artifact in declared}]
    if unknown:
        known = ", ".join(artifact.id for artifact in declared) or "none"
        hints = ["Check the artifact ids in the workflow config", "`holdfast session-load --dry-run` lists them"]
        raise WorkflowError(
            "Unknown artifact", [("Artifact", one_line(", ".join(unknown), 200)), ("Known", known)], hints
        )
    choices = []
    for artifact in declared:
        why = _unwanted(artifact, state, asked, warnings)
        if not why and not asked.force and (since := fresh_since(artifact.id, now)):
            why = f"loaded {_age(now - since)} ago in this session"
        choices.append(Choice(artifact, not why, why))
    return choices


def _unwanted(artifact: Declared, state: State, asked: Asked, warnings: list[str]) -> str:
    if asked.only and artifact.id not in asked.only:
        return "not asked for"
    if artifact.phase is not None and artifact.phase != asked.phase:
        return f"only for phase {one_line(artifact.phase, 40)}"
    if artifact.condition and not _holds(artifact, artifact.condition, state, warnings):
        return "its condition does not hold"
    if not asked.force and not _is_triggered(artifact, asked):
        return f"not loaded on {asked.trigger}"
    return ""


def _holds(artifact: Declared, condition: str, state: State, warnings: list[str]) -> bool:
    from holdfast.layouts.faber import conditions  # few artifacts have one, and the import takes milliseconds

    try:
        return conditions.holds(condition, state)
    except conditions.NotACondition as error:
        shown = conditions.pointed(condition, error)
        warnings.append(f"the condition of {artifact.id} cannot be read, so it does not hold:\n{shown}")
        return False


def _is_triggered(artifact: Declared, asked: Asked) -> bool:
    if asked.trigger == BY_HAND or not artifact.triggers:
        return True
    meant = {
        CUT: (CUT, BEGINNING),  # a compacted context is as empty as a new one
        "phase_start": (f"phase_start:{asked.phase}",),
    }
    return not set(artifact.triggers).isdisjoint(meant.get(asked.trigger, (asked.trigger,)))


def _age(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min"
