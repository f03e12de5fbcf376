"""Promise 22 where root would see nothing: the real command as a user who may do little, among files of others."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast

pytestmark = pytest.mark.promise(22)
NOBODY = 65534
SOURCE = Path(holdfast.__file__).parent.parent


# The interpreter and the package may lie where others cannot go, as below /root: a mount that only the command sees
# leads there. Then the rights of root are given away for good.
AS_NOBODY = """
umask "$1"; place=$2; shift 2
while [ "$1" != -- ]; do mount --bind "$1" "$place/$2" || exit 99; shift 2; done; shift
exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs -- "$@"
"""


class Somebody:
    """A user with a home and a project of his own, in a directory where others are too."""

    def __init__(self, place: Path) -> None:
        self.place, self.home, self.root = place, place / "home", place / "project"
        for path in (self.home, self.root):
            path.mkdir(mode=0o755)
            os.chown(path, NOBODY, NOBODY)
        self.mounts = {"python": sys.base_prefix, "library": sysconfig.get_path("purelib"), "source": str(SOURCE)}
        for name in self.mounts:
            (place / name).mkdir(mode=0o755)
        self.python = str(place / "python/bin" / f"python{sys.version_info.major}.{sys.version_info.minor}")
        self.run(["git", "init", "-q", str(self.root)])

    def run(self, command: list[str], umask: int = 0o022, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        mounts = [word for name, path in self.mounts.items() for word in (path, name)]
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", AS_NOBODY, "sh", f"{umask:o}", str(self.place), *mounts, "--", *command],
            cwd=self.root,
            env={
                "HOME": str(self.home),
                "PATH": os.environ["PATH"],
                "NO_COLOR": "1",
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPATH": f"{self.place}/source:{self.place}/library",
            },
            input=stdin,
            capture_output=True,
            timeout=60,
            check=False,
        )

    def holdfast(self, *arguments: str, umask: int = 0o022) -> subprocess.CompletedProcess[bytes]:
        done = self.run([self.python, "-m", "holdfast", *arguments], umask)
        assert b"Traceback" not in done.stderr, done.stderr
        assert done.returncode != 3, done.stderr
        return done

    def hook(self, umask: int = 0o022) -> None:
        done = self.run(
            [self.python, "-I", "-S", f"{self.place}/source/holdfast/inbox.py", "robot", "Did"], umask, b"{}"
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

    @property
    def store(self) -> Path:
        return self.root / ".git/holdfast"


@pytest.fixture
def somebody() -> Iterator[Somebody]:
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: only root can become another user")
    place = Path("/tmp") / f"holdfast-nobody-{os.urandom(6).hex()}"  # pytest's own directories are closed to others
    place.mkdir(mode=0o755)
    try:
        made = Somebody(place)
        done = made.run([made.python, "-c", "import os, apsw, holdfast; print(os.geteuid())"])
        if done.stdout.strip() != b"65534":
            pytest.skip(f"NOT TESTED: another user cannot run the installed package: {done.stderr!r}")
        yield made
    finally:
        shutil.rmtree(place)


def modes(*roots: Path) -> Iterator[tuple[Path, int]]:
    for root in roots:
        for directory, names, found in os.walk(root):
            for name in (*names, *found):
                path = Path(directory, name)
                if not path.is_symlink():
                    yield path, path.stat().st_mode


@pytest.mark.promise(6)
def test_a_call_that_cannot_be_read_stops_no_backup(somebody: Somebody) -> None:
    somebody.holdfast("start", "goal")
    somebody.hook()
    (call,) = [path for path in (somebody.store / "inbox").iterdir() if path.is_file()]
    os.chown(call, 0, 0)
    backup = somebody.home / "backup"
    done = somebody.holdfast("backup", str(backup))
    assert done.returncode == 0, done.stderr
    assert b"Without 1 kept call that cannot be read for the moment" in done.stderr
    assert call.exists()
    done = somebody.holdfast("restore-backup", str(backup), "--yes")
    assert done.returncode == 0, done.stderr
    assert call.exists()
    os.chown(call, NOBODY, NOBODY)
    assert somebody.holdfast("log").stdout.count(b"Did") == 1, "and it is taken in once it can be read"


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777], ids=oct)
def test_all_that_is_ours_is_the_user_s_alone_under_any_umask(umask: int, somebody: Somebody) -> None:
    for line in ("init", "start goal", "note text"):
        done = somebody.holdfast(*line.split(), umask=umask)
        assert done.returncode == 0, f"{line}: {done.stderr!r}"
    somebody.hook(umask)
    (somebody.root / "a").write_text("a")
    for line in ("checkpoint", f"backup {somebody.home}/kept"):  # git itself cannot work in its directories under 777
        done = somebody.holdfast(*line.split(), umask=umask if umask != 0o777 else 0o077)
        assert done.returncode == 0, f"{line}: {done.stderr!r}"
    ours = [somebody.store, somebody.home / ".local", somebody.home / ".config"]
    found = {str(path): mode for path, mode in modes(*(path for path in ours if path.exists()))}
    own = {path: mode for path, mode in found.items() if "holdfast" in path.removeprefix(str(somebody.root.parent))}
    assert len(own) > 10
    public = str(somebody.store / "git/keep")  # the same file as all `.keep` of the repository, which others may read
    assert {path: oct(mode) for path, mode in own.items() if stat.S_IMODE(mode) & 0o077 and path != public} == {}
    assert stat.S_IMODE((somebody.home / "kept").stat().st_mode) == 0o600
    assert stat.S_IMODE(somebody.store.stat().st_mode) == 0o700


@pytest.mark.parametrize("kind", ["foreign", "group-writable", "unreadable journal", "closed inbox", "foreign file"])
def test_a_store_with_the_wrong_owner_or_mode_is_refused_in_a_sentence(kind: str, somebody: Somebody) -> None:
    assert somebody.holdfast("start", "goal").returncode == 0
    store = somebody.store
    if kind == "foreign":
        os.chown(store, 0, 0)
        store.chmod(0o755)
    elif kind == "group-writable":
        store.chmod(0o770)
    elif kind == "unreadable journal":
        (store / "journal.db").chmod(0)
    elif kind == "closed inbox":
        (store / "inbox").chmod(0)
    else:
        os.chown(store / "journal.db", 0, 0)
        (store / "journal.db").chmod(0o600)
    done = somebody.holdfast("note", "text")
    assert done.returncode == 1, done
    assert done.stderr.startswith(b"holdfast: ")
    assert len(done.stderr.splitlines()) < 10
    somebody.hook()


@pytest.mark.parametrize("name", [".holdfast.toml", "checkpoints/sessions.json", ".claude/orchestrator-session.json"])
def test_what_may_not_be_read_stops_nobody(name: str, somebody: Somebody) -> None:
    assert somebody.holdfast("start", "goal").returncode == 0
    path = somebody.root / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("{}")
    path.chmod(0)
    done = somebody.holdfast("status")
    assert done.returncode == 0, done.stderr
    (somebody.root / "secret").write_text("x")
    (somebody.root / "secret").chmod(0)
    assert somebody.holdfast("checkpoint").returncode in (0, 1)


def test_another_user_s_project_in_a_shared_directory_is_not_joined(somebody: Somebody) -> None:
    """Somebody made a store in a directory like /tmp, above the one we work in."""
    planted = somebody.root.parent / ".holdfast"
    planted.mkdir(mode=0o777)
    planted.chmod(0o777)
    (planted / "id").write_text("store-aaaaaaaaaa\n")
    shutil.rmtree(somebody.root / ".git")
    before = sorted(os.listdir(planted))
    done = somebody.holdfast("status")
    assert done.returncode in (0, 1)
    somebody.hook()
    assert sorted(os.listdir(planted)) == before
