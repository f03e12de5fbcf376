"""git commands in a private directory, isolated from the user's configuration, hooks and filters.

Commands read the worktree through our own `GIT_DIR`. Its configuration is empty and its attributes disable every
conversion. Both are part of the installed package (`worktree/gitdir/`), not of the store, where an agent can write: so
neither a repository nor an agent can make git run or change anything. Processes are started by `posix_spawn`, because
importing `subprocess` takes longer than git itself.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import select
import signal
import time
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import BinaryIO, NoReturn

from holdfast.core.errors import Damaged, NotFound, Trouble
from holdfast.core.text import one_line
from holdfast.system import files
from holdfast.system.git.repository import DIRECTORY, KEEP, Entry, Format, parse_tree, sorted_tree
from holdfast.system.safe_paths import real_path

DEADLINE = 300.0
HINTS = ("run the command again", "`git status` says whether git itself works here")
CHUNK = 1 << 20
BATCH = 64  # objects per request: their ids fit into a pipe
KEPT_TREES = 5_000
SETTINGS = Path(__file__).parents[2] / "worktree" / "gitdir"
SWITCHED_OFF = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.fsync=all"),
    *("-c", "core.sharedRepository=0600"),  # files written by git are private under any umask
    *("-c", "gc.auto=0"),
    *("-c", "core.quotePath=false"),
    *("-c", "core.attributesFile=/dev/null"),
    *("-c", "core.untrackedCache=false"),
    *("-c", "protocol.allow=never"),
)


class Git:
    """git commands with a private directory over a pinned worktree.

    A `whole` directory has its own settings and refs: it was just created, and nothing else writes there.
    """

    def __init__(
        self, directory: Path, root: Path, objects: Path, index: Path, form: Format, *, whole: bool = False
    ) -> None:
        self.directory = directory
        self.root = root
        self.objects = objects
        self.index = index
        self.form = form
        self.whole = whole
        self.excludes: Path | None = None  # further ignore patterns, in addition to those in the worktree

    def prepare(self) -> None:
        if (self.directory / "HEAD").exists():
            return
        for directory in (self.directory, self.directory / "refs", self.directory / "info"):
            files.make_private_directory(directory)
        for name in ("config", "info/attributes") if self.whole else ():
            files.write(self.directory / name, (SETTINGS / self.form.name / name).read_bytes())
        files.write(self.directory / "keep", KEEP, 0o444)
        files.write(self.directory / "HEAD", b"ref: refs/heads/none\n")

    def start(
        self, *arguments: str, index: Path | None = None, scratch: Path | None = None, home: Path | None = None
    ) -> Running:
        """Start a command. With `scratch`, it writes objects there, and only reads ours.

        With `home`, it uses the refs of that git directory, with its settings.
        """
        environment = {
            "PATH": os.defpath,
            "HOME": "/nonexistent",
            "LC_ALL": "C",
            "GIT_DIR": str(home or self.directory),
            "GIT_WORK_TREE": str(self.root),
            "GIT_INDEX_FILE": str(index or self.index),
            "GIT_OBJECT_DIRECTORY": str(scratch or self.objects),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
        }
        if home is None and not self.whole:
            environment["GIT_COMMON_DIR"] = str(SETTINGS / self.form.name)  # safeguard: own-git-settings
        if scratch is not None:
            environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = str(self.objects)
        program = find_git(os.environ.get("PATH", os.defpath), str(self.root))
        ignoring = ("-c", f"core.excludesFile={self.excludes or os.devnull}")
        command = ["git", "-C", str(self.root), *SWITCHED_OFF, *ignoring, *arguments]
        return Running(program, command, environment, arguments[0])

    def run(self, *arguments: str, input: bytes = b"", **places: Path | None) -> bytes:
        """Return the output of a command; `places` as in `start`."""
        return self.start(*arguments, **places).finish(input)


@functools.cache
def find_git(search: str, root: str) -> str:
    if program := find_program("git", search, root):
        return program
    raise NotFound("git is not installed", [("searched", search)], ["install git"])


def find_program(name: str, search: str, root: str) -> str | None:
    """Return a program's absolute path. Programs in the worktree and relative entries of PATH are skipped."""
    inside = real_path(root) + os.sep
    for directory in search.split(os.pathsep):
        program = os.path.join(directory, name)
        places = (real_path(directory) + os.sep, real_path(program))
        # safeguard: git-in-worktree
        if os.path.isabs(directory) and not any(place.startswith(inside) for place in places) and _can_run(program):
            return program
    return None


def _can_run(program: str) -> bool:
    return os.path.isfile(program) and os.access(program, os.X_OK)


class TooMuch(Exception):
    """A command exceeded its output limit."""


class Running:
    """A started git command, in its own process group."""

    def __init__(self, program: str, command: list[str], environment: dict[str, str], name: str) -> None:
        self.name, self.said = name, b""  # standard error, once it has finished
        pipes = [os.pipe() for _ in range(3)]
        (given, self.input), (self.output, told), (self.errors, complained) = pipes
        self._open = {self.input, self.output, self.errors}
        theirs = (given, told, complained)
        try:
            self.pid = os.posix_spawn(
                program,
                command,
                environment,
                file_actions=[(os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate(theirs)],
                setpgroup=0,
                setsigdef=[signal.SIGPIPE],
            )
        except BaseException:
            self._close(*self._open)
            raise
        finally:
            for end in theirs:
                os.close(end)

    def finish(
        self,
        input: bytes = b"",
        also_fine: tuple[int, ...] = (),
        deadline: float | None = None,
        most: int | None = None,
    ) -> bytes:
        """Wait for the command and return its output. Raises TooMuch beyond `most` bytes."""
        try:
            out, self.said = self._talk(input, DEADLINE if deadline is None else deadline, most)
        except BaseException:
            self.stop()
            raise
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if code not in (0, *also_fine):
            said = one_line(self.said.decode("utf-8", "replace"), 300)
            raise Trouble(f"git {self.name} failed", [("exit code", code), ("said", said)], HINTS)
        return out

    def stop(self) -> None:
        self._close(*self._open)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def _talk(self, input: bytes, deadline: float, most: int | None) -> tuple[bytes, bytes]:
        """Write and read concurrently: writing alone deadlocks once the output pipe is full."""
        said: dict[int, list[bytes]] = {self.output: [], self.errors: []}
        left = memoryview(input)
        os.set_blocking(self.input, False)
        waiting = select.poll()
        waiting.register(self.input, select.POLLOUT)
        for descriptor in said:
            waiting.register(descriptor, select.POLLIN)
        end = time.monotonic() + deadline
        while self._open:
            ready = waiting.poll(max(0.0, end - time.monotonic()) * 1000)
            if not ready:
                raise Trouble(f"git {self.name} did not finish", [("deadline", f"{deadline:g} s")], HINTS)
            for descriptor, _ in ready:
                if descriptor == self.input:
                    with contextlib.suppress(BlockingIOError):
                        try:
                            left = left[os.write(descriptor, left) :]
                        except BrokenPipeError:  # the command has stopped reading
                            left = left[:0]
                    ended = not left
                else:
                    said[descriptor].append(os.read(descriptor, CHUNK))
                    ended = not said[descriptor][-1]
                    if most is not None and sum(map(len, said[descriptor])) > most:
                        raise TooMuch
                if ended:
                    waiting.unregister(descriptor)
                    self._close(descriptor)
        return b"".join(said[self.output]), b"".join(said[self.errors])

    def _close(self, *descriptors: int) -> None:
        for descriptor in descriptors:
            self._open.discard(descriptor)
            os.close(descriptor)


class Reader:
    """Objects by id, through one lazily started `git cat-file --batch`."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._form = git.form
        self._running: Running | None = None
        self._output: BinaryIO = io.BytesIO()
        self.trees: dict[str, list[Entry]] = {}  # already read
        self._names: dict[str, dict[bytes, Entry]] = {}
        self.pending: dict[str, tuple[str, bytes]] = {}  # objects that are about to be written

    def start(self) -> Running:
        if self._running is None:
            self._running = self._git.start("cat-file", "--batch")
            self._output = open(self._running.output, "rb", closefd=False)  # noqa: SIM115 - closed with the process
        return self._running

    def read(self, id: str) -> bytes | None:
        """Return the content of an object, None if it is missing."""
        return next(self.read_many([id]))

    def read_many(self, ids: Iterable[str]) -> Generator[bytes | None, None, None]:
        """Yield the contents of objects in order, requested in batches so that git need not wait."""
        waiting = list(ids)
        for first in range(0, len(waiting), BATCH):
            batch = waiting[first : first + BATCH]
            wanted = [id for id in batch if id not in self.pending]
            if wanted:
                self._ask(wanted)
            left = len(wanted)
            try:
                for id in batch:
                    left -= id not in self.pending
                    yield self.pending[id][1] if id in self.pending else self._answer(id)
            finally:
                if left:  # the caller stopped early: unread answers would go to the next one
                    self.close()

    def _ask(self, ids: list[str]) -> None:
        running = self.start()
        left = memoryview("".join(f"{id}\n" for id in ids).encode())
        try:
            while left:
                left = left[os.write(running.input, left) :]
        except BrokenPipeError:
            self._fail(ids[0])

    def _answer(self, id: str) -> bytes | None:
        """Read one reply: `ID TYPE SIZE`, a line end, the content, a line end; or `ID missing`."""
        head = self._output.readline().split()
        if len(head) != 3 and head:
            return None
        size = int(head[2]) if head else 0
        data = self._output.read(size + 1)
        if len(data) <= size:
            self._fail(id)
        return data[:-1]

    def _fail(self, id: str) -> NoReturn:
        self.close()
        raise Damaged("git cannot read the repository's objects", [("object", id)], ["`git fsck`"])

    def tree(self, id: str) -> list[Entry]:
        if id not in self.trees:
            data = self.read(id)
            if data is None:
                raise Damaged("A directory of a checkpoint is missing", [("tree", id)], ["`holdfast verify`"])
            try:
                self.note_tree(id, parse_tree(data, self._form))
            except ValueError:  # the object is of another type
                raise Damaged("This is no directory of a checkpoint", [("object", id)], ["`holdfast repair`"]) from None
        return self.trees[id]

    def note_tree(self, id: str, entries: Iterable[Entry]) -> None:
        if len(self.trees) >= KEPT_TREES:
            self.trees.clear()
            self._names.clear()
        self.trees[id] = sorted_tree(entries)

    def find(self, tree: str, path: bytes) -> Entry | None:
        entry: Entry | None = Entry(DIRECTORY, b"", tree)
        for name in path.split(b"/"):
            if entry is None or not entry.is_tree:
                return None
            entry = self._named_in(entry.id).get(name)
        return entry

    def _named_in(self, id: str) -> dict[bytes, Entry]:
        if id not in self._names:
            self._names[id] = {entry.name: entry for entry in self.tree(id)}
        return self._names[id]

    def close(self) -> None:
        if self._running is not None:
            self._running.stop()
            self._running = None


def zsplit(data: bytes) -> list[bytes]:
    return data.split(b"\0")[:-1] if data else []
