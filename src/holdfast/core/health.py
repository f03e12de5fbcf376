"""A check of something that recording depends on."""

from __future__ import annotations

from msgspec import Struct

OK, WARNING, BROKEN = "ok", "warning", "broken"


class Check(Struct):
    name: str
    state: str  # ok, warning, broken
    about: str
    hints: list[str] = []
