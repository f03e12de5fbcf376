"""Write one hook call, unread, into the store's inbox; note in the trouble file what failed.

A call is written under a temporary name, synced, renamed, and its directory synced. Hooks load this, so it uses only
modules that are built into the interpreter. `inbox.py` reads what is written here.
"""

import posix
import time
from _signal import ITIMER_REAL, SIGALRM, setitimer, signal  # type: ignore[import-not-found]

from holdfast.system.boot import describe_process, moment
from holdfast.system.locate import open_ours

TYPE_CHECKING = False  # what the typing module would say, without its 10 ms

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
TICK = 0.25  # seconds between two looks at a standard input that nobody closes
TICKS = 12  # after so many of them the call is kept as far as it came
SLOT = 128  # bytes of one line in the preallocated trouble file
OURS = ("HOLDFAST_SESSION", "HOLDFAST_RUN")  # variables that are recorded with a call of any client


class Quiet(Exception):
    """Standard input is still open, but nothing more is coming."""


def keep(inbox: int, agent: str, event: str, directory: str, client: "Client") -> tuple[int, str]:
    """Write what stands on standard input into the store's inbox; on disk when this returns.

    Answers with the open file and its name: by that, another process may have taken it in already.
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
    """The client's process, where a variable names it, and the variables that are recorded."""
    environ, fields = posix.environ, [b""]
    process = (client.PROCESS or "").encode()
    if process in environ:
        fields.append(b"client=" + describe_process(environ[process]))
    for name in (*OURS, client.PROJECT, client.PROCESS, client.CONVERSATION, *client.RECORDED):
        if name and (found := environ.get(name.encode())) is not None:
            fields.append(b"env." + name.encode() + b"=" + found)
    return b"\0".join(fields) + b"\0\0"


def _copy_input(file: int) -> bool:
    """Copy standard input up to the limit; False where it was cut or never ended."""
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
    """Leave a line where `status` finds it. The file was allocated with the store, so a full disk has room for it."""
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
