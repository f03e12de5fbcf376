"""The rules for cards: the board has one at a time."""

from __future__ import annotations

from holdfast.core.lifecycle import Move, Rules
from holdfast.core.model import Status

BOARD = "board.json"
RULES = Rules(
    whose="A card",
    barred={(Status.CREATED, Move.COMPLETE): "pull it first: `holdfast resume`"},
    files=(BOARD,),
)
