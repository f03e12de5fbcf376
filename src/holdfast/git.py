"""The one module that speaks git: in a private directory, with an empty configuration, and nothing of the user's runs.

Commands read the user's worktree through our own `GIT_DIR`, whose configuration is empty and whose attributes switch
every conversion off, so that neither a repository nor an agent in it can make us run or change anything. What the
repository itself says (HEAD, branch, what is under way) is read from its files.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from msgspec import Struct

from holdfast import files, spool
from holdfast.errors import Damaged, NotFound, Trouble
from holdfast.objects import BLOB, DIRECTORY, Entry, Format, parse_tree
from holdfast.text import one_line

DEADLINE = 300.0
ATTRIBUTES = b"* -text -eol -ident -filter -working-tree-encoding\n"
UNDER_WAY = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "BISECT_LOG": "bisect",
}


class Head(Struct):
    """Where the user's repository stands."""

    commit: str | None = None
    branch: str | None = None
    under_way: str | None = None


class Repository:
    """The user's repository, as files: never written, but for packs of our own and `refs/holdfast/`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        directory = spool.git_directory(str(root / ".git"))
        self.directory = Path(directory) if directory else None
        self.common = Path(spool.common_directory(directory)) if directory else None

    @property
    def exists(self) -> bool:
        return self.directory is not None

    def format(self) -> Format:
        config = (files.read(self.common / "config") or b"") if self.common else b""
        return Format("sha256" if b"objectformat" in config.lower() and b"sha256" in config.lower() else "sha1")

    def uses_reftable(self) -> bool:
        return self.common is not None and (self.common / "reftable").is_dir()

    def head(self) -> Head:
        if self.directory is None or self.common is None:
            return Head()
        line = _line(self.directory / "HEAD")
        under_way = next((word for name, word in UNDER_WAY.items() if (self.directory / name).exists()), None)
        if not line.startswith("ref: "):
            return Head(line or None, None, under_way)
        ref = line[5:]
        return Head(self._resolve(ref), ref.removeprefix("refs/heads/"), under_way)

    def _resolve(self, ref: str) -> str | None:
        assert self.common is not None
        assert self.directory is not None
        for directory in (self.directory, self.common):
            if commit := _line(directory / ref):
                return commit
        for line in (files.read(self.common / "packed-refs") or b"").splitlines():
            if line.endswith(b" " + ref.encode("utf-8", "surrogateescape")):
                return line.split(b" ")[0].decode()
        return None


class Git:
    """Git commands in a private directory, over a worktree that is pinned."""

    def __init__(self, directory: Path, root: Path, objects: Path, index: Path, form: Format) -> None:
        self.directory = directory
        self.root = root
        self.objects = objects
        self.index = index
        self.form = form

    def prepare(self) -> None:
        """Make the private directory, if it is not there."""
        if (self.directory / "HEAD").exists():
            return
        files.make_private_directory(self.directory)
        for name in ("refs", "info"):
            files.make_private_directory(self.directory / name)
        version = 1 if self.form.name == "sha256" else 0
        extension = "[extensions]\n\tobjectformat = sha256\n" if version else ""
        config = f"[core]\n\trepositoryformatversion = {version}\n\tbare = false\n{extension}"
        files.write(self.directory / "config", config.encode())
        files.write(self.directory / "info" / "attributes", ATTRIBUTES)
        files.write(self.directory / "HEAD", b"ref: refs/heads/none\n")

    def start(self, *arguments: str, index: Path | None = None, scratch: Path | None = None) -> Running:
        """Start a command. With `scratch`, what it writes goes there, and the objects are only borrowed."""
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": "/nonexistent",
            "LC_ALL": "C",
            "GIT_DIR": str(self.directory),
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
        if scratch is not None:
            environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = str(self.objects)
        command = ["git", *SWITCHED_OFF, *arguments]
        try:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise NotFound("git is not installed", [], ["install git"]) from error
        return Running(process, arguments[0])

    def run(self, *arguments: str, input: bytes = b"", index: Path | None = None, scratch: Path | None = None) -> bytes:
        return self.start(*arguments, index=index, scratch=scratch).finish(input)


SWITCHED_OFF = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.fsync=all"),
    *("-c", "gc.auto=0"),
    *("-c", "core.quotePath=false"),
    *("-c", "core.attributesFile=/dev/null"),
    *("-c", "core.untrackedCache=false"),
    *("-c", "protocol.allow=never"),
)


class Running:
    """A git command that was started."""

    def __init__(self, process: subprocess.Popen[bytes], name: str) -> None:
        self.process = process
        self.name = name

    def finish(self, input: bytes = b"", also_fine: tuple[int, ...] = ()) -> bytes:
        """Wait for it, and give back what it printed."""
        try:
            out, err = self.process.communicate(input, DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise Trouble(f"git {self.name} did not finish", [("deadline", f"{DEADLINE:g} s")]) from None
        if self.process.returncode not in (0, *also_fine):
            said = one_line(err.decode("utf-8", "replace"), 300)
            raise Trouble(f"git {self.name} failed", [("exit code", self.process.returncode), ("said", said)])
        return out


class Reader:
    """Objects by name, through one git process that stays."""

    def __init__(self, git: Git) -> None:
        self._running = git.start("cat-file", "--batch")
        self._form = git.form
        self._trees: dict[str, list[Entry]] = {}
        self.pending: dict[str, tuple[str, bytes]] = {}  # objects that are about to be written

    def read(self, id: str) -> bytes | None:
        """The content of an object, or None where it is not there."""
        if id in self.pending:
            return self.pending[id][1]
        process = self._running.process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(id.encode() + b"\n")
            process.stdin.flush()
            head = process.stdout.readline().split()
        except BrokenPipeError:
            raise Damaged("git cannot read the repository's objects", [("object", id)], ["`git fsck`"]) from None
        if len(head) != 3:
            return None
        data = process.stdout.read(int(head[2]))
        process.stdout.read(1)
        return data

    def is_blob(self, id: str, data: bytes) -> bool:
        return self._form.id_of(BLOB, data) == id

    def tree(self, id: str) -> list[Entry]:
        if id not in self._trees:
            data = self.read(id)
            if data is None:
                raise Damaged("A directory of a checkpoint is missing", [("tree", id)], ["`holdfast verify`"])
            self._trees[id] = parse_tree(data, self._form)
        return self._trees[id]

    def find(self, tree: str, path: bytes) -> Entry | None:
        """What stands at a path of a tree."""
        entry: Entry | None = Entry(DIRECTORY, b"", tree)
        for name in path.split(b"/"):
            if entry is None or not entry.is_tree:
                return None
            entry = next((found for found in self.tree(entry.id) if found.name == name), None)
        return entry

    def close(self) -> None:
        process = self._running.process
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        process.wait()


def zsplit(data: bytes) -> list[bytes]:
    return data.split(b"\0")[:-1] if data else []


def _line(path: Path) -> str:
    return (files.read(path, 1024 * 1024) or b"").partition(b"\n")[0].decode("utf-8", "surrogateescape").strip()
