"""Claude Code's transcripts on disk: those of a project, their first prompts, and the command to resume each."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from holdfast.agents.claude import transcript
from holdfast.agents.claude.setup import config_directory
from holdfast.agents.claude.transcript_events import goal_in
from holdfast.agents.jsonl import ENDING
from holdfast.agents.protocol import Head, Setup
from holdfast.core.model import Session
from holdfast.system import files
from holdfast.system.safe_paths import real_path

ENCODED = 180  # characters of a directory's path in the name of its transcript folder, before the client truncates


def resume_command(conversation: str | None) -> list[str]:
    return ["claude", "--resume", conversation] if conversation else ["claude"]


def find_transcripts(setup: Setup, roots: Iterable[Path]) -> tuple[Path, list[Path]]:
    home = config_directory(setup.environ) / "projects"
    wanted = tuple(re.sub(r"[^A-Za-z0-9]", "-", str(root))[:ENCODED] for root in roots)
    folders = [folder for folder in files.listed(home) if folder.name.startswith(wanted)]
    main = [file for folder in folders for file in files.listed(folder)]
    beside = [file for folder in main for file in files.listed(folder / transcript.SUBAGENTS)]
    return home, sorted(file for file in [*main, *beside] if file.name.endswith(ENDING))


def read_head(path: Path) -> Head | None:
    """The head of a transcript, from the first line with conversation and directory."""
    for line in itertools.islice(transcript.read_lines(path), 1000):
        conversation, directory = line.get("sessionId"), line.get("cwd")
        if isinstance(conversation, str) and isinstance(directory, str) and conversation and directory:
            is_main = line.get("isSidechain") is not True
            return Head(path, conversation, directory, is_main, os.stat(path).st_mtime)
    return None


def opening_of(transcripts: Iterable[Path], hide: Callable[[Any], Any]) -> tuple[str, str | None]:
    for path in transcripts:
        for line in transcript.read_lines(path):
            if goal_in(line) and (goal := goal_in(hide(line))):  # redacted before it is truncated
                return str(line.get("uuid") or ""), goal
    return "", None


def transcripts_of(setup: Setup, session: Session) -> list[tuple[str, Path]]:
    if not session.transcript:
        return []
    path = Path(real_path(session.transcript))
    name = session.agent_session or path.stem
    beside = path.with_suffix("") / transcript.SUBAGENTS
    below = sorted(beside.glob(f"*{ENDING}")) if owns_transcript(setup, path) else []
    return [(name, Path(session.transcript)), *((f"{name}.{each.stem}", each) for each in below)]


def owns_transcript(setup: Setup, path: Path) -> bool:
    home = real_path(config_directory(setup.environ) / "projects")
    return str(path).startswith(home + os.sep) and path.suffix == ENDING
