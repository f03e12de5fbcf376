"""Chat commands: messages typed into a client but meant for Holdfast, such as `*sessions` or `*rollback:3`.

Only the exact forms of the table are commands. Any other message with a star goes to the model.
"""

from __future__ import annotations

import re

from msgspec import Struct

from holdfast.core.errors import HoldfastError
from holdfast.core.text import one_line, visible

LIMIT = 8_000  # characters of a reply that a client displays
LONGEST = 2_000  # characters of a command
TYPED = re.compile(r"\*([a-z]+(?:-[a-z]+)*)(?:(:| )[ \t]*([^\n]*))?")
PIECE = re.compile(r"(?=\*)")  # possible start of another command
YES = " yes"
WAYS = ("checkpoint", "live", "fresh")  # values of `--from` for a Go Team run


class Form(Struct, frozen=True):
    """The syntax of a command."""

    about: str
    argument: str = ""
    needed: bool = False  # the argument is required
    asks: bool = False  # it needs a confirmation: typed again with ` yes`
    spaced: bool = False  # its argument is free text, so a space works like a colon
    ways: bool = False  # one of `WAYS` may follow


class Order(Struct, frozen=True):
    word: str
    argument: str = ""
    confirmed: bool = False
    way: str | None = None  # one of `WAYS`


FORMS = {
    "sessions": Form("list the runs"),
    "resume": Form("continue a run; a Go Team's from its checkpoint, live state, or fresh", "#|ID", ways=True),
    "continue": Form("continue this run"),
    "session-info": Form("show a run", "#|ID"),
    "new": Form("start another run", "GOAL", spaced=True),
    "status": Form("show the status"),
    "brief": Form("show the brief for the next session"),
    "pause": Form("save and pause the run"),
    "exit": Form("save and pause the run, and show how to leave"),
    "abort": Form("abort the run"),
    "abandon": Form("abandon a run", "#|ID", needed=True),
    "checkpoints": Form("list the checkpoints"),
    "cp-show": Form("show a checkpoint", "N", needed=True),
    "cp-diff": Form("show the changes since a checkpoint, or between two", "N or A:B", needed=True),
    "cp-validate": Form("verify the checkpoints"),
    "cp-export": Form("export a Go Team run's checkpoints as an archive"),
    "cleanup": Form("delete the files of old Go Team runs", asks=True),
    "rollback": Form("restore a checkpoint: code and state", "N|cp-ID", needed=True, asks=True),
    "help": Form("list these commands"),
}
ALIASES = {"cp-list": "checkpoints"}


def parse(text: str) -> Order | None:
    """Parse a message; None if it is not a command.

    Clients put a blocked prompt back into their input field, so the next command is typed behind it: of several
    commands in a row, the last one counts.
    """
    pieces: list[str] = []
    for piece in PIECE.split(text) if len(text) <= LONGEST else []:
        before = _single(pieces[-1]) if pieces and pieces[-1][-1:].isspace() else None
        is_inside = before is not None and FORMS[before.word].spaced  # of a goal such as `Explain *help`
        if not pieces or (_single(piece) and not is_inside):
            pieces.append(piece)
        else:  # a star inside the previous command's argument
            pieces[-1] += piece
    orders = [_single(piece) for piece in pieces if piece.strip()]
    return orders[-1] if orders and all(orders) else None


def _single(text: str) -> Order | None:
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
    """Return a command in the form in which it is typed."""
    mark = " " if FORMS[order.word].spaced else ":"
    argument = f"{mark}{order.argument}" if order.argument else ""
    return f"*{order.word}{argument}{f' {order.way}' if order.way else ''}{YES if order.confirmed else ''}"


def typed(word: str) -> str:
    """Return the syntax of a command, for people."""
    form = FORMS[word]
    if not form.argument:
        return f"*{word}"
    argument = f"{' ' if form.spaced else ':'}{form.argument}"
    ways = f" [{'|'.join(WAYS)}]" if form.ways else ""
    return f"*{word}{argument}{ways}" if form.needed else f"*{word}[{argument}]{ways}"


def instructions() -> list[str]:
    width = max(len(typed(word)) for word in FORMS)
    return [f"{typed(word).ljust(width)}  {form.about}" for word, form in FORMS.items()]


def clipped(text: str) -> str:
    """Return a text safe for display in a client: no control characters, cut to its limit."""
    clean = visible(text).strip("\n").rstrip()
    if len(clean) <= LIMIT:
        return clean
    end = "\n… there is more; the command line prints all of it"
    kept = clean[: LIMIT - len(end)]
    return (kept.rpartition("\n")[0] or kept) + end


def said(error: HoldfastError) -> str:
    """Return an error as a reply."""
    facts = [f"  {one_line(name)}: {one_line(value, 300)}" for name, value in error.facts]
    return clipped("\n".join([error.message, *facts, *(f"  try: {one_line(hint)}" for hint in error.hints)]))


def checkpoint_commands(*, is_preview: bool) -> str:
    """Return the commands for listed checkpoints. Without a store, one can only be shown."""
    if is_preview:
        return "`*cp-show:N` tells more of one; `holdfast init` makes the store that comparing and going back need"
    return "`*cp-show:N` and `*cp-diff:N` tell more of one, `*rollback:N` goes back to it"
