"""The `holdfast` command. What needs no command line is answered before one is loaded."""

from __future__ import annotations

import sys


def main() -> None:
    if sys.argv[1:] == ["--version"]:
        from holdfast import __version__

        print(f"holdfast {__version__}")
        return
    from holdfast.cli.app import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
