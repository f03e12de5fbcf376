"""How a command ends: its result in words or as JSON, what went wrong as one sentence, the exit code.

It knows nothing of how a command line is read, so that a command that is called all the time need not load that.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from holdfast import __version__
from holdfast.core.errors import DONE, FAILED, INTERRUPTED, Bug, HoldfastError, Trouble, WorkflowError, from_os_error
from holdfast.core.text import ACTING, Zone, one_line
from holdfast.ingest.open import open_workspace
from holdfast.operations.commands import ALIASES, COMMANDS
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.progress import Reporter
from holdfast.surfaces.cli.terminal import Line
from holdfast.system.clock import printed_in

if TYPE_CHECKING:
    from holdfast.redaction.redactor import Redactor

SHORTEST = 8  # characters of a piece that is minded
WORDS = sorted({*COMMANDS, *ALIASES, "completion", "help"})


class Said(Struct, frozen=True):
    """A result in every form: the value for --json, the data for stdout, the talk for stderr."""

    result: Any
    data: Iterable[Line] | Callable[[], None] = ()
    talk: Iterable[Line] = ()
    code: int = 0
    short: Iterable[Line] | None = None  # the data for somebody who wants to hear little
    then: Callable[[], int] | None = None  # what follows for somebody at a terminal, once all is said
    stream: Callable[[bool], None] | None = None  # for what has no end: told whether it speaks JSON
    fenced: bool = False  # whether the data stands in a fence; where an agent reads it, the talk does then too


class Manner(Struct, frozen=True):
    """The form of output that was asked for."""

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    fence: bool = False


def answer(act: Callable[[Workspace], Said], manner: Manner) -> int:
    """Open the workspace, call a verb, and say the result."""
    with printed_in(Zone.UTC if manner.as_json else Zone.NAMED if manner.verbose else Zone.LOCAL):
        return _answer(act, manner)


def _answer(act: Callable[[Workspace], Said], manner: Manner) -> int:
    progress = Reporter(shown=not manner.as_json and not manner.quiet)
    with open_workspace(progress=progress) as workspace:
        try:
            said = act(workspace)
        finally:
            progress.close()
        if said.stream:
            said.stream(manner.as_json)
        if manner.as_json:
            print_json(said.result)
            return said.code
        if not manner.quiet:
            talk = [*(("warn", f"holdfast: {warning}") for warning in workspace.warnings), *said.talk]
            is_fenced = manner.fence or (said.fenced and not sys.stderr.isatty())
            terminal.emit(_fenced(talk, workspace) if is_fenced and talk else talk, sys.stderr)
        if manner.verbose:
            terminal.emit([("dim", f"store: {workspace.place}"), ("dim", f"worktree: {workspace.root}")], sys.stderr)
    data = said.short if manner.quiet and said.short is not None else said.data
    if manner.fence:
        terminal.emit(_fenced(data, workspace))
        return said.code
    if callable(data):
        data()
    else:
        terminal.emit(data)
    return said.then() if said.then else said.code


def _fenced(data: Iterable[Line] | Callable[[], None], workspace: Workspace) -> list[Line]:
    from holdfast.core.untrusted_text import enclose

    # safeguard: fence-answer
    return [enclose(workspace.hide(_text(data)), workspace.chance)]  # an older version may have stored secrets


def _text(data: Iterable[Line] | Callable[[], None]) -> str:
    """The text of the output."""
    printed = io.StringIO()
    if callable(data):
        with contextlib.redirect_stdout(printed):
            data()
    else:
        terminal.emit(data, printed)
    return printed.getvalue().rstrip("\n")


def is_terminal() -> bool:
    """True if there is a terminal at which a question can be asked."""
    return sys.stdin is not None and sys.stdin.isatty()


def run(arguments: list[str], act: Callable[[list[str]], int]) -> int:
    """Carry one command out; answers with the exit code. Nothing that goes wrong leaves this function unspoken."""
    begun = time.monotonic()
    _prepare_streams()
    try:
        code = _guarded([_as_utf8(argument) for argument in arguments], act)
    except OSError:  # the words for what went wrong could not be written either
        code = FAILED
    try:
        sys.stdout.flush()
    except OSError:
        _reader_left()
    if log := os.environ.get("HOLDFAST_LOG"):
        _log(log, arguments, code, time.monotonic() - begun)
    return code


def _prepare_streams() -> None:
    """Standard streams that may be closed, or too narrow for the text, are no reason to fail."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _as_utf8(argument: str) -> str:
    """What was typed, also where the locale made Python read it as something else."""
    return os.fsencode(argument).decode("utf-8", "surrogateescape")


def _guarded(arguments: list[str], act: Callable[[list[str]], int]) -> int:
    as_json, fence = "--json" in arguments, "--fence" in arguments
    try:
        code = act(arguments)
        sys.stdout.flush()
        return code
    except HoldfastError as error:
        return say_error(error, as_json, fence, arguments)
    except KeyboardInterrupt:
        terminal.emit(["", "Interrupted. What was acknowledged is kept."], sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_left()
    except OSError as error:
        return say_error(from_os_error(error), as_json)
    except MemoryError:
        return say_error(Trouble("There is not enough memory", [], ["close some programs"]), as_json)
    except Exception as error:
        return _say_bug(error, arguments, as_json)


def print_json(value: Any) -> None:
    import msgspec

    text = msgspec.json.encode(value).decode()
    sys.stdout.write((text if text.isascii() and text.isprintable() else ACTING.sub(_escaped, text)) + "\n")
    sys.stdout.flush()


def _escaped(found: re.Match[str]) -> str:
    """A character that a terminal would act upon, as JSON writes it in ASCII."""
    pair = found.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in zip(pair[::2], pair[1::2], strict=True))


def say_error(error: HoldfastError, as_json: bool, fence: bool = False, typed: list[str] | None = None) -> int:
    # safeguard: hide-error
    error.message, error.hints, facts = without_secrets([error.message, error.hints, error.facts], typed or [])
    error.facts = [(name, value) for name, value in facts]
    if as_json and _said_as_json(error):
        return error.code
    lines = _error_lines(error)
    if fence or not sys.stderr.isatty():  # an agent reads it, and facts may be anybody's words
        from holdfast.core import ids
        from holdfast.core.untrusted_text import enclose, tame

        text = _text(lines)
        lines = [enclose(text, ids.make_mark) if fence else tame(text)]
    terminal.emit(lines, sys.stderr)
    return error.code


def _error_lines(error: HoldfastError) -> list[Line]:
    if isinstance(error, WorkflowError):
        from holdfast.layouts.results import told_error

        return list(told_error(error, terminal.marks()))
    width = max((len(name) for name, _ in error.facts), default=0)
    lines: list[terminal.Line] = [("bad", f"holdfast: {one_line(error.message)}")]
    lines += [f"  {one_line(name).ljust(width)}  {one_line(value, 500)}" for name, value in error.facts]
    return [*lines, *(f"  try: {one_line(hint)}" for hint in error.hints)]


def _said_as_json(error: HoldfastError) -> bool:
    """Print an error as JSON; False where standard output takes nothing, so that it has to be said elsewhere."""
    told = {"kind": error.kind, "message": error.message, "facts": _facts(error), "hints": error.hints}
    try:
        print_json({"error": {**told, "code": error.code}})
    except BrokenPipeError:
        _reader_left()
    except OSError:
        _reader_left()
        return False
    return True


def _facts(error: HoldfastError) -> dict[str, object]:
    """Facts by name. Where several have the same name, as choices do, it has a list of them."""
    found: dict[str, list[str]] = {}
    for name, value in error.facts:
        found.setdefault(name, []).append(value)
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


def say_unwritable(error: OSError) -> int:
    """Standard output takes nothing: silence if whoever read it has left, one sentence if its disk is full."""
    _reader_left()
    return DONE if isinstance(error, BrokenPipeError) else say_error(from_os_error(error), as_json=False)


def _reader_left() -> int:
    """Handle a closed output pipe. Python would report it once more at shutdown."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return DONE


def _say_bug(error: Exception, arguments: list[str], as_json: bool) -> int:
    """A defect of ours, as a report that can be pasted. It names places in our code, and nothing of the user's."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append(f"{os.path.basename(code.co_filename)}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    facts = [
        ("version", f"holdfast {__version__}, Python {sys.version.split()[0]}, {sys.platform}"),
        ("verb", next((word for word in arguments if word in WORDS), "none")),
        # safeguard: hide-bug-report
        ("error", f"{type(error).__name__}: {one_line(without_secrets([str(error)], [])[0], 300)}"),
        ("where", " > ".join(frames[-6:])),
    ]
    return say_error(
        Bug("This is a bug in Holdfast; what was acknowledged is kept", facts, ["report these lines"]), as_json
    )


def _log(path: str, arguments: list[str], code: int, seconds: float) -> None:
    verb = next((word for word in arguments if word in WORDS), "-")
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(
                f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {verb} exit={code} {seconds * 1000:.0f}ms\n"
            )
    except OSError as error:
        terminal.emit([("warn", f"holdfast: the log cannot be written: {error}")], sys.stderr)


def without_secrets(told: list[Any], typed: list[str]) -> list[Any]:
    """What is told, as it may be; also where it repeats no more than the beginning of something that was typed."""
    try:
        redactor = _redactor()
        found: list[Any] = redactor.clean(told)[0]
        for line in map(one_line, typed):
            if (clean := redactor.text(line)) != line:
                found = _without_beginnings(found, line, one_line(clean))  # safeguard: hide-typed-beginning
    except (ImportError, OSError, MemoryError):  # it may be the very reason why something went wrong
        return told
    return found


def _redactor() -> Redactor:
    """The project's own, which knows its `.env` files and the user's patterns."""
    try:
        with open_workspace() as workspace:
            return workspace.redactor  # safeguard: hide-error-or-fail
    except (HoldfastError, OSError):  # no directory, or settings that cannot be read
        from holdfast.redaction.environment import find_known
        from holdfast.redaction.redactor import Redactor

        return Redactor(find_known(os.environ, Path()))


def _without_beginnings(told: Any, line: str, clean: str) -> Any:
    """What was cut to its length before anybody looked for secrets in it: half a token is no token that is found."""
    if isinstance(told, list | tuple):
        return [_without_beginnings(one, line, clean) for one in told]
    for length in range(len(line) - 1, SHORTEST - 1, -1) if "…" in told else ():
        if (piece := f"{line[:length]}…") in told and not clean.startswith(line[:length]):
            return told.replace(piece, f"{clean[:length]}…")
    return told
