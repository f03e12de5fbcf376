"""The orchestrator: its session file and history."""

from __future__ import annotations

from holdfast.core.lifecycle import Move, Rules
from holdfast.core.model import Status

NAME = "orchestrator"
SESSION = SIGN = ".claude/orchestrator-session.json"
HISTORY = ".claude/orchestrator-history"
RECORD = "session.json"
RULES = Rules(
    whose="A session of the orchestrator",
    barred={
        (Status.CREATED, Move.COMPLETE): "it has not begun: `holdfast resume` begins it",
        (Status.PAUSED, Move.COMPLETE): "it is paused: `holdfast resume` goes on with it first",
        (Status.CREATED, Move.PAUSE): "it has not begun: `holdfast resume` begins it",
    },
    is_single=True,
    notes_failure=True,
    files=(SESSION, HISTORY),
)
# The members of the layout by the module that defines them, which is loaded when one of them is used.
MEMBERS = {
    "": "NAME RECORD RULES SIGN",
    "files": "find_current has_archive is_meant list_files make_id prepare_start",
    "schema": "MODES",
    "follow": "follow",
    "reconcile": "ingest_archive reconcile",
    "purge": "own_files purge",
    "repair": "damages find_obstacle recover repair",
    "screens": "banner banner_rows find_word",
}
