"""Suggestions for mistyped words."""

from __future__ import annotations

from collections.abc import Iterable

SHORT, LONG = 5, 40  # characters: below, one letter may be wrong and not two; above, nothing is compared


def nearest(word: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The known words that this one abbreviates, or else those within the fewest edits; none where all are far."""
    folded, names = word[: LONG + 1].casefold(), list(known) if len(word) <= LONG else []
    if begun := [name for name in names if folded and name.startswith(folded)]:
        return begun[:most]
    distances = {name: edits(folded, name) for name in names}
    limit = min(len(folded) - 1, 1 if len(folded) < SHORT else 2)
    least = min(distances.values(), default=limit + 1)
    return [name for name, distance in distances.items() if distance == least <= limit][:most]


def edits(a: str, b: str) -> int:
    """Letters to insert, delete, replace or swap with their neighbour until one word is the other."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        before, above, row = row, before, [i]
        for j, other in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
    return row[-1]
