"""One checkpoint that was made."""

from __future__ import annotations

from holdfast.core.text import count, one_line
from holdfast.operations.checkpoint import FILTERED, Made
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line

SHOWN = 20


@renders(Made)
def said_made(found: Made, view: View) -> Said:
    made = found.checkpoint
    talk: list[Line] = [f"Kept {count(made.changes, 'changed file')} since the last checkpoint"]
    if found.files is not None:
        talk = [f"Kept {count(found.files, 'file')}: the first checkpoint of this worktree"]
    reasons = list(found.left_out.items())
    talk += [("warn", f"Not kept: {one_line(path)} ({why})") for path, why in reasons[:SHOWN]]
    if len(reasons) > SHOWN:
        talk.append(("warn", f"Not kept: {len(reasons) - SHOWN:,} more"))
    if found.filtered:
        talk.append(
            f"{len(found.filtered)} of them are behind a filter: `holdfast config set {FILTERED} keep` keeps them"
        )
    return Said(found, [made.id], talk)
