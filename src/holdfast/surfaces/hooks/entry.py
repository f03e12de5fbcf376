"""The hook as a script: `python -I -S entry.py AGENT EVENT < call` records the call and exits 0.

It is this short because Python compiles the script it is given each time; the modules that do the work are loaded as
bytecode that was compiled when Holdfast was installed, and without their packages. Leaving through the interpreter's
own shutdown would cost more than recording the call, so it does not.
"""

import posix
import sys
from _frozen_importlib_external import SourceFileLoader

NAMES = "system.locate", "system.boot", "project.inbox_writer", "ingest.detach", "surfaces.hooks.record"


def load(name: str) -> None:
    """Load one of our modules by its full name, and nothing above it."""
    path = __file__[: -len("holdfast/surfaces/hooks/entry.py")] + name.replace(".", "/") + ".py"
    module = sys.modules[name] = type(sys)(name)
    exec(SourceFileLoader(name, path).get_code(name) or "", module.__dict__)


if __name__ == "__main__":
    try:
        for name in NAMES:
            load("holdfast." + name)
        sys.modules["holdfast.surfaces.hooks.record"].hook(*sys.argv[1:3], load)
    finally:
        posix._exit(0)
