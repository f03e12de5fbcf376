"""Rewind: go back to the worktree as it was when a prompt was given, selected from a list of prompts."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.model import Checkpoint, Event
from holdfast.core.question import Choose, Instead
from holdfast.core.text import count, one_line
from holdfast.operations.parameters import YES, DryRun, RunName, argument
from holdfast.operations.restore import Restored, restore
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.checkpoints import describe
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.checkpoints.line_counts import count_lines
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system.clock import ago

CHOICES = 200  # prompts from which one can be chosen
WIDTH = 80


def _ask_which(workspace: Workspace, given: Arguments, can_ask: bool) -> Choose | Instead | None:
    """Which prompt; then `restore` shows its plan and asks whether to go back."""
    if "prompt" not in given:
        return _prompts(workspace, given.get("run"))
    more = {name: value for name, value in given.items() if name in ("dry_run", "yes")}
    with workspace.reading() as journal:
        target = select.get_at_prompt(workspace, journal, _name(given["prompt"]), given.get("run"))
    return Instead("restore", {**more, "checkpoint": target.id})


@verb(
    group=Group.BACK,
    example="holdfast rewind",
    about="go back to when a prompt was given, from a list of prompts",
    options=(YES,),
    asks=_ask_which,
)
def rewind(
    workspace: Workspace,
    prompt: Annotated[str | None, argument(metavar="[N]")] = None,
    *,
    run: RunName = None,
    dry_run: DryRun = False,
) -> Restored:
    """Make the worktree equal to what it was when a prompt of the run was given. `holdfast undo` takes it back.

    Without a number it lists the prompts, newest first, with what changed after each. Changes that a shell made count.
    """
    if prompt is None:
        raise WrongUsage("Name a prompt by its number", [], ["`holdfast rewind` lists them"])
    with workspace.reading() as journal:
        target = select.get_at_prompt(workspace, journal, _name(prompt), run)
    return restore(workspace, target.id, dry_run=dry_run)


def _name(prompt: str) -> str:
    name = prompt if prompt.startswith(describe.AT_PROMPT) else describe.AT_PROMPT + prompt
    if describe.parse_prompt_number(name) is None:
        raise WrongUsage(
            f'"{one_line(prompt, 40)}" is not the number of a prompt', [], ["`holdfast rewind` lists them"]
        )
    return name


def _prompts(workspace: Workspace, run: str | None) -> Choose:
    """The newest prompt first, each with the lines that changed until the next one."""
    with workspace.reading() as journal:
        found = select.get_run(workspace, journal, run, ended_too=True)
        prompts = describe.prompts_of(journal, found.id)
        made = list(journal.list_checkpoints(found.worktree))
        points = [describe.find_at_prompt(journal, prompt, made) for prompt in prompts[-CHOICES:]]
    if not prompts:
        raise NotFound("This run has no prompt yet", [("run", found.id)], ["`holdfast checkpoints` lists where to go"])
    if not any(points):
        raise NotFound("No checkpoint was made when a prompt of this run was given", [("run", found.id)],
                       ["`holdfast checkpoints` lists those there are"])  # fmt: skip
    first = len(prompts) - len(points) + 1
    newest = next((one for one in made if not one.reason.is_way_back), None)
    changed = _changes(workspace, [*points, newest])
    options = [
        (f"{describe.AT_PROMPT}{first + index}", _about(workspace, prompt, change))
        for index, (prompt, point, change) in enumerate(zip(prompts[-CHOICES:], points, changed, strict=True))
        if point
    ]
    hints = ("`holdfast rewind N` goes back to one of them", "`holdfast restore @prompt:N` does the same")
    return Choose(parameter="prompt", prompt="Which prompt to go back to", options=tuple(options[::-1]),
                  hints=hints)  # fmt: skip


def _about(workspace: Workspace, prompt: Event, change: str) -> str:
    words = one_line(workspace.hide(describe.first_words(prompt)), WIDTH)
    return f"{', '.join(filter(None, [ago(prompt.time), change]))}: {words}"


def _changes(workspace: Workspace, points: list[Checkpoint | None]) -> list[str]:
    """Return what changed between each point and the next one."""
    pairs = [(one.tree, other.tree) if one and other else None for one, other in pairwise(points)]
    wanted = [pair for pair in dict.fromkeys(pairs) if pair and pair[0] != pair[1]]
    with shadow_of(workspace) as shadow:
        counted = dict(zip(wanted, count_lines(shadow, wanted), strict=True))
    told = []
    for pair in pairs:
        lines = counted.get(pair) if pair else None
        if pair is None or (lines is None and pair[0] != pair[1]):
            told.append("")
        else:
            told.append(f"{count(lines.files, 'file')} +{lines.added:,} -{lines.removed:,}" if lines else "no change")
    return told
