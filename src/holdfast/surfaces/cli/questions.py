"""Questions asked at a terminal: yes or no, one of several, and what becomes of them where nobody can be asked."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

from holdfast.agents.registry import find_tool_mark
from holdfast.core.errors import Ambiguous, Interrupted, Refused
from holdfast.core.question import Choose
from holdfast.surfaces.cli import picker, terminal
from holdfast.surfaces.cli.render import preview_of
from holdfast.surfaces.cli.runner import is_terminal

FEW = 10  # choices that an error lists
NOUNS = ("session", "checkpoint")  # what a fact is called whose value is the choice, and not about it


def answer_to(question: Choose) -> Any:
    """The answer of the person at the terminal. Without a terminal, an answer that is required is no."""
    if not is_terminal():
        return None if not question.required else _refuse(question)
    if question.about is not None:
        terminal.emit(preview_of(question.about), sys.stderr)
    if question.words:
        return question.words[prompt(question.prompt, list(question.words), default=question.default)]
    if question.is_text:
        return prompt(question.prompt, default=question.default)
    if question.options:
        return choose(question.prompt, list(question.options))
    answer = question.yes if ask(question.prompt) else question.no
    if answer is None:
        raise Refused("Nothing was changed")
    return answer


def _refuse(question: Choose) -> NoReturn:
    if question.options:
        raise Ambiguous(question.prompt, list(question.options[:FEW]), list(question.hints))
    raise Refused(f"{question.prompt} Nobody is here to say yes", [], list(question.hints))


def refuse_unseen(refusal: Refused) -> None:
    """Refuse, with the reason, where nobody is at a terminal who can see and answer."""
    if why := _nobody():  # safeguard: nobody-at-terminal
        raise Refused(f"{refusal.message}: {why}", refusal.facts, refusal.hints)


def _nobody() -> str | None:
    if not is_terminal() or not sys.stderr.isatty():
        return "nobody is at one here"
    mark = find_tool_mark(os.environ)
    return f"an agent started this ({mark} is set)" if mark else None


def ask(question: str) -> bool:
    """Yes or no at a terminal. Ctrl-C and Ctrl-D are no answer."""
    import click

    try:
        return click.confirm(question, err=True)
    except click.Abort:
        terminal.emit([""], sys.stderr)
        raise Interrupted("Nothing was changed") from None


def pick(error: Ambiguous) -> str:
    """The choice between the things that a name can mean."""
    return choose(error.message, [(about, "") if name in NOUNS else (name, about) for name, about in error.facts])


def choose(title: str, choices: list[tuple[str, str]]) -> str:
    """One of several: from a list that is drawn, or by number where the terminal cannot draw."""
    if picker.can_pick():
        return picker.pick(f"{title}:", [picker.Choice(*choice) for choice in choices])
    terminal.emit([f"{title}:"], sys.stderr)
    terminal.emit(
        [f"  {number}  {name}  {about}".rstrip() for number, (name, about) in enumerate(choices, 1)], sys.stderr
    )
    return choices[int(prompt("Which one", most=len(choices))) - 1][0]


def prompt(text: str, words: list[str] | None = None, *, most: int | None = None, default: str | None = None) -> str:
    """A line of the person at the terminal: any, one of the words, or a number. Ctrl-C ends the command."""
    import click

    kind = click.Choice(words) if words else click.IntRange(1, most) if most else str
    is_bare = words is not None and default is None  # the question itself lists the words
    suffix = " " if is_bare else ": "
    try:
        found = click.prompt(
            text,
            default,
            type=kind,
            err=True,
            show_choices=not is_bare,
            show_default=bool(default),
            prompt_suffix=suffix,
        )
    except click.Abort:
        raise KeyboardInterrupt from None
    return str(found)
