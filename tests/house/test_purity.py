"""Purity of the package `core`: no access to disk, clock, processes or network."""

from __future__ import annotations

import pytest

from .tree import foreign_imports, modules, used_names

PURE = [name for name, module in modules().items() if module.folder == "core"]
# Allowed foreign imports. All are free of side effects, except `os`, of which only a part may be used: see below.
MAY_IMPORT = {
    "__future__", "collections.abc", "copy", "datetime", "enum", "errno", "functools", "importlib", "json", "msgspec",
    "os", "re", "typing", "unicodedata",
}  # fmt: skip
# module: allowed names of `os`, with the reason
OF_OS = {
    "core.ids": {"os.urandom"},  # ids are random
    "core.text": {"os.PathLike", "os.fsencode"},  # the bytes of a name, without access to the disk
}
ACTING = {
    "open", "print", "input", "eval", "exec", "compile", "__import__", "breakpoint",
    "datetime.now", "datetime.utcnow", "datetime.today", "date.today", "hashlib.file_digest",
}  # fmt: skip


@pytest.mark.parametrize("name", PURE)
def test_a_pure_module_imports_nothing_that_acts(name: str) -> None:
    assert foreign_imports(modules()[name]) - MAY_IMPORT == set()


@pytest.mark.parametrize("name", PURE)
def test_a_pure_module_uses_only_this_of_the_operating_system(name: str) -> None:
    used = {found for found in used_names(modules()[name]) if found.startswith("os.")}
    assert used == OF_OS.get(name, set())
    assert ("os" in foreign_imports(modules()[name])) == (name in OF_OS)


@pytest.mark.parametrize("name", PURE)
def test_a_pure_module_calls_nothing_that_acts(name: str) -> None:
    assert used_names(modules()[name]) & ACTING == set()
