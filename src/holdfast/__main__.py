"""The `holdfast` command. What needs no command line is answered before one is loaded."""

from __future__ import annotations

import sys


def main() -> None:
    if sys.argv[1:] == ["--version"]:
        from holdfast import __version__

        try:
            sys.stdout.write(f"holdfast {__version__}\n")
            sys.stdout.flush()
            return
        except OSError as error:
            from holdfast.cli.app import say_unwritable

            sys.exit(say_unwritable(error))
        except AttributeError:
            pass  # there is no standard output: what to do then is known below
    from holdfast.cli.app import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
