"""Text of others inside Markdown and XML: it stands there as text, and nothing in it acts.

A forge reads more than Markdown out of a text: names that are told that they were mentioned, issues that are closed,
links. Between the characters that would do it stands a space of no width, written as `&#8203;`.
"""

from __future__ import annotations

import re

from holdfast.core.text import one_line, visible

NOTHING = "&#8203;"
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
MARKED = re.compile(r"[\\`*_\[\]|~$]")
LEADING = re.compile(r"^([-+=:/]|\d+(?=[.)]))")  # would begin a list, a heading, a quick action
REFERRING = re.compile(r"[@#!](?=\w)|\bGH-(?=\d)|://|\bwww\.", re.IGNORECASE)  # names, issues, addresses
IN_XML = str.maketrans({**ENTITIES, '"': "&quot;", "'": "&apos;"})
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_markdown(text: str, width: int = 500) -> str:
    """A text as one line of Markdown that shows it, and nothing else."""
    line = "".join(ENTITIES.get(letter, letter) for letter in one_line(text, width))
    line = MARKED.sub(r"\\\g<0>", line)
    line = REFERRING.sub(_apart, line)
    return LEADING.sub(rf"{NOTHING}\1", line)


def _apart(found: re.Match[str]) -> str:
    """Something that would refer, with the space inside it; a hash could also begin a heading."""
    text = found.group()
    if text[0] == "#":
        return f"\\#{NOTHING}"
    return f":{NOTHING}//" if text == "://" else f"{text}{NOTHING}"


def as_code(text: str, width: int = 300) -> str:
    """A text between backticks, however many stand in it; in a table too."""
    line = one_line(text, width).replace("|", "¦")
    ticks = "`" * (1 + max((len(found) for found in re.findall("`+", line)), default=0))
    between = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{ticks}{between}{line or '?'}{between}{ticks}"


def as_xml(text: str, width: int = 300) -> str:
    """A text inside an element or an attribute of XML."""
    return NOT_IN_XML.sub("", visible(one_line(text, width))).translate(IN_XML)
