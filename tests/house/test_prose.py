"""Mechanical signs of the words in which the code is written; reading does the rest."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .tree import Module, modules

# A docstring begins with the noun that one would search for. The limit is the count of today: lower it to 40.
QUESTIONS = ("What", "Whether", "Who")
MOST_QUESTIONS = 513
# Modules are nouns.
NOUNS = {"routing", "hashing", "meaning", "warning"}
GERUNDS = {"reindexing", "scrubbing", "following", "moving"}  # to be renamed


def docstrings(module: Module) -> Iterator[tuple[str, str]]:
    """The place and the first line of each docstring."""
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            said = ast.get_docstring(node) or ""
            yield f"{module.name}.{getattr(node, 'name', '')}".rstrip("."), said.partition("\n")[0]


def test_few_docstrings_begin_with_a_question() -> None:
    said = [(place, line) for module in modules().values() for place, line in docstrings(module)]
    found = [f"{place}: {line}" for place, line in said if line.partition(" ")[0] in QUESTIONS]
    assert len(found) <= MOST_QUESTIONS, "\n".join(found)


def test_no_module_has_the_name_of_an_activity() -> None:
    last_words = {name: name.rpartition(".")[2].rpartition("_")[2] for name in modules()}
    found = {name: word for name, word in last_words.items() if word.endswith("ing") and word not in NOUNS | GERUNDS}
    assert found == {}
