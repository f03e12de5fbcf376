"""The agent protocol: the interface of an adapter, with the defaults of its members."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol

from msgspec import Struct

from holdfast.agents import generic_client
from holdfast.agents.generic_client import text_of
from holdfast.core.errors import Refused
from holdfast.core.fold.activity import Spent
from holdfast.core.model import Beginning, Body, Check, Draft, Session
from holdfast.core.text import path_text
from holdfast.project.inbox import Call
from holdfast.project.workspace import Workspace
from holdfast.system import files

PACKAGE = Path(__file__).parents[1]
ENTRY = PACKAGE / "surfaces" / "hooks" / "entry.py"  # the script that hooks run
ACTING = ("action.begun", "action.taken", "subagent.started")


class Moment(StrEnum):
    """The meaning of a client's event. Each client maps its own events to these in its `client.py`."""

    START = "start"
    PROMPT = "prompt"
    ACTION = "action"
    TURN = "turn"
    COMPACTING = "compacting"
    COMPACTED = "compacted"
    END = "end"
    OTHER = "other"


QUIET = frozenset({Moment.START, Moment.END, Moment.OTHER})  # moments without an action of the agent


class Reading(Struct):
    """The content of a call: its events, and its conversation if the agent has conversations."""

    drafts: list[Draft]  # the first one carries the call's own id
    moment: Moment = Moment.OTHER
    conversation: str | None = None
    begins: Beginning | None = None
    ends: str | None = None  # the client's reason for the end of the conversation
    transcript: str | None = None  # the file in which the agent itself stores the conversation
    goal: str | None = None  # the goal of a run that is started for the call
    prompt: str | None = None  # the text that was typed, whatever it is
    waits: bool = False  # the client waits for its user

    @property
    def acts(self) -> bool:
        """True if the agent acts, so its conversation is past its start even if no prompt was recorded."""
        return any(draft.kind in ACTING for draft in self.drafts)


class Usage(Struct, frozen=True):
    """The tokens in a context after its last answer, and the model of that answer."""

    tokens: int
    model: str | None = None


class Head(Struct):
    path: Path
    conversation: str
    directory: str
    is_main: bool  # not a subagent's
    changed: float


class Retelling(Protocol):
    """The events of a transcript, and the totals after the last of them."""

    begun: datetime | None
    time: datetime  # of the last line
    last: str  # the id of the last line
    usage: Usage | None

    @property
    def spent(self) -> Spent: ...

    def drafts(self) -> Iterator[Draft]: ...


class Setup(NamedTuple):
    """The project in which hooks are installed, and the programs that they run."""

    root: Path
    environ: Mapping[str, str]
    state: Path  # our own directory, for records of installations
    python: str = ""
    script: str = ""


def setup_of(workspace: Workspace) -> Setup:
    state = workspace.user_directory("state")
    return Setup(workspace.root, workspace.environ, state, sys.executable, str(ENTRY))


class SettingsFormat(Protocol):
    """Parser and editor for the text of a client's settings, which leaves all other bytes unchanged."""

    def has_hooks(self, text: str) -> bool: ...

    def found_in(self, text: str) -> list[str]:
        """Our entries in a text, by the client's names for them; raises NotSettings for another format."""

    def without_hooks(self, text: str, earlier: str) -> str:
        """The text without our entries, and without containers that become empty, unless the earlier text had them."""

    def put_back(self, now: str, then: str) -> list[str]:
        """The names of entries of an earlier text that an installation replaced."""

    def is_empty(self, text: str) -> bool: ...


class NotSettings(ValueError):
    """A text that is not in the format of the client's settings."""


class Place(Struct, frozen=True):
    """A settings file, the directory that its links must not leave, and the directory of our installation records."""

    path: Path
    border: Path
    state: Path
    format: SettingsFormat
    mode: int = files.PRIVATE_FILE  # of the file, if it is created


class Installation(Struct):
    """A planned installation of hooks: the file, the settings, and the edit of its text."""

    place: Place
    settings: dict[str, Any]  # as `init --print` shows them
    edit: Callable[[str], tuple[str, dict[str, str]]]  # returns the new text, and the change to each event
    hints: list[str] = []


class Plugin(Struct):
    """A plugin that contains the hooks, as an alternative to a settings file."""

    directory: str
    commands: list[str]  # shell commands that load it
    settings: dict[str, Any]
    hints: list[str] = []


class HookCommand(NamedTuple):
    """Any command that the client runs as a hook, ours or not."""

    level: str  # of the settings; `plugin` for a hook of a plugin
    where: str  # the settings file, or the name of the plugin
    moment: Moment
    command: str
    is_own: bool  # the file is one of this worktree


class Silence(Struct):
    """The reason why installed hooks do not run, and the remedies."""

    about: str
    hints: list[str]


class Agent:
    """An adapter: a package whose members stand in for these.

    These are used for an agent without an adapter: each call is stored as one plain event with its payload, and nothing
    is installed, answered or resumed.
    """

    NAME = generic_client.NAME
    LABEL = generic_client.LABEL
    SCOPES: tuple[str, ...] = ()  # of settings, the narrowest first
    STATUS_LINE = ""  # the event name of calls from the client's status line
    BRIEF_LIMIT = 10_000  # characters that the client accepts from one hook
    ANSWERS: frozenset[Moment] = frozenset()  # the moments at which the client reads a text from the hook

    def read_call(self, call: Call) -> Reading:
        """The content of a call. Never fails, whatever the payload is."""
        moment = Moment(generic_client.MOMENTS.get(call.event, Moment.ACTION))
        body: Body = {
            "agent": call.agent,
            "event": call.event,
            "call": call.payload,
            "directory": path_text(call.directory),
            "process": call.process,
            "boot": call.boot,
            "monotonic": call.monotonic,
        }
        if moment in QUIET:
            body["quiet"] = True
        return Reading([Draft("call.kept", body, id=call.id, time=call.time, agent=call.agent or None)], moment)

    def reply(self, event: str, text: str, notice: str | None) -> str:
        """A text for the model and a notice for the user, in the form that the client expects from a hook."""
        return ""

    def refuse_prompt(self, text: str) -> str:
        """The answer to a chat command. The client shows it to the user and does not send the prompt to the model."""
        return ""

    def draw_status(self, payload: Body, open_workspace: Callable[[str], Workspace]) -> str:
        """A line for the client's status line."""
        return ""

    def draw_without_store(self, payload: Body) -> str:
        """The status line without data from the store, if reading that would take too long."""
        return ""

    # Settings

    def is_used(self, setup: Setup) -> bool:
        """True if there are signs that the client is used in the project, or by this user."""
        return False

    def places(self, setup: Setup) -> dict[str, Place]:
        """The settings files by scope."""
        return {}

    def plan_install(
        self, setup: Setup, scope: str, *, status_line: bool = False, drop: Callable[[str], bool] | None = None
    ) -> Installation:
        """An installation of our hooks in a scope, which also removes hooks whose command `drop` accepts."""
        _refuse()

    def plan_drop(self, setup: Setup, scope: str, drop: Callable[[str], bool]) -> Installation:
        """An installation that only removes hooks whose command `drop` accepts."""
        _refuse()

    def find_plugin(self, setup: Setup) -> Plugin | None:
        """The plugin for this client, if there is one."""
        return None

    def hook_commands(self, setup: Setup) -> list[HookCommand]:
        """Every command that the client runs as a hook in this project."""
        return []

    def executable_files(self, setup: Setup) -> dict[Path, Callable[[bytes], list[tuple[str, str]]]]:
        """Files of a repository that name programs we would run, each with a parser for its (event, program) pairs."""
        return {}

    # Health

    def health(self, workspace: Workspace, allowed: Callable[[Path], list[str]]) -> Iterable[Check]:
        """Checks for problems that keep calls from arriving. `allowed` returns the trusted programs of a file."""
        return ()

    def find_silence(self, workspace: Workspace) -> Silence | None:
        """Detect hooks that were installed and no longer run."""
        return None

    # Conversations

    def resume_command(self, conversation: str | None) -> list[str]:
        """The command that resumes a conversation, or starts one; empty if none is known."""
        return []

    def conversation_in(self, payload: Any) -> str | None:
        """The conversation that a stored payload belongs to."""
        return text_of(payload, "session_id") or None

    def read_usage(self, path: Path) -> Usage | None:
        """The fill of the context after the last answer in a transcript."""
        return None

    def read_spent(self, path: Path) -> Spent | None:
        """The usage of the whole conversation in a transcript."""
        return None

    def read_said(self, path: Path, until: datetime) -> list[Draft]:
        """Events for the texts between the tool calls of the turn that was the last one at this time."""
        return []

    def find_transcripts(self, setup: Setup, roots: Iterable[Path]) -> tuple[Path, list[Path]]:
        """The directory of the client's transcripts, and those of conversations in these directories or below."""
        return Path(setup.environ.get("HOME", "/")), []

    def read_head(self, path: Path) -> Head | None:
        """The conversation of a transcript and its directory."""
        return None

    def opening_of(self, transcripts: Iterable[Path], hide: Callable[[Any], Any]) -> tuple[str, str | None]:
        """The id of a conversation's first prompt, and the goal taken from it."""
        return "", None

    def retell(
        self, transcripts: Iterable[Path], clean: Callable[[Any], Any], lose: Callable[[], object], now: datetime
    ) -> Retelling:
        """The events of one conversation. `lose` is called for each line that is damaged."""
        raise Refused("Transcripts of this agent cannot be read")

    def transcripts_of(self, setup: Setup, session: Session) -> list[tuple[str, Path]]:
        """The transcripts of a session's conversation, its own and its subagents', with their names."""
        return []

    def owns_transcript(self, setup: Setup, path: Path) -> bool:
        """True if a real path is one of the client's transcripts: the payload of a hook call can name any file."""
        return False


def _refuse() -> NoReturn:
    raise Refused("Hooks of this agent cannot be installed", hints=["`holdfast init --agent none` shows what to call"])


GENERIC = Agent()
