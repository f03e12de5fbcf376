"""The `holdfast` command. What needs no command line is answered before one is loaded.

`python -m holdfast` puts the directory it is called in first among the places of modules, and a repository may hold a
`click.py`. So that place is taken out before anything else is loaded.
"""

from __future__ import annotations

import gc
import os
import sys


def _here() -> str:
    """The directory that we are called in; nothing where it was removed under us."""
    try:
        return os.getcwd()
    except OSError:
        return ""


if not sys.flags.safe_path and sys.path and sys.path[0] in ("", _here()):
    del sys.path[0]

LOOKING = ("checkpoint", "restore", "undo", "redo")  # verbs that begin by looking at the whole worktree
HELP = {"-h", "--help"}


def main() -> None:
    """Answer, and leave at once: the interpreter's own farewell would take as long as a short answer."""
    gc.set_threshold(50_000, 20, 20)  # what is loaded stays: to look through it for garbage takes as long, too
    try:
        code = _answer(sys.argv[1:])
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except KeyboardInterrupt:  # while modules were being loaded; later ones are answered in words
        code = 130
    except OSError:  # nobody takes the last words
        code = 1
    os._exit(code)


def _answer(arguments: list[str]) -> int:
    if arguments == ["--version"] and sys.stdout is not None:
        from holdfast import __version__

        try:
            sys.stdout.write(f"holdfast {__version__}\n")
            sys.stdout.flush()
            return 0
        except OSError as error:
            from holdfast.surfaces.cli.runner import say_unwritable

            return say_unwritable(error)
    if arguments[:1] == ["hook"]:
        from holdfast.surfaces.hooks.handle_call import main as answer

        return answer(arguments[1:])
    if arguments and arguments[0] in LOOKING and not HELP.intersection(arguments):
        from holdfast.worktree import prefetch

        prefetch.begin()
    from holdfast.surfaces.cli.app import run

    return run(arguments)


if __name__ == "__main__":
    main()
