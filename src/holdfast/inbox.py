"""Hook commands that older versions wrote into settings run this file; it runs `surfaces/hooks/entry.py`."""

import posix

if __name__ == "__main__":
    try:
        __file__ = __file__[: -len("inbox.py")] + "surfaces/hooks/entry.py"
        with open(__file__) as file:
            exec(compile(file.read(), __file__, "exec"))
    finally:
        posix._exit(0)
