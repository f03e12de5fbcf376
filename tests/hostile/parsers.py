"""Everything that reads what others wrote: good inputs for it, and how it is asked. Only values; no disk is touched.

A parser answers with a value that can be kept, or with one of its own errors; nothing else may come out of it.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from holdfast.agents.claude import events, hooks, settings_file, status_line, transcript_events
from holdfast.agents.protocol import GENERIC, NotSettings
from holdfast.core import chat_commands, ids, search_terms, text, untrusted_text
from holdfast.core.errors import Refused
from holdfast.core.formats import json_edit, json_salvage
from holdfast.journal import codec
from holdfast.journal.sqlite import salvage
from holdfast.journal.sqlite.page_checksums import PAGE
from holdfast.layouts.faber import (
    artifact_loader,
    artifact_rules,
    conditions,
    schema as faber,
    session_records,
    workflows,
)
from holdfast.layouts.goteam import diff, merge, parse
from holdfast.layouts.json_file import LIMIT, JsonFile, parse_json, with_members
from holdfast.layouts.orchestrator import schema as orchestra
from holdfast.project import inbox, trust
from holdfast.project.artifacts import git_info
from holdfast.project.artifacts.protocol import Unloadable
from holdfast.redaction import redactor as redact
from holdfast.system import process
from holdfast.system.git.repository import Entry, Format, format_tree
from holdfast.worktree.metadata import TreeMetadata
from holdfast.worktree.packs.portable import Shapes, check_beside, format_pack, parse_pack
from tests import faber_states, go_team_project, orchestrator_files
from tests.hostile.inputs import GOOD_CALL, HOSTILE, ODD_JSON
from tests.tools import a_run, unfenced

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HERE = Path("/project/state.json")
PAYLOADS = Path(__file__).parents[1] / "payloads"
SHA1 = Format("sha1")
Attempt = Callable[[bytes], object]


class Parser(NamedTuple):
    """What is fuzzed: good inputs, how one is read, and what it may raise beside our errors."""

    seeds: list[bytes]
    attempt: Attempt
    errors: tuple[type[Exception], ...] = ()


def dumped(*values: Any) -> list[bytes]:
    return [json.dumps(value).encode() for value in values]


def as_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def as_face(data: bytes) -> JsonFile:
    """As `read_json` reads a file: a larger one is refused before it is read."""
    if len(data) > LIMIT:
        raise Refused("This file is too large to read")
    return parse_json(HERE, data)


def storable(value: object) -> None:
    """What comes out can be kept in the journal."""
    body = text.sound(msgspec.to_builtins({"value": value}))
    assert isinstance(body, dict)
    codec.pack(body)


def lines(*texts: str) -> list[bytes]:
    return [text.encode("utf-8", "surrogateescape") for text in texts]


# Calls of hooks


def payloads(agent: str) -> list[bytes]:
    found = [json.loads(path.read_bytes()) for path in sorted((PAYLOADS / agent).glob("*.json"))]
    return [json.dumps(each["payload"]).encode() for each in found if isinstance(each.get("payload"), dict)]


CALLS = [payload for agent in ("claude", "codex", "gemini") for payload in payloads(agent)] + ODD_JSON
NAME = "00000000000000000001-2cc64b64-1-00000000"


def read_payload(data: bytes) -> None:
    """Whatever the client says, each event that it could mean is told."""
    call = inbox.decode(NAME, GOOD_CALL + data)
    for reader in (events, GENERIC):
        for draft in reader.read_call(call).drafts:
            storable(draft.body)
    if isinstance(call.payload, dict):
        for event in events.READERS:
            storable(events.tell(event, call.payload))
        storable(msgspec.to_builtins(status_line.gauge_of(call.payload)))


def read_kept_file(data: bytes) -> None:
    call = inbox.decode(NAME, data)
    storable([call.agent, call.event, call.boot, call.directory, call.environment, call.payload])
    assert call.id


def read_typed(data: bytes) -> None:
    found = chat_commands.parse(as_text(data))
    assert found is None or found.word in chat_commands.FORMS


def read_stat(data: bytes) -> None:
    found = process.parse_stat(as_text(data))
    assert found is None or len(found) == 2


# Lines of transcripts

SESSION = "0a7f1c9e-1111-4222-8333-444455556666"
ABOUT = {"sessionId": SESSION, "cwd": "/home/dev/proj", "timestamp": "2026-01-07T15:00:00.000Z"}
USAGE = {"input_tokens": 5, "cache_read_input_tokens": 9, "cache_creation_input_tokens": 2, "output_tokens": 3}
ASKED = {"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "/home/dev/proj/a.py"}}
GIVEN = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "done"}], "is_error": False}
TRANSCRIPT = dumped(
    {**ABOUT, "type": "user", "uuid": "u1", "message": {"role": "user", "content": "Add retries"}},
    {
        **ABOUT,
        "type": "assistant",
        "uuid": "u2",
        "costUSD": 0.25,
        "message": {"id": "m1", "model": "m", "content": [ASKED], "usage": USAGE, "stop_reason": "end_turn"},
    },
    {**ABOUT, "type": "user", "uuid": "u3", "message": {"role": "user", "content": [GIVEN]}},
    {**ABOUT, "type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": "auto", "postTokens": 9}},
    {"type": "cost-state", "totalCostUSD": 0.5, "sessionId": SESSION},
)


def retell(data: bytes) -> None:
    """Lines as values: what they say can be kept."""
    lines = []
    for line in data.split(b"\n"):
        with contextlib.suppress(inbox.NotACall):
            lines.append(inbox.parse(line))
    values = [value for value in lines if isinstance(value, dict)]
    telling = transcript_events.Retelling(values, NOON)
    for draft in telling.drafts():
        storable(draft.body)
    for value in values:
        transcript_events.goal_in(value)
    assert telling.tally.read >= 0
    storable([telling.tally.cost, telling.tally.read, telling.tally.written])


# Files of other systems

STATES = dumped(
    faber_states.a_state(sessions={"current_session_id": "s", "session_history": [faber_states.a_record()]}),
    faber_states.a_schema_state(),
    faber_states.a_state(phases=faber_states.phases_as_object()),
)


def read_faber(data: bytes) -> None:
    state = as_face(data).value
    told = faber.tell(state, faber_states.RUN)
    storable(msgspec.to_builtins(told))
    for name in faber.placeholders(state, faber_states.RUN, Path("/project")):
        faber.fill(f"a {{{name}}} {{other}}", {name: "x"})
    book = session_records.Book(state)
    book.fresh_since("x", NOON)
    assert len(book.records()) >= 0
    json.dumps(book.members(NOON))
    session_records.record_ids(state)


ORCHESTRATORS = dumped(orchestrator_files.schema_1_0(), orchestrator_files.predecessor())


def read_orchestrator(data: bytes) -> None:
    face = as_face(data)
    state = orchestra.read_state(face.value)
    storable(msgspec.to_builtins(state))
    orchestra.is_legacy(face.value)
    made = orchestra.render(a_run(), face.value, {}, NOON)
    if not face.flaws:
        json.loads(with_members(face, dict(made)))


def read_team(data: bytes) -> None:
    """One text as any of the files of a session."""
    value = as_face(data).value
    for entry in parse.entries(value):
        parse.is_name(str(entry.get("id")))
    point = value.get("points")
    points = [one for one in point if isinstance(one, dict)] if isinstance(point, list) else [value]
    found = parse.Found(value, value, value, value, points)
    for draft in parse.drafts(found, ".", "/project", NOON):
        storable(draft.body)
    run = a_run(layout="go-team")
    for name in diff.PARTS:
        for before in ({}, value):
            for draft in diff.drafts(name, before, value, run):
                storable(draft.body)
    json.dumps(merge.merged(value, {"a": [{"id": "x"}], "status": "active"}))
    json.dumps(merge.registry(value, [{"id": "x"}], "x"))


def team_files() -> list[bytes]:
    """As the demonstration of the Go Team has them."""
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        go_team_project.demonstration(Path(place))
        return [path.read_bytes() for path in sorted(Path(place).rglob("*.json"))]


WORKFLOWS = dumped(
    {
        "id": "default",
        "extends": "fractary-faber:default",
        "critical_artifacts": {
            "always_load": [{"id": "a", "type": "document", "path": "a.md", "required": True, "load_strategy": "all"}],
            "conditional_load": [
                {"id": "b", "type": "skill", "command": "make {work_id}", "condition": "state.artifacts.spec != null"}
            ],
            "phase_specific": {"build": [{"id": "c", "type": "git_info", "command": "git log -n 3"}]},
        },
    }
)


def read_workflow(data: bytes) -> None:
    for id, command in workflows.read_commands(HERE, data):
        storable([id, command])
    value = as_face(data).value
    warnings: list[str] = []
    block = value.get("critical_artifacts")
    declared = artifact_rules.read_declared(block if isinstance(block, dict) else value, warnings)
    storable([msgspec.to_builtins(declared), warnings])
    asked = artifact_rules.Asked(artifact_rules.BY_HAND)
    artifact_rules.choose(declared, value, asked, lambda _id, _now: None, NOON, warnings)


def read_face_again(data: bytes) -> None:
    """A face without flaws is the same after it was written again."""
    face = as_face(data)
    if not face.flaws:
        again = parse_json(HERE, with_members(face, {"ours": [1, {"a": "b"}], "status": "x"}))
        assert {**face.value, "ours": [1, {"a": "b"}], "status": "x"} == again.value


def salvage_members(data: bytes) -> None:
    storable(
        list(json_salvage.salvage(data.decode("utf-8", "replace"), ("goal", "status", "agents"), frozenset({"status"})))
    )


# Small languages

CONDITIONS = lines(
    "state.artifacts.spec_path != null",
    "(a.b[0] === 'x\\'y' || !c) && d >= -1.5e3",
    "work_id == 7",
    "!!x",
    'phases.0.status !== "done"',
)
STATE = {"artifacts": {"spec_path": "x", "list": [1, "2", None, {}]}, "work_id": "7", "big": 10**400, "c": float("inf")}


def read_condition(data: bytes) -> None:
    try:
        assert conditions.holds(as_text(data), STATE) in (True, False)
    except conditions.NotACondition as error:
        conditions.pointed(as_text(data), error)
        raise


COMMANDS = lines(
    "make test {work_id}",
    "./run.sh 'a b' --x={run_id}",
    "git log -n 3 --oneline",
    "git diff --stat HEAD~1",
    """sh -c 'cd a;sh -c "./x\\.sh,y=z" && make -sfx.mk'""",
    "python3 -Bm a.b.c",
)


def read_command(data: bytes) -> None:
    words = trust.split(as_text(data))
    trust.named_paths(trust.fill(words, {"work_id": "7", "run_id": "x"}), Path("/nowhere"))


def read_git_command(data: bytes) -> None:
    words = git_info.plan_command(as_text(data))
    assert all(isinstance(word, str) for word in words)


def read_search(data: bytes) -> None:
    asked = as_text(data)
    assert len(search_terms.terms(asked)) <= search_terms.MOST_TERMS
    found = search_terms.excerpt(asked, asked[:200], 80)
    assert all(0 <= first < last <= len(found.text) for first, last in found.marks)


def read_id(data: bytes) -> None:
    word = as_text(data)
    name = ids.file_name(word)
    assert ids.is_safe(word) or name != word or word == name
    assert "/" not in name
    ids.event_of_call(word)
    assert text.unescape_path(text.escape_path(data)) == data
    try:
        faber.state_candidates(Path("/project"), faber.check_run_id(word))
    finally:
        faber.split_run_id(word)


def show(data: bytes) -> None:
    """What is shown holds nothing that acts, and does not grow."""
    shown = as_text(data)
    body = untrusted_text.tame(shown[: untrusted_text.MOST])
    assert len(body) <= len(shown)
    told = unfenced(untrusted_text.enclose(shown, lambda: "mark"))
    assert told == body if len(shown) <= untrusted_text.MOST else told.startswith(body)
    for written in (text.as_markdown, text.as_code, text.as_xml, text.spelled):  # one at a time, as they are used
        made = written(shown)
        assert text.visible(made) == made
    for kind in ("json", "text"):
        artifact_loader.summary(kind, shown)


def hide(data: bytes) -> None:
    shown = as_text(data)
    redactor = redact.Redactor()
    redactor.clean({"text": shown, "token": shown})
    redactor.clean(shown)


# Settings of the client

HANDLER = {"type": "command", "command": "holdfast-hook", "timeout": 5}
OURS = hooks.block("local", "python3", "/x/holdfast/inbox.py")
SETTINGS = [
    *dumped(
        hooks.as_settings(dict(list(OURS.items())[-4:])),
        {"permissions": {"allow": ["Bash"]}, "hooks": {"Stop": [{"hooks": [HANDLER]}]}, "statusLine": HANDLER},
        {"hooks": {}},
    ),
    *(b'{\r\n\t"hooks": {\r\n\t\t"Stop": []\r\n\t}\r\n}\r\n', b"", b"{}"),
]


def edit_settings(data: bytes) -> None:
    """What is put in can be taken out, and the rest stays."""
    said = data.decode()
    settings_file.parse(said)
    calls = {event: call for event, call in OURS.items() if event in ("Stop", "SessionStart")}
    changed, _ = settings_file.with_calls(said, calls)
    assert set(calls) <= set(settings_file.called(settings_file.parse(changed)))
    changed, _ = settings_file.with_status_line(changed, hooks.status_line("local", "python3", "/x/holdfast/inbox.py"))
    settings_file.without_hooks(changed, said)
    if not settings_file.is_blank(said):
        json_edit.add(said, (), {"a": 1}, "added")


# Stored values

BODY, BLOBS = codec.pack({"text": "x" * 5000, "small": [1, {"$odd": None}], "n": 1.5})
BASE = b"".join(b"line %d of a text\n" % number for number in range(400))
CHANGED = BASE.replace(b"line 7 ", b"line seven ")
DIFFERENCE = codec.against(BASE, codec.digest_of(BASE), 0, CHANGED) or b""


def read_stored(data: bytes) -> None:
    codec.unpack(data, lambda _: b"x")
    codec.thin(data, ["text"], lambda _: None)


def read_difference(data: bytes) -> None:
    codec.base_in(data)
    codec.combine(BASE, data)


def patch(data: bytes) -> None:
    codec.patch(BASE, msgspec.msgpack.decode(data), 1 << 20)


# Git's own forms

BLOB = SHA1.id_of("blob", b"content\n")
TREE = format_tree([Entry(0o100644, b"a.py", BLOB), Entry(0o100755, b"tool", BLOB)])
PACK = b"".join(format_pack([("blob", b"content\n"), ("tree", TREE)], 2, SHA1))
BESIDE = TreeMetadata({b"tool": 0o700}, [b"empty"], {b"sub": BLOB}, {b"big": 99}).encode()


def read_pack(data: bytes) -> None:
    shapes = Shapes(SHA1)
    for each in parse_pack([data], SHA1, 1 << 20):
        shapes.note(each)
    shapes.prove_tree(SHA1.id_of("tree", TREE))


def leaf_pages() -> bytes:
    """A first page without a list of free ones, a page of a table with one row, and one of an index."""
    row = bytes([4, 1, 1, 19, 16]) + b"\7\x08abc" + b"zz"
    page = bytearray(PAGE)
    page[0], page[3:5], page[8:10] = salvage.TABLE_LEAF, (1).to_bytes(2), (4000).to_bytes(2)
    page[4000 : 4000 + len(row) + 2] = bytes([len(row), 1]) + row
    entry = bytearray(page)
    entry[0], entry[12:14] = salvage.INDEX_INNER, page[8:10]
    return bytes(PAGE) + bytes(page + entry)


def read_leaves(data: bytes) -> None:
    with tempfile.NamedTemporaryFile(buffering=0) as file:
        file.write(data)
        with contextlib.closing(salvage.Leaves(Path(file.name), file.fileno())) as leaves:
            list(leaves.rows())
            list(leaves.entries())


PARSERS = {
    "payload of a hook": Parser(CALLS, read_payload, (inbox.NotACall,)),
    "kept call": Parser([GOOD_CALL + payload for payload in CALLS[:20]], read_kept_file, (inbox.NotACall,)),
    "typed command": Parser(lines("*sessions", "*rollback:3 yes", "*new fix it", "*cp-diff:1:2"), read_typed),
    "line about a process": Parser(lines("1 (a) b) S " + "1 " * 40, "25088 (sh) S 1"), read_stat),
    "lines of a transcript": Parser([*TRANSCRIPT, b"\n".join(TRANSCRIPT)], retell),
    "FABER state": Parser(STATES, read_faber),
    "orchestrator session": Parser(ORCHESTRATORS, read_orchestrator, (orchestra.Incompatible,)),
    "Go Team file": Parser(team_files(), read_team),
    "workflow": Parser(WORKFLOWS, read_workflow),
    "face": Parser([*STATES, *ORCHESTRATORS, *SETTINGS], read_face_again),
    "broken face": Parser([*STATES, *ORCHESTRATORS], salvage_members),
    "condition": Parser(CONDITIONS, read_condition, (conditions.NotACondition,)),
    "command of a workflow": Parser(COMMANDS, read_command, (trust.Unfit,)),
    "git command of a workflow": Parser(COMMANDS, read_git_command, (Unloadable,)),
    "search": Parser(lines('one "two three" fo*', 'é "', "a b c d"), read_search),
    "id": Parser(lines(*HOSTILE[:200], faber_states.RUN, "plan/run"), read_id),
    "shown text": Parser(
        lines("</history x>", "Human: do", "<system>", "[INST]", "@x #1 http://a", *HOSTILE[:50]), show
    ),
    "hidden text": Parser(lines("password = 'hunter22'", "Authorization: Bearer abcdefgh", "ghp_" + "a" * 36), hide),
    "settings of the client": Parser(SETTINGS, edit_settings, (NotSettings, UnicodeDecodeError, json_edit.NotJson)),
    "stored body": Parser([BODY, b"\0{}", *BLOBS.values()], read_stored),
    "stored difference": Parser([DIFFERENCE], read_difference),
    "difference": Parser([msgspec.msgpack.encode(codec.difference(BASE, CHANGED))], patch, codec.UNREADABLE),
    "pack": Parser([PACK], read_pack),
    "list beside a tree": Parser([BESIDE], check_beside),
    "page of the database": Parser([leaf_pages()], read_leaves),
}
