"""Whether the journal was scanned with the formats of secrets that this version knows: `scan` is proposed once."""

from __future__ import annotations

from holdfast.core.errors import HoldfastError
from holdfast.project.workspace import Workspace
from holdfast.redaction import RULES, RULES_FILE
from holdfast.system import files

LARGEST = 64  # bytes of the file that holds the number


def told_of_scan(workspace: Workspace) -> str | None:
    """A proposal to scan the journal, where a version that knew fewer formats may have stored secrets."""
    if not workspace.exists or _scanned(workspace) >= RULES:
        return None
    return "this version recognises more secrets than the one that wrote the journal: run `holdfast scan` once"


def remember_scan(workspace: Workspace) -> None:
    """Record that the whole journal was scanned with the present rules."""
    if workspace.exists and _scanned(workspace) < RULES:
        files.write(workspace.here / RULES_FILE, f"{RULES}\n".encode(), files.PRIVATE_FILE)


def _scanned(workspace: Workspace) -> int:
    """The number of the rules with which the journal was written or scanned; 0 where none is known."""
    try:
        text = (files.read(workspace.here / RULES_FILE, LARGEST) or b"").decode("ascii", "replace").strip()
    except HoldfastError:
        return 0
    return int(text) if text.isdigit() else 0
