"""Write a hook call, unparsed, into the store's inbox, and failures into its trouble file.

A call is written under a temporary name, synced, renamed, and its directory synced. Hooks load this, so it uses only
modules that are built into the interpreter. `inbox.py` is the reader.
"""

import posix
import time
from _signal import ITIMER_REAL, SIGALRM, setitimer, signal  # type: ignore[import-not-found]

from holdfast.system.boot import describe_process, moment
from holdfast.system.locate import open_ours

TYPE_CHECKING = False  # as in typing, whose import takes 10 ms

if TYPE_CHECKING:
    from typing import Protocol

    class Client(Protocol):
        """The variables of a client: see its `client.py`."""

        PROJECT: str | None
        PROCESS: str | None
        CONVERSATION: str | None
        RECORDED: tuple[str, ...]


LIMIT = 64 * 1024 * 1024
CHUNK = 1 << 20
TICK = 0.25  # seconds between two checks of a standard input that stays open
TICKS = 12  # after so many the call is recorded as far as it was read
SLOT = 128  # bytes of one line in the preallocated trouble file
OURS = ("HOLDFAST_SESSION", "HOLDFAST_RUN")  # variables that are recorded with a call of any client


class Quiet(Exception):
    """Standard input is still open, but idle."""


def keep(inbox: int, agent: str, event: str, directory: str, client: "Client") -> tuple[int, str]:
    """Write standard input into the store's inbox, and return the open file and its name. It is durable then.

    The file is returned open, because another process may have ingested and unlinked it already.
    """
    boot, monotonic = moment()
    name = f"{monotonic:020d}-{boot[:8] or '0'}-{posix.getpid()}-{posix.urandom(4).hex()}"
    flags = posix.O_RDWR | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC
    file = posix.open("." + name, flags, 0o600, dir_fd=inbox)
    try:
        _write(file, _head(agent, event, boot, monotonic, directory) + _environment(client))
        final = name if _copy_input(file) else name + ".cut"
        posix.fsync(file)  # safeguard: sync-inbox-call
        posix.rename("." + name, final, src_dir_fd=inbox, dst_dir_fd=inbox)
    except BaseException:
        posix.unlink("." + name, dir_fd=inbox)
        raise
    posix.fsync(inbox)  # safeguard: sync-inbox-directory
    return file, final


def _head(agent: str, event: str, boot: str, monotonic: int, directory: str) -> bytes:
    fields = [
        b"holdfast-call 1",
        b"agent=" + agent.encode("utf-8", "surrogateescape"),
        b"event=" + event.encode("utf-8", "surrogateescape"),
        b"time=%d" % time.time_ns(),
        b"boot=" + boot.encode(),
        b"monotonic=%d" % monotonic,
        b"pid=%d" % posix.getpid(),
        b"parent=" + describe_process(b"%d" % posix.getppid()),
        b"directory=" + directory.encode("utf-8", "surrogateescape"),
    ]
    return b"\0".join(fields)


def _environment(client: "Client") -> bytes:
    """Return the fields of the client's process, if a variable names it, and of the recorded variables."""
    environ, fields = posix.environ, [b""]
    process = (client.PROCESS or "").encode()
    if process in environ:
        fields.append(b"client=" + describe_process(environ[process]))
    for name in (*OURS, client.PROJECT, client.PROCESS, client.CONVERSATION, *client.RECORDED):
        if name and (found := environ.get(name.encode())) is not None:
            fields.append(b"env." + name.encode() + b"=" + found)
    return b"\0".join(fields) + b"\0\0"


def _copy_input(file: int) -> bool:
    """Copy standard input up to the limit; False if it was truncated or never closed."""
    quiet, ticks, fresh, tail = True, 0, False, b""

    def look(_signal: int, _frame: object) -> None:
        nonlocal ticks, fresh
        ticks += 1
        if quiet and (ticks >= TICKS or (not fresh and tail.endswith((b"}", b"}\n")))):
            raise Quiet
        fresh = False

    left = LIMIT
    signal(SIGALRM, look)
    setitimer(ITIMER_REAL, TICK, TICK)
    try:
        while left and (chunk := posix.read(0, min(CHUNK, left))):
            quiet, fresh, tail = False, True, chunk[-2:]
            _write(file, chunk)
            left -= len(chunk)
            quiet = True
    except Quiet:
        return False
    finally:
        quiet = False
        setitimer(ITIMER_REAL, 0)
    return left > 0


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[posix.write(file, data) :]


def note_trouble(store: str, agent: str, event: str, error: BaseException, held: int | None = None) -> None:
    """Write a line for `status` into the trouble file, which is preallocated so that it works on a full disk."""
    words = f"{agent} {event} {error}".encode("utf-8", "surrogateescape")
    line = b"%d %s" % (time.time(), words)
    try:
        held = open_ours(store) if held is None else held
        # safeguard: linked-trouble-file
        file = posix.open("trouble", posix.O_WRONLY | posix.O_CLOEXEC | posix.O_NOFOLLOW, dir_fd=held)
        posix.close(held)
        slot = time.time_ns() // 1000 % (posix.fstat(file).st_size // SLOT)
        posix.lseek(file, slot * SLOT, 0)
        _write(file, line.replace(b"\n", b" ")[: SLOT - 1].ljust(SLOT - 1) + b"\n")
        posix.fsync(file)  # safeguard: sync-trouble-line
        posix.close(file)
    except (OSError, ZeroDivisionError, UnicodeError):
        pass  # nothing more can be done without disturbing the agent
