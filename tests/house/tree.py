"""The source tree for the house tests: modules, their imports and the names they use."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path

import holdfast

PACKAGE = Path(holdfast.__file__).parent
ROOT = Path(__file__).parents[2]


class Module:
    """A module of the package, named without `holdfast.`; the package itself is `__init__`."""

    def __init__(self, path: Path, package: Path = PACKAGE) -> None:
        self.path = path
        self.place = path.relative_to(package)
        parts = self.place.with_suffix("").parts
        self.name = ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)

    def __repr__(self) -> str:
        return self.name

    @property
    def folder(self) -> str:
        return self.place.parts[0] if len(self.place.parts) > 1 else ""


@functools.cache
def modules() -> dict[str, Module]:
    found = [Module(path) for path in sorted(PACKAGE.rglob("*.py"))]
    return {module.name: module for module in found}


def imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """All imports in a tree, also inside functions: (module, name or nothing)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole module"
            yield from ((node.module or "", alias.name) for alias in node.names)


def own_imports(module: Module) -> set[str]:
    """The modules of the package that a module imports."""
    tree = _without_type_checking(module.tree) if module.name == "__init__" else module.tree
    return {found for origin, name in imported(tree) if (found := _own(origin, name))}


def _own(origin: str, name: str) -> str | None:
    if origin.partition(".")[0] != "holdfast":
        return None
    full = f"{origin}.{name}".removeprefix("holdfast.")
    if full in modules():
        return full
    return origin.removeprefix("holdfast").removeprefix(".") or "__init__"


def _without_type_checking(tree: ast.Module) -> ast.Module:
    """A tree without the bodies of `if TYPE_CHECKING`, which never run."""
    body = [node for node in tree.body if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")]
    return ast.Module(body, [])


def foreign_imports(module: Module) -> set[str]:
    """The modules of other packages that a module imports."""
    return {
        origin for origin, _ in imported(_without_type_checking(module.tree)) if origin.partition(".")[0] != "holdfast"
    }


def used_names(module: Module) -> set[str]:
    """Dotted names used in a module, such as `os.open` or `open`; `from os import open` counts as `os.open`."""
    names = {f"{origin}.{name}" for origin, name in imported(module.tree) if name}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names.add(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.Name):
            names.add(node.id)
    return names


def functions(module: Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def texts(module: Module) -> Iterator[str]:
    """The string literals of a module that are not docstrings."""
    docstrings = {id(node.value) for node in ast.walk(module.tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def fitting(names: Iterable[str], patterns: Iterable[str]) -> set[str]:
    return {name for name in names if any(fnmatch(name, pattern) for pattern in patterns)}


IGNORED = {".git", ".venv", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", "dist"}


@functools.cache
def project_files() -> tuple[Path, ...]:
    """All files of the project except those ignored by `.gitignore`."""
    return tuple(sorted(_walk(ROOT)))


def _walk(directory: Path) -> Iterator[Path]:
    for path in directory.iterdir():
        if path.name in IGNORED or path.name.endswith(".egg-info") or path.is_symlink():
            continue
        if path.is_dir():
            yield from _walk(path)
        else:
            yield path
