"""What the ledgers of worktrees say of one run, struck out: events keep their place, and lose what they tell.

A ledger tells of checkpoints and ways back, and it has the calls of a conversation from before that had a run.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from holdfast.agents.registry import find_agent
from holdfast.core.fold import run as fold
from holdfast.core.fold.worktree_log import CONVERSATION
from holdfast.core.model import Body, Event, Run
from holdfast.journal import codec
from holdfast.journal.journal import LEDGER_PREFIX, Journal
from holdfast.journal.store import Snapshot, Writer

OURS = ("run.", "checkpoint.", "restore.")  # how kinds begin that no call is told in


def ledgers(journal: Journal) -> list[str]:
    return [id for id in journal.view.all_run_ids() if id.startswith(LEDGER_PREFIX)]


def is_way(event: Event, run: str, checkpoints: Collection[str]) -> bool:
    """Whether an event tells of a restore of this run, or of one to or from a state that goes."""
    restore = event.body.get("restore") if event.kind.startswith("restore.") else None
    if not isinstance(restore, dict) or not isinstance(restore.get("id"), str):
        return False
    return restore.get("run") == run or not {restore.get("before"), restore.get("target")}.isdisjoint(checkpoints)


def find_unfinished(journal: Journal, ledger: str, run: str, checkpoints: Collection[str]) -> Body | None:
    """A way back that this ledger says has begun and not ended, if it is of this run or between states that go."""
    found: Body | None = None
    for event in journal.events(ledger):
        if event.kind in ("restore.began", "restore.ended"):
            found = event.body["restore"] if event.kind[8:] == "began" and is_way(event, run, checkpoints) else None
    return found


def strike(journal: Journal, run: str, names: Collection[str], checkpoints: Collection[str]) -> None:
    """Take out of every ledger what it says of a run, of its conversations and of its checkpoints."""
    for ledger in ledgers(journal):
        found = ((event.seq, _left(event, run, names, checkpoints)) for event in journal.events(ledger))
        bodies = {seq: body for seq, body in found if body is not None}
        if bodies:
            _rewrite(journal, ledger, bodies)


def _left(event: Event, run: str, names: Collection[str], checkpoints: Collection[str]) -> Body | None:
    """What is left of an event: a checkpoint's name and number, and nothing of anything else; None where all stays."""
    id = event.body.get("id")
    if event.kind == "checkpoint.made":
        is_told = id in checkpoints and len(event.body) > 2
        return {"id": id, "number": event.body.get("number")} if is_told else None
    return {} if is_way(event, run, checkpoints) or _is_said(event, names) else None


def _is_said(event: Event, names: Collection[str]) -> bool:
    """Whether a conversation of these names said it, or may have.

    Older versions wrote down of few calls whose they are. No run shows them, and nothing else could remove them.
    """
    if event.kind.startswith(OURS) or not event.body:
        return False
    call = event.body.get("call")
    agent = find_agent(str(event.body.get("agent") or ""))
    said_by = event.body.get(CONVERSATION) or agent.conversation_in(call)
    return said_by is None or said_by in names


def _rewrite(journal: Journal, ledger: str, bodies: dict[int, Body]) -> None:
    """Replace what events of a ledger say, and fold it anew. Nobody has loaded it in this transaction yet."""
    writer = cast(Writer, journal.view)
    for seq, body in bodies.items():
        writer.forget_words(ledger, seq)
        writer.replace_body(ledger, seq, codec.pack(body)[0])
    used = {digest for row in writer.events(ledger) for digest in codec.blobs_in(row.body)}
    writer.drop_blob_uses(ledger, writer.blob_uses(ledger) - used)
    milestones = {snapshot.seq for snapshot in writer.snapshots(ledger)}
    state = Run(id=ledger)
    for event in journal.events(ledger):
        journal.apply(state, event)
        if event.seq in milestones:
            writer.put_snapshot(ledger, Snapshot(event.seq, fold.VERSION, codec.encode(state)))
    writer.put_run(codec.row_of_run(state, journal.clock.now()))
