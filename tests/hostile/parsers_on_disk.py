"""What reads files: each input is put where it is looked for, and read as a command would read it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec

import holdfast
from holdfast.agents import install, jsonl
from holdfast.agents.claude import installed, transcript
from holdfast.agents.protocol import setup_of
from holdfast.ingest.executable_files import find_brought
from holdfast.journal import backup_file
from holdfast.journal.sqlite import page_checksums
from holdfast.layouts import memory
from holdfast.layouts.faber import files as statefile, reconcile, workflows
from holdfast.layouts.faber.client_hooks import find_client_hooks
from holdfast.layouts.goteam import files as teamfaces
from holdfast.layouts.json_file import read_json
from holdfast.layouts.orchestrator import SESSION, files as sessionfile
from holdfast.maintenance import purge as purging
from holdfast.project import context_windows, inbox, known_projects, quota, settings
from holdfast.project.runs import select, tombstones
from holdfast.project.transfer import bundle, import_plan
from holdfast.project.trust import Grant, Grants
from holdfast.project.workspace import Workspace
from holdfast.system.git.repository import Format, Known, Repository
from holdfast.system.locate import locate_store, worktree_name
from holdfast.worktree.capture import Shadow
from holdfast.worktree.packs.salvage import DamagedPack
from tests.conftest import TickingClock
from tests.faber_states import RUN
from tests.hostile.inputs import GOOD_TOML, ODD_TOML, ODD_TROUBLES
from tests.hostile.parsers import NOON, ORCHESTRATORS, SETTINGS, STATES, TRANSCRIPT, WORKFLOWS, Attempt, Parser, dumped

SHA1 = Format("sha1")
# All of them, by name, for whoever must know before there is a place.
ON_DISK = (
    "settings of a project",
    "settings of the user",
    "settings that are changed",
    "grant",
    "workflow that waits",
    "settings that call us",
    "transcript",
    "exported run",
    "sealed run",
    "backup",
    "HEAD",
    "packed refs",
    "git configuration",
    "pack index",
    "damaged pack",
    "index of a damaged pack",
    "alternates",
    "git file",
    "claim",
    "list of rows",
    "unfinished purge",
    "gauges",
    "last tidying",
    "seen files of FABER",
    "written session file",
    "written Go Team files",
    "plugins of the client",
    "catalog of a marketplace",
    "hooks of a plugin",
    "projects of the client",
    "record of an installation",
    "glance at a state",
    "session file",
    "memory of a worktree",
    "troubles of hooks",
    "log of the database",
)


class Stage:
    """A project with a store, a run and a checkpoint, into whose files every input is written."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.root = place / "project"
        self.home = place / "home"
        self.home.mkdir(mode=0o700)
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        self.environ = {**os.environ, "HOME": str(self.home), "HOLDFAST_STATE_DIR": str(place / "state")}
        with self.open() as workspace:
            run = holdfast.start(workspace, "goal").run.id
            (self.root / "a.py").write_text("one\n" * 20)
            holdfast.checkpoint(workspace, "first")
            holdfast.note(workspace, "a note")
            self.exported = place / "run.holdfast"
            holdfast.export(workspace, run, self.exported, raw=True)
            self.backup = place / "backup"
            holdfast.backup(workspace, str(self.backup))
        self.workspace = self.open()

    def open(self) -> Workspace:
        return holdfast.open(self.root, environ=self.environ, clock=TickingClock())

    def into(self, path: Path, read: Callable[[], object]) -> Attempt:
        """Put each input at this path and read it. What was there comes back, or every later reader would stumble."""
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_bytes() if path.exists() else None

        def attempt(data: bytes) -> None:
            path.write_bytes(data)
            path.chmod(0o600)
            try:
                read()
            finally:
                path.unlink() if before is None else path.write_bytes(before)

        return attempt

    def first(self, *names: str, most: int | None = None) -> list[bytes]:
        return [path.read_bytes()[:most] for name in names for path in sorted(self.place.glob(name))[:1]]


def on_disk(place: Path) -> dict[str, Parser]:
    stage = Stage(place)
    found = _settings(stage) | _transcripts(stage) | _carried(stage) | _repositories(stage) | _remembered(stage)
    assert tuple(found) == ON_DISK
    return found


def _settings(stage: Stage) -> dict[str, Parser]:
    project, user = stage.root / settings.PROJECT_FILE, stage.place / "user.toml"
    absent = stage.place / "absent.toml"
    good = [GOOD_TOML, *ODD_TOML]

    def set_one() -> None:
        settings.write(user, "brief.budget", "700")

    trust = Grants(stage.place / "trust", [stage.root])
    trust.put(Grant("/a", "/b", "00", NOON, ["make"]))
    (granted,) = [path for path in (stage.place / "trust").iterdir() if path.name[0] != "."]
    definition = stage.root / ".fractary/faber/workflows/default.json"
    return {
        "settings of a project": Parser(good, stage.into(project, lambda: settings.load(absent, stage.root, {}))),
        "settings of the user": Parser(good, stage.into(user, lambda: settings.load(user, stage.place, {}))),
        "settings that are changed": Parser(good, stage.into(user, set_one)),
        "grant": Parser(stage.first("trust/*"), stage.into(granted, lambda: (trust.find("/a", "/b"), trust.every()))),
        "workflow that waits": Parser(
            WORKFLOWS,
            stage.into(
                definition,
                lambda: (
                    find_brought(stage.workspace),
                    workflows.find_workflow(stage.root, None, "default"),
                ),
            ),
        ),
        "settings that call us": Parser(
            SETTINGS,
            stage.into(stage.root / ".claude/settings.local.json", lambda: find_brought(stage.workspace)),
        ),
    }


def _transcripts(stage: Stage) -> dict[str, Parser]:
    path = stage.place / "transcript.jsonl"

    def read() -> None:
        transcript.read_usage(path)
        transcript.read_spent(path)
        transcript.read_head(path)
        lost: list[int] = []
        found = list(transcript.read_lines(path, lambda: lost.append(1)))
        json.dumps(found)
        assert all(line.endswith(b"\n") for line in jsonl.copied(path, lambda line: line))

    whole = b"\n".join(TRANSCRIPT) + b"\n"
    return {"transcript": Parser([whole, whole[:-20], whole[: len(whole) // 2]], stage.into(path, read))}


def _carried(stage: Stage) -> dict[str, Parser]:
    file, sealed_file, backup = (stage.place / name for name in ("parcel", "sealed", "archive"))

    def receive(path: Path) -> None:
        with bundle.opened(path, 1 << 24) as incoming:
            import_plan.check(incoming, 1 << 24)

    def sealed(data: bytes) -> None:
        """With the digest of what it holds now, so that all of it is looked at."""
        sealed_file.write_bytes(data + hashlib.sha256(data).digest())
        receive(sealed_file)

    good = stage.exported.read_bytes()
    return {
        "exported run": Parser([good], stage.into(file, lambda: receive(file))),
        "sealed run": Parser([good[:-32]], sealed),
        "backup": Parser(
            [stage.backup.read_bytes()],
            stage.into(backup, lambda: backup_file.read_archive(backup, lambda _: None)),
        ),
    }


def _with_differences(repository: Path, place: Path) -> Path:
    """The index of a pack in which one object is told as a difference to another."""
    git = ["git", "-C", str(repository)]
    texts = [b"".join(b"line %d\n" % (number * 7919) for number in range(most)) for most in (60, 50)]
    write = [*git, "hash-object", "-w", "--stdin"]
    names = b"".join(subprocess.run(write, input=text, check=True, capture_output=True).stdout for text in texts)
    pack = [*git, "pack-objects", "-q", "--delta-base-offset", str(place / "pack")]
    made = subprocess.run(pack, input=names, check=True, capture_output=True).stdout.decode().strip()
    for suffix in (".pack", ".idx"):
        (place / f"pack-{made}{suffix}").rename(place / f"pack-bb{suffix}")
    assert len(list(DamagedPack(place / "pack-bb.idx", SHA1).objects())) == len(texts)
    return place / "pack-bb.idx"


def _repositories(stage: Stage) -> dict[str, Parser]:
    other = stage.place / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    git = other / ".git"
    commit = b"4d8a483" + b"0" * 33

    def look() -> None:
        repository = Repository(other)
        head = repository.head()
        assert head.commit is None or not head.commit.strip("0123456789abcdef")
        repository.refs()
        repository.format()

    def known() -> None:
        Known(git / "objects", SHA1).has("ab" * 20)

    def remains() -> None:
        for id, (kind, content) in DamagedPack(damaged, SHA1, 1 << 20).objects():
            assert SHA1.id_of(kind, content) == id

    def locate() -> None:
        worktree, store = locate_store(str(stage.place / "linked"))
        assert worktree_name(worktree)
        assert store.endswith(("/holdfast", "/.holdfast"))

    refs = [b"ref: refs/heads/main\n", commit + b"\n", b"ref: refs/heads/a/b\n"]
    packed = [b"# pack-refs with: peeled\n" + commit + b" refs/heads/main\n^" + commit + b"\n"]
    index = stage.first("project/.git/objects/pack/*.idx")
    damaged = _with_differences(other, stage.place)
    return {
        "HEAD": Parser(refs, stage.into(git / "HEAD", look)),
        "packed refs": Parser(packed, stage.into(git / "packed-refs", look)),
        "git configuration": Parser([b"[extensions]\n\tobjectformat = sha256\n"], stage.into(git / "config", look)),
        "pack index": Parser(index, stage.into(git / "objects/pack/pack-aa.idx", known)),
        "damaged pack": Parser(stage.first("pack-bb.pack"), stage.into(damaged.with_suffix(".pack"), remains)),
        "index of a damaged pack": Parser(stage.first("pack-bb.idx"), stage.into(damaged, remains)),
        "alternates": Parser(
            [b"../other\n/nowhere\n# x\n", b".\n"], stage.into(git / "objects/info/alternates", known)
        ),
        "git file": Parser([b"gitdir: ../other/.git\n"], stage.into(stage.place / "linked/.git", locate)),
    }


def _remembered(stage: Stage) -> dict[str, Parser]:
    """Small files of our own, which a crash or somebody else may have damaged."""
    workspace, store = stage.workspace, stage.workspace.place
    claims = stage.place / "state/stores"
    (claim,) = [path for path in claims.iterdir() if path.name[0] != "."]
    good_claim = claim.read_bytes()
    worktree = memory.place_of(workspace)
    listed = dumped({"run": ["run-qqqqqqqqqq", "run-x"], "session": ["ses-qqqqqqqqqq"]})
    purge = dumped(msgspec.to_builtins(purging.Purge("run-x", 1, ["a"], {"cp-x": (".", 1)}, [], [])))
    gauges = dumped({"a": {"window": 1, "tokens": 2, "model": "m"}})
    written = dumped({"looks": {"a": [1, 2, 3, 4]}, "beside": {"a": {"b": 1}}})
    plugins = dumped({"plugins": {"holdfast@x": [{"installPath": "/x"}]}})
    trusted = dumped({"projects": {str(stage.root): {"hasTrustDialogAccepted": True}}})
    record = install._record_path(stage.place / "state", stage.root / "x")
    state = stage.root / ".fractary/faber/runs" / RUN / "state.json"
    shadow = Shadow(store, stage.root, workspace.worktree)

    def catalog() -> None:
        found = installed._place_in(stage.home, "x", stage.home)
        if found is not None:
            installed._noted(found / installed.PLUGIN_HOOKS)

    def purging_now() -> None:
        tombstones.unfinished_purge(store)
        purging.find_pending(store)

    return {
        "claim": Parser([good_claim], stage.into(claim, lambda: known_projects.check(claims, store, stage.root))),
        "list of rows": Parser(listed, stage.into(store / "listed.json", lambda: select._lists(workspace))),
        "unfinished purge": Parser(purge, stage.into(store / tombstones.PURGING, purging_now)),
        "gauges": Parser(gauges, stage.into(store / context_windows.NAME, lambda: context_windows.find(store, "a"))),
        "last tidying": Parser(
            dumped({"left": 5}), stage.into(store / quota.STAMP, lambda: quota.last_tidied(workspace))
        ),
        "seen files of FABER": Parser(written, stage.into(worktree / "owned.json", lambda: reconcile._load(workspace))),
        "written session file": Parser(
            written, stage.into(worktree / "session.json", lambda: sessionfile.recall(workspace))
        ),
        "written Go Team files": Parser(
            written,
            stage.into(
                teamfaces.place_of(workspace),
                lambda: memory.recall(teamfaces.place_of(workspace), teamfaces.Written),
            ),
        ),
        "plugins of the client": Parser(
            plugins,
            stage.into(
                stage.home / ".claude/plugins/installed_plugins.json",
                lambda: installed.installed_at("holdfast@x", stage.environ),
            ),
        ),
        "catalog of a marketplace": Parser(
            dumped({"plugins": [{"name": "x", "source": "./x"}], "metadata": {"pluginRoot": "./y"}}),
            stage.into(stage.home / installed.CATALOG, catalog),
        ),
        "hooks of a plugin": Parser(
            dumped({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "x.sh"}]}]}}),
            stage.into(stage.root / ".claude/settings.json", lambda: find_client_hooks(setup_of(stage.workspace))),
        ),
        "projects of the client": Parser(
            trusted, stage.into(stage.home / ".claude.json", lambda: installed.is_trusted(stage.root, stage.environ))
        ),
        "record of an installation": Parser(
            dumped({"path": "/x", "before": "{}"}),
            stage.into(record, lambda: install._load(stage.place / "state", stage.root / "x")),
        ),
        "glance at a state": Parser(
            STATES, stage.into(state, lambda: (statefile._glance(state, stage.root), read_json(state)))
        ),
        "session file": Parser(
            ORCHESTRATORS, stage.into(stage.root / SESSION, lambda: sessionfile.read_session(workspace))
        ),
        "memory of a worktree": Parser(
            stage.first("project/.git/holdfast/worktrees/*/memory"),
            stage.into(shadow.directory / "memory", shadow._load),
        ),
        "troubles of hooks": Parser(
            [
                b"1767268800 robot Did [Errno 28] No space left on device".ljust(127) + b"\n",
                *map(str.encode, ODD_TROUBLES),
            ],
            stage.into(store / "trouble", lambda: inbox.troubles(store)),
        ),
        "log of the database": Parser(  # its head, and two pages
            stage.first("project/.git/holdfast/journal.db-wal", most=2 * 4136) or [b"\x37\x7f\x06\x82" + bytes(28)],
            stage.into(stage.place / "journal.db-wal", lambda: _read_log(stage.place / "journal.db-wal")),
        ),
    }


def _read_log(path: Path) -> None:
    page_checksums.read_log(path)
    with contextlib.suppress(StopIteration):
        next(page_checksums.sound_frames(path))
    page_checksums.lost_pages(path)
