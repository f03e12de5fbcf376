"""Errors: one sentence, facts, hints and an exit code.

HoldfastError          1
  Refused              1   the request is understood but not allowed
    Fenced             1   this session was declared dead or taken over
    Ambiguous          1   several things match; the choices are listed
    NotAProject        1   a store in the home directory or in `/` is created only on request
    Trouble            1   the disk, the network or the operating system failed
    WorkflowError      1   an error defined by FABER's documents, in their words
  WrongUsage           2   invalid arguments or settings
  Bug                  3   a defect in Holdfast
  NotFound            10
  Busy                11   another process is writing and did not finish in time
  Damaged             12   stored data is corrupt
  Interrupted        130   Ctrl-C
"""

from __future__ import annotations

import errno
from collections.abc import Iterable

Facts = Iterable[tuple[str, object]]
KNOWN_AS: dict[str, str] = {}  # held directories: the name by descriptor -> the real path

DONE, FAILED, INTERRUPTED = 0, 1, 130


class HoldfastError(Exception):
    code = FAILED

    def __init__(self, message: str, facts: Facts = (), hints: Iterable[str] = ()) -> None:
        self.message = _sayable(message)
        super().__init__(self.message)
        self.facts = [(_sayable(name), _sayable(value)) for name, value in facts]
        self.hints = [_sayable(hint) for hint in hints]

    @property
    def kind(self) -> str:
        return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in type(self).__name__)[1:]


def _sayable(value: object) -> str:
    """Return a fact as valid UTF-8 (a path may hold any bytes), with the user-visible names of held directories."""
    return known(str(value)).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def known(text: str) -> str:
    """Replace the `/proc/self/fd` names of held directories by their real paths."""
    if not KNOWN_AS:
        return text
    import re  # errors are rare, and importing `re` takes time

    return re.sub("/proc/self/fd/[0-9]+", lambda found: KNOWN_AS.get(found.group(), found.group()), text)


class Refused(HoldfastError):
    pass


class Fenced(Refused):
    pass


class Ambiguous(Refused):
    """Several matches. Its facts are the choices: a name and a description each."""


class NotAProject(Refused):
    """No store here. A terminal asks whether to create one."""


class Trouble(Refused):
    pass


class WorkflowError(Refused):
    """An error defined by FABER's documents; message, facts and hints are theirs."""


class WrongUsage(HoldfastError):
    code = 2


class Bug(HoldfastError):
    code = 3


class NotFound(HoldfastError):
    code = 10


class Busy(HoldfastError):
    code = 11


class Damaged(HoldfastError):
    code = 12


class Interrupted(HoldfastError):
    code = INTERRUPTED


REMEDIES = {
    errno.ENOSPC: ("The disk is full", "free some space, then run the command again"),
    errno.EDQUOT: ("The disk quota is used up", "free some space, then run the command again"),
    errno.EROFS: ("The file system is read-only", "mount it writable, or work on a copy"),
    errno.EACCES: ("Permission is denied", "look at the owner and mode of the path with `ls -ld`"),
    errno.EPERM: ("The system does not allow it", "look at the owner and attributes of the path (`ls -ld`, `lsattr`)"),
    errno.EMFILE: ("Too many files are open", "raise the limit with `ulimit -n`"),
    errno.ENFILE: ("Too many files are open on this machine", "close some programs"),
    errno.EIO: ("The disk reports an error", "look at `dmesg`; keep a copy of what can still be read"),
    errno.EFBIG: ("The file would be too large", "raise the limit with `ulimit -f`"),
    errno.ENAMETOOLONG: ("The name is too long", "use a shorter one"),
    errno.ELOOP: ("The path leads through a symbolic link", "give the real path"),
    errno.ENOTDIR: ("A part of the path is not a directory", "look at the path with `ls -ld`"),
}


def from_os_error(error: OSError) -> Trouble:
    """Return the error for a failed system call, with its path and a remedy."""
    sentence, remedy = REMEDIES.get(error.errno or 0, (error.strerror or "The system call failed", ""))
    name = error.filename
    path = name.decode("utf-8", "backslashreplace") if isinstance(name, bytes) else name
    facts = []
    if isinstance(path, str) and path:
        import re

        final = re.sub(r"(?<=/)\.([^/]+)\.[0-9a-f]{12}\Z", r"\1", path)  # of a file under its temporary name
        facts = [("path", final)]
    return Trouble(sentence, [*facts, ("error", f"errno {error.errno}")], [remedy] if remedy else [])
