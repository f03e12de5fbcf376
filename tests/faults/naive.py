"""Writers of one state file: five that are wrong, to prove that the tools catch them, and one that is right.

    python naive.py WRITER DIRECTORY VALUE

Each replaces DIRECTORY/state.json and prints the value once it takes it for saved. An error is one line on standard
error and exit code 1. Nothing here is used by Holdfast.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

PADDING = "x" * 2000  # so that half a file is not by chance a whole one


def render(value: str) -> str:
    return json.dumps({"value": value, "padding": PADDING})


def in_place(state: Path, text: str) -> None:
    """Empty from the opening to the write."""
    state.write_text(text)


def backup_then_in_place(state: Path, text: str) -> None:
    """What a reader sees is still torn, and reading it back asks the page cache, not the disk."""
    shutil.copyfile(state, state.with_name("state.json.backup"))
    state.write_text(text)
    if state.read_text() != text:
        raise OSError(f"{state} does not read back")


def no_fsync(state: Path, text: str) -> None:
    """The new name may reach the disk before the data does."""
    descriptor, temporary = tempfile.mkstemp(dir=state.parent)
    with open(descriptor, "w") as file:
        file.write(text)
    os.replace(temporary, state)


def no_dirsync(state: Path, text: str) -> None:
    """Whole at any time, but the rename may be lost after it was acknowledged."""
    _replace_durably(state, text)


def fixed_temp(state: Path, text: str) -> None:
    """As `no_fsync`, and two writers at once get in each other's way."""
    temporary = state.with_name("state.json.tmp")
    temporary.write_text(text)
    os.replace(temporary, state)


def durable(state: Path, text: str) -> None:
    """The right way."""
    _replace_durably(state, text)
    directory = os.open(state.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _replace_durably(state: Path, text: str) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=state.parent)
    try:
        with open(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, state)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


WRITERS: dict[str, Callable[[Path, str], None]] = {
    writer.__name__: writer for writer in (in_place, backup_then_in_place, no_fsync, no_dirsync, fixed_temp, durable)
}


def main(writer: str, directory: str, value: str) -> int:
    try:
        WRITERS[writer](Path(directory, "state.json"), render(value))
    except OSError as error:
        print(f"naive: {error}", file=sys.stderr)
        return 1
    print(value)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
