"""Credentials made from the written format descriptions of `corpora/formats.txt`, in the shapes in which they leak."""

from __future__ import annotations

import json
import random
import re
import string
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

CORPORA = Path(__file__).parent / "corpora"
LETTERS, DIGITS = string.ascii_letters, string.digits
ALPHABETS = {
    "d": DIGITS,
    "h": DIGITS + "abcdef",
    "H": DIGITS + "ABCDEF",
    "x": DIGITS + "abcdefABCDEF",
    "g": DIGITS + "abcdefgh",
    "l": string.ascii_lowercase,
    "U": string.ascii_uppercase,
    "c": LETTERS,
    "a": DIGITS + string.ascii_lowercase,
    "A": DIGITS + string.ascii_uppercase,
    "n": DIGITS + LETTERS,
    "w": DIGITS + LETTERS + "_",
    "u": DIGITS + LETTERS + "-_",
    "b": DIGITS + LETTERS + "+/",
    "z": DIGITS + LETTERS + "-_=",
    "B": string.ascii_uppercase + "234567",
    "p": DIGITS + LETTERS + "!#%*+,-.:;=?@^_~",
}
PIECE = re.compile(r"<([^<>]+)>")
COUNTED = re.compile(r"([a-zA-Z])([0-9]+)(?:-([0-9]+))?")


class Format(NamedTuple):
    kind: str  # "self", "named" or "public"
    name: str
    variable: str  # "" for one that is recognisable by itself
    text: str


def formats(kind: str) -> list[Format]:
    return [found for line in _lines("formats.txt") if (found := _format(line)).kind == kind]


def _lines(name: str) -> list[str]:
    lines = (CORPORA / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("# ") and line != "#"]


def _format(line: str) -> Format:
    kind, _, rest = line.partition(" ")
    name, *variable, text = rest.split(" | ")
    return Format(kind, name, variable[0] if variable else "", text)


def make(text: str, chance: random.Random) -> str:
    """One credential of a format."""
    return PIECE.sub(lambda piece: _piece(piece[1], chance), text)


def _piece(piece: str, chance: random.Random) -> str:
    if piece == "uuid":
        return str(uuid.UUID(bytes=chance.randbytes(16), version=4))
    if counted := COUNTED.fullmatch(piece):
        least, most = int(counted[2]), int(counted[3] or counted[2])
        return "".join(chance.choices(ALPHABETS[counted[1]], k=chance.randint(least, most)))
    return chance.choice(piece.split("|"))


# how a credential leaks
SHAPES: dict[str, Callable[[str], str]] = {
    "bare": lambda token: f"I pasted {token} into the chat, please revoke it.",
    "env": lambda token: f"PORT=8080\nVALUE={token}\nDEBUG=1\n",
    "JSON": lambda token: json.dumps({"status": "ok", "data": {"value": token, "size": 3}}),
    "header": lambda token: f"> POST /v1/things HTTP/2\n> X-Service-Auth: {token}\n> Accept: */*\n",
    "traceback": lambda token: (
        "Traceback (most recent call last):\n"
        '  File "/srv/app/client.py", line 41, in call\n    raise Refused(value)\n'
        f"app.errors.Refused: 401 for '{token}'\n"
    ),
}
# how a variable that holds one is written
ASSIGNED: dict[str, Callable[[str, str], str]] = {
    "env": lambda name, value: f"PORT=8080\n{name}={value}\nDEBUG=1\n",
    "export": lambda name, value: f'export {name}="{value}"\n',
    "docker": lambda name, value: f"docker run -e {name}={value} -p 8080:80 shop\n",
    "YAML": lambda name, value: f"    environment:\n      {name}: '{value}'\n      PORT: 8080\n",
    "JSON": lambda name, value: json.dumps({"env": {name: value, "PORT": "8080"}}),
}
MARKED = re.compile(r"«([^»]*)»")


class Leak(NamedTuple):
    line: str
    secrets: tuple[str, ...]


def leaks(name: str = "leaks.txt") -> list[Leak]:
    """Labelled lines; the secret of each stands between « and ». `\\n` in a line is a line break."""
    lines = [line.replace("\\n", "\n") for line in _lines(name)]
    return [Leak(MARKED.sub(r"\1", line), tuple(MARKED.findall(line))) for line in lines]


def harmless() -> list[str]:
    """Lines that look like a leak and hold no secret."""
    return [line.replace("\\n", "\n") for line in _lines("harmless.txt")]
