"""Validation of an exported run, and the plan of its import. Nothing here writes.

Events are compared by id: a copy that is longer than the run here extends it, and a diverged copy becomes a run of its
own. The id of that run is derived from the point of divergence, so the import is idempotent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b

import msgspec
from msgspec import Struct

from holdfast.core import ids
from holdfast.core.errors import Damaged, HoldfastError
from holdfast.core.fold import external, run as fold
from holdfast.core.formats.json_limits import is_deeper, sparse
from holdfast.core.model import Body, Checkpoint, Event
from holdfast.core.text import sound, visible
from holdfast.journal import codec
from holdfast.journal.codec import UNREADABLE
from holdfast.journal.journal import Journal, is_ledger
from holdfast.journal.store import LEDGER
from holdfast.project.transfer.bundle import Incoming
from holdfast.system.clock import from_micros
from holdfast.system.git.repository import Format
from holdfast.worktree.packs.portable import Shapes, check_beside, parse_pack

LONGEST = 1 << 27  # bytes of one event
DEPTH = 100  # nested objects and arrays
KIND = re.compile(r"[a-z]{1,40}(?:\.[a-z_]{1,40}){1,3}\Z")
LONGEST_NAME, LONGEST_TEXT = 200, 20_000
OF_THAT_MACHINE = ("process", "transcript")  # fields of a session that are dropped: its process, and a file to read
OWNED = ".fractary"  # the directory of FABER's files
NATIVE = "native"
PLACED = ("run.started", "run.moved")
ELSEWHERE = "elsewhere:"  # never the name of a worktree
FORMS = ("sha1", "sha256")
FORKS = 100  # diverged copies of one run


class Line(Struct, forbid_unknown_fields=True):
    seq: int
    id: str
    kind: str
    time: int
    session: str | None
    agent: str | None
    body: Body


class Plan(Struct):
    """The plan of an import: the run here that the events belong to, and how many of them are known."""

    run: str
    known: int  # events that are here already
    total: int
    forked_from: str | None = None
    forked_at: int | None = None


_line = msgspec.json.Decoder(Line).decode
_record = msgspec.json.Decoder(Checkpoint).decode


def read_events(incoming: Incoming, run: str) -> Iterator[Event]:
    seq, is_native = 0, True
    for line in incoming.lines("events", LONGEST):
        seq += 1
        event = _event(line, run, seq)
        if seq == 1:
            is_native = event.body.get("layout", NATIVE) == NATIVE
        if event.kind in PLACED and not is_native:  # or its layout would begin to write its files here
            event = msgspec.structs.replace(event, body={**event.body, "worktree": ELSEWHERE})
        yield event
    if seq != incoming.manifest.events or not seq:
        raise _odd("it does not have the number of events in its manifest")


def _event(line: bytes, run: str, seq: int) -> Event:
    try:
        found = _line(sparse(line))
        codec.encode(found.body)
        body = sound(found.body)
    except (*UNREADABLE, OverflowError) as error:
        raise _odd(f"event {seq} cannot be read") from error
    session, agent = found.session, found.agent
    if found.seq != seq or not KIND.match(found.kind) or abs(found.time) >= 1 << 60 or is_deeper(body, DEPTH):
        raise _odd(f"event {seq} is invalid")
    is_id = len(found.id) == 32 and not found.id.strip("0123456789abcdef")
    if not is_id or (session and not ids.is_safe(session)) or (agent and len(agent) > LONGEST_NAME):
        raise _odd(f"event {seq} has a name that cannot be used")
    if (seq == 1) != (found.kind == "run.started") or (seq == 1 and found.body.get("layout") == LEDGER):
        raise _odd("it does not begin like a run")
    assert isinstance(body, dict)
    time = from_micros(found.time)
    return Event(run, seq, found.id, found.kind, time, session or None, agent or None, _at_home(found.kind, body))


def _at_home(kind: str, body: Body) -> Body:
    """Remove the fields of an event that are valid only on its machine."""
    if kind == fold.OPENED:
        return {name: None if name in OF_THAT_MACHINE else value for name, value in body.items()}
    if kind == external.TOLD:
        parts = str(body.get("path")).split("/")
        if parts[0] != OWNED or ".." in parts:
            raise _odd("a file of another system has a forbidden path")
    return body


def check(incoming: Incoming, most: int) -> None:
    """Refuse a file with any part that `export` would not write."""
    told = incoming.manifest
    if not ids.is_safe(told.run) or is_ledger(told.run) or told.run.startswith(("ses-", "cp-")):
        raise _odd("its run has a name that cannot be used")
    if "events" not in incoming:
        raise _odd("it has no events")
    seen: set[str] = set()
    for event in read_events(incoming, told.run):
        seen.add(event.id)
    if len(seen) != told.events:
        raise _odd("an event occurs twice")
    if told.form is not None:
        _check_code(incoming, Format(told.form) if told.form in FORMS else None, most)
    elif told.checkpoints:
        raise _odd("it has no code for its checkpoints")


def read_checkpoints(incoming: Incoming) -> list[Checkpoint]:
    """Read and validate the checkpoints, oldest first."""
    told = incoming.manifest
    try:
        found = [_record(line) for line in incoming.lines("checkpoints", LONGEST)]
    except UNREADABLE as error:
        raise _odd("a checkpoint cannot be read") from error
    for made in found:
        name = made.name or "x"
        is_plain = ids.is_safe(made.id) and made.id.startswith("cp-") and made.run == told.run and visible(name) == name
        is_long = len(name) > LONGEST_NAME or len(made.message or "") > LONGEST_TEXT
        if not is_plain or is_long or not 0 <= (made.seq or 0) <= told.events:
            raise _odd("a checkpoint is invalid")
    if len({made.id for made in found}) != told.checkpoints:
        raise _odd("it does not have the number of checkpoints in its manifest")
    return found


def _check_code(incoming: Incoming, form: Format | None, most: int) -> None:
    """Verify that the pack has all files of the checkpoints, and that no path leads out of a worktree."""
    if form is None or "objects" not in incoming or "checkpoints" not in incoming:
        raise _odd("its code has an unknown format")
    found, shapes = read_checkpoints(incoming), Shapes(form)
    lists = {made.beside for made in found}
    for each in parse_pack(incoming.read("objects"), form, most):
        shapes.note(each)
        if each.id in lists:
            check_beside(each.data)
    for made in found:
        for tree in filter(None, (made.tree, made.staged)):
            shapes.prove_tree(tree)
    shapes.prove_blobs(lists)


def plan_receipt(journal: Journal, incoming: Incoming) -> Plan:
    """Find the run here that the events belong to, and how many of them are known."""
    told = incoming.manifest
    plan = Plan(told.run, 0, told.events)
    for _ in range(FORKS):
        here = journal.find_run(plan.run)
        if here is None:
            return plan
        plan.known, parted = _common(journal, plan.run, read_events(incoming, told.run))
        if plan.known in (told.events, here.seq):
            return plan
        id = f"run-{_letters(f'{plan.run} {parted}')}"
        plan = Plan(id, 0, told.events, plan.run, plan.known)
    raise _odd("this run has too many diverged copies")


def _common(journal: Journal, run: str, theirs: Iterable[Event]) -> tuple[int, str]:
    """Return the length of the common prefix, and the id of the first event of theirs after it."""
    known = 0
    ours = journal.events(run)
    for event in theirs:
        stored = next(ours, None)  # compared without the body, since redaction changes those
        is_same = stored and stored.id in (event.id, _own_id(run, event.id))
        if not stored or not is_same or (stored.kind, stored.time) != (event.kind, event.time):
            return known, event.id
        known += 1
    return known, ""


def new_events(journal: Journal, incoming: Incoming, plan: Plan) -> Iterator[Event]:
    """Return the unknown events, with ids that no other run here has."""
    names: dict[str, str] = {}
    for event in read_events(incoming, incoming.manifest.run):
        if event.seq <= plan.known:
            continue
        session = event.session
        if session and session not in names:
            taken = journal.find_session(session)
            is_free = taken is None or taken.run == plan.run
            names[session] = session if is_free else f"ses-{_letters(f'{plan.run} {session}')}"
        body = event.body
        if event.seq == 1 and plan.forked_from:
            body = {**body, "forked_from": plan.forked_from, "forked_at": plan.forked_at}
        id = _own_id(plan.run, event.id) if journal.has_event(event.id) else event.id
        yield msgspec.structs.replace(
            event, run=plan.run, id=id, session=names[session] if session else None, body=body
        )


def new_checkpoints(journal: Journal, found: list[Checkpoint], plan: Plan) -> list[Checkpoint]:
    """Return the unknown checkpoints. One whose id denotes another state here gets a derived id."""
    new = []
    for made in found:
        here = journal.find_checkpoint(made.id)
        if here is not None and (here.tree, here.beside) != (made.tree, made.beside):
            made = msgspec.structs.replace(made, id=f"cp-{_letters(f'{plan.run} {made.id} {made.tree}')}")
            here = journal.find_checkpoint(made.id)
        if here is None:
            new.append(msgspec.structs.replace(made, run=plan.run))
    return new


def _own_id(run: str, id: str) -> str:
    """Derive the id of an event in a copy, if another run here has the event's own."""
    return id[:12] + blake2b(f"{run} {id}".encode(), digest_size=10).hexdigest()


def _letters(text: str) -> str:
    """Derive the ten characters of an id from a text."""
    number = int.from_bytes(blake2b(text.encode(), digest_size=7).digest())
    return "".join(ids.ALPHABET[number >> 5 * place & 31] for place in range(ids.LENGTH))


def _odd(why: str) -> HoldfastError:
    return Damaged(f"This file was not made by `holdfast export`: {why}", [], ["export the run again"])
