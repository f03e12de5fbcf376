"""Default adapter, for an agent without an adapter of its own, and default members of the other adapters.

Each call is stored as one plain event with its payload; nothing is installed, answered or resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from holdfast.agents import generic_client
from holdfast.agents.generic_client import text_of
from holdfast.agents.protocol import (
    Head,
    HookCommand,
    Installation,
    Moment,
    Place,
    Plugin,
    Reading,
    Retelling,
    Setup,
    Silence,
    Usage,
)
from holdfast.core.errors import Refused
from holdfast.core.fold.activity import Spent
from holdfast.core.model import Body, Check, Draft, Session
from holdfast.core.text import path_text
from holdfast.project.inbox import Call
from holdfast.project.workspace import Workspace

NAME, LABEL = generic_client.NAME, generic_client.LABEL
SCOPES: tuple[str, ...] = ()
BRIEF_LIMIT = 10_000
STATUS_LINE = ""
ANSWERS: frozenset[Moment] = frozenset()
QUIET = frozenset({Moment.START, Moment.END, Moment.OTHER})  # moments without an action of the agent


def read_call(call: Call) -> Reading:
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


def reply(event: str, text: str, notice: str | None) -> str:
    return ""


def refuse_prompt(text: str) -> str:
    return ""


def draw_status(payload: Body, open_workspace: Callable[[str], Workspace]) -> str:
    return ""


def draw_without_store(payload: Body) -> str:
    return ""


def is_used(setup: Setup) -> bool:
    return False


def places(setup: Setup) -> dict[str, Place]:
    return {}


def plan_install(
    setup: Setup, scope: str, *, status_line: bool = False, drop: Callable[[str], bool] | None = None
) -> Installation:
    _refuse()


def plan_drop(setup: Setup, scope: str, drop: Callable[[str], bool]) -> Installation:
    _refuse()


def _refuse() -> NoReturn:
    raise Refused("Hooks of this agent cannot be installed", hints=["`holdfast init --agent none` shows what to call"])


def find_plugin(setup: Setup) -> Plugin | None:
    return None


def hook_commands(setup: Setup) -> list[HookCommand]:
    return []


def executable_files(setup: Setup) -> dict[Path, Callable[[bytes], list[tuple[str, str]]]]:
    return {}


def health(workspace: Workspace, allowed: Callable[[Path], list[str]]) -> Iterable[Check]:
    return ()


def find_silence(workspace: Workspace) -> Silence | None:
    return None


def resume_command(conversation: str | None) -> list[str]:
    return []


def conversation_in(payload: Any) -> str | None:
    return text_of(payload, "session_id") or None


def read_usage(path: Path) -> Usage | None:
    return None


def read_spent(path: Path) -> Spent | None:
    return None


def find_transcripts(setup: Setup, roots: Iterable[Path]) -> tuple[Path, list[Path]]:
    return Path(setup.environ.get("HOME", "/")), []


def read_head(path: Path) -> Head | None:
    return None


def opening_of(transcripts: Iterable[Path], hide: Callable[[Any], Any]) -> tuple[str, str | None]:
    return "", None


def retell(
    transcripts: Iterable[Path], clean: Callable[[Any], Any], lose: Callable[[], object], now: datetime
) -> Retelling:
    raise Refused("Transcripts of this agent cannot be read")


def transcripts_of(setup: Setup, session: Session) -> list[tuple[str, Path]]:
    return []


def owns_transcript(setup: Setup, path: Path) -> bool:
    return False
