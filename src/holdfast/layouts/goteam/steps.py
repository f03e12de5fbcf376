"""Steps of a Go Team run: they have numbers beside their names, and an unknown one is refused."""

from __future__ import annotations

from holdfast.core.errors import NotFound
from holdfast.core.fold import team
from holdfast.core.fold.team import Meant
from holdfast.core.model import Run
from holdfast.core.text import one_line


def find_step(run: Run, name: str, new: bool) -> Meant:
    """The step of a name or a number."""
    meant, known = team.meant(run, name), team.known_steps(run)
    if meant.step in known or new:
        return meant
    from difflib import get_close_matches

    near = get_close_matches(meant.step.lower(), known, 1)
    hints = [f"did you mean `{near[0]}`?"] if near else []
    hints += ["`--new` adds a step of this name", "`holdfast step list` shows the steps"]
    facts = [("run", run.id), ("steps", ", ".join(one_line(step, 60) for step in known))]
    raise NotFound(f'There is no step "{one_line(name, 60)}" in this run', facts, hints)
