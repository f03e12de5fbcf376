"""What can go wrong, as values: one sentence, the facts, what to do, an exit code.

HoldfastError          1
  Refused              1   the request is understood and not allowed
    Fenced             1   this session was declared dead or taken over
    Ambiguous          1   several things fit; the choices are listed
    NotAProject        1   a store in the home directory or in `/` is made only on request
    Trouble            1   the disk, the network or the system said no
    WorkflowError      1   what FABER's documents call an error; told in their words
  WrongUsage           2   wrong arguments or settings
  Bug                  3   a defect of ours
  NotFound            10
  Busy                11   somebody else is writing and did not finish in time
  Damaged             12   what is stored cannot be read
  Interrupted        130   somebody pressed Ctrl-C
"""

from __future__ import annotations

import errno
from collections.abc import Iterable

Facts = Iterable[tuple[str, object]]
KNOWN_AS: dict[str, str] = {}  # directories that are held open: the name by which that is done, and the one people know

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
    """A fact in characters that every surface can carry, by names that people know; a path may be made of any bytes."""
    return known(str(value)).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def known(text: str) -> str:
    """A text with the names by which people know directories that are held open."""
    if not KNOWN_AS:
        return text
    import re  # failures are rare

    return re.sub("/proc/self/fd/[0-9]+", lambda found: KNOWN_AS.get(found.group(), found.group()), text)


class Refused(HoldfastError):
    pass


class Fenced(Refused):
    pass


class Ambiguous(Refused):
    """Its facts are the choices: a name each, and what it is."""


class NotAProject(Refused):
    """A terminal asks instead whether a store is to be made there."""


class Trouble(Refused):
    pass


class WorkflowError(Refused):
    """What FABER's documents call an error; its message, facts and hints are theirs."""


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
    """One sentence with path and remedy for a failed system call."""
    sentence, remedy = REMEDIES.get(error.errno or 0, (error.strerror or "The system call failed", ""))
    name = error.filename
    path = name.decode("utf-8", "backslashreplace") if isinstance(name, bytes) else name
    facts = [("path", _asked_for(path))] if isinstance(path, str) and path else []
    return Trouble(sentence, [*facts, ("error", f"errno {error.errno}")], [remedy] if remedy else [])


def _asked_for(path: str) -> str:
    """The name by which people know a file, which is written under a temporary one."""
    import re

    return re.sub(r"(?<=/)\.([^/]+)\.[0-9a-f]{12}\Z", r"\1", path)
