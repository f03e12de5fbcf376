"""Go Team: registry, manifest, live state, recovery and checkpoint files."""

from __future__ import annotations

from holdfast.core.lifecycle import Move, Rules
from holdfast.core.model import Status

NAME = "go-team"
SIGN = "sessions.json"
ROOT_SETTING = "go_team.root"
RECORD = "team.json"
RULES = Rules(
    still=frozenset({(Status.INTERRUPTED, Move.ATTEND)}),  # a new client must not anticipate the choice of a recovery
    refusals={
        (Status.COMPLETED, Move.RESUME): "Session already completed",
        (Status.FAILED, Move.RESUME): "Session failed and cannot be resumed",
        (Status.ABANDONED, Move.RESUME): "Session abandoned and cannot be resumed",
        (Status.ABORTED, Move.RESUME): "Session abandoned and cannot be resumed",
    },
    is_recovered=True,
    has_numbered_steps=True,
    returns=True,
    agents={
        "init": "orchestrator", "codebase-analysis": "orchestrator", "requirements": "pm-agent",
        "architecture": "architect-agent", "implementation": "go-coder-agent", "testing": "test-agent",
        "security": "security-agent", "review": "reviewer-agent", "optimization": "optimizer-agent",
        "release": "devops-agent", "documentation": "doc-agent", "synthesis": "orchestrator",
    },
)  # fmt: skip
# The members of the layout by the module that defines them, which is loaded when one of them is used.
MEMBERS = {
    "": "NAME RECORD ROOT_SETTING RULES SIGN",
    "files": "list_files",
    "follow": "follow",
    "reconcile": "autosave reconcile",
    "purge": "clean_up foreign_files list_left own_files purge",
    "repair": "damages health repair",
    "runs": "default_steps find_chat_run is_meant list_resumable list_ways make_id silent_since",
    "checkpoints": "examine_checkpoints export_checkpoints find_last_checkpoint find_step get_checkpoint "
    "keep_interrupted keep_run keep_step prepare_return refuse_return",
    "chat_commands": "CHAT_COMMANDS told_missing told_point",
    "screens": "completed_screen offer_screen recovery_screen resumable_screen resumed_screen started_screen",
}
