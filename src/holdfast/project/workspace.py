"""The workspace: worktree, store, clock and settings of one project.

Everything is opened on first use, and a store is created only on request.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from holdfast.core import ids
from holdfast.core.errors import HoldfastError, NotAProject, NotFound, Refused
from holdfast.core.lifecycle import RulesOf
from holdfast.core.model import Session
from holdfast.core.text import one_line, path_text
from holdfast.journal import open_store
from holdfast.journal.journal import Journal
from holdfast.journal.store import Reader, Store
from holdfast.project import inbox_writer, known_projects, settings as config
from holdfast.redaction import RULES, RULES_FILE
from holdfast.system import files, locate
from holdfast.system.clock import Clock, SystemClock
from holdfast.system.files import Held
from holdfast.system.safe_paths import real_path

if TYPE_CHECKING:
    from holdfast.redaction.redactor import Redactor

EARLIER = (
    "`.git` hides an earlier store in `.holdfast`; `mv .git .git.away && holdfast backup ../earlier.tar.gz "
    "&& mv .git.away .git && holdfast restore-backup ../earlier.tar.gz` moves it, then remove `.holdfast`"
)
TROUBLE_SIZE = 64 * inbox_writer.SLOT
MOST_MOVES = 1_000  # of one conversation from run to run


class Closable(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=Closable)


class Progress(Protocol):
    """Callback for the progress of long work. A total of 0 is unknown."""

    def __call__(self, what: str, done: int, total: int) -> None: ...


def silent(what: str, done: int, total: int) -> None:
    """Progress callback that shows nothing."""


class Caller(NamedTuple):
    """A client that started this command, and the conversation."""

    agent: str
    conversation: str


class Clients(Protocol):
    """The port to `agents/`, which identifies the client that started this command."""

    def find_callers(self, environ: Mapping[str, str]) -> tuple[Caller, ...]:
        """Return the clients that started this command: one may have started another."""

    def variables_of(self, agent: str | None) -> tuple[str | None, str | None]:
        """Return the variables in which a client passes its conversation and its process id to its tools."""


class Workspace:
    is_preview = False  # true: the store is temporary, and layout files are read but not written
    allows_broad = False  # true: a store may be created in the home directory or in `/`

    def __init__(
        self,
        root: Path,
        place: Path,
        *,
        clock: Clock | None = None,
        chance: Callable[[], str] = ids.make_mark,
        environ: Mapping[str, str] | None = None,
        progress: Progress = silent,
        clients: Clients | None = None,
        rules_of: RulesOf,
    ) -> None:
        self.root = root
        self.place = place
        self.clock = clock or SystemClock()
        self.chance = chance
        self.environ = os.environ if environ is None else environ
        self.progress = progress
        self.clients = clients
        self.rules_of = rules_of  # of the known layouts
        self.session = self.environ.get("HOLDFAST_SESSION") or None  # the session of our events
        self.owns_session = False  # opened for this process, so that closing the workspace ends it
        self.warnings: list[str] = []
        self.hidden: Counter[str] = Counter()  # redacted secrets, by kind
        self._store: Store | None = None
        self._held: Held | None = None
        self._inbox: Held | None = None
        self._kept: dict[type, Closable] = {}

    @functools.cached_property
    def callers(self) -> tuple[Caller, ...]:
        """The clients and conversations in which this command runs, according to the environment."""
        return self.clients.find_callers(self.environ) if self.clients else ()

    def warn(self, text: str) -> None:
        """Add a warning to the result, once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def retract(self, text: str) -> None:
        """Remove a warning that the result repeats."""
        if text in self.warnings:
            self.warnings.remove(text)

    @property
    def here(self) -> Path:
        """The store's directory through an open descriptor, so that it cannot be replaced by a link.

        The path is valid only in this process, until the workspace is closed.
        """
        if self._held is None and self.exists:
            self.check_ours()
        return self._held.here if self._held else self.place

    @property
    def inbox(self) -> Path:
        """The inbox through an open descriptor, as a link in its place would make us ingest another project's calls."""
        if self._inbox is not None and not self._inbox.is_in_place():
            self._inbox.close()
            self._inbox = None
        place = self.here / "inbox"
        if self._inbox is None and os.path.lexists(place):
            self._inbox = Held(place)  # safeguard: linked-inbox
        return self._inbox.here if self._inbox else place

    @functools.cached_property
    def worktree(self) -> str:
        """The worktree's name in the journal, which does not change when its directory is moved."""
        return path_text(locate.worktree_name(str(self.root)))

    @functools.cached_property
    def worktree_place(self) -> str:
        return f"{self.place}/worktrees/{ids.file_name(self.worktree)}"

    @property
    def exists(self) -> bool:
        return os.path.exists(f"{self.place}/id")

    @property
    def is_off(self) -> bool:
        return self.environ.get("HOLDFAST") == "0" or os.path.exists(f"{self.place}/off")

    @functools.cached_property
    def settings(self) -> config.Settings:
        found = config.load(self.user_directory("config") / "config.toml", self.root, self.environ)
        self.warnings += found.warnings
        return found

    @functools.cached_property
    def redactor(self) -> Redactor:
        from holdfast.redaction.environment import find_known
        from holdfast.redaction.redactor import Redactor, check_pattern, listed

        own: dict[str, list[str]] = {}
        for key in config.PATTERNS:
            found = {source: check_pattern(source) for source in listed(self.settings.text(key))}
            own[key] = [source for source, why in found.items() if why is None]
            for source, why in found.items():
                if why is not None:
                    self.warn(f"`{key}`: the pattern {one_line(source, 60)} is ignored: {one_line(why, 100)}")
        return Redactor(find_known(self.environ, self.root), own["redact.patterns"], own["redact.allow"])

    def clean(self, value: Any) -> Any:
        """Redact a value that is stored or exported, and count the secrets."""
        clean, counts = self.redactor.clean(value)
        self.hidden += counts
        return clean

    def hide(self, value: Any) -> Any:
        """Redact a value that is compared or shown."""
        return self.redactor.clean(value)[0]

    def user_directory(self, kind: str) -> Path:
        return config.user_directory(kind, self.environ)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Journal]:
        with self.store.reading() as view:
            yield self._journal(view)

    @contextlib.contextmanager
    def writing(self, *, for_session: bool = True) -> Iterator[Journal]:
        """Open a transaction: all or none of its events are committed, as those of our session."""
        if self.is_off:
            way = "`unset HOLDFAST`" if self.environ.get("HOLDFAST") == "0" else "`holdfast on`"
            raise Refused("Holdfast is off here, so nothing is recorded", [("store", self.place)], [way])
        with self.store.writing() as view:
            journal = self._journal(view)
            journal.session = self.session if for_session else None
            yield journal
            journal.flush()

    def _journal(self, view: Reader) -> Journal:
        """Return the journal of one transaction. If our session moved to another run, its successor becomes ours."""
        journal = Journal(view, self.clock, self.clean, self.rules_of)
        if self.session and (found := find_followed(journal, self.session)):
            self.session = found.id
        return journal

    @property
    def store(self) -> Store:
        if self._store is None:
            self.check_exists()
            if self._held is None or not self._held.is_in_place():
                self.check_ours()
            if not self.inbox.exists():
                files.make_private_directory(self.inbox)
            self._store = open_store(self.store_url(self.here), self.settings.number("store.deadline"), self._held)
        return self._store

    def store_url(self, directory: Path) -> str:
        """Return the address of the journal for `open_store`: the store's directory, in which it is a file."""
        return str(directory)

    def check_exists(self) -> None:
        if not self.exists:
            hints = ["`holdfast init` creates one", '`holdfast start "GOAL"` creates one and starts a run']
            if earlier := self.find_earlier_hint():
                hints.insert(0, earlier)
            raise NotFound("There is no Holdfast store here", [("looked at", self.place)], hints)

    def find_earlier_hint(self) -> str | None:
        """Return the hint for a store that the project had before it became a repository."""
        return EARLIER if known_projects.find_earlier(self._claims, self.place, self.root) else None

    def check_ours(self) -> None:
        """Refuse a store that is not trusted, or that other users can write to; then hold it open."""
        if self._held is None:
            self._held = Held(self.place, functools.partial(known_projects.check, self._claims, self.place, self.root))
        else:
            self._held.renew()

    def check_broad(self) -> None:
        """Refuse to create a store for the home directory or `/`, unless that was confirmed."""
        if self.allows_broad or self.exists:
            return
        home = self.environ.get("HOME") or os.path.expanduser("~")
        if real_path(self.root) in (real_path(home), "/"):
            why = f"{path_text(self.root)} is no project: every directory below it without a repository would share "
            why += "its store, and checkpoints would include its files"
            raise NotAProject(why, [], ["`cd` to a project", "`holdfast init --yes` creates a store here anyway"])

    def create(self, adopt: bool = False) -> bool:
        """Create the store, or complete a partial one; False if it exists.

        Its id is written last: a store without an id does not exist, and one with an id is in the user's list.
        """
        if self.exists and not adopt:
            self.store.data_version()  # refuses a store that is not ours
            return False
        self.check_broad()
        if not self.place.parent.exists():
            raise Refused("The repository's directory does not exist", [("path", self.place.parent)], ["`git status`"])
        # we write a database and calls only after the id
        has_store = open_store(self.store_url(self.place)).exists()
        if not adopt and (has_store or (self.inbox.is_dir() and os.listdir(self.inbox))):
            known_projects.refuse(self.place)
        known_projects.check_worktree(self.root, self.place)
        if earlier := self.find_earlier_hint():
            self.warn(earlier)
        for directory in (self.user_directory("state"), self.place):
            files.make_private_directory(directory)
        with contextlib.closing(Held(self.place)) as held:
            self._furnish(held.here)
        self.store.data_version()  # creates the database
        return True

    def _furnish(self, here: Path) -> None:
        files.make_private_directory(here / "inbox")
        if not (here / "trouble").exists():
            files.write(here / "trouble", b" " * TROUBLE_SIZE)
        if self.place.name == ".holdfast":
            files.write(here / ".gitignore", b"*\n")
        if not open_store(self.store_url(here)).exists():  # all its content will be redacted by the present rules
            files.write(here / RULES_FILE, f"{RULES}\n".encode())
        id = ids.make("store")  # a new one for a copy too, or it would replace the claim of its original
        known_projects.claim(self._claims, id, self.place, self.root, here)
        files.write(here / "id", f"{id}\n".encode())

    def reset_troubles(self) -> None:
        """Allocate the trouble file, so that hooks can report failures on a full disk."""
        files.write(self.here / "trouble", b" " * TROUBLE_SIZE)

    @property
    def _claims(self) -> Path:
        return self.user_directory("state") / "stores"

    def keep(self, kind: type[C], make: Callable[[], C]) -> C:
        """Cache an object that is slow to create, until the workspace is closed."""
        found = self._kept.get(kind)
        if not isinstance(found, kind):
            found = self._kept[kind] = make()
        return found

    def close(self) -> None:
        while self._kept:
            self._kept.popitem()[1].close()
        if self._store is not None:
            self._store.close()
            self._store = None
        for held in (self._inbox, self._held):
            if held is not None:
                held.close()
        self._inbox = self._held = None

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if self.owns_session and self.session and not self.is_off:
                with self.writing() as journal:
                    journal.end_session(self.session, f"left by {kind.__name__}" if kind else None)
        except HoldfastError:  # fenced off, or a full disk: the session will be found dead
            self.warnings.append("the session could not be ended")
        finally:
            self.close()


def locate_project(directory: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Return the worktree and the store of a directory: of its repository, or of a project without one."""
    try:
        start = os.path.realpath(directory, strict=True)
    except OSError as error:
        gone = "The directory that you are in was removed" if directory == "." else "There is no such directory"
        raise NotFound(gone, [("path", directory)], ["`cd` to an existing one"]) from error
    root, place = locate.locate_store(start)
    return Path(root), Path(place)


def find_followed(journal: Journal, id: str) -> Session | None:
    """Find a session, or its last successor: a conversation that moved to another run has a new session there.

    The environment of a supervised command names its first session, and cannot change.
    """
    found = journal.find_session(id)
    for _ in range(MOST_MOVES):
        later = journal.find_session(found.followed_by) if found and found.followed_by else None
        if later is None:
            break
        found = later
    return found


# Redaction rules with which the journal was written or scanned


def rescan_notice(workspace: Workspace) -> str | None:
    """Propose `scan` if the journal was written by a version that recognised fewer secrets."""
    if not workspace.exists or _scanned(workspace) >= RULES:
        return None
    return "this version recognises more secrets than the one that wrote the journal: run `holdfast scan` once"


def note_rescanned(workspace: Workspace) -> None:
    """Record that the whole journal was scanned with the present rules."""
    if workspace.exists and _scanned(workspace) < RULES:
        files.write(workspace.here / RULES_FILE, f"{RULES}\n".encode(), files.PRIVATE_FILE)


def _scanned(workspace: Workspace) -> int:
    try:
        text = (files.read(workspace.here / RULES_FILE, 64) or b"").decode("ascii", "replace").strip()
    except HoldfastError:
        return 0
    return int(text) if text.isdigit() else 0
