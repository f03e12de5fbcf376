"""Record what an agent said between its tool calls: no hook tells it, only the transcript."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from holdfast.agents.protocol import Reading, setup_of
from holdfast.agents.registry import find_agent
from holdfast.core.model import text_of
from holdfast.project.inbox import Call
from holdfast.project.workspace import Workspace
from holdfast.system.safe_paths import real_path

LONGEST = 100_000  # characters of a text


def add_said(workspace: Workspace, call: Call, reading: Reading) -> None:
    """Put the texts of the turn before the events of a call, without those that these events have themselves."""
    path = Path(real_path(reading.transcript)) if reading.transcript else None
    agent = find_agent(call.agent)
    # a payload can name any file
    # safeguard: own-transcripts
    if path is None or not agent.owns_transcript(setup_of(workspace), path):
        return
    said = agent.read_said(path, call.time)
    texts = [text_of(found.body.get("text")) for found in said]
    # safeguard: hide-said-before-cut
    texts = [text[:LONGEST] for text in workspace.clean(texts)]
    known = "\n".join(text_of(draft.body.get("text")) for draft in reading.drafts)
    reading.drafts[:0] = [
        structs.replace(found, body={"text": text})
        for found, text in zip(said, texts, strict=True)
        if text not in known
    ]
