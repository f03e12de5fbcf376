"""Turns of a conversation in a brief: what was asked, and the sentences of the answers that matter most.

An agent says what it found out once, often long before it stops, and most of its sentences only report what it did. So
every sentence gets a weight, and the heaviest ones are told, in the order in which they were said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from holdfast.core.text import one_line

LONGEST, PROMPT, NEW_PROMPT = 400, 200, 600  # characters of a sentence, of a prompt, of the newest prompts
NEW_PROMPTS = 3
BRIEF = 4  # words; a shorter prompt is "go on" or "run the tests"
WHOLE = 1_500  # characters of the last answer that come before all else
RECENT = 20  # prompts that come before what older answers say
NEEDLESS = 0.6  # weight below which a sentence is not told at all
FIRST = 1000.0  # weight of what comes before all else
KNOWN_GOAL = "(the goal above)"
ASKED, SAID, GAP = "- asked: ", "  said: ", " … "

FENCE = re.compile(r"^\s*(?:```|~~~)")
ITEM = re.compile(r"^\s*(?:[-*+•|]|\d{1,3}[.)])\s+")  # also a row of a table
NO_TEXT = re.compile(r"^\s*(?:#{1,6}\s.*|[-=*_|:\s]*)$")  # headings, rules, borders of tables
END = re.compile(r"(?<=[.!?])[\"')*\]]*\s+(?![a-z])|(?<=[\u3002\uff01\uff1f])")
WORD = re.compile(r"\w{3,}")
SPECIFIC = re.compile(r"`[^`]+`|\b\w*\d\w*|\b\w+[_/]\w+|\b\w+\.\w{2,}\b|\b[a-z]+[A-Z]\w+|\b[A-Z]{2,}\b")
# English, as most answers are; the other two weights know no language.
TELLING = re.compile(
    r"\b(?:because|since|hence|caus\w+|due to|which is why|only|never|always|must|cannot|can't|not|no|nobody|without|"
    r"fails?|breaks?|needs?|requires?|instead|unless|until|depends|missing|wrong|broken|bug|limit|every|still|"
    r"already|later|next|remain\w*|todo|will|don't|doesn't)\b",
    re.IGNORECASE,
)
REPORTING = re.compile(
    r"(?:I(?:'ve| have|'m| am)? (?!could|cannot|can't|will|need|would|found|suspect|think)\w+|Done|Great|Perfect|Sure|"
    r"OK|Okay|Glad|Thanks|Now|All (?:\w+ )?tests|Tests pass|Everything|Let me|Let's|Tell me|Shall I|Would you|"
    r"Do you want|Here is|Here's|What I did|Committed|Added|Updated|Fixed|Moved|Renamed|Removed|Created)\b|"
    r"(?:added|updated|fixed|moved|renamed|removed|created|changed|ran|split|wrote)\b",
    re.IGNORECASE,
)


class Turn(Struct):
    """A prompt, and what the agent said until the next one, in order."""

    prompt: str
    time: datetime | None
    said: list[str] = []


class Piece(NamedTuple):
    """A prompt (at place -1) or a sentence."""

    weight: float
    turn: int
    place: int
    text: str


def pieces_of(turns: list[Turn], goal: str) -> list[Piece]:
    """Return what can be told of the turns, the most important first; a prompt is before its answer."""
    known = one_line(goal, PROMPT)
    rarity = _rarity(turns)
    found: list[Piece] = []
    told: set[str] = set()
    for at in range(len(turns) - 1, -1, -1):
        turn, is_last = turns[at], at == len(turns) - 1
        age = len(turns) - 1 - at
        answer = [piece for piece in _answer(turn, at, rarity, is_last=is_last) if piece.text not in told]
        told.update(piece.text for piece in answer)
        found += answer
        asked = one_line(turn.prompt, NEW_PROMPT if age < NEW_PROMPTS else PROMPT)
        heaviest = max((piece.weight for piece in answer), default=0.0)
        weight = _weight_of_prompt(asked, age)
        if one_line(turn.prompt, PROMPT) == known:
            asked, weight = KNOWN_GOAL, 0.0
        elif asked in told:
            weight = 0.0
        told.add(asked)
        if asked and (weight or heaviest):
            found.append(Piece(max(weight, heaviest), at, -1, asked))
    return sorted(found, key=lambda piece: (-piece.weight, -piece.turn, piece.place))


def costs_of(pieces: Iterable[Piece], ages: list[str]) -> Iterator[int]:
    """Yield the characters of each piece where all pieces before it are told; never too few."""
    begun: set[int] = set()
    for piece in pieces:
        if piece.place < 0:
            yield len(ASKED) + len(piece.text) + len(ages[piece.turn]) + 1
        else:
            yield len(piece.text) + (
                len(GAP) if piece.turn in begun else len(SAID) + len(GAP) + len(ages[piece.turn]) + 1
            )
            begun.add(piece.turn)


def lines_of(pieces: Iterable[Piece], ages: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines that tell these pieces in the order of the conversation, each with its age."""
    turns: dict[int, list[Piece]] = {}
    for piece in sorted(pieces, key=lambda piece: (piece.turn, piece.place)):
        turns.setdefault(piece.turn, []).append(piece)
    for at, told in turns.items():
        sentences = [piece for piece in told if piece.place >= 0]
        if told[0].place < 0:
            yield ASKED + told[0].text, ages[at]
        if sentences:
            text = sentences[0].text
            for before, piece in pairwise(sentences):
                text += (" " if piece.place == before.place + 1 else GAP) + piece.text
            yield SAID + text, "" if told[0].place < 0 else ages[at]


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of an answer, without its code, headings and marks of lists."""
    paragraph: list[str] = []
    is_code = False
    for line in text.splitlines():
        if FENCE.match(line):
            is_code = not is_code
        is_item = ITEM.match(line)
        if is_item or is_code or NO_TEXT.match(line):
            yield from _split(paragraph)
            paragraph = []
        if not is_code and not NO_TEXT.match(line) and not FENCE.match(line):
            paragraph.append(line[is_item.end() :] if is_item else line)
    yield from _split(paragraph)


def _split(paragraph: list[str]) -> Iterator[str]:
    line = one_line(" ".join(paragraph))
    yield from (sentence for part in END.split(line) if (sentence := part.strip()))


def _answer(turn: Turn, at: int, rarity: dict[str, float], *, is_last: bool) -> Iterator[Piece]:
    room = WHOLE if is_last else 0
    found = [one_line(each, LONGEST) for text in turn.said for each in sentences(text)]
    telling = sum(not REPORTING.match(each) for each in found)
    last = list(sentences(turn.said[-1])) if turn.said else []
    for place, text in enumerate(found):
        weight = _weight(text, rarity) + 0.1 * min(telling, 5)
        if room > 0 and place >= len(found) - len(last):
            room -= len(text)
            yield Piece(FIRST, at, place, text)
        elif weight >= NEEDLESS and not text.endswith(":"):
            yield Piece(weight, at, place, text)


def _weight_of_prompt(text: str, age: int) -> float:
    """Return the weight of a prompt that so many others have followed; 0 for one that only says to go on."""
    if age >= NEW_PROMPTS and len(text.split()) < BRIEF and not SPECIFIC.search(text):
        return 0.0
    return FIRST - age if age < RECENT else 1.0 + _specific(text) + _telling(text)


def _weight(sentence: str, rarity: dict[str, float]) -> float:
    words = WORD.findall(sentence.casefold())
    rare = sum(rarity.get(word, 1.0) for word in words) / max(len(words), 4)
    return rare + _specific(sentence) + _telling(sentence) - (1.2 if REPORTING.match(sentence) else 0.0)


def _specific(text: str) -> float:
    return 0.4 * min(2, len(SPECIFIC.findall(text)))


def _telling(text: str) -> float:
    return 0.4 if TELLING.search(text) else 0.0


def _rarity(turns: list[Turn]) -> dict[str, float]:
    """Return the rarity of each word: 1 for one of a single turn, nearly 0 for one of all of many."""
    numbers: dict[str, int] = {}
    for turn in turns:
        for word in set(WORD.findall(" ".join(turn.said).casefold())):
            numbers[word] = numbers.get(word, 0) + 1
    return {word: number**-0.5 for word, number in numbers.items()}
