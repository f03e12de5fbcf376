"""Observer commands: what somebody types into a client that is meant for us, such as `*sessions` or `*rollback:3`.

Only the exact forms of the table are commands. Everything else that begins with a star is for the model.
"""

from __future__ import annotations

import re

from msgspec import Struct

from holdfast.core.errors import HoldfastError
from holdfast.core.text import one_line, visible

LIMIT = 8_000  # characters that a client shows of an answer
LONGEST = 2_000  # characters of a command
TYPED = re.compile(r"\*([a-z]+(?:-[a-z]+)*)(?:(:| )[ \t]*([^\n]*))?")
PIECE = re.compile(r"(?=\*)")  # where another command may begin
YES = " yes"
WAYS = ("checkpoint", "live", "fresh")  # from which a Go Team run goes on, as `--from` takes them


class Form(Struct, frozen=True):
    """How a command is typed: what comes after its colon, if anything may."""

    about: str
    argument: str = ""
    needed: bool = False  # whether it means nothing without the argument
    asks: bool = False  # whether it changes nothing before it is typed again with a yes
    spaced: bool = False  # whether its argument are words, so that a space does as well as a colon
    ways: bool = False  # whether one of `WAYS` may follow


class Order(Struct, frozen=True):
    """A command that was typed."""

    word: str
    argument: str = ""
    confirmed: bool = False
    way: str | None = None  # one of `WAYS`


FORMS = {
    "sessions": Form("list the runs"),
    "resume": Form("go on with a run; a Go Team's from its checkpoint, live state, or fresh", "#|ID", ways=True),
    "continue": Form("go on with this run"),
    "session-info": Form("where a run stands", "#|ID"),
    "new": Form("begin another run", "GOAL", spaced=True),
    "status": Form("where we are"),
    "brief": Form("what the next session would be told"),
    "pause": Form("save the run and put it to rest"),
    "exit": Form("save the run, put it to rest, and say how to leave"),
    "abort": Form("stop the run on purpose"),
    "abandon": Form("give a run up", "#|ID", needed=True),
    "checkpoints": Form("list the checkpoints"),
    "cp-show": Form("one checkpoint", "N", needed=True),
    "cp-diff": Form("what differs since a checkpoint, or between two", "N or A:B", needed=True),
    "cp-validate": Form("prove that the checkpoints are whole"),
    "cp-export": Form("put a Go Team run's checkpoints into one archive"),
    "cleanup": Form("take the files of old Go Team runs away", asks=True),
    "rollback": Form("go back to a checkpoint: code, and what the run knew", "N|cp-ID", needed=True, asks=True),
    "help": Form("these commands"),
}
ALIASES = {"cp-list": "checkpoints"}


def parse(text: str) -> Order | None:
    """The command that a text is, or None where it is not one.

    Clients put a blocked prompt back into their input, so that the next command is typed behind it. Of several
    commands in a row, only the last one is meant.
    """
    pieces: list[str] = []
    for piece in PIECE.split(text) if len(text) <= LONGEST else []:
        if not pieces or (_single(piece) and not _ends_in_words(pieces[-1])):
            pieces.append(piece)
        else:  # a star inside the argument of the command before it
            pieces[-1] += piece
    orders = [_single(piece) for piece in pieces if piece.strip()]
    return orders[-1] if orders and all(orders) else None


def _ends_in_words(piece: str) -> bool:
    """Whether what follows a piece belongs to its argument: a word of a goal such as `Explain *help`."""
    order = _single(piece)
    return piece[-1:].isspace() and order is not None and FORMS[order.word].spaced


def _single(text: str) -> Order | None:
    """The one command that a text is."""
    found = TYPED.fullmatch(text.strip())
    word = ALIASES.get(found[1], found[1]) if found else ""
    form = FORMS.get(word)
    if found is None or form is None:
        return None
    mark, argument = found[2] or "", visible(found[3] or "").strip()
    which, _, way = argument.rpartition(" ")
    if form.ways and way in WAYS and (mark == ":" or not which):
        return Order(word, which.strip(), way=way)
    if form.asks and not form.argument and f" {argument}" == YES:
        return Order(word, confirmed=True)
    if (mark and not form.argument) or (mark == " " and not form.spaced):
        return None
    if form.asks and argument.endswith(YES):
        return Order(word, argument.removesuffix(YES).strip(), confirmed=True)
    return Order(word, argument)


def written(order: Order) -> str:
    """An order as it can be typed by itself."""
    mark = " " if FORMS[order.word].spaced else ":"
    argument = f"{mark}{order.argument}" if order.argument else ""
    return f"*{order.word}{argument}{f' {order.way}' if order.way else ''}{YES if order.confirmed else ''}"


def typed(word: str) -> str:
    """How a command is typed, for people."""
    form = FORMS[word]
    if not form.argument:
        return f"*{word}"
    argument = f"{' ' if form.spaced else ':'}{form.argument}"
    ways = f" [{'|'.join(WAYS)}]" if form.ways else ""
    return f"*{word}{argument}{ways}" if form.needed else f"*{word}[{argument}]{ways}"


def instructions() -> list[str]:
    """All commands, a line each."""
    width = max(len(typed(word)) for word in FORMS)
    return [f"{typed(word).ljust(width)}  {form.about}" for word, form in FORMS.items()]


def clipped(text: str) -> str:
    """A text that can be shown inside a client: nothing in it acts, and it is not too long."""
    clean = visible(text).strip("\n").rstrip()
    if len(clean) <= LIMIT:
        return clean
    end = "\n… there is more; on the command line all of it is shown"
    kept = clean[: LIMIT - len(end)]
    return (kept.rpartition("\n")[0] or kept) + end


def said(error: HoldfastError) -> str:
    """What went wrong, as an answer."""
    facts = [f"  {one_line(name)}: {one_line(value, 300)}" for name, value in error.facts]
    return clipped("\n".join([error.message, *facts, *(f"  try: {one_line(hint)}" for hint in error.hints)]))


def checkpoint_commands(*, is_preview: bool) -> str:
    """The commands for listed checkpoints. Without a store, one can only be shown."""
    if is_preview:
        return "`*cp-show:N` tells more of one; `holdfast init` makes the store that comparing and going back need"
    return "`*cp-show:N` and `*cp-diff:N` tell more of one, `*rollback:N` goes back to it"
