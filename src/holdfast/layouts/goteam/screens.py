"""The screens of the Go Team's document: started, resumable, recovery, resumed, completed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from holdfast.core.fold import team
from holdfast.core.model import Run, Status
from holdfast.core.recovery_options import CHECKPOINT, FRESH, LIVE, Option, interrupted_at, told_silent
from holdfast.core.text import count, one_line
from holdfast.layouts.goteam import schema
from holdfast.layouts.goteam.schema import stamp

RULE = "═" * 43
TITLES = {
    CHECKPOINT: "Resume from checkpoint",
    LIVE: "Resume from auto-save",
    FRESH: "Start fresh from step 1",
}
RESULTS = (("spec", "spec"), ("architecture", "architecture"), ("code_files", "code"))
MEASURED = ("build_pass", "test_coverage", "lint_clean", "security_passed")
WIDTHS = (2, 18, 21, 6, 11)
HEADS = ("#", "Session ID", "Topic", "Step", "Status")


def started_screen(run: Run, interval: float) -> Iterator[str]:
    yield from _head("GO TEAM SESSION STARTED")
    yield f"Session ID: {run.id}"
    yield f"Topic: {one_line(run.title, 120)}"
    yield ""
    yield f"Auto-save: Enabled (every {interval:g}s)"
    yield "Recovery: Available via *resume"
    yield ""
    yield "If session is interrupted, you can resume"
    yield f"with: *resume or *resume:{run.id}"
    yield RULE


def resumable_screen(runs: list[Run], silent: Mapping[str, datetime]) -> Iterator[str]:
    """The table of resumable sessions, with a warning for `silent` ones."""
    if not runs:
        return
    yield from _head("RESUMABLE SESSIONS FOUND")
    yield f"Found {len(runs)} session(s) that can be resumed:"
    yield ""
    yield from _table(runs, 1)
    yield from (told_silent(run.id, moment) for run in runs if (moment := silent.get(run.id)))
    yield ""
    yield "Commands:"
    yield f"- *resume         → Resume most recent ({runs[0].id})"
    yield "- *resume:1       → Resume session #1"
    yield f"- *resume:{_example(runs)}  → Resume by ID"
    yield "- *new            → Start new session (ignore above)"
    yield ""
    yield RULE


def others(runs: list[Run], first: int) -> Iterator[str]:
    """The table of the other sessions, numbered after the resumable ones."""
    if runs:
        yield "Other sessions:"
        yield ""
        yield from _table(runs, first)


def _example(runs: list[Run]) -> str:
    """The end of the last session's id if that is unambiguous, else the whole id."""
    ending = runs[-1].id.rpartition("-")[2]
    is_clear = ending and not ending.isdecimal() and sum(run.id.endswith(ending) for run in runs) == 1
    return ending if is_clear else runs[-1].id


def _table(runs: list[Run], first: int) -> Iterator[str]:
    yield _line("┌", "┬", "┐")
    yield _row(HEADS)
    yield _line("├", "┼", "┤")
    for number, run in enumerate(runs, first):
        step = f"{schema.current_number(run)}/{len(team.planned(run))}"
        yield _row((str(number), run.id, run.title, step, schema.word_of(run)))
    yield _line("└", "┴", "┘")


def recovery_screen(run: Run, options: list[Option], silent: datetime | None = None) -> Iterator[str]:
    """The ways to recover, with the loss of each; an active and `silent` run is only potentially interrupted."""
    yield from _head("SESSION RECOVERY")
    yield f"Session: {run.id}"
    yield f"Topic: {one_line(run.title, 120)}"
    yield f"Interrupted: {_interrupted(run, silent)}"
    yield f"Last step: {_step(run)}"
    if action := schema.last_action(run):
        yield f"Last action: {one_line(action, 120)}"
    yield ""
    yield "Recovery Options:"
    yield ""
    for number, option in enumerate(options, 1):
        mark = " (RECOMMENDED)" if option.recommended else ""
        yield f"[{number}] {TITLES[option.type]}{mark}"
        yield from (f"    └─ {line}" for line in _about(run, option))
        yield ""
    yield f"Enter choice [{'/'.join(str(number) for number in range(1, len(options) + 1))}]:"
    yield RULE


def _step(run: Run) -> str:
    step = team.current(run)
    return f"{schema.current_number(run)} - {one_line(step.name, 60) if step else '-'}"


def _interrupted(run: Run, silent: datetime | None) -> str:
    if silent:
        return f"potentially, silent since {stamp(silent)}"
    if run.status in (Status.CREATED, Status.ACTIVE):
        return f"no, it is active, last heard of {stamp(run.updated)}"
    return str(stamp(interrupted_at(run)))


def offer_screen(run: Run, options: list[Option]) -> Iterator[str]:
    """The ways to recover, for a user and an agent inside a client. It has no text of another program's files."""
    yield f"Go Team session {run.id} was interrupted and is not resumed yet. The user chooses by typing one of these:"
    for option in options:
        mark = " (RECOMMENDED)" if option.recommended else ""
        lost = f", data loss: {loss(option)}" if option.actions is not None else ""
        yield f"- `*resume {option.start_from}`: {option.description}{lost}{mark}"
    yield "Any other prompt goes on from the live state as it is."


def _about(run: Run, option: Option) -> Iterator[str]:
    if option.type == CHECKPOINT:
        yield f"Checkpoint: {option.target}"
    elif option.type == LIVE:
        yield f"Saved: {stamp(run.standing.saved or run.updated)}"
    yield f"Data loss: {loss(option)}"
    if option.type == CHECKPOINT and option.actions is not None:
        yield "Safe and reliable"
    elif option.type == LIVE and option.actions is None:
        yield "May have inconsistencies"
    elif option.type == FRESH:
        yield "Discard all progress"
        yield "Clean slate"


def loss(option: Option) -> str:
    if option.actions is None:
        return option.data_loss
    spent, changed = count(option.seconds or 0, "second"), f"{count(option.files, 'file')} would change"
    if option.type == LIVE:
        return "none: the journal has everything that was told"
    if option.type == FRESH:
        return f"{option.data_loss} ({count(option.actions, 'action')}, {spent})"
    lost = [option.data_loss] if option.actions or not option.files else []
    lost += [f"{spent} of work"] if option.seconds else []
    return ", ".join([*lost, changed] if option.files else lost)


def resumed_screen(run: Run, branch: str | None) -> Iterator[str]:
    outputs = schema.outputs_of(run)
    metrics = {**schema.UNMEASURED, **run.standing.metrics}
    given = ", ".join(f"{word} {'✓' if outputs.get(key) else '-'}" for key, word in RESULTS)
    yield from _head("✓ SESSION RESUMED")
    yield f"Session: {run.id}"
    yield f"Recovered from: {run.standing.recovered or LIVE}"
    yield f"Current step: {_step(run)}"
    yield ""
    yield "State restored:"
    yield f"- Topic: {one_line(run.title, 120)}"
    yield f"- Outputs: {given}"
    yield f"- Metrics: build={_word(metrics['build_pass'])}, coverage={_word(metrics['test_coverage'])}%"
    yield ""
    yield f"Git branch: {one_line(branch or 'none', 120)}"
    yield ""
    yield "Ready to continue. Press [Enter] to proceed..."
    yield RULE


def completed_screen(run: Run) -> Iterator[str]:
    metrics = {**dict.fromkeys(MEASURED, "not measured"), **run.standing.metrics}
    coverage = metrics["test_coverage"]
    spent = run.status_since - run.created if run.status_since and run.created else None
    yield from _head("✓ SESSION COMPLETED")
    yield f"Session: {run.id}"
    yield f"Topic: {one_line(run.title, 120)}"
    yield f"Duration: {str(spent).partition('.')[0] if spent is not None else 'unknown'}"
    yield ""
    yield "Final metrics:"
    yield f"- Build: {_word(metrics['build_pass'], 'PASS', 'FAIL')}"
    yield f"- Coverage: {_word(coverage)}{'' if isinstance(coverage, str) else '%'}"
    yield f"- Lint: {_word(metrics['lint_clean'], 'CLEAN', 'NOT CLEAN')}"
    yield f"- Security: {_word(metrics['security_passed'], 'PASSED', 'FAILED')}"
    yield ""
    yield "Session data retained for reference."
    yield f"Use *session-info:{run.id} to view details."
    yield RULE


def _word(value: object, yes: str = "true", no: str = "false") -> str:
    return one_line(str(value), 40) if not isinstance(value, bool) else yes if value else no


def _head(title: str) -> Iterator[str]:
    yield from (RULE, title, RULE, "")


def _line(left: str, middle: str, right: str) -> str:
    return left + middle.join("─" * (width + 2) for width in WIDTHS) + right


def _row(cells: tuple[str, ...]) -> str:
    filled = [one_line(cell, width).ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)]
    return f"│ {' │ '.join(filled)} │"
