"""A patch in git's form, as terminals show one."""

from __future__ import annotations

from holdfast.surfaces.cli.terminal import Line

PATCH_STYLES = {"+": "good", "-": "bad", "@": "dim"}


def coloured(patch: str) -> list[Line]:
    """A patch in git's form, as terminals show one."""
    in_file = False  # before the first hunk, a plus or minus is part of a header
    lines: list[Line] = []
    for line in patch.splitlines():
        in_file = line.startswith("@@") or (in_file and not line.startswith("diff --git "))
        style = PATCH_STYLES.get(line[:1]) if in_file else "title"
        lines.append((style, line) if style else line)
    return lines
