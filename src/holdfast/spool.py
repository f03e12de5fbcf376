"""Keep one hook call, unread: what `inbox.py` runs.

The call goes into the store's inbox (temporary name, fsync, rename, fsync of the directory). Nothing of it is
understood here, so almost nothing is needed: only modules that are built into the interpreter. A hook never creates
a store, never prints, and never fails, because that would break the agent that called it.

`intake.py` takes kept calls apart. The rest of Holdfast imports `locate`, so that one piece of code finds a store.
"""

import posix
import sys
import time
from _signal import ITIMER_REAL, SIGALRM, setitimer, signal  # type: ignore[import-not-found]

LIMIT = 64 * 1024 * 1024
CHUNK = 1 << 20
TICK = 0.25  # seconds between two looks at a standard input that nobody closes
TICKS = 12  # after so many of them the call is kept as far as it came
SLOT = 128  # bytes of one line in the preallocated trouble file
ENVIRONMENT = (
    b"HOLDFAST_SESSION", b"HOLDFAST_RUN", b"CLAUDE_PROJECT_DIR", b"CLAUDE_PID", b"CLAUDECODE",
    b"CLAUDE_CODE_SESSION_ID", b"CLAUDE_CODE_ENTRYPOINT", b"CLAUDE_PLUGIN_ROOT", b"CLAUDE_ENV_FILE",
    b"GEMINI_SESSION_ID", b"COPILOT_CLI", b"CURSOR_VERSION",
)  # fmt: skip

# After these, what was changed becomes a checkpoint: by the agent, or by somebody else before the next prompt.
TURNS = ("Stop", "StopFailure", "SessionEnd", "UserPromptSubmit")
COMMAND = b'"prompt":"*'  # somebody has typed what may be meant for us, and not for the model


class Quiet(Exception):
    """Standard input is still open, but nothing more is coming."""


def locate(start: str) -> tuple[str, str]:
    """Find (worktree, store) for a directory: the nearest repository's, or a `.holdfast` on the way up.

    The store may not exist. A submodule without a store of its own belongs to the project around it; any other
    repository is a border, so that a store in somebody's home does not swallow every project below it.
    """
    here = start
    nearest: tuple[str, str] | None = None
    while True:
        directory = git_directory(here + "/.git")
        if directory is not None:
            common = common_directory(directory)
            store = common + "/holdfast"
            if nearest is None:
                nearest = (here, store)
            if _is_directory(store):
                return here, store
            if not _is_submodule(here + "/.git", directory):
                return nearest
        elif _is_directory(here + "/.holdfast"):
            return here, here + "/.holdfast"
        if here in ("", "/"):
            return nearest or (start, start.rstrip("/") + "/.holdfast")
        here = here[: here.rfind("/")]


def _is_submodule(git: str, directory: str) -> bool:
    """Whether a repository lies inside another one's git directory, below its `modules`."""
    if _is_directory(git):
        return False
    at = directory.find("/modules/")
    while at >= 0:
        if _exists(directory[:at] + "/HEAD"):
            return True
        at = directory.find("/modules/", at + 1)
    return False


def git_directory(git: str, surely: bool = False) -> str | None:
    """What `git rev-parse --git-dir` would say, or None. Surely: None also where it does not say itself whose it is."""
    if _is_directory(git):
        return git if _exists(git + "/HEAD") else None
    real = _without_links(git) if _exists(git) else ""  # a link leads like a file's line, and is believed no more
    if not _is_directory(real):
        line = _first_line(real)
        real = _without_links(_join(real[: real.rfind("/")], line[8:])) if line.startswith("gitdir: ") else ""
    return real if real and _knows(real, git, surely) else None


def _without_links(path: str) -> str:
    """The same place by the name that no link takes part in; empty where links lead in a circle."""
    done, left, links = "", path.split("/")[::-1], 40
    while left and links:
        done = _join(done, left.pop())
        try:
            target = posix.readlink(done)
        except (OSError, ValueError):  # not a link, as nearly always
            continue
        done = "" if target.startswith("/") else done[: done.rfind("/")]
        left += target.split("/")[::-1]
        links -= 1
    return done if links else ""


def _knows(directory: str, git: str, surely: bool) -> bool:
    """Whether a git directory is this `.git` file's or link's: whoever brings one could lead us to another project."""
    if not _exists(directory + "/HEAD"):
        return False
    back = _first_line(directory + "/gitdir")
    if back:  # stale where somebody moved the worktree by hand: `is_astray` tells, and git puts up with that
        return _join(directory, back) == git or not (surely or _exists(_join(directory, back)))
    above = git[: git.rfind("/")]
    for line in _read(directory + "/config").decode("utf-8", "replace").splitlines():
        name, _, value = (part.strip(' \t"') for part in line.partition("="))
        if name == "worktree" or (name, value) == ("bare", "true"):  # a bare one has none, and may lie among them
            return _join(directory, value) == above if name == "worktree" else directory.startswith(above + "/")
    return not (surely or directory.endswith("/.git"))  # `git init --separate-git-dir` leaves no trace


def common_directory(directory: str) -> str:
    """What `git rev-parse --git-common-dir` would say for a git directory: that of all its worktrees.

    Only what lies among the worktrees there is believed: else whoever brings a directory leads us to another project.
    """
    common = _join(directory, _first_line(directory + "/commondir"))
    is_whole = _exists(common + "/HEAD") and _exists(common + "/objects")
    return common if is_whole and directory.startswith(common + "/worktrees/") else directory


def worktree_name(root: str) -> str:
    """What git calls this worktree: the name of a linked one, a dot for the main one. A moved directory keeps it."""
    directory = git_directory(root + "/.git") or ""
    return directory[directory.rfind("/") + 1 :] if _exists(directory + "/commondir") else "."


def is_astray(root: str, store: str) -> bool:
    """Whether a store is another worktree's: whose repository knows it elsewhere, or which the store itself names."""
    if store == root + "/.git/holdfast" or git_directory(root + "/.git", surely=True) is not None:
        return False
    return worktree_name(root) != "." or _first_line(store + "/root") not in ("", root)


def main_worktree(root: str) -> str | None:
    """The main worktree beside a linked one; None for the main one itself, and where the repository is bare."""
    directory = git_directory(root + "/.git")
    common = common_directory(directory) if directory else None
    return common[:-5] if common and common != directory and common.endswith("/.git") else None


def _join(base: str, path: str) -> str:
    parts: list[str] = []
    for part in (path if path.startswith("/") else base + "/" + path).split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


def _exists(path: str, above: int | None = None) -> bool:
    try:
        posix.stat(path, dir_fd=above, follow_symlinks=False)
    except (OSError, ValueError):
        return False
    return True


def _is_directory(path: str) -> bool:
    try:
        return posix.lstat(path).st_mode & 0o170000 == 0o040000
    except (OSError, ValueError):
        return False


def _first_line(path: str) -> str:
    return _read(path).partition(b"\n")[0].decode("utf-8", "surrogateescape").rstrip("\r")


def _read(path: str | bytes) -> bytes:
    try:
        file = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK)
    except (OSError, ValueError):  # a name that holds a NUL is a ValueError
        return b""
    try:
        return posix.read(file, 4096)
    except OSError:
        return b""
    finally:
        posix.close(file)


def open_ours(path: str, above: int | None = None) -> int:
    """A descriptor of a directory, not a link, that belongs to us and that nobody else can write into.

    What is used is what was looked at: its name may lead elsewhere by then.
    """
    flags = posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC
    directory = posix.open(path, flags, dir_fd=above)
    status = posix.fstat(directory)
    if status.st_mode & 0o022 or status.st_uid != posix.geteuid():
        posix.close(directory)
        raise OSError(path + " is not ours")
    return directory


def keep(inbox: int, agent: str, event: str, directory: str) -> tuple[int, str]:
    """Write what stands on standard input into the store's inbox; on disk when this returns.

    Answers with the open file and its name: by that, another process may have taken it in already.
    """
    boot, monotonic = moment()
    name = f"{monotonic:020d}-{boot[:8] or '0'}-{posix.getpid()}-{posix.urandom(4).hex()}"
    flags = posix.O_RDWR | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC
    file = posix.open("." + name, flags, 0o600, dir_fd=inbox)
    try:
        _write(file, _head(agent, event, boot, monotonic, directory))
        final = name if _copy_input(file) else name + ".cut"
        posix.fsync(file)
        posix.rename("." + name, final, src_dir_fd=inbox, dst_dir_fd=inbox)
    except BaseException:
        posix.unlink("." + name, dir_fd=inbox)
        raise
    posix.fsync(inbox)
    return file, final


def go_on_later(directory: str = "", call: str = "") -> None:
    """Start the work that nobody waits for, after a call, in a session of its own that outlives the agent."""
    nowhere = [(posix.POSIX_SPAWN_OPEN, number, "/dev/null", posix.O_RDWR, 0) for number in range(3)]
    command = [sys.executable, "-I", "-m", "holdfast", "hook", "later", directory, call]
    posix.posix_spawn(sys.executable, command, posix.environ, file_actions=nowhere, setsid=True)


def moment() -> tuple[str, int]:
    """The boot we are in and the nanoseconds since it: an order that no clock change can disturb."""
    boot = _first_line("/proc/sys/kernel/random/boot_id")
    return boot, time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def _head(agent: str, event: str, boot: str, monotonic: int, directory: str) -> bytes:
    fields = [
        b"holdfast-call 1",
        b"agent=" + agent.encode("utf-8", "surrogateescape"),
        b"event=" + event.encode("utf-8", "surrogateescape"),
        b"time=%d" % time.time_ns(),
        b"boot=" + boot.encode(),
        b"monotonic=%d" % monotonic,
        b"pid=%d" % posix.getpid(),
        b"parent=" + _process(b"%d" % posix.getppid()),
        b"directory=" + directory.encode("utf-8", "surrogateescape"),
    ]
    environ = posix.environ
    if b"CLAUDE_PID" in environ:
        fields.append(b"client=" + _process(environ[b"CLAUDE_PID"]))
    fields += [b"env." + name + b"=" + environ[name] for name in ENVIRONMENT if name in environ]
    return b"\0".join(fields) + b"\0\0"


def _process(pid: bytes) -> bytes:
    """`PID NAMESPACE STAT`, so that a later reader can tell the same process from one that has its number."""
    stat = _read(b"/proc/" + pid + b"/stat") if pid.isdigit() else b""
    return pid + b" " + namespaces() + b" " + stat.strip()


def namespaces() -> bytes:
    """Those in which a process number and a start time mean something: other ones cannot be compared."""
    return b"+".join(_link(b"/proc/self/ns/" + kind) for kind in (b"pid", b"time"))


def _link(path: bytes) -> bytes:
    try:
        return posix.readlink(path)
    except OSError:  # an older kernel, or none that is Linux
        return b"-"


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
        file = posix.open("trouble", posix.O_WRONLY | posix.O_CLOEXEC | posix.O_NOFOLLOW, dir_fd=held)
        posix.close(held)
        slot = time.time_ns() // 1000 % (posix.fstat(file).st_size // SLOT)
        posix.lseek(file, slot * SLOT, 0)
        _write(file, line.replace(b"\n", b" ")[: SLOT - 1].ljust(SLOT - 1) + b"\n")
        posix.fsync(file)
        posix.close(file)
    except (OSError, ZeroDivisionError, UnicodeError):
        pass  # nothing more can be done without disturbing the agent


def hook(agent: str, event: str) -> int | None:
    """One hook call, from finding the place to keeping it; answers with the open file that holds it."""
    posix.umask(0o077)
    if posix.environ.get(b"HOLDFAST") == b"0":
        return None
    try:
        posix.chdir(posix.environ.get(b"CLAUDE_PROJECT_DIR") or b".")
    except OSError:
        pass  # a name that leads nowhere: where we are is the next best
    directory = posix.getcwd()  # without any links in it
    root, store = locate(directory)
    try:
        held = open_ours(store)
    except OSError:
        return None
    if not _exists("id", held) or _exists("off", held):
        return None
    try:
        if is_astray(root, store):
            raise OSError("not kept: the worktree was moved, or its `.git` leads astray")
        kept, name = keep(open_ours("inbox", held), agent, event, directory)
        if event in TURNS:
            go_on_later("", name)
        if event == "UserPromptSubmit" and COMMAND in posix.pread(kept, CHUNK, 0):
            posix.dup2(kept, 0)  # go on as the program that answers, with the kept call as its standard input
            posix.execv(sys.executable, [sys.executable, "-I", "-m", "holdfast", "hook", "observe"])
        return kept
    except BaseException as error:
        note_trouble(store, agent, event, error, held)
        return None
