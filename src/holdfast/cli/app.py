"""The `holdfast` command line: finding the verb, catching what goes wrong, the exit code."""

from __future__ import annotations

import io
import os
import sys
import time
from importlib import import_module

import click

from holdfast import __version__
from holdfast.cli import words
from holdfast.cli.command import print_json
from holdfast.cli.verbs import DAILY, GROUPS, VERBS
from holdfast.errors import DONE, FAILED, INTERRUPTED, Bug, HoldfastError, Trouble, WrongUsage, from_os_error
from holdfast.text import one_line


class LazyGroup(click.Group):
    """All verbs, each loaded when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module = import_module(f"holdfast.cli.{VERBS[cmd_name].module}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], VERBS, 2)
            hints = [f"did you mean `holdfast {name}`?" for name in near]
            raise WrongUsage(
                f'There is no verb "{one_line(args[0], 40)}"', [], [*hints, "`holdfast --help` lists them"]
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Every day"):
            formatter.write_dl([(name, VERBS[name].about) for name in DAILY])
        for group, title in GROUPS.items():
            rest = [(name, verb.about) for name, verb in VERBS.items() if verb.group == group and name not in DAILY]
            with formatter.section(title):
                formatter.write_dl(rest)


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=False,
               invoke_without_command=True)  # fmt: skip
@click.version_option(__version__, prog_name="holdfast", message="%(prog)s %(version)s")
@click.pass_context
def holdfast(ctx: click.Context) -> int:
    """Durable sessions for AI coding agents.

    Holdfast keeps what an agent's work knows - its goal, decisions, tasks, what was done - and gives it back.
    `holdfast VERB --help` shows one verb with an example.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
    return DONE


def run(arguments: list[str]) -> int:
    """Run one command; answers with the exit code. Nothing that goes wrong leaves this function unspoken."""
    begun = time.monotonic()
    _prepare_streams()
    try:
        code = _guarded([_as_utf8(argument) for argument in arguments])
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


def _guarded(arguments: list[str]) -> int:
    as_json = "--json" in arguments
    try:
        if "_HOLDFAST_COMPLETE" in os.environ:
            holdfast._main_shell_completion({}, "holdfast")
        with holdfast.make_context("holdfast", list(arguments)) as context:
            result = holdfast.invoke(context)
        sys.stdout.flush()
        return result if isinstance(result, int) else DONE
    except click.exceptions.Exit as ended:
        sys.stdout.flush()
        return ended.exit_code
    except HoldfastError as error:
        return say_error(error, as_json)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return DONE
    except click.UsageError as error:
        return say_error(_usage(error), as_json)
    except (KeyboardInterrupt, click.Abort):
        words.emit(["", "Interrupted. What was acknowledged is kept."], sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_left()
    except OSError as error:
        return say_error(from_os_error(error), as_json)
    except MemoryError:
        return say_error(Trouble("There is not enough memory", [], ["close some programs"]), as_json)
    except Exception as error:
        return _say_bug(error, arguments, as_json)


def say_error(error: HoldfastError, as_json: bool) -> int:
    if as_json and _said_as_json(error):
        return error.code
    width = max((len(name) for name, _ in error.facts), default=0)
    lines: list[words.Line] = [("bad", f"holdfast: {one_line(error.message)}")]
    lines += [f"  {one_line(name).ljust(width)}  {one_line(value, 500)}" for name, value in error.facts]
    lines += [f"  try: {one_line(hint)}" for hint in error.hints]
    words.emit(lines, sys.stderr)
    return error.code


def _said_as_json(error: HoldfastError) -> bool:
    """Print an error as JSON; False where standard output takes nothing, so that it has to be said elsewhere."""
    try:
        print_json(
            {
                "error": {
                    "kind": error.kind,
                    "message": error.message,
                    "facts": dict(error.facts),
                    "hints": error.hints,
                    "code": error.code,
                }
            }
        )
    except BrokenPipeError:
        _reader_left()
    except OSError:
        _reader_left()
        return False
    return True


def _usage(error: click.UsageError) -> WrongUsage:
    path = error.ctx.command_path if error.ctx else "holdfast"
    return WrongUsage(error.format_message().rstrip("."), [], [f"`{path} --help`"])


def say_unwritable(error: OSError) -> int:
    """Standard output takes nothing: silence if whoever read it has left, one sentence if its disk is full."""
    _reader_left()
    return DONE if isinstance(error, BrokenPipeError) else say_error(from_os_error(error), as_json=False)


def _reader_left() -> int:
    """Whoever read our output has seen enough. Python would complain once more while it shuts down."""
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
        ("verb", next((word for word in arguments if word in VERBS), "none")),
        ("error", f"{type(error).__name__}: {one_line(str(error), 300)}"),
        ("where", " > ".join(frames[-6:])),
    ]
    return say_error(
        Bug("This is a bug in Holdfast; what was acknowledged is kept", facts, ["report these lines"]), as_json
    )


def _log(path: str, arguments: list[str], code: int, seconds: float) -> None:
    verb = next((word for word in arguments if word in VERBS), "-")
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(
                f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {verb} exit={code} {seconds * 1000:.0f}ms\n"
            )
    except OSError as error:
        words.emit([("warn", f"holdfast: the log cannot be written: {error}")], sys.stderr)
