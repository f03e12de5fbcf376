"""Purity of the package `core`: no access to disk, clock, processes or network."""

from __future__ import annotations

from .tree import foreign_imports, modules, used_names

PURE = {name: module for name, module in modules().items() if module.folder == "core"}
# Allowed foreign imports. All are free of side effects, except `os`, of which only a part may be used: see below.
MAY_IMPORT = {
    "__future__", "bisect", "collections.abc", "copy", "datetime", "enum", "errno", "functools", "importlib",
    "itertools", "json", "math", "msgspec", "os", "re", "typing", "unicodedata",
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


def test_pure_modules_import_nothing_that_acts() -> None:
    assert {name: found for name, module in PURE.items() if (found := foreign_imports(module) - MAY_IMPORT)} == {}


def test_pure_modules_use_only_this_of_the_operating_system() -> None:
    used = {name: {word for word in used_names(module) if word.startswith("os.")} for name, module in PURE.items()}
    assert {name: words for name, words in used.items() if words} == OF_OS
    assert {name for name, module in PURE.items() if "os" in foreign_imports(module)} == set(OF_OS)


def test_pure_modules_call_nothing_that_acts() -> None:
    assert {name: found for name, module in PURE.items() if (found := used_names(module) & ACTING)} == {}
