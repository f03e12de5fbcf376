"""Cache of context windows, as reported to the status line; transcripts do not have them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.journal.codec import read_record
from holdfast.system import files

NAME = "context.json"
LIMIT = 64 * 1024
CONVERSATIONS = 20  # that are stored
LONGEST = 200  # characters of a conversation's name


class Gauge(Struct, frozen=True):
    window: int | None = None
    tokens: int | None = None
    model: str | None = None


def keep(store: Path, conversation: str, gauge: Gauge) -> None:
    """Store the report on a conversation, if it changed: the status line is drawn often."""
    known = _load(store)
    if not conversation or len(conversation) > LONGEST or known.get(conversation) == gauge:
        return
    known.pop(conversation, None)
    newest = dict([*known.items(), (conversation, gauge)][-CONVERSATIONS:])
    files.put(store / NAME, msgspec.json.encode(newest), synced=False)


def forget(store: Path, conversations: Collection[str]) -> None:
    known = _load(store)
    if kept := {name: gauge for name, gauge in known.items() if name not in conversations}:
        if len(kept) < len(known):
            files.write(store / NAME, msgspec.json.encode(kept))
    else:
        files.remove(store / NAME)  # also if unreadable: it may contain these names


def find(store: Path, conversation: str) -> Gauge:
    return _load(store).get(conversation) or Gauge()


def _load(store: Path) -> dict[str, Gauge]:
    return read_record(store / NAME, dict[str, Gauge], LIMIT) or {}
