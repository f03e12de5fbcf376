"""The hook's door: `python -I -S inbox.py AGENT EVENT < call` keeps the call and exits 0.

It is this short because Python compiles the script it is given anew each time; `spool.py`, which does the work, is
loaded as bytecode that was compiled when Holdfast was installed. Leaving through the interpreter's own shutdown would
cost more than keeping the call, so it does not.
"""

import posix
import sys
from _frozen_importlib_external import SourceFileLoader

if __name__ == "__main__":
    try:
        spool = type(sys)("spool")
        code = SourceFileLoader("spool", __file__[: -len("inbox.py")] + "spool.py").get_code("spool")
        exec(code or "", spool.__dict__)
        spool.hook(*sys.argv[1:3])
    finally:
        posix._exit(0)
