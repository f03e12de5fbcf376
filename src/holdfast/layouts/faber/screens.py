"""The reports of a load and a save, in the words of FABER's documents. Their marks, such as ✓, are only decoration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from holdfast.core.text import one_line, visible
from holdfast.core.untrusted_text import age
from holdfast.layouts import results
from holdfast.layouts.faber import NAME
from holdfast.layouts.results import DRAWN, ArtifactReport as ArtifactReport, Marks

TICKS = re.compile(r"`+")
LOADED, SKIPPED, LEFT_OUT, MISSING, NOT_RUN = "loaded", "skipped", "left out", "missing", "not run"
INSIDE = (LOADED, LEFT_OUT, NOT_RUN)  # outcomes with a content
TITLE = 300  # characters beside a fence
UNCHANGED = ("", "   No changes made to state.json")


class Reloaded(results.Reloaded):
    layout = NAME


class SessionSaved(results.SessionSaved):
    layout = NAME


def load_screen(found: results.Reloaded, marks: Marks, now: datetime) -> list[str]:
    lines = dry_report(found, marks) if found.dry_run else report(found, marks)
    for artifact in told_artifacts(found):
        lines += ["", fenced(artifact, now)]
    return lines


def report(found: results.Reloaded, marks: Marks = DRAWN) -> list[str]:
    """The four blocks of a load, and blocks for artifacts that were not loaded."""
    loaded = _of(found, LOADED)
    lines = [
        f"{marks.good}Context reloaded for run: {found.run}",
        f"  Workflow: {found.workflow}",
        f"  Run status: {found.status}",
        "",
        f"Artifacts loaded ({len(loaded)}):",
        *(f"  {marks.good}{' - '.join(filter(None, (made.id, made.description)))}" for made in loaded),
    ]
    for title, outcomes in (("skipped", (SKIPPED,)), ("not loaded", (LEFT_OUT, MISSING)), ("not run", (NOT_RUN,))):
        others = [artifact for outcome in outcomes for artifact in _of(found, outcome)]
        if others:
            lines += ["", f"Artifacts {title} ({len(others)}):"]
            lines += [f"  - {artifact.id} - {artifact.why}" for artifact in others]
    session = found.session
    where = f"{session.host} ({session.platform})" if session.platform else session.host
    lines += ["", "Session tracking:", f"  Current session: {session.id or 'none: the state file is not written'}"]
    if session.closed:
        lines.append(f"  Previous session: {session.closed} (closed: {session.closed_because})")
    lines += [f"  Total sessions: {session.total}", f"  Environment: {where}"]
    lines += ["", "Context metadata:", f"  Last reload: {found.last_reload or 'never'}"]
    return [*lines, f"  Total reloads: {found.reloads}"]


def dry_report(found: results.Reloaded, marks: Marks = DRAWN) -> list[str]:
    wanted = [artifact for artifact in found.artifacts if artifact.outcome != SKIPPED]
    skipped = _of(found, SKIPPED)
    lines = [f"Would reload context for run: {found.run}", f"Workflow: {found.workflow}", ""]
    lines.append("Artifacts that would be loaded:")
    for artifact in wanted:
        lines += [f"  {marks.good if artifact.outcome == LOADED else '- '}{artifact.id}", *_details(artifact), ""]
    if not wanted:
        lines += ["  none", ""]
    if skipped:
        lines.append("Artifacts that would be skipped:")
        for artifact in skipped:
            lines += [f"  - {artifact.id}", *_details(artifact), ""]
    loadable = [artifact for artifact in wanted if artifact.outcome == LOADED]
    lines.append(f"Total: {len(wanted)} artifact{'' if len(wanted) == 1 else 's'} ({len(loadable)} loadable)")
    return [*lines, f"Estimated context size: {kilobytes(sum(artifact.size or 0 for artifact in loadable))}"]


def _details(artifact: ArtifactReport) -> Iterator[str]:
    yield f"    Type: {artifact.kind}"
    for name, value in (
        ("Path", artifact.path),
        ("Path from state", artifact.path_from_state),
        ("Command", artifact.command),
        ("Resolved", artifact.resolved if artifact.resolved not in (artifact.path, artifact.command) else None),
        ("Condition", artifact.condition),
    ):
        if value:
            yield f"    {name}: {one_line(value, 300)}"
    yield f"    Required: {'yes' if artifact.required else 'no'}"
    if artifact.exists is not None:
        yield f"    Exists: {'yes' if artifact.exists else 'no'}"
    if artifact.size is not None:
        yield f"    Size: {kilobytes(artifact.size)}"
    if artifact.why:
        yield f"    {'Skipped' if artifact.outcome == SKIPPED else 'Not loaded'}: {artifact.why}"


def told_artifacts(found: results.Reloaded) -> list[ArtifactReport]:
    return [artifact for artifact in found.artifacts if artifact.outcome in INSIDE and artifact.content is not None]


def fenced(artifact: ArtifactReport, now: datetime) -> str:
    """The text of an artifact in a fence that it cannot close, with id, path and age."""
    text = visible(artifact.content or "")
    fence = "`" * max(3, 1 + max(map(len, TICKS.findall(text)), default=0))
    title = f"{artifact.id} {artifact.resolved or artifact.command or ''}".replace("`", "'")
    return f"{fence} {one_line(title, TITLE)}{age(artifact.changed or now, now)}\n{text.rstrip()}\n{fence}"


def save_screen(found: results.SessionSaved, marks: Marks) -> list[str]:
    if not found.why:
        phases = [*found.phases, *(f"{name} (partial)" for name in found.in_progress)]
        number = len(found.artifacts)
        names = f" ({', '.join(found.artifacts)})" if number else ""
        return [
            f"{marks.good}Session ended and saved",
            f"  Session ID: {found.session}",
            f"  Reason: {found.reason}",
            f"  Duration: {duration(found.seconds)}",
            f"  Phases completed: {', '.join(phases) or 'none'}",
            f"  Artifacts loaded: {number}{names}",
        ]
    return _nothing_saved(found, marks)


def _nothing_saved(found: results.SessionSaved, marks: Marks) -> list[str]:
    warn, id = f"{marks.warn}{' ' if marks.warn else ''}", f"   Session ID: {found.session}"
    reports = {
        "no workflow": [
            f"{marks.news}No active workflow found",
            "   No session to end.",
            "",
            "Possible reasons:",
            "- No workflow is currently running in this worktree",
            "- The .fractary/faber/runs/.active-run-id file doesn't exist",
            "- Workflow already completed",
            "",
            "To start a new workflow:",
            "  /fractary-faber:workflow-run --work-id <work-id>",
        ],
        "already": [f"{warn}Session already ended", id, f"   Ended at: {found.ended}", *UNCHANGED],
        "none": [f"{warn}No current session to end", f"   Run ID: {found.run}"],
        "other": [f"{warn}The open session belongs to another conversation", id, *UNCHANGED],
        "elsewhere": [
            f"{warn}No session was open on this host in this worktree",
            id,
            f"   Opened in: {found.origin}",
            f"   Closed as {found.reason}, with its last sign of life as its end: {found.ended}",
        ],
    }
    return reports[found.why]


def kilobytes(size: int) -> str:
    return f"{size / 1024:,.1f} KB" if size < 1024 * 1024 else f"{size / 1024 / 1024:,.1f} MB"


def duration(seconds: float | None) -> str:
    """`2 hours 15 minutes`; the two largest units."""
    if seconds is None:
        return "unknown"
    whole = int(seconds)
    units = [("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)]
    parts = []
    for name, size in units:
        number, whole = divmod(whole, size)
        if number:
            parts.append(f"{number:,} {name}{'' if number == 1 else 's'}")
    return " ".join(parts[:2]) or "0 seconds"


def _of(found: results.Reloaded, outcome: str) -> list[ArtifactReport]:
    return [artifact for artifact in found.artifacts if artifact.outcome == outcome]
