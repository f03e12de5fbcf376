"""The command without a process: the same entry, streams that are as strict as real ones."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path

from holdfast.surfaces.cli import app
from tests.tools import Command


def call(*arguments: str, directory: Path | str = ".") -> Command:
    """Run one command here. A failure that leaves it unspoken is the caller's to see."""
    out, err = _stream("strict"), _stream("backslashreplace")
    with (
        contextlib.chdir(directory),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        _nobody_at_the_keyboard(),
    ):
        code = app.run(list(arguments))
    return Command(arguments, code, _text(out), _text(err))


def _stream(errors: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors=errors, newline="\n")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


@contextlib.contextmanager
def _nobody_at_the_keyboard() -> Iterator[None]:
    before, sys.stdin = sys.stdin, _stream("strict")
    try:
        yield
    finally:
        sys.stdin = before
