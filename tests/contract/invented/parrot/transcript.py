"""Parrot's transcripts: `~/.parrot/talks/ID.jsonl`, in JSON Lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from holdfast.agents.generic_client import text_of
from holdfast.agents.jsonl import ENDING, parse, split
from holdfast.agents.protocol import Head, Setup, Usage
from holdfast.core import ids
from holdfast.core.fold.activity import Spent
from holdfast.core.model import Draft, Session
from holdfast.system import files
from holdfast.system.safe_paths import real_path

from .client import NAME
from .installed import home


def resume_command(conversation: str | None) -> list[str]:
    return ["parrot", "--again", conversation] if conversation else ["parrot"]


def talks(setup: Setup) -> Path:
    return home(setup) / ".parrot" / "talks"


def find_transcripts(setup: Setup, roots: Iterable[Path]) -> tuple[Path, list[Path]]:
    wanted = {str(root) for root in roots}
    found = [path for path in files.listed(talks(setup)) if path.suffix == ENDING]
    heads = [head for path in found if (head := read_head(path)) and head.directory in wanted]
    return talks(setup), [head.path for head in heads]


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    with files.open_regular(path) as file:
        yield from filter(None, (parse(line) for line in split(file) if line))


def read_head(path: Path) -> Head | None:
    for line in lines_of(path):
        if text_of(line, "talk") and text_of(line, "at"):
            return Head(path, text_of(line, "talk"), text_of(line, "at"), True, os.stat(path).st_mtime)
    return None


def opening_of(transcripts: Iterable[Path], hide: Callable[[Any], Any]) -> tuple[str, str | None]:
    for path in transcripts:
        for line in lines_of(path):
            if words := text_of(hide(line), "heard"):
                return text_of(line, "id"), words
    return "", None


class Retelling:
    def __init__(self, lines: Iterable[dict[str, Any]], now: datetime) -> None:
        self.begun: datetime | None = None
        self.time, self.last, self.usage, self._lines = now, "", None, lines

    usage: Usage | None

    @property
    def spent(self) -> Spent:
        return Spent()

    def drafts(self) -> Iterator[Draft]:
        for line in self._lines:
            self.last = text_of(line, "id")
            self.begun = self.begun or self.time
            id = ids.event_of_call(f"parrot line {self.last}")
            if heard := text_of(line, "heard"):
                yield Draft("prompt.given", {"text": heard, "imported": True}, id, self.time, agent=NAME)
            elif said := text_of(line, "said"):
                yield Draft("turn.ended", {"text": said, "imported": True}, id, self.time, agent=NAME)


def retell(
    transcripts: Iterable[Path], clean: Callable[[Any], Any], lose: Callable[[], object], now: datetime
) -> Retelling:
    return Retelling((clean(line) for path in transcripts for line in lines_of(path)), now)


def read_usage(path: Path) -> Usage | None:
    return None


def read_spent(path: Path) -> Spent | None:
    return None


def transcripts_of(setup: Setup, session: Session) -> list[tuple[str, Path]]:
    return [(session.agent_session or "", Path(session.transcript))] if session.transcript else []


def owns_transcript(setup: Setup, path: Path) -> bool:
    return str(path).startswith(real_path(talks(setup)) + os.sep)
