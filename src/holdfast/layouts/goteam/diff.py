"""Three-way merge of a Go Team file: events for the edits of another program.

The file as we wrote it, the file now, and the run are compared. A missing entry counts as removed only if the file was
made from a version of ours. Derived values, such as progress, are ignored and computed again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from holdfast.core.fold import team
from holdfast.core.model import Body, Draft, Run, Status, int_of, text_of, texts_of
from holdfast.core.text import LIMIT, one_line, parse_time
from holdfast.layouts.goteam import schema
from holdfast.layouts.goteam.merge import GIVEN, NAMED_BY
from holdfast.layouts.json_file import object_of, objects_of

EVENT = "holdfast_event"  # in the live state: the run's last event when it was written
VOLATILE = (
    "saved_at", "save_trigger", "updated_at", "auto_save", "git_branch", "git_state", "resumable",
    "auto_resume_enabled", EVENT,
)  # fmt: skip  # they change without an event of the run
SAYS = "somebody else's file says so"
PLACEHOLDER = re.compile(r"\[[^\]\n]*\]")  # `[from checkpoint 2]`: the value is in that file
MOVES = {
    "active": "run.resumed",
    "interrupted": "run.interrupted",
    "paused": "run.paused",
    "completed": "run.completed",
    "failed": "run.failed",
    "abandoned": "run.abandoned",
}
MOST_FIELDS, SHOWN = 100, 500
MOST_TASKS, MOST_ITEMS, MOST_ACTIONS = 1_000, 10_000, 1_000_000

Part = Callable[[Body, Body, Run, bool], Iterator[Draft]]


def drafts(name: str, before: Body, after: Body, run: Run, *, whole: bool = False) -> list[Draft]:
    """Return the events for an edit of a file. Entries that a `whole` file, made from ours, lacks were removed."""
    fields = list(changed(before, after))
    if whole:
        fields += [(f"{path} without", texts) for path, texts in _taken_out(before, after)]
    if not fields:
        return []
    shown = {one_line(path, 200): _shown(value) for path, value in fields[:MOST_FIELDS]}
    part = PARTS.get(name)
    return [Draft("face.edited", {"file": name, "fields": shown}), *(part(before, after, run, whole) if part else ())]


def known_part(name: str, before: Body, after: Body) -> Body:
    """The base for a copy that is older than our last write: only its additions are new."""
    if name == schema.MANIFEST:
        listed = [item for item in objects_of(after.get("checkpoints")) if isinstance(item.get("valid"), bool)]
        named = [item for item in listed if isinstance(item.get("id"), str)]
        return {**before, "topic": after.get("topic"), "checkpoints": named}
    outputs, given = of(before, "outputs"), of(after, "outputs")
    ours = {key: outputs[key] if isinstance(outputs[key], list) else given[key] for key in given if key in outputs}
    pending = of(before, "context").get("pending_tasks")
    return {**after, "context": {**of(after, "context"), "pending_tasks": pending}, "outputs": ours}


def changed(before: Body, after: Body, path: str = "") -> Iterator[tuple[str, Any]]:
    """The changed values among ours, and the new outputs and metrics."""
    for name, value in after.items():
        was = before.get(name)
        if name in VOLATILE or value == was:
            continue
        if name not in before:
            if path.rpartition(".")[2] in GIVEN and value is not None:
                yield _below(path, name), value
        elif isinstance(was, dict) and isinstance(value, dict):
            yield from changed(was, value, _below(path, name))
        elif name in NAMED_BY and isinstance(was, list) and isinstance(value, list):
            yield from _changed_entries(was, value, _below(path, name), NAMED_BY[name])
        elif not isinstance(was, list) or set(texts_of(value)) - set(texts_of(was)):
            yield _below(path, name), value


def _changed_entries(before: list[Any], after: list[Any], path: str, key: str) -> Iterator[tuple[str, Any]]:
    known = {item.get(key): item for item in before if isinstance(item, dict)}
    for item in after:
        id = item.get(key) if isinstance(item, dict) else None
        if isinstance(id, str) and id in known:
            yield from changed(known[id], item, _below(path, id))
        elif isinstance(id, str):
            yield _below(path, id), item


def _taken_out(before: Body, after: Body) -> Iterator[tuple[str, list[str]]]:
    for part, key in (("context", "pending_tasks"), *(("outputs", key) for key in of(after, "outputs"))):
        now = of(after, part).get(key)
        gone = (
            [item for item in texts_of(of(before, part).get(key)) if item not in now] if isinstance(now, list) else []
        )
        if gone:
            yield f"{part}.{key}", gone


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _shown(value: Any) -> Any:
    text = msgspec.json.encode(value).decode("utf-8", "replace")
    return value if len(text) <= SHOWN else one_line(text, SHOWN)


def _state(before: Body, after: Body, run: Run, whole: bool) -> Iterator[Draft]:
    was, now = of(before, "state"), of(after, "state")
    yield from _topic(was, now, run)
    yield from _step(was, now, run)
    counts = (("iterations", "max_iterations"), ("turns", "iteration_count"))
    loop = {key: now[name] for key, name in counts if name in now and now[name] != was.get(name)}
    if loop:
        yield Draft("loop.limited", loop)
    yield from live(before, after, run, whole)
    yield from _action(of(before, "context"), of(after, "context"), _since(after) - _since(before), run)
    yield from _status(of(was, "session"), of(now, "session"), run)


def live(before: Body, after: Body, run: Run, whole: bool = False) -> Iterator[Draft]:
    """The agent, breakpoint, metrics, outputs and tasks of a live state."""
    was, now = of(before, "state"), of(after, "state")
    agent = one_line(text_of(now.get("current_agent")), 100)
    if agent and agent != was.get("current_agent"):
        yield Draft("handoff.made", {"agent": agent})
    waits = now.get("breakpoint_active")
    if isinstance(waits, bool) and waits != was.get("breakpoint_active"):
        yield Draft("breakpoint.set", {"on": waits})
    yield from metrics(was, now)
    yield from outputs(of(before, "outputs"), of(after, "outputs"), run, whole)
    yield from _tasks(of(before, "context").get("pending_tasks"), of(after, "context").get("pending_tasks"), run, whole)


def _topic(was: Body, now: Body, run: Run) -> Iterator[Draft]:
    topic = one_line(text_of(now.get("topic")), 500)
    if topic and topic != was.get("topic") and topic != run.title:
        yield Draft("run.renamed", {"name": topic}) if run.name else Draft("goal.changed", {"goal": topic})


def _step(was: Body, now: Body, run: Run) -> Iterator[Draft]:
    """A step that another program started. Completion follows from checkpoints only."""
    word = next((now.get(key) for key in ("phase", "current_step") if now.get(key) != was.get(key)), None)
    if isinstance(word, bool) or not isinstance(word, (str, int, float)):
        return
    step, here = team.meant(run, str(word)).step, team.current(run)
    known = {*(found.name for found in run.steps), *team.BETWEEN.values()}
    if step in known and (here is None or step != here.name or here.status == "pending"):
        yield Draft("step.started", {"name": step, "agent": one_line(text_of(now.get("current_agent")), 100)})


def metrics(was: Body, now: Body) -> Iterator[Draft]:
    before = of(was, "metrics")
    for key, value in {**of(now, "quality_metrics"), **of(now, "metrics")}.items():
        if isinstance(value, (bool, int, float, str)) and (key not in before or value != before[key]):
            yield Draft("metric.given", {"key": key[:60], "value": value})


def outputs(was: Body, now: Body, run: Run, whole: bool = False) -> Iterator[Draft]:
    ours = schema.outputs_of(run)
    for key, value in now.items():
        if not team.KEY.fullmatch(key) or value == was.get(key):
            continue
        if isinstance(value, str) and value and not PLACEHOLDER.fullmatch(value):
            yield Draft("output.given", {"key": key, "text": value[: team.TEXT]})
        elif isinstance(value, list):
            before, mine = texts_of(was.get(key)), texts_of(ours.get(key))
            gone = {item for item in before if item not in value} if whole else set()
            new = [item for item in texts_of(value) if item not in before and item not in mine]
            items = [*(item for item in mine if item not in gone), *new]
            if items != mine:
                yield Draft("output.given", {"key": key, "items": items[:MOST_ITEMS]})


def _tasks(was: Any, now: Any, run: Run, whole: bool) -> Iterator[Draft]:
    pending, theirs, known = texts_of(was), texts_of(now), {task.text: task for task in run.open_tasks}
    new = [text for text in dict.fromkeys(theirs) if text not in pending and text not in known]
    yield from (Draft("task.added", {"text": text[:LIMIT]}) for text in new[:MOST_TASKS])
    for text in pending if whole and isinstance(now, list) else ():
        if text not in theirs and text in known:
            yield Draft("task.dropped", {"entry": known[text].id})


def _action(was: Body, now: Body, more: int, run: Run) -> Iterator[Draft]:
    """The last action, its place, and the number of actions that it stands for."""
    text, file, line = text_of(now.get("last_action")), text_of(now.get("current_file")), now.get("current_line")
    is_new = bool(text) and text != was.get("last_action")
    is_elsewhere = bool(file) and (file, line) != (was.get("current_file"), was.get("current_line"))
    if not is_new and not is_elsewhere:
        return
    body: Body = {"text": one_line(text or f"Works on {file}", 300), "actions": max(int(is_new), more)}
    if file:
        body |= {"files": [one_line(file, 500)], "line": line}
    yield Draft("action.taken", body)
    if run.status is Status.INTERRUPTED:  # a past action is no sign of life
        yield Draft("run.interrupted", {"evidence": run.evidence, "cause": run.cause})
    elif run.status is Status.PAUSED:
        yield Draft("run.paused", {"reason": run.status_reason})


def _since(document: Body) -> int:
    return int_of(of(document, "recovery_point").get("actions_since_checkpoint"), 0, MOST_ACTIONS) or 0


def _status(was: Body, now: Body, run: Run) -> Iterator[Draft]:
    theirs = text_of(now.get("status"))
    if theirs == was.get("status") or theirs == schema.word_of(run) or not run.status.is_open:
        return
    if kind := MOVES.get(theirs):
        yield Draft(kind, {"reason": SAYS})


def _entry(before: Body, after: Body, run: Run, whole: bool) -> Iterator[Draft]:
    yield from _topic(before, after, run)
    yield from _status(before, after, run)


def _manifest(before: Body, after: Body, run: Run, whole: bool) -> Iterator[Draft]:
    yield from _topic(before, after, run)
    known = {item["id"]: item for item in before["checkpoints"]}
    for item in objects_of(after.get("checkpoints")):
        id, valid = item.get("id"), item.get("valid")
        if isinstance(id, str) and id in known and isinstance(valid, bool) and valid != known[id]["valid"]:
            by = one_line(text_of(item.get("invalidated_by")), 100) or "its manifest"
            yield Draft("step.judged", {"id": id, "valid": valid, "by": by})
    yield from rollbacks(after.get("rollback_history"), run)


def rollbacks(records: Any, run: Run | None) -> Iterator[Draft]:
    """Rollbacks that another program has recorded and the run does not know."""
    known = {found.id for found in run.standing.rollbacks} if run else set()
    for item in objects_of(records)[-team.MOST_KEPT :]:
        id = item.get("id")
        if not isinstance(id, str) or not id or id in known:
            continue
        known.add(id)
        names = {key: one_line(text_of(item.get(key)), 120) or None for key in ("from_checkpoint", "to_checkpoint")}
        steps = {key: _label(item.get(key)) for key in ("from_step", "to_step")}
        told = one_line(text_of(item.get("reason")), 200) or "unknown"
        body: Body = {"id": id[:200], "reason": told, **names, **steps}
        if time := parse_time(item.get("timestamp")):
            body["time"] = time
        yield Draft("rollback.told", body)


def _label(step: Any) -> str | None:
    place, suffix = team.place_of(step)
    return f"{place:02d}{suffix}" if place else None


def of(document: Body, key: str) -> Body:
    return object_of(document.get(key))


PARTS: dict[str, Part] = {
    schema.STATE: _state,
    schema.MANIFEST: _manifest,
    schema.ROLLBACKS: lambda before, after, run, whole: rollbacks(after.get("history"), run),
    schema.REGISTRY: _entry,
}
