"""A copy of the project in which something is taken away, and the tests that are run there.

The copy has an interpreter of its own, so that whatever a test starts, in whatever environment, finds the copy too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import venv
from collections.abc import Iterable
from pathlib import Path

from tests.mutations import marks
from tests.mutations.table import Mutation

ROOT = Path(__file__).parents[2]
COPIED = ("src", "tests", "scripts", "docs", "pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")
NOT_COPIED = shutil.ignore_patterns(".git", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache", "*.egg-info")
PASSED, NOTICED = 0, 1  # as pytest says it
SHOWN = 2_000


def source(root: Path = ROOT) -> Path:
    return root / "src" / "holdfast"


def apply(mutation: Mutation, root: Path) -> None:
    """Take it away in a copy."""
    path = dict(marks.list_marks(source(root)))[mutation.name]
    path.write_text(mutated(mutation, path.read_text()))


def mutated(mutation: Mutation, text: str) -> str:
    return marks.replace(text, mutation.name, mutation.replacement)


def copy(directory: Path) -> Path:
    """The project, with an interpreter that knows this copy of it and no other."""
    root = directory / "copy"
    root.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, ignore=NOT_COPIED, symlinks=True)
        else:
            shutil.copy2(ROOT / name, root / name)
    venv.create(root / ".venv", symlinks=True)
    place = sysconfig.get_path("purelib", "venv", {"base": str(root / ".venv")})
    # Only these two lines, and not what the other interpreter's own lines of this kind lead to: that is the original.
    Path(place, "copy.pth").write_text(f"{root / 'src'}\n{sysconfig.get_path('purelib')}\n")
    return root


def run(tests: Iterable[str], root: Path) -> subprocess.CompletedProcess[str]:
    """Run these tests in a copy, until one fails; of those that are tried often on demand, the quick forms."""
    words = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not long", *tests]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
    return subprocess.run(
        [root / ".venv/bin/python", *words],
        cwd=root,
        env=kept,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )


def where(root: Path) -> str:
    """The package that programs of a copy use, also in an empty environment."""
    command = [str(root / ".venv/bin/python"), "-c", "import holdfast; print(holdfast.__file__)"]
    return subprocess.check_output(command, cwd=root, env={}, text=True).strip()


def said(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stdout + done.stderr)[-SHOWN:]
