"""The hook as a script: `python -I -S entry.py AGENT EVENT < call` records the call and exits 0.

It is this short because Python compiles the script it is given each time; the modules that do the work are loaded as
bytecode that was compiled when Holdfast was installed, and without their packages. Leaving through the interpreter's
own shutdown would cost more than recording the call, so it does not.
"""

import posix
import sys
from _frozen_importlib_external import SourceFileLoader

NAMES = "system.locate", "system.boot", "project.inbox_writer", "ingest.detach", "surfaces.hooks.record"

if __name__ == "__main__":
    try:
        for name in NAMES:
            sys.modules["holdfast." + name] = module = type(sys)("holdfast." + name)
            path = __file__[: -len("surfaces/hooks/entry.py")] + name.replace(".", "/") + ".py"
            exec(SourceFileLoader(module.__name__, path).get_code(module.__name__) or "", module.__dict__)
        module.hook(*sys.argv[1:3])
    finally:
        posix._exit(0)
