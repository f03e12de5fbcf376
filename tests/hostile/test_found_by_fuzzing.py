"""Inputs that once fell through, each with what it did."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.agents.claude import transcript, transcript_events
from holdfast.core import search_terms, untrusted_text
from holdfast.core.errors import Damaged, HoldfastError
from holdfast.core.formats import json_limits, json_salvage
from holdfast.journal import backup_file, codec
from holdfast.layouts import memory
from holdfast.layouts.faber import reconcile
from holdfast.layouts.goteam import files as teamfaces
from holdfast.layouts.json_file import Unreadable, read_json
from holdfast.layouts.orchestrator import SESSION, files as sessionfile
from holdfast.project import inbox
from holdfast.project.workspace import Workspace
from holdfast.redaction import redactor
from holdfast.system.git.repository import Format, Known, Repository
from tests import go_team_project, orchestrator_files
from tests.faber_states import RUN, RUNS, a_state, put
from tests.hostile.inputs import GOOD_CALL
from tests.hostile.parsers import NOON, TRANSCRIPT
from tests.surfaces.in_process import call

pytestmark = pytest.mark.promise(19)
Begin = Callable[[], None]


def test_a_cost_that_no_number_holds_is_not_counted() -> None:
    costs = (10**400, 1e300, float("inf"), -1, True)
    telling = transcript_events.Retelling([{"type": "cost-state", "totalCostUSD": cost} for cost in costs], NOON)
    assert list(telling.drafts()) == []
    assert telling.tally.cost is None


@pytest.mark.parametrize("odd", ['"\\ud800"', "1" + "0" * 400], ids=["half a character", "400 digits"])
def test_a_go_team_file_with_what_no_json_holds_is_taken_in(odd: str, project: Workspace) -> None:
    """The checksum of a checkpoint ended with a traceback, and so did the journal where a number came that far."""
    directory = go_team_project.demonstration(project.root / "checkpoints")
    for path in directory.glob("*.json"):
        path.write_text(path.read_text().replace("{", f'{{"odd": {odd}, "current_line": {odd}, ', 1))
    state = json.loads((directory / "state.json").read_text())
    state["context"] = {"last_action": "writing", "current_line": json.loads(odd), "current_file": "a.go"}
    (directory / "state.json").write_text(json.dumps(state))
    for line in ("status", "runs --json", "show test-session-001 --json", "brief"):
        assert call(*line.split(), directory=project.root).code in (0, 10), line


ODD = ['"\\ud800"', "1" + "0" * 400, "18446744073709551616", "1e999"]


@pytest.mark.promise(3)
@pytest.mark.parametrize("odd", ODD, ids=["half a character", "400 digits", "65 bits", "infinite"])
@pytest.mark.parametrize("kind", ["faber", "orchestrator", "go-team"])
def test_what_no_json_holds_in_the_files_of_others_stops_nobody(kind: str, odd: str, project: Workspace) -> None:
    if kind == "faber":
        put(
            project.root,
            f"{RUNS}/{RUN}/state.json",
            a_state(odd="ODD", work_id="ODD", phases=["ODD", {"status": "ODD"}]),
        )
    elif kind == "orchestrator":
        put(project.root, SESSION, {**orchestrator_files.schema_1_0(), "odd": "ODD", "created": "ODD", "mode": "ODD"})
    else:
        go_team_project.demonstration(
            project.root / "checkpoints", odd="ODD", current_step="ODD", progress={"total_steps": "ODD"}
        )
    for path in (path for path in project.root.rglob("*.json") if ".git" not in path.parts):
        path.write_text(path.read_text().replace('"ODD"', odd))
    lines = ["status", "runs --json", "brief", "start more --layout orchestrator", "note x", "status --json", "sweep"]
    for line in (*lines, f"session-load --run-id {RUN}", "show test-session-001 --json", "repair --yes"):
        done = call(*line.split(), directory=project.root)
        assert done.code in (0, 1, 2, 10), f"{line}: {done.err}"


def test_settings_of_a_project_that_are_nested_too_deeply_to_show_are_passed_over(project: Workspace) -> None:
    """Every command ended with a traceback where a repository brought this line."""
    (project.root / ".holdfast.toml").write_text("brief.budget." + "a." * 3_000 + "a = 1\n")
    done = call("status", directory=project.root)
    assert (done.code, "brief.budget takes a whole number" in done.err) == (0, True)


@pytest.mark.promise(28)
def test_settings_of_a_client_that_are_no_settings_by_their_size_are_left_alone(project: Workspace) -> None:
    """To put our calls into 17 MB took 280 MB of memory."""
    settings = project.root / ".claude/settings.local.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"x" * 4_000_000: 1}))
    before = settings.read_bytes()
    done = call("init", "--agent", "claude", directory=project.root)
    assert (done.code, "longer than 4,000,000 characters" in done.err) == (1, True)
    assert settings.read_bytes() == before


@pytest.mark.promise(22, 23)
@pytest.mark.parametrize("kind", ["absolute", "relative", "plain", "loose", "packed"])
def test_a_head_never_tells_what_stands_in_another_file(kind: str, project: Workspace, tmp_path: Path) -> None:
    """`ref: /etc/passwd` read the first line of that file, and told it to the next session as a commit."""
    secret = tmp_path / "secret"
    secret.write_text("the-secret\n")
    git = project.root / ".git"
    head = {"absolute": f"ref: {secret}", "relative": "ref: ../../secret", "plain": "the-secret"}
    (git / "HEAD").write_text(head.get(kind, "ref: refs/heads/main") + "\n")
    (git / "refs/heads").mkdir(exist_ok=True)
    if kind == "loose":
        (git / "refs/heads/main").write_text("the-secret\n")
    (git / "packed-refs").write_bytes(b"the-secret\xff refs/heads/main\n")
    assert Repository(project.root).head().commit is None
    holdfast.start(project, "goal")
    holdfast.join(project, agent="robot")
    for line in ("status --json", "show --json", "log --json", "brief"):
        assert "the-secret" not in call(*line.split(), directory=project.root).out


def test_a_head_with_a_zero_byte_names_nothing(repository: Path) -> None:
    (repository / ".git/HEAD").write_bytes(b"ref: refs/heads/a\0b\n")
    assert Repository(repository).head() == (None, None, None)


# Small values, many of them: 20 MB of empty objects took 1.5 GB and half a minute


def many(piece: str = "{}") -> str:
    return f"[{','.join([piece] * (json_limits.MOST + 1))}]"


def test_a_call_of_more_values_than_anybody_uses_is_kept_as_a_text(project: Workspace) -> None:
    holdfast.start(project, "goal")
    payload = f'{{"session_id": "s", "tool_input": {many()}}}'
    found = inbox.decode("00000000000000000001-2cc64b64-1-00000000", GOOD_CALL + payload.encode())
    assert found.payload == payload
    with pytest.raises(inbox.NotACall, match="not JSON"):
        inbox.parse(payload[:-1].encode())


@pytest.mark.parametrize("kind", ["faber", "orchestrator", "go-team"])
def test_a_file_of_more_values_than_anybody_uses_is_named_and_left_alone(kind: str, project: Workspace) -> None:
    if kind == "faber":
        path = put(project.root, f"{RUNS}/{RUN}/state.json", a_state())
    elif kind == "orchestrator":
        path = put(project.root, SESSION, orchestrator_files.schema_1_0())
    else:
        path = go_team_project.demonstration(project.root / "checkpoints") / "state.json"
    path.write_text(path.read_text().replace("{", f'{{"odd": {many()}, ', 1))
    before = path.read_bytes()
    with pytest.raises(Unreadable, match="more than 500,000 values"):
        read_json(path)
    for line in ("status", "runs --json", "brief"):
        assert call(*line.split(), directory=project.root).code in (0, 10), line
    assert path.read_bytes() == before


def test_a_text_of_more_values_than_anybody_uses_is_not_made_into_them_to_look_for_secrets() -> None:
    clean, counts = redactor.Redactor().clean(f'{{"password": "hunter22x", "odd": {many()}}}')
    assert counts.total() == 1
    assert "hunter22x" not in clean


def test_a_broken_file_of_more_values_than_anybody_uses_gives_nothing() -> None:
    assert json_salvage.salvage(f'{{"goal": "x", "odd": {many()}, ', ("goal",)) == {}


# What a repository's object directory can hold


@pytest.mark.parametrize("line", ["|", "{}"], ids=["the same", "others"])
def test_thousands_of_lines_of_alternates_are_not_looked_up_one_by_one(
    line: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A megabyte of them took seconds of every checkpoint."""
    objects, asked = repository / ".git/objects", list[object]()
    (objects / "info/alternates").write_text("".join(f"{line.format(number)}\n" for number in range(20_000)))
    realpath = os.path.realpath

    def counted(path: Path) -> str:
        asked.append(path)
        return realpath(path)

    monkeypatch.setattr(os.path, "realpath", counted)
    Known(objects, Format("sha1"))
    assert len(asked) < 1_100


@pytest.mark.promise(23)
@pytest.mark.parametrize("kind", ["a file", "a file as packs", "a long name", "a loop"])
def test_alternates_that_are_no_directories_are_passed_over(kind: str, project: Workspace, tmp_path: Path) -> None:
    """A file in the place of one ended a checkpoint with a traceback."""
    borrowed = tmp_path / ("x" * 300 if kind == "a long name" else "borrowed")
    if kind == "a file":
        borrowed.touch()
    elif kind == "a file as packs":
        borrowed.mkdir()
        (borrowed / "pack").touch()
    elif kind == "a loop":
        borrowed.symlink_to(borrowed)
    (project.root / ".git/objects/info/alternates").write_text(f"{borrowed}\n")
    assert holdfast.checkpoint(project).checkpoint


@pytest.mark.promise(23)
def test_alternates_that_lead_in_circles_are_followed_once(repository: Path, tmp_path: Path, begin: Begin) -> None:
    """A hundred lines that name each other were ten thousand million places to look at."""
    objects = repository / ".git/objects"
    lines = [f"{tmp_path}/other{number}/objects" for number in range(100)]
    for line in (str(objects), *lines):
        Path(line, "info").mkdir(parents=True, exist_ok=True)
        Path(line, "info/alternates").write_text("\n".join([*lines, ".", "../objects", "a\0b"]))
    begin()
    assert len(Known(objects, Format("sha1")).directories) == 101


@pytest.mark.promise(23)
@pytest.mark.parametrize("kind", ["torn", "empty", "pipe", "directory", "other"])
def test_a_pack_index_that_is_none_is_passed_over(kind: str, project: Workspace, begin: Begin) -> None:
    """A torn one ended a checkpoint with a traceback, and a pipe in its place was waited for, for ever."""
    index = project.root / ".git/objects/pack/pack-00.idx"
    index.parent.mkdir(exist_ok=True)
    if kind == "pipe":
        os.mkfifo(index)
    elif kind == "directory":
        index.mkdir()
    else:
        index.write_bytes({"torn": b"\xfftOc\0\0\0\x02" + bytes(99), "empty": b"", "other": b"x" * 5000}[kind])
    begin()
    (project.root / "a").write_text("a")
    assert not Known(project.root / ".git/objects", Format("sha1")).has("ab" * 20)
    if kind != "pipe":  # git itself would wait for that
        assert holdfast.checkpoint(project).checkpoint


# Texts that took for ever


@pytest.mark.parametrize("piece", ["<", "< ", "</", "[ ", " ", "<\n", "> ", "Human ", "[/"])
def test_a_text_is_tamed_in_a_time_that_grows_with_its_size(piece: str, begin: Begin) -> None:
    begin()
    for before in ("", "<", "["):
        assert untrusted_text.tame(f"{before}{piece * 200_000}system>").count("<system") == 0


def test_what_is_tamed_is_what_was_always_tamed() -> None:
    assert untrusted_text.tame("<< / system> <b> <|im_start|> a < b [ / INST] [instance]") == (
        "\u2039\u2039 / system> <b> \u2039|im_start|> a < b \u2039 / INST] [instance]"
    )


@pytest.mark.parametrize("piece", ['{"a":', '"a":[', '"a":{', '"a":[{"b":', '"goal":[[', '"', '"a":"'])
def test_a_broken_file_is_gone_through_a_few_times_and_not_for_ever(piece: str, begin: Begin) -> None:
    begin()
    found = json_salvage.salvage(
        '{"goal": "kept", "agents": [{"id": 1}, {"id": 2}, ' + piece * 100_000, ("goal", "agents")
    )
    assert (found["goal"], found["agents"][:2]) == ("kept", [{"id": 1}, {"id": 2}])


def test_a_letter_that_stands_everywhere_is_marked_where_it_is_shown(begin: Begin) -> None:
    begin()
    for _ in range(10):
        found = search_terms.excerpt("a b " * 50_000, " ".join("abcdefghijklmnop") + " a* b*", 120)
    assert len(found.marks) == 60
    assert all(found.text[first:last] in "ab" for first, last in found.marks)


def test_a_long_damaged_line_is_not_read_a_hundred_times(tmp_path: Path, begin: Begin) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"x" + b'{"type":"user","a":"' * 100 + b"\\ud800" * 2_000_000 + b"\n" + TRANSCRIPT[0])
    begin()
    lost: list[int] = []
    assert len(list(transcript.read_lines(path, lambda: lost.append(1)))) == 1
    assert len(lost) == 1


@pytest.mark.promise(18)
def test_lines_that_only_look_as_if_they_told_of_tokens_are_not_all_read(tmp_path: Path, begin: Begin) -> None:
    """Two million of them took four seconds and 150 MB, inside a hook."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(TRANSCRIPT[1] + b'\n"usage"' * 4_000_000)
    begin()
    tracemalloc.start()
    try:
        assert transcript.read_usage(path) is None
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()


def test_a_line_of_millions_of_values_is_passed_over_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"type":"user","x":[' + b"{}," * 2_000_000 + b"{}]}\n" + TRANSCRIPT[0] + b"\n")
    tracemalloc.start()
    try:
        assert len(list(transcript.read_lines(path))) == 1
        assert tracemalloc.get_traced_memory()[1] < 64_000_000
    finally:
        tracemalloc.stop()


def test_a_long_text_with_a_character_that_nobody_sees_is_looked_at_without_many_copies() -> None:
    """It was joined with what is seen of it, two bytes a character, and then encoded: ten times its size."""
    text = "password = '\ufeff" + "9" * 4_000_000
    tracemalloc.start()
    try:
        redactor.Redactor().clean(text)
        assert tracemalloc.get_traced_memory()[1] < 6 * len(text)
    finally:
        tracemalloc.stop()


def test_a_text_that_is_wide_as_well_as_long_is_not_looked_at_and_not_kept() -> None:
    """With one emoji in it each character takes four bytes, and there were four copies: 24 MB took 260 MB."""
    text = "ghp_" + "a" * 36 + " \U0001f600" + "\0" * 9_000_000
    tracemalloc.start()
    try:
        clean, _ = redactor.Redactor().clean({"token": text, "text": text})
        assert tracemalloc.get_traced_memory()[1] < len(text)
    finally:
        tracemalloc.stop()
    assert clean == {
        "token": "[redacted token]",
        "text": "[9,000,042 characters, too many to look for secrets in]",
    }


# Backups that somebody made up


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_SPARSE])
def test_a_backup_whose_head_says_that_its_name_is_huge_is_refused_at_once(kind: bytes, tmp_path: Path) -> None:
    """A file of 3 MB took more than a gigabyte of memory."""
    head = tarfile.TarInfo("x")
    head.type, head.size = kind, 100 << 20
    made = io.BytesIO()
    with gzip.GzipFile(fileobj=made, mode="wb", compresslevel=1) as out:
        out.write(head.tobuf(tarfile.GNU_FORMAT) + bytes(100 << 20))
    (tmp_path / "bomb").write_bytes(made.getvalue())
    tracemalloc.start()
    try:
        with pytest.raises(HoldfastError, match="unexpected part"):
            backup_file.read_archive(tmp_path / "bomb", lambda _: None)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_stored_event_of_more_values_than_anybody_uses_is_damage_and_takes_no_memory() -> None:
    """Twenty megabytes of short lists, in a database that somebody brought, took 600 MB."""
    body = b'{"text":[' + b"[0]," * json_limits.MOST + b"0]}"
    tracemalloc.start()
    try:
        with pytest.raises(Damaged, match="The body of an event cannot be read"):
            codec.unpack(codec.PLAIN + body, lambda _: None)
        assert tracemalloc.get_traced_memory()[1] < 3 * len(body)
    finally:
        tracemalloc.stop()


def test_what_we_remember_of_files_is_forgotten_where_it_holds_more_values_than_anybody_uses(
    project: Workspace,
) -> None:
    """Twenty megabytes of short lists in the place of what was last written took 600 MB."""
    dense = b'{"faces":{"a":[' + b"[0]," * json_limits.MOST + b"0]}}"
    for place, load in (
        (teamfaces.place_of(project), lambda: memory.recall(teamfaces.place_of(project), teamfaces.Written)),
        (memory.place_of(project) / "session.json", lambda: sessionfile.recall(project)),
        (memory.place_of(project) / reconcile.SEEN, lambda: reconcile._load(project)),
    ):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(dense)
        tracemalloc.start()
        try:
            assert load() == type(load())()
            assert tracemalloc.get_traced_memory()[1] < 4 * len(dense)
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("kind", ["pipe", "directory", "/dev/zero", "/dev/full", "socket"])
def test_a_backup_that_is_no_file_is_refused_at_once(
    kind: str, project: Workspace, tmp_path: Path, begin: Begin
) -> None:
    path = tmp_path / "odd"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "socket":
        os.mknod(path, 0o140600)
    else:
        path.symlink_to(kind)
    begin()
    done = call("restore-backup", str(path), "--yes", directory=project.root)
    assert done.code in (1, 2, 10), done.out + done.err
    assert done.err.startswith("holdfast: ")
