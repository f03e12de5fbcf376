"""Why a checkpoint was made."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """The values are stored in the journal. A stored text that is none of them is read as `OTHER`."""

    ASKED = "asked"
    SAVED = "saved"
    PASSED = "passed"
    TURN = "turn"
    STEP = "step"
    PAUSED = "paused"
    INTERRUPTED = "interrupted"
    ENDED = "ended"
    FOREIGN = "foreign"
    BEFORE_COMPACTION = "before-compaction"
    BEFORE_FRESH_START = "before-fresh-start"
    BEFORE_RESTORE = "before-restore"
    BEFORE_CONTINUE = "before-continue"
    BEFORE_UNDO = "before-undo"
    BEFORE_REDO = "before-redo"
    BEFORE_ROLLBACK = "before-rollback"
    BEFORE_RESUME = "before-resume"
    BEFORE_GUARD = "before-guard"
    BEFORE_BISECT = "before-bisect"
    OTHER = "other"

    @classmethod
    def _missing_(cls, value: object) -> Reason:
        return cls.OTHER

    @classmethod
    def before(cls, verb: str) -> Reason:
        """The reason of the checkpoint that a way back makes first."""
        return cls(f"before-{verb}")

    @property
    def is_way_back(self) -> bool:
        """Whether it holds what a way back was about to replace: no state to resume from or to bisect."""
        return self in WAYS_BACK


WAYS_BACK = frozenset(
    {
        Reason.BEFORE_FRESH_START,
        Reason.BEFORE_RESTORE,
        Reason.BEFORE_CONTINUE,
        Reason.BEFORE_UNDO,
        Reason.BEFORE_REDO,
        Reason.BEFORE_ROLLBACK,
        Reason.BEFORE_RESUME,
        Reason.BEFORE_GUARD,
        Reason.BEFORE_BISECT,
    }
)
