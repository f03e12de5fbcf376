"""Critical artifacts: which a workflow declares, and which of them a load takes.

A declaration is read as leniently as it can be: what is malformed is passed over with a warning. `choose` is pure; the
dry run and the real load decide by the same function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from holdfast.core.errors import WorkflowError
from holdfast.core.text import one_line, sound_text
from holdfast.layouts.faber.session_records import BEGINNING, CUT, State
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
    """One artifact as a workflow declares it."""

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
    phase: str | None = None  # the only phase that it is for


class Choice(Struct):
    """Whether an artifact is loaded, and if not, why."""

    artifact: Declared
    load: bool
    why: str = ""


class Asked(Struct, frozen=True):
    """What a load is asked for."""

    trigger: str = BY_HAND
    only: tuple[str, ...] = ()
    force: bool = False
    phase: str | None = None


def read_declared(block: State, warnings: list[str]) -> list[Declared]:
    """Every artifact of a workflow's block, in order. One that is declared twice counts where it stands first."""
    found: dict[str, Declared] = {}
    for item, phase in _items(block, warnings):
        artifact = _read(item, phase, warnings)
        if artifact is None:
            continue
        if artifact.id in found:
            warnings.append(f"the artifact {artifact.id} is declared twice; the first declaration counts")
        found.setdefault(artifact.id, artifact)
    return list(found.values())


def _items(block: State, warnings: list[str]) -> Iterator[tuple[Any, str | None]]:
    for name in (ALWAYS, CONDITIONAL):
        yield from ((item, None) for item in _listed(block.get(name), name, warnings))
    phases = block.get("phase_specific")
    for phase, items in phases.items() if isinstance(phases, dict) else ():
        yield from ((item, phase) for item in _listed(items, f"phase_specific.{phase}", warnings))


def _listed(value: object, name: str, warnings: list[str]) -> list[Any]:
    if value is not None and not isinstance(value, list):
        warnings.append(f"{one_line(name, 60)} of the workflow is not a list; it is passed over")
    return value if isinstance(value, list) else []


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
    """Which artifacts are loaded now; each of the others with the reason."""
    unknown = [id for id in asked.only if id not in {artifact.id for artifact in declared}]
    if unknown:
        raise WorkflowError(
            "Unknown artifact",
            [
                ("Artifact", one_line(", ".join(unknown), 200)),
                ("Known", ", ".join(artifact.id for artifact in declared) or "none"),
            ],
            ["Check the artifact ids in the workflow config", "`holdfast session-load --dry-run` lists them"],
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
    from holdfast.layouts.faber import conditions  # few artifacts have one, and its language takes milliseconds to load

    try:
        return conditions.holds(condition, state)
    except conditions.NotACondition as error:
        shown = conditions.pointed(condition, error)
        warnings.append(f"the condition of {artifact.id} cannot be read, so it does not hold:\n{shown}")
        return False


def _is_triggered(artifact: Declared, asked: Asked) -> bool:
    """Whether an automatic load is for this artifact. What was asked for by hand is loaded whatever it says."""
    if asked.trigger == BY_HAND or not artifact.triggers:
        return True
    return any(wanted in artifact.triggers for wanted in _meant(asked))


def _meant(asked: Asked) -> Iterable[str]:
    if asked.trigger == CUT:  # a context that was compacted begins as empty as a new one
        return (CUT, BEGINNING)
    if asked.trigger == "phase_start":
        return (f"phase_start:{asked.phase}",)
    return (asked.trigger,)


def _age(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min"
