"""Turning what people type into what a database can be asked, without letting them speak SQL."""

from __future__ import annotations

import re

from holdfast.core.search_terms import terms


def match_expression(text: str) -> str:
    """A full-text query: words must all be there, `"a phrase"` in that order, `begin*` as a beginning.

    Everything is quoted, so that no character of the text has a meaning of its own.
    """
    return " ".join(f'"{term.text}"' + "*" * term.is_beginning for term in terms(text))


def like_fragment(fragment: str) -> str:
    """A fragment of an id for LIKE, with its wildcards made harmless (escape character: backslash)."""
    return re.sub(r"([\\%_])", r"\\\1", fragment)
