"""The agent seam: what an adapter provides. An adapter is a module; what it leaves out it takes from `generic.py`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from holdfast.core.fold.usage import Spent
from holdfast.core.health import Check
from holdfast.core.model import Beginning, Body, Draft, Session
from holdfast.project.inbox import Call
from holdfast.project.workspace import Workspace
from holdfast.system import files

PACKAGE = Path(__file__).parents[1]
ENTRY = PACKAGE / "surfaces" / "hooks" / "entry.py"  # the script that hooks run
ACTING = ("action.begun", "action.taken", "subagent.started")


class Moment(StrEnum):
    """What an event of a client means. Each client's events are mapped to these in its `client.py`."""

    START = "start"
    PROMPT = "prompt"
    ACTION = "action"
    TURN = "turn"
    COMPACTING = "compacting"
    COMPACTED = "compacted"
    END = "end"
    OTHER = "other"


class Reading(Struct):
    """The content of a call: its events, and the conversation that it is part of, where the agent has such a thing."""

    drafts: list[Draft]  # the first one carries the call's own id
    moment: Moment = Moment.OTHER
    conversation: str | None = None
    begins: Beginning | None = None
    ends: str | None = None  # why the conversation ends, in the client's words
    transcript: str | None = None  # the file in which the agent itself stores the conversation
    goal: str | None = None  # the goal of a run that has to be started for it
    prompt: str | None = None  # the text that was typed, whatever it is
    waits: bool = False  # the client waits for its user

    @property
    def acts(self) -> bool:
        """Whether the agent does something: its conversation has more than begun, whether or not a prompt was seen."""
        return any(draft.kind in ACTING for draft in self.drafts)


class Usage(Struct, frozen=True):
    """The tokens in a context after its last answer, and the model that gave it."""

    tokens: int
    model: str | None = None


class Head(Struct):
    """The conversation, directory and age of a transcript."""

    path: Path
    conversation: str
    directory: str
    is_main: bool  # not a subagent's
    changed: float


class Retelling(Protocol):
    """The events of a transcript, and the sums after them."""

    begun: datetime | None
    time: datetime  # of the last line
    last: str  # the id of the last line
    usage: Usage | None

    @property
    def spent(self) -> Spent: ...

    def drafts(self) -> Iterator[Draft]: ...


class Setup(NamedTuple):
    """Where hooks are installed, and the programs that they run."""

    root: Path
    environ: Mapping[str, str]
    state: Path  # our own directory, for records of installations
    python: str = ""
    script: str = ""


def setup_of(workspace: Workspace) -> Setup:
    """The setup of a project, for this Python."""
    state = workspace.user_directory("state")
    return Setup(workspace.root, workspace.environ, state, sys.executable, str(ENTRY))


class SettingsFormat(Protocol):
    """Reading and editing the text of a client's settings, every other byte left as it is."""

    def check(self, text: str) -> None:
        """Refuse a text that is not in this format: raises NotSettings."""
        ...

    def has_hooks(self, text: str) -> bool: ...

    def found_in(self, text: str) -> list[str]:
        """Everything of ours in a text, by the client's names for it."""
        ...

    def without_hooks(self, text: str, earlier: str) -> str:
        """The text without ours; what that leaves empty goes too, unless the earlier text had it."""
        ...

    def put_back(self, now: str, then: str) -> list[str]:
        """The names under which an earlier text has entries that an installation replaced."""
        ...

    def is_empty(self, text: str) -> bool: ...


class NotSettings(ValueError):
    """A text that is not in the format of the client's settings."""


class Place(Struct, frozen=True):
    """A settings file, the directory that it must not lead out of, and the directory of our own records."""

    path: Path
    border: Path
    state: Path
    format: SettingsFormat
    mode: int = files.PRIVATE_FILE  # of the file, where it is made


class Installation(Struct):
    """Hooks that are about to be written: where, as which settings, and how the text is edited."""

    place: Place
    settings: dict[str, Any]  # as `init --print` shows them
    edit: Callable[[str], tuple[str, dict[str, str]]]  # the new text, and what became of each event
    hints: list[str] = []


class Plugin(Struct):
    """A plugin that brings the hooks instead of a settings file."""

    directory: str
    commands: list[str]  # that load it
    settings: dict[str, Any]
    hints: list[str] = []


class HookCommand(NamedTuple):
    """A command that the client runs as a hook, whoever put it there."""

    level: str  # of the settings; `plugin` for those of a plugin
    where: str  # the settings file, or the name of the plugin
    moment: Moment
    command: str
    is_own: bool  # the file is one of this worktree


class Silence(Struct):
    """Why installed hooks do not run, and the remedies."""

    about: str
    hints: list[str]


class Agent(Protocol):
    """A program whose hooks we understand."""

    NAME: str
    LABEL: str
    SCOPES: tuple[str, ...]  # of settings, the narrowest first
    STATUS_LINE: str  # the name by which the client's status line calls us; empty for a client without one
    BRIEF_LIMIT: int  # characters that the client takes from one hook
    ANSWERS: frozenset[Moment]  # the moments at which the client waits for a text

    def read_call(self, call: Call) -> Reading:
        """The content of a call. Whatever is in it, there is an answer."""
        ...

    def reply(self, event: str, text: str, notice: str | None) -> str:
        """A text for the model, and a notice for the user, in the form that the client reads from its hook."""
        ...

    def refuse_prompt(self, text: str) -> str:
        """The answer to a chat command: shown to the user, and the prompt never reaches the model."""
        ...

    def draw_status(self, payload: Body) -> str:
        """A line for the client's status line."""
        ...

    def draw_without_store(self, payload: Body) -> str:
        """The same without a look at the store, where that takes too long."""
        ...

    # Settings

    def is_used(self, setup: Setup) -> bool:
        """Whether anything shows that the client is used in a project, or by this user."""
        ...

    def places(self, setup: Setup) -> dict[str, Place]:
        """The settings files by scope."""
        ...

    def plan_install(
        self, setup: Setup, scope: str, *, status_line: bool = False, drop: Callable[[str], bool] | None = None
    ) -> Installation:
        """Our hooks for a scope; hooks whose command is to be dropped go at the same time."""
        ...

    def plan_drop(self, setup: Setup, scope: str, drop: Callable[[str], bool]) -> Installation:
        """Only drop hooks whose command is to be dropped."""
        ...

    def find_plugin(self, setup: Setup) -> Plugin | None:
        """The plugin for this client, if there is one."""
        ...

    def hook_commands(self, setup: Setup) -> list[HookCommand]:
        """Every command that the client runs as a hook in this project."""
        ...

    def executable_files(self, setup: Setup) -> dict[Path, Callable[[bytes], list[tuple[str, str]]]]:
        """Files of a repository that name programs which we would start, each with its reader: (event, program)."""
        ...

    # Health

    def health(self, workspace: Workspace, allowed: Callable[[Path], list[str]]) -> Iterable[Check]:
        """What keeps calls from arriving. `allowed` tells the programs of a file that the user has trusted."""
        ...

    def find_silence(self, workspace: Workspace) -> Silence | None:
        """Hooks that were installed and do not run any more."""
        ...

    # Conversations

    def resume_command(self, conversation: str | None) -> list[str]:
        """The command that goes on with a conversation, or begins one; empty where none is known."""
        ...

    def conversation_in(self, payload: Any) -> str | None:
        """The conversation that a stored payload belongs to."""
        ...

    def read_usage(self, path: Path) -> Usage | None: ...

    def read_spent(self, path: Path) -> Spent | None: ...

    def find_transcripts(self, setup: Setup, roots: Iterable[Path]) -> tuple[Path, list[Path]]:
        """The directory of the client's transcripts, and those of conversations in these directories or below."""
        ...

    def read_head(self, path: Path) -> Head | None: ...

    def opening_of(self, transcripts: Iterable[Path], hide: Callable[[Any], Any]) -> tuple[str, str | None]:
        """The id of a conversation's first prompt, and the goal that it gives."""
        ...

    def retell(
        self, transcripts: Iterable[Path], clean: Callable[[Any], Any], lose: Callable[[], object], now: datetime
    ) -> Retelling:
        """The events of one conversation. `lose` is called for each line that is damaged."""
        ...

    def transcripts_of(self, setup: Setup, session: Session) -> list[tuple[str, Path]]:
        """The files of a session's conversation that the client itself stores, by name: its own and its subagents'."""
        ...

    def owns_transcript(self, setup: Setup, path: Path) -> bool:
        """Whether a real path is one of the client's transcripts: whoever calls a hook can name any file."""
        ...
