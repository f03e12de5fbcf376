"""What the rulings on FABER's files and artifacts come to, one function each, by the verbs and real files."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import Ambiguous, WorkflowError
from tests.faber_project import STATE, WORKFLOWS, Faber, artifact, changed, outcomes, text
from tests.faber_states import (
    ACTIVE,
    OLD_ACTIVE,
    OLD_RUNS,
    OLDEST_RUNS,
    PLAN,
    RUN,
    RUNS,
    SUFFIX,
    a_schema_state,
    a_state,
    put,
    with_a_session,
)

SCHEMES = (
    STATE,
    f"{RUNS}/{PLAN}/{SUFFIX}/state.json",
    f"{RUNS}/{PLAN}/state-{SUFFIX}.json",
    f"{OLD_RUNS}/{RUN}/state.json",
    f"{OLDEST_RUNS}/{RUN}/state.json",
)


def p1(faber: Faber) -> None:
    faber.put()
    put(faber.root, OLD_ACTIVE, "another")
    for did in (faber.load(), faber.save()):
        assert did.run == RUN
        assert any("active-run files disagree" in warning for warning in did.warnings)
    assert ((faber.root / ACTIVE).read_text(), (faber.root / OLD_ACTIVE).read_text()) == (RUN, "another")
    (faber.root / ACTIVE).write_text(" \n")
    (faber.root / OLD_ACTIVE).write_text(f"{RUN}\r\n")
    assert faber.load().run == RUN


def p2(faber: Faber) -> None:
    for number, place in enumerate(SCHEMES):
        run = f"{RUN}-{number}"
        path = put(faber.root, place.replace(SUFFIX, f"{SUFFIX}-{number}"), a_state(run_id=run))
        (faber.root / ACTIVE).write_text(run)
        before = path.read_bytes()
        assert Path(faber.load().path) == path
        assert faber.save().path == str(path)
        assert changed(before, path.read_bytes()) == {"sessions", "context_metadata", "updated_at"}
        for left in (path, path.with_name(path.name + ".backup")):
            left.unlink()
    assert not list(faber.root.rglob("state*.json"))


def p3(faber: Faber) -> None:
    for run in (
        "fractary-faber-258-20260105-143022",
        f"{PLAN}/{SUFFIX}",
        "org/project/6f1c",
        "a-run-2026Z",
        "258-20260104",
    ):
        put(faber.root, f"{RUNS}/{run}/state.json", a_state(run_id=run))
        assert (faber.load(run=run).run, faber.save(run=run).run) == (run, run)
    for run in ("", "/etc", "../x", "a/./b", "a\\b", "a\0b", "a\nb", "a//b"):
        for verb in (faber.load, faber.save):
            with pytest.raises(WorkflowError, match="Invalid run ID"):
                verb(run=run)
    outside = faber.root.parent / "outside"
    put(outside, "state.json", a_state(run_id="linked"))
    (faber.root / RUNS / "linked").symlink_to(outside)
    with pytest.raises(WorkflowError, match="Run not found"):
        faber.load(run="linked")


def p4(faber: Faber) -> None:
    names = ("state.json.backup", "state.backup.json", "state.json.bak", "backups/state_20260107_160000.json")
    directory = Path(STATE).parent
    faber.put("{")
    for age, name in enumerate(names):
        os.utime(put(faber.root, f"{directory}/{name}", a_state()), (1_000 + age, 1_000 + age))
        for verb in (faber.load, faber.save):
            with pytest.raises(WorkflowError) as raised:
                verb()
            assert f"{directory}/{name} is good" in raised.value.hints[0]
    os.utime(put(faber.root, f"{directory}/{names[0]}", a_state(run_id="other")), (9_000, 9_000))
    with pytest.raises(WorkflowError) as raised:
        faber.load()
    assert f"{names[3]} is good" in raised.value.hints[0]


def p5(faber: Faber) -> None:
    before = faber.put(with_a_session())
    faber.save()
    assert faber.backup.read_bytes() == before
    faber.put("{")
    with pytest.raises(WorkflowError):
        faber.save()
    assert faber.backup.read_bytes() == before


def p6(faber: Faber) -> None:
    put(faber.root, "a.md", "a")
    for place in (WORKFLOWS, ".fractary/plugins/faber/workflows", "plugins/faber/config/workflows"):
        path = put(faber.root, f"{place}/default.json", {"critical_artifacts": {"always_load": [text("a")]}})
        for name in ("fractary-faber:default", "fractary-faber-default", "default"):
            faber.put(workflow_id=name)
            faber.backup.unlink(missing_ok=True)
            assert outcomes(faber.load(force=True, dry_run=True)) == {"a": "loaded"}
        path.unlink()


def p7(faber: Faber) -> None:
    guide = (Path(__file__).parents[3] / "docs/guides/faber.md").read_text()
    advice = guide.partition("In `.gitignore`:\n\n```\n")[2].partition("```")[0]
    put(faber.root, ".gitignore", advice)
    faber.put()
    faber.load()
    faber.save()
    assert git_sees(faber.root) == ["?? .gitignore"]
    (faber.root / ".gitignore").unlink()
    assert git_sees(faber.root) == ["?? .fractary/"]


def git_sees(root: Path) -> list[str]:
    done = subprocess.run(["git", "-C", str(root), "status", "--short"], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def p8(faber: Faber) -> None:
    put(faber.root, f"7-{SUFFIX}.md", "a")
    paths = {"good": "{work_id}-{run_suffix}.md", "unknown": "{secret}.md", "null": "{plan_id}.md"}
    faber.workflow(*(text(id, path=path) for id, path in paths.items()))
    run = "alone"
    put(faber.root, f"{RUNS}/{run}/state.json", a_state(run_id=run, plan_id=None))
    faber.put()
    found = faber.load()
    assert outcomes(found) == {"good": "loaded", "unknown": "missing", "null": "missing"}
    assert artifact(found, "unknown").why == "the placeholder secret has no value"
    assert artifact(faber.load(run=run), "null").why == "the placeholder plan_id has no value"


def s3(faber: Faber) -> None:
    for name in ("run_id", "workflow_id", "status"):
        state = with_a_session()
        del state[name]
        before = faber.put(state)
        faber.backup.unlink(missing_ok=True)
        with pytest.raises(WorkflowError, match="State file is incomplete") as raised:
            faber.load()
        assert ("Missing", name) in raised.value.facts
        assert faber.path.read_bytes() == before
        saved = faber.save()
        assert (saved.run, saved.changed) == (RUN, True)
        assert changed(before, faber.path.read_bytes()) <= {"sessions", "updated_at"}
    faber.put(a_schema_state())
    assert faber.save().why == "none"


def s4(faber: Faber) -> None:
    faber.put(run_id="another")
    for exists in (False, True):
        if exists:
            put(faber.root, f"{RUNS}/another/state.json", a_state(run_id="another"))
        for verb in (faber.load, faber.save):
            with pytest.raises(WorkflowError, match="does not match") as raised:
                verb()
            assert raised.value.facts[:2] == [("Run ID", RUN), ("In the file", "another")]
    for number, place in enumerate([f"{RUNS}/{{}}/{SUFFIX}/state.json", f"{RUNS}/{{}}/state-{SUFFIX}.json"] * 2):
        plan = f"{PLAN}-{number}"
        spellings = [f"{plan}-run-{SUFFIX}", f"{plan}/{SUFFIX}"]
        asked, named = spellings if number < 2 else reversed(spellings)
        path = put(faber.root, place.format(plan), a_state(run_id=named))
        found = faber.load(run=asked)
        assert (Path(found.path), found.written, faber.save(run=asked).changed) == (path, True, True)


def s15(faber: Faber) -> None:
    put(faber.root, "a.md", "a")
    faber.workflow(
        text("a", reload_triggers=["session_start"]),
        text("b", path="a.md", reload_triggers=["phase_start:build"]),
        text("c", path="a.md", reload_triggers=["phase_transition:architect->build"]),
    )
    faber.put()

    def loaded(trigger: str, **asked: bool) -> list[str]:
        found = outcomes(faber.load(trigger=trigger, dry_run=True, **asked))
        return [id for id, outcome in found.items() if outcome == "loaded"]

    assert loaded("manual") == ["a", "b", "c"]
    assert loaded("session_start") == loaded("compaction_detected") == ["a"]
    assert loaded("session_start", force=True) == ["a", "b", "c"]
    assert loaded("phase_start") == ["b"]
    assert loaded("phase_transition:architect->build") == ["c"]
    assert loaded("phase_transition:frame->architect") == []


def s18(faber: Faber) -> None:
    (faber.root / ACTIVE).unlink()
    for status in ("in_progress", "paused", "awaiting_feedback"):
        faber.put(status=status)
        assert faber.load(dry_run=True).run == RUN
        assert faber.save().why == "no workflow"
    for status in ("completed", "failed", "pending", "cancelled"):
        faber.put(status=status)
        with pytest.raises(WorkflowError, match="No active workflow found"):
            faber.load()
    (faber.root / ACTIVE).write_text(RUN)
    faber.put(with_a_session(status="completed"))
    assert f"Run {RUN} is completed already" in faber.load().warnings
    assert faber.save().changed


def s19(faber: Faber) -> None:
    (faber.root / ACTIVE).unlink()
    with pytest.raises(WorkflowError, match="No active workflow found") as raised:
        faber.load()
    assert raised.value.code == 1
    assert (faber.save().changed, faber.save().why) == (False, "no workflow")


def s20(faber: Faber) -> None:
    (faber.root / ACTIVE).unlink()
    faber.put()
    put(faber.root, f"{RUNS}/other/state.json", a_state(run_id="other", status="paused", started_at=None))
    with pytest.raises(Ambiguous) as raised:
        faber.load()
    assert sorted(raised.value.facts) == [
        (RUN, "in_progress, phase build, started 2026-01-07T15:57:54Z"),
        ("other", "paused, phase build, started unknown"),
    ]
    assert raised.value.code == 1
    assert faber.load(run="other").run == "other"


def s27(faber: Faber) -> None:
    (faber.root / "warned.md").write_bytes(b"x" * (100 * 1024 + 1))
    (faber.root / "fine.md").write_bytes(b"x" * 100 * 1024)
    (faber.root / "large.md").write_bytes(b"x" * (1024 * 1024 + 1))
    faber.workflow(text("warned"), text("fine"), text("large"))
    before = faber.put()
    found = faber.load()
    assert outcomes(found) == {"warned": "loaded", "fine": "loaded", "large": "left out"}
    large = [warning.split("\n")[:2] for warning in found.warnings if warning.startswith("Large")]
    assert large == [
        ["Large artifact detected", "Artifact: warned"],
        ["Large artifact was left out", "Artifact: large"],
    ]
    before = faber.path.read_bytes()
    faber.workflow(text("large", required=True))
    with pytest.raises(WorkflowError, match="Required artifact is too large"):
        faber.load()
    assert faber.path.read_bytes() == before


def s29(faber: Faber) -> None:
    put(faber.root, "a.md", "a")
    put(faber.root, "b.md", "b")
    faber.workflow(text("a"), text("b", path="gone.md", required=True), name="parent")
    put(
        faber.root,
        f"{WORKFLOWS}/default.json",
        {"extends": "parent", "critical_artifacts": {"always_load": [text("b"), text("c", path="a.md")]}},
    )
    faber.put()
    assert outcomes(faber.load()) == {"a": "loaded", "b": "loaded", "c": "loaded"}


def s30(faber: Faber) -> None:
    protocol = "plugins/faber/docs/workflow-orchestration-protocol.md"
    faber.workflow({"id": "protocol", "type": "markdown", "path": protocol, "required": True})
    faber.put()
    found = faber.load()
    assert outcomes(found) == {"protocol": "missing"}
    warning = next(warning for warning in found.warnings if "protocol" in warning)
    plugin = Path(os.environ["HOME"]) / ".claude/plugins/marketplaces/fractary-faber/plugins/faber"
    assert f"Path: {protocol}, and in the plugin at {plugin}" in warning
    put(plugin, "docs/workflow-orchestration-protocol.md", "in the plugin")
    assert artifact(faber.load(), "protocol").content == "in the plugin"
    put(faber.root, protocol, "in the project")
    assert artifact(faber.load(force=True), "protocol").content == "in the project"


def s32(faber: Faber) -> None:
    faber.put(artifacts={"spec_path": "spec.md"})
    put(faber.root, "spec.md", "a specification")
    found = faber.load()
    assert outcomes(found) == {
        "workflow-state": "loaded",
        "orchestration-protocol": "missing",
        "specification": "loaded",
    }
    said = next(warning for warning in found.warnings if "declares no critical artifacts" in warning)
    assert len(said.splitlines()) == 3
    assert str(faber.root) not in said
    faber.workflow(text("a"), name="unrelated")
    put(faber.root, f"{WORKFLOWS}/default.json", {"id": "default", "phases": {}})
    assert "workflow-state" in outcomes(faber.load())


def s37(faber: Faber) -> None:
    faber.put(with_a_session())
    before = {path: path.read_bytes() for path in faber.root.rglob(".fractary/**/*") if path.is_file()}
    holdfast.status(faber.workspace)
    holdfast.runs(faber.workspace)
    holdfast.show(faber.workspace, RUN)
    holdfast.note(faber.workspace, "a note", run=RUN)
    holdfast.checkpoint(faber.workspace)
    faber.load(dry_run=True)
    assert {path: path.read_bytes() for path in faber.root.rglob(".fractary/**/*") if path.is_file()} == before
    assert json.loads(faber.path.read_bytes())["status"] == "in_progress"
