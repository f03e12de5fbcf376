"""Secrets stay where they were said: nothing stored or handed out holds one, and other people's files keep theirs."""

from __future__ import annotations

import json
import random
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.agents.registry import find_agent
from holdfast.core.errors import WrongUsage
from holdfast.core.fold.run import OPENED
from holdfast.core.model import Draft
from holdfast.layouts.faber.screens import dry_report, report
from holdfast.layouts.faber.sessions import begin_session
from holdfast.layouts.orchestrator import HISTORY
from holdfast.layouts.orchestrator.files import name_of
from holdfast.layouts.orchestrator.reconcile import ingest_archive
from holdfast.layouts.orchestrator.schema import LONGEST
from holdfast.project.workspace import Workspace
from holdfast.redaction.redactor import Redactor
from holdfast.surfaces.cli import runner
from tests.canaries import found_in, hits
from tests.conftest import TickingClock
from tests.faber_project import Faber, text
from tests.faber_states import RUN
from tests.go_team_project import Team, demonstration
from tests.hook_calls import keep_by_hand, the_call
from tests.hostile.secrets import LETTERS, some
from tests.maintenance.repair.test_repair import tamper
from tests.orchestrator_files import schema_1_0
from tests.orchestrator_project import orchestrate, put_session, session_of, session_path
from tests.sessions import as_session, run_of, store_raw, stored_events, with_environ
from tests.tools import Command, hook
from tests.transcripts import Transcript, folder
from tests.worktrees import commit, git, put

pytestmark = pytest.mark.promise(26)


def canary(name: str) -> str:
    """A token that nobody else has: one for each way in."""
    return "ghp_" + some(random.Random(name), LETTERS, 36)


def part(name: str) -> str:
    """Some letters of it, which no form of a text changes: Markdown puts a stroke before what stands before them."""
    return canary(name)[4:14]


def claude(project: Workspace, event: str, **payload: Any) -> None:
    told = {"session_id": "9f1c2d3e", "cwd": str(project.root), "hook_event_name": event, **payload}
    hook(project.root, "claude", event, json.dumps(told).encode())


NAMES: tuple[str, ...] = ("goal", "prompt", "tool", "input", "note", "decision", "reason", "task", "tag", "name")
NAMES += ("checkpoint", "message", "env", "plain", "action", "agent", "caller")


def live(project: Workspace, tmp_path: Path) -> str:
    """A session in which a secret is said everywhere."""
    run = holdfast.start(project, f"goal {canary('goal')}").run.id
    claude(project, "SessionStart", source="startup")
    claude(project, "UserPromptSubmit", prompt=f"use {canary('prompt')} " + "x" * 3000)
    told = json.dumps({"stdout": f"token={canary('tool')}\n", "env": {"PASSWORD": "pw-" + canary("env")}})
    asked = {"command": f"curl -H 'Authorization: Bearer {canary('input')}' https://example.org"}
    claude(project, "PostToolUse", tool_name="Bash", tool_use_id="toolu_1", tool_input=asked, tool_response=told)
    hook(project.root, "robot", "Did", json.dumps({"deep": [{"x": canary("plain")}]}).encode(), HOLDFAST_RUN=run)
    hook(project.root, canary("caller"), "Did", b"{}", HOLDFAST_RUN=run)
    holdfast.sweep(project)
    holdfast.join(project, run, agent=canary("agent"))
    holdfast.note(project, f"note {canary('note')}", run=run)
    holdfast.decide(project, f"decide {canary('decision')}", because=f"because {canary('reason')}", run=run)
    holdfast.add_task(project, f"task {canary('task')}", run=run)
    holdfast.action(project, f"action {canary('action')}", run=run)
    holdfast.tag(project, (canary("tag"),), run=run)
    holdfast.rename(project, f"name {canary('name')}", run=run)
    put(project.root, {"code.py": f"KEY = '{canary('source')}'\n"})
    holdfast.checkpoint(project, f"at {canary('checkpoint')}", message=f"with {canary('message')}", run=run)
    return run


def test_after_a_whole_session_no_secret_is_in_the_store_or_in_anything_that_left_it(
    project: Workspace, tmp_path: Path
) -> None:
    run = live(project, tmp_path)
    backup = holdfast.backup(project, str(tmp_path / "all.tar.gz"))
    exported = tmp_path / "run.holdfast"
    holdfast.export(project, run, exported, without_code=True, transcripts=True)
    brief = holdfast.brief(project, run=run).text
    shown = Command.run("log", "--run", run, "--json", directory=project.root).ok()
    assert backup.path
    for name in NAMES:
        word = canary(name)
        assert hits(project.place, word) == [], name
        for path in (tmp_path / "all.tar.gz", exported):
            assert list(found_in(path, word.lower().encode())) == [], name
        assert word not in brief + shown.out + shown.err, name
    assert hits(project.place, canary("source")), "what you have in your files, a checkpoint keeps as it is"
    assert "[redacted token]" in brief
    assert not any(word[:12] in str(stored_events(project, run)) for word in map(canary, NAMES)), "not even a part"


def test_a_secret_that_is_cut_off_leaves_no_half_of_it(project: Workspace) -> None:
    secret = canary("cut")
    claude(project, "UserPromptSubmit", prompt="x" * 1980 + " " + secret)
    asked, told = {"command": "y" * 280 + " " + secret}, "z" * 985 + " " + secret
    claude(project, "PostToolUse", tool_name="Bash", tool_input=asked, tool_response=told)
    holdfast.start(project, "goal")
    holdfast.sweep(project)
    assert hits(project.place, secret[:10]) == []


def test_values_of_env_files_are_hidden_and_never_the_places_by_which_a_run_is_found(project: Workspace) -> None:
    put(project.root, {".env": f"SHOP_PASSWORD={project.root.name}\nOTHER_SECRET=correct-horse-7\n"})
    run = holdfast.start(project, "with correct-horse-7").run
    assert (run.goal, run.worktree, run.directory) == (
        "with [redacted known value]",
        project.worktree,
        str(project.root),
    )
    assert holdfast.status(project).run


def test_whoever_says_a_secret_is_told_that_it_was_hidden_and_how_to_allow_it(project: Workspace) -> None:
    holdfast.start(project, "goal")
    said = Command.run("note", f"use {canary('a')} and {canary('b')}", directory=project.root).ok()
    assert "2 secrets hidden" in said.err
    assert "`holdfast config set redact.allow" in said.err
    assert "hidden" not in Command.run("note", "use nothing", directory=project.root).ok().err
    Command.run("config", "set", "redact.allow", "ghp_[A-Za-z0-9]+", directory=project.root).ok()
    said = Command.run("note", f"use {canary('a')}", directory=project.root).ok()
    assert "hidden" not in said.err
    assert canary("a") in Command.run("show", directory=project.root).ok().out


def test_what_went_wrong_is_told_without_the_secrets_that_were_typed(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = canary("typed")
    holdfast.start(project, "goal")
    for words in (["show", secret], ["show", "x-correct-horse-7"], [secret], ["agent", "start", secret, "a"]):
        for form in ([], ["--json"]):
            said = Command.run(*words, *form, directory=project.root, env={"SHOP_PASSWORD": "correct-horse-7"})
            assert said.code
            assert "[redacted " in said.out + said.err
            assert secret[:10] not in said.out + said.err
            assert "correct-horse" not in said.out + said.err

    def fail(arguments: list[str]) -> int:
        raise KeyError("x" * 270 + f" {secret}")

    monkeypatch.chdir(project.root)
    assert runner.run(["show"], fail) == 3
    told = capsys.readouterr()
    assert "This is a bug" in told.err
    assert secret[:10] not in told.out + told.err


def test_a_pattern_of_the_users_hides_and_a_bad_one_is_told_and_passed_over(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run.id
    with pytest.raises(WrongUsage, match="takes patterns, and this is not one"):
        holdfast.config_set(project, "redact.patterns", "acme-[0-9]{4} (")
    Command.run("config", "set", "redact.patterns", "acme-[0-9]{4}", directory=project.root).ok()
    Command.run("note", "badge acme-1234", directory=project.root).ok()
    assert "badge [redacted own pattern]" in str(stored_events(project, run))
    said = Command.run(
        "note", "badge acme-1234", directory=project.root, env={"HOLDFAST_REDACT_PATTERNS": "( acme-[0-9]{4}"}
    ).ok()
    assert "the pattern ( is ignored" in said.err
    found = Command.run("doctor", "--json", directory=project.root, env={"HOLDFAST_REDACT_PATTERNS": "("})
    assert "redact.patterns" in found.out
    assert "acme-1234" not in str(stored_events(project, run))


def test_a_pattern_of_the_users_for_a_whole_text_hides_it(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run.id
    Command.run("config", "set", "redact.patterns", r"^EMP-\d{6}$", directory=project.root).ok()
    said = Command.run("note", "EMP-123456", directory=project.root).ok()
    assert "1 of kind own pattern" in said.err
    assert "EMP-123456" not in str(stored_events(project, run))


# Other people's files


def raw_places(project: Workspace, word: str) -> set[str]:
    """Where in the store a word stands; all of it for the user alone."""
    found = {Path(hit.rpartition(":")[0]) for hit in hits(project.place, word)}
    assert all(stat.S_IMODE((project.place / path).stat().st_mode) == 0o600 for path in found)
    return {path.name if path.parts[0] == "worktrees" else path.parts[0] for path in found}


def test_a_state_of_fabers_keeps_its_secret_and_the_store_has_it_in_copies_of_the_file_alone(faber: Faber) -> None:
    secret = canary("faber")
    faber.put(custom={"deploy_key": secret}, work_items=[{"issue": {"title": f"Use {secret} for the login"}}])
    faber.load()
    faber.save()
    assert faber.state["custom"] == {"deploy_key": secret}
    assert faber.state["work_items"][0]["issue"]["title"] == f"Use {secret} for the login"
    assert raw_places(faber.workspace, secret) == {"faces"}
    faber.put(work_items=[{"issue": {"title": "t" * 185 + f" {secret}"}}])
    holdfast.status(faber.workspace)
    assert raw_places(faber.workspace, secret[:10]) == {"faces"}, "not even a part of it"
    assert "Use [redacted token] for" in str(stored_events(faber.workspace, run_of(faber.workspace).id))


def test_a_repair_misses_nothing_that_is_only_hidden_and_says_no_secret(faber: Faber) -> None:
    faber.put(current_step=f"use {canary('step')}")
    faber.load()
    faber.save()
    faber.path.write_bytes(faber.path.read_bytes()[:300])
    repaired = holdfast.repair(faber.workspace, RUN)
    assert (repaired.changed, repaired.lost) == (True, [])


def test_a_session_of_the_history_is_hidden_before_it_is_cut_to_its_length(project: Workspace) -> None:
    holdfast.init(project)
    file = {**schema_1_0(), "goal": "x" * (LONGEST - 13) + f" {canary('history')}"}
    put(project.root, {f"{HISTORY}/old.json": json.dumps(file)})
    ingest_archive(project)
    assert project.warnings == []
    assert len(run_of(project, name_of(file["session_id"])).goal) > LONGEST - 20
    assert hits(project.place, canary("history")[:8]) == []


def test_a_session_file_keeps_its_secrets_through_our_changes_and_is_at_rest_then(project: Workspace) -> None:
    secret, other = canary("orchestra"), canary("other")
    file = schema_1_0()
    file["goal"] = f"Use {secret}"
    file["pending_tasks"] = [f"Rotate {secret}", f"Rotate {other}", "Write"]
    file["decisions_made"][0]["rationale"] = f"password: '{secret}'"
    file["strange"] = {"token": other}
    orchestrate(project)
    put_session(project, file)
    holdfast.add_task(project, "one of ours")
    said = session_of(project)
    assert said["goal"] == f"Use {secret}"
    assert said["pending_tasks"] == [f"Rotate {secret}", f"Rotate {other}", "Write", "one of ours"]
    assert said["decisions_made"][0]["rationale"] == f"password: '{secret}'"
    assert said["strange"] == {"token": other}
    assert raw_places(project, secret) | raw_places(project, other) == {"session.json"}
    data, seq = session_path(project).read_bytes(), run_of(project).seq
    holdfast.status(project)
    assert holdfast.verify(project).faces == []
    assert not holdfast.repair(project).changed
    assert (session_path(project).read_bytes(), run_of(project).seq) == (data, seq)


def test_an_edit_of_the_session_file_is_followed_though_it_holds_secrets(project: Workspace) -> None:
    secret = canary("edit")
    orchestrate(project)
    put_session(project, {**session_of(project), "pending_tasks": [f"Use {secret}", "Write"]})
    holdfast.status(project)
    put_session(project, {**session_of(project), "pending_tasks": [f"Use {secret}", "Read"]})
    holdfast.status(project)
    assert [task.text for task in run_of(project).open_tasks] == ["Use [redacted token]", "Read"]
    assert session_of(project)["pending_tasks"] == [f"Use {secret}", "Read"]
    done = {"task": f"Use {secret}", "outcome": "used", "files": []}
    put_session(project, {**session_of(project), "pending_tasks": ["Read"], "completed_work": [done]})
    holdfast.status(project)
    assert [(task.text, task.done is not None) for task in run_of(project).tasks if task.text != "Write"] == [
        ("Use [redacted token]", True),
        ("Read", False),
    ]
    put_session(project, {**session_of(project), "pending_tasks": [f"Ask for {secret}"]})
    holdfast.status(project)
    put_session(project, {**session_of(project), "pending_tasks": []})
    holdfast.status(project)
    assert run_of(project).open_tasks == []


def test_files_of_the_go_team_keep_their_secrets_through_our_changes_and_are_at_rest_then(project: Workspace) -> None:
    secret = canary("team")
    team = Team(project)
    holdfast.start(project, "elsewhere", layout="go-team")
    directory = demonstration(team.root, topic=f"use {secret}")
    state = json.loads((directory / "state.json").read_text())
    state["context"]["pending_tasks"] = [f"Rotate {secret}", "Write"]
    state["context"]["strange"] = {"api_key": secret}
    (directory / "state.json").write_text(json.dumps(state))
    holdfast.status(project)
    holdfast.note(project, "one of ours", run="test-session-001")
    said = team.read("state.json", "test-session-001")
    assert said["context"]["pending_tasks"][0] == f"Rotate {secret}"
    assert said["context"]["strange"] == {"api_key": secret}
    assert team.entry("test-session-001")["topic"] == f"use {secret}"
    assert raw_places(project, secret) <= {"team.json"}
    files = {path: path.read_bytes() for path in team.root.rglob("*.json")}
    seq = run_of(project, "test-session-001").seq
    holdfast.status(project)
    assert holdfast.verify(project).faces == []
    assert run_of(project, "test-session-001").seq == seq
    assert {path: path.read_bytes() for path in team.root.rglob("*.json")} == files
    registry = team.registry()
    registry["sessions"].append({"id": "of-somebody-else"})
    (team.root / "sessions.json").write_text(json.dumps(registry))
    holdfast.status(project)
    assert run_of(project, "test-session-001").seq == seq, "what did not change is no change"
    tasks = run_of(project, "test-session-001").tasks
    damaged = (directory / "state.json").read_text()
    (directory / "state.json").write_text(damaged[: damaged.rindex("}")])
    holdfast.repair(project, "test-session-001")
    assert run_of(project, "test-session-001").tasks == tasks
    assert raw_places(project, secret) <= {"team.json"}


# What an older version has stored


@pytest.fixture
def older(project: Workspace) -> str:
    run = holdfast.start(project, "goal").run.id
    store_raw(project, run, "note.added", {"text": f"use {canary('older')}", "entry": "n1"})
    store_raw(project, run, "goal.changed", {"goal": f"with {canary('older')}"})
    return run


def test_what_an_older_version_stored_is_not_handed_out(project: Workspace, older: str, tmp_path: Path) -> None:
    file = tmp_path / "run.holdfast"
    assert holdfast.export(project, older, file).redacted == {"token": 2}
    assert list(found_in(file, canary("older").lower().encode())) == []
    assert canary("older") not in holdfast.brief(project, run=older).text
    shown = holdfast.report(project, older).markdown + holdfast.picture(project, older).svg
    assert "[redacted token]" in shown
    assert part("older") not in shown
    told = hook_answer(project)
    assert "[redacted token]" in told
    assert canary("older") not in told


ANSWERED = ["status", "show", "log", "search use", "search ghp", "runs", "runs --all-projects", "resume --print"]


@pytest.mark.parametrize("words", ANSWERED)
def test_an_agent_is_answered_without_what_an_older_version_stored(project: Workspace, older: str, words: str) -> None:
    """Also where the words that were looked for are marked, and where a line is cut."""
    store_raw(project, older, "goal.changed", {"goal": f"deploy it as we do it each time, with {canary('older')}"})
    said = Command.run(*words.split(), "--fence", directory=project.root).ok()
    told = (said.out + said.err).replace("\u00bb", "").replace("\u00ab", "")
    assert "[redacted" in told or "search ghp" in words
    assert part("older") not in told


def test_no_piece_of_a_secret_that_an_older_version_stored_is_suggested_or_found_elsewhere(
    project: Workspace, older: str
) -> None:
    piece = some(random.Random("piece"), LETTERS, 20)
    store_raw(project, older, "note.added", {"text": f"glpat-{piece} opens the vault", "entry": "n2"})
    assert holdfast.search(project, piece[:-1] + "-" + "vualt").suggestion == f"{piece[:-1]}-vault"
    assert holdfast.runs(project, search=piece[:-1]).suggestion is None
    (hit,) = holdfast.search_everywhere(project, "vault").found
    assert hit.text == "[redacted token] opens the vault"


def test_no_part_of_what_is_told_says_what_an_older_version_stored(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its events, its sessions and its checkpoints; in a report, a picture and the short answer of a hook."""
    with monkeypatch.context() as older:
        older.setattr(Redactor, "clean", lambda _, value: (value, Counter()))
        run = holdfast.start(project, "goal").run.id
        with project.writing() as journal:
            journal.append(run, Draft(OPENED, {"agent_session": "x"}, session="ses-older", agent="robot"))
            journal.append(run, Draft("turn.ended", {"text": f"It only takes {canary('answer')}."}))
        holdfast.action(as_session(project, "ses-older"), f"called with {canary('action')}")
        holdfast.decide(project, f"use {canary('decision')}")
        holdfast.checkpoint(project, message=f"with {canary('message')}")
        holdfast.leave(project, "ses-older", reason=f"gone with {canary('reason')}")
    told = holdfast.report(project, run).markdown + holdfast.picture(project, run).svg + hook_answer(project)
    assert [name for name in ("action", "answer", "decision", "message", "reason") if part(name) in told] == []
    assert told.count("[redacted token]") >= 4


def hook_answer(project: Workspace) -> str:
    from holdfast.surfaces.hooks.brief_reply import Asking, answer, answer_shortly

    keep_by_hand(project.inbox, b'{"session_id": "x"}')
    call = the_call(project.inbox)
    call.agent, call.event = "claude", "SessionStart"
    adapter = find_agent(call.agent)
    asking = Asking(call, adapter.read_call(call), adapter)
    return f"{answer(project, asking)}\n{answer_shortly(project, asking)}"


def test_scan_finds_it_without_saying_it_and_the_way_it_names_hides_it(
    project: Workspace, older: str, tmp_path: Path
) -> None:
    found = holdfast.scan(project, older)
    assert [(secret.kind, secret.length) for secret in found.secrets] == [("token", 40), ("token", 40)]
    assert [secret.where for secret in found.secrets] == [f"{older} event 2, at text", f"{older} event 3, at goal"]
    said = Command.run("scan", directory=project.root).ok()
    assert "ghp_" not in said.out + said.err
    assert f"`holdfast export {older} FILE`" in said.err
    holdfast.export(project, older, tmp_path / "run.holdfast")
    holdfast.delete(project, older, purge=True)
    holdfast.import_run(project, tmp_path / "run.holdfast")
    found = holdfast.scan(project)
    assert (found.secrets, found.hidden) == ([], {"token": 2})
    assert hits(project.place, canary("older")) == []


def test_a_raw_file_that_is_imported_is_hidden_on_the_way_in(
    project: Workspace, older: str, tmp_path: Path, clock: TickingClock
) -> None:
    holdfast.export(project, older, tmp_path / "run.holdfast", raw=True)
    holdfast.delete(project, older, purge=True)
    holdfast.import_run(project, tmp_path / "run.holdfast")
    assert hits(project.place, canary("older")) == []


def test_a_store_that_repair_makes_anew_holds_no_secret_of_an_older_version(project: Workspace, older: str) -> None:
    tamper(project, "DELETE FROM event WHERE seq = 2")
    assert holdfast.repair(project, older).store
    assert run_of(project, older).goal == "with [redacted token]"
    assert {Path(hit).parts[0] for hit in hits(project.place, canary("older"))} == {"aside"}


def test_a_conversation_that_is_imported_is_hidden_on_the_way_in(project: Workspace, home: Path) -> None:
    told = Transcript(str(project.root), "9f1c2d3e")
    told.prompt("x" * 1985 + f" {canary('transcript')}")
    told.call("toolu_1", "Bash", command="y" * 280 + f" {canary('transcript')}")
    told.result("toolu_1", "z" * 985 + f" {canary('transcript')}")
    told.write(folder(home, project.root) / "9f1c2d3e.jsonl")
    holdfast.start(project, "goal")
    assert holdfast.import_claude(project).conversations
    assert hits(project.place, canary("transcript")[:10]) == []


def test_names_that_git_shows_are_told_without_secrets_and_are_no_disagreement(project: Workspace) -> None:
    put(project.root, {"code.py": "1\n"})
    commit(project.root)
    git(project.root, "checkout", "-qb", f"fix/{canary('branch')}")
    put(project.root, {f"{canary('file')}.txt": "1\n"})
    run = holdfast.start(project, "goal").run.id
    holdfast.checkpoint(project)
    put(project.root, {f"{canary('other')}.txt": "1\n"})
    text = holdfast.brief(project, run=run).text
    assert "1 file changed since the last checkpoint" in text
    assert "A [redacted token].txt" in text
    assert "git is on" not in text
    found = Command.run("resume", "--json", directory=project.root)
    for name in ("branch", "file", "other"):
        assert canary(name)[:10] not in text + found.out + found.err


@pytest.mark.parametrize(
    "name", ["secrets", "conf/api_key", "lib/token", ".password", "db_pass", "a/authorization", "cookie"]
)
def test_a_file_whose_name_speaks_of_a_secret_breaks_nothing(name: str, project: Workspace) -> None:
    """When it was touched was hidden: neither `brief` nor `status` worked any more."""
    holdfast.start(project, "goal")
    holdfast.action(project, "Wrote it", files=[name])
    assert name in holdfast.brief(project).text
    run = holdfast.status(project).run
    assert run is not None
    assert list(run.files) == [name]
    assert holdfast.show(project).run.files == run.files


def test_artifacts_in_a_brief_are_without_secrets(project: Workspace) -> None:
    put(project.root, {"NOTES.md": f"Deploy with {canary('artifact')}\n"})
    run = holdfast.start(project, "goal").run.id
    other = with_environ(project, HOLDFAST_BRIEF_ARTIFACTS="NOTES.md")
    text = holdfast.brief(other, run=run).text
    assert "Deploy with [redacted token]" in text


def test_artifacts_that_a_session_loads_are_without_secrets(faber: Faber) -> None:
    put(faber.root, {"spec.md": f"Deploy with {canary('artifact')}\n"})
    faber.put()
    faber.workflow(text("spec"))
    assert [artifact.content for artifact in faber.load().artifacts] == ["Deploy with [redacted token]\n"]


def test_what_stands_in_for_a_long_artifact_holds_no_half_of_a_secret(faber: Faber) -> None:
    """It is cut at 160 characters a line, and half a token looks like none."""
    put(faber.root, {"spec.md": f"{'Deploy ' * 19}with {canary('artifact')}\n" * 100})
    faber.put()
    for over, budget in ({}, 1_000), ({"load_strategy": "summary"}, None):
        faber.workflow(text("spec", **over))
        (found,) = faber.load(budget=budget, force=True).artifacts
        assert "It begins" in str(found.content)
        assert canary("artifact")[:8] not in str(found.content)


def test_what_a_workflow_says_of_its_artifacts_is_told_without_secrets(faber: Faber) -> None:
    secret = canary("workflow")
    faber.put()
    command = {"id": "prices", "type": "skill", "command": f"curl -H 'X-Key: {secret}' https://example.org"}
    faber.workflow(text("gone", path=f"docs/{secret}.md"), command, {"id": "odd", "type": secret})
    for dry_run in (True, False):
        found = faber.load(dry_run=dry_run, force=True)
        shown = "\n".join([*report(found), *dry_report(found), *found.warnings, str(found)])
        assert "docs/[redacted token].md" in shown
        assert "'X-Key: [redacted token]'" in shown
        assert secret[:10] not in shown
    call = {"session_id": "9f1c2d3e", "cwd": str(faber.root), "source": "startup"}
    for required in (False, True):
        faber.workflow(text("gone", path=f"docs/{secret}.md", required=required), command)
        keep_by_hand(faber.workspace.inbox, json.dumps(call).encode())
        kept = the_call(faber.workspace.inbox)
        told = str(begin_session(faber.workspace, kept, find_agent("claude").read_call(kept)))
        assert "[redacted token]" in told
        assert secret[:10] not in told


def test_files_are_looked_at_before_anything_is_stored(project: Workspace) -> None:
    put(project.root, {"a/config.yml": f"x: 1\ntoken: {canary('file')}\n", "b.bin": b"\0" + canary("file").encode()})
    found = holdfast.scan(project, str(project.root / "a"))
    assert [(secret.kind, secret.where, secret.length) for secret in found.secrets] == [
        ("token", f"{project.root}/a/config.yml:2", 40)
    ]
    assert holdfast.scan(project, str(project.root / "b.bin")).skipped == 1


def test_scan_finds_in_a_file_of_json_all_that_would_be_hidden(project: Workspace) -> None:
    """A header was known by its name where it was stored, and not where a file was looked at."""
    secret = "correct9" + "Horse"
    config = {
        "headers": {"Authorization": f"Splunk {secret}"},
        "env": [{"name": "DB_PASSWORD", "value": secret}],
        "passwords": [f"{secret}!"],
        "args": ["curl", "-u", f"shop:{secret}2"],
        "secret": {"value": f'{secret}"\n'},
        "plain": f"password={secret}3",
    }
    put(project.root, {"config.json": json.dumps(config, indent=1)})
    lines = (project.root / "config.json").read_text().split("\n")
    found = holdfast.scan(project, str(project.root / "config.json")).secrets
    assert len(found) == project.redactor.clean(json.dumps(config))[1].total() == 6
    for one in found:
        assert secret in lines[int(one.where.rpartition(":")[2]) - 1], one
