"""Whatever a repository brings as a state, a condition or a run id: a clear answer, and nothing outside is touched."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import holdfast
from holdfast.core.errors import HoldfastError
from holdfast.layouts.faber.screens import Reloaded
from tests.conftest import TickingClock
from tests.faber_project import EVENING, OURS, STATE, WORKFLOWS, Faber, changed
from tests.faber_states import (
    ACTIVE,
    RUN,
    RUNS,
    a_schema_state,
    a_state,
    phases_as_object,
    put,
    with_a_session,
)
from tests.strategies import JSON, WILD_TEXT

examples = settings(max_examples=25, suppress_health_check=list(HealthCheck))
SECRET = "what no load may tell"

STATES = st.dictionaries(st.sampled_from([*with_a_session()]) | st.text(max_size=5), JSON, max_size=6)
KEPT = st.dictionaries(
    st.sampled_from(["sessions", "context_metadata", "phases", "current_phase", "work_id", "artifacts", "updated_at"]),
    JSON | st.dictionaries(st.sampled_from(["current_session_id", "session_history", "reload_count"]), JSON),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project beside a directory that is nobody's business, with links that lead there."""
    root = tmp_path_factory.mktemp("anything") / "project"
    root.mkdir()
    put(root.parent, "outside/secret.md", SECRET)
    put(root.parent, f"outside/{RUN}/state.json", a_state(goal=SECRET))
    for name in (f"{RUNS}/linked", ".fractary/runs", "docs"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(root.parent / "outside")
    return root


def outside(root: Path) -> dict[str, bytes]:
    found = root.parent / "outside"
    names = dict.fromkeys(os.listdir(root.parent), b"")
    return names | {str(path): path.read_bytes() for path in found.rglob("*") if path.is_file()}


@contextmanager
def nothing_outside_changes(root: Path) -> Iterator[None]:
    before = outside(root)
    yield
    assert outside(root) == before


def answers(root: Path, **asked: Any) -> list[object]:
    """What both verbs say, on the files alone: results, or errors that are meant."""
    clock = TickingClock()
    clock.time = EVENING
    found: list[object] = []
    with holdfast.open(root, clock=clock) as workspace:
        for verb in (holdfast.session_load, holdfast.session_save):
            try:
                found.append(verb(workspace, **asked))
            except HoldfastError as error:
                found.append(error)
    assert all(one.code in (1, 2, 10, 11, 12) for one in found if isinstance(one, HoldfastError))
    for one in found:
        if isinstance(one, Reloaded):
            assert SECRET not in json.dumps([[item.content, item.why] for item in one.artifacts])
    return found


@examples
@given(st.one_of(STATES, JSON, KEPT.map(lambda over: a_state(**over))))
def test_any_json_as_state_has_a_clear_answer(place: Path, state: Any) -> None:
    path = put(place, STATE, json.dumps(state))
    path.with_name("state.json.backup").unlink(missing_ok=True)
    put(place, ACTIVE, RUN)
    before = path.read_bytes()
    with nothing_outside_changes(place):
        answers(place)
    after = json.loads(path.read_bytes())
    if isinstance(state, dict):
        assert changed(before, path.read_bytes()) <= OURS
    else:
        assert after == json.loads(before)


@examples
@given(WILD_TEXT | st.text("state.ab'\"&|!=<>() 0123", max_size=30))
def test_any_text_as_condition_has_a_clear_answer(place: Path, condition: str) -> None:
    put(place, STATE, a_state(workflow_id="any"))
    (place / STATE).with_name("state.json.backup").unlink(missing_ok=True)
    artifact = {"id": "a", "type": "json", "path": STATE, "condition": condition}
    put(place, f"{WORKFLOWS}/any.json", {"critical_artifacts": {"conditional_load": [artifact]}})
    with nothing_outside_changes(place):
        loaded, _ = answers(place, run=RUN)
    assert isinstance(loaded, Reloaded)
    assert loaded.artifacts[0].outcome in ("loaded", "skipped")


PARTS = st.sampled_from(
    ["..", ".", "", "linked", RUN, "outside", "secret.md", "~", "docs", "{project_root}", "a\0b", "\\"]
)


@examples
@given(WILD_TEXT | st.lists(PARTS, min_size=1, max_size=6).map("/".join))
def test_any_text_as_run_id_has_a_clear_answer(place: Path, run: str) -> None:
    with nothing_outside_changes(place):
        for found in answers(place, run=run):
            assert SECRET not in str(getattr(found, "facts", ""))


@examples
@given(WILD_TEXT | st.lists(PARTS, min_size=1, max_size=6).map("/".join), st.sampled_from(["path", "path_from_state"]))
def test_any_text_as_path_of_an_artifact_has_a_clear_answer(place: Path, text: str, field: str) -> None:
    put(place, STATE, json.dumps(a_state(workflow_id="any", artifacts={"spec_path": text})))
    (place / STATE).with_name("state.json.backup").unlink(missing_ok=True)
    given = {"path": text} if field == "path" else {"path_from_state": "artifacts.spec_path"}
    artifacts = [{"id": kind, "type": kind, **given} for kind in ("json", "markdown", "directory")]
    put(place, f"{WORKFLOWS}/any.json", json.dumps({"critical_artifacts": {"always_load": artifacts}}))
    with nothing_outside_changes(place):
        answers(place, run=RUN)


# States of the shapes that real ones have

SHAPES: dict[str, Callable[[], dict[str, Any]]] = {
    "a run that was just begun": lambda: a_state(
        status="in_progress", current_phase="frame", current_step=None, branch=None, worktree=None
    ),
    "a run that is completed and never closed its session": lambda: with_a_session(
        status="completed", current_step="completed", completed_at="2026-01-07T17:30:00.000Z", pr_number=42
    ),
    "steps from the future and an old updated_at": lambda: with_a_session(
        steps=[{"step_id": "ci", "phase": "evaluate", "status": "success", "completed_at": "2026-01-09T00:00:00Z"}],
        updated_at="2026-01-07T16:13:00Z",
    ),
    "an artifact that no workflow declares, from a path of another machine": lambda: {
        **with_a_session(),
        "context_metadata": {
            "last_artifact_reload": "2026-01-07T15:59:46Z",
            "reload_count": 1,
            "artifacts_in_context": [
                {
                    "artifact_id": "workflow-plan",
                    "loaded_at": "2026-01-07T15:59:46Z",
                    "load_trigger": "workflow_start",
                    "source": "/somebody/.claude/plugins/protocol.md",
                }
            ],
        },
        "continuation_note": {"saved_by": "hook:pre-compact", "key_files": None},
    },
    "phases as an object and keys that nobody knows": lambda: a_state(
        phases=phases_as_object(), zeta={"b": 1, "a": [None, 1.50, "é\u2028"]}, alpha=[], retries={"build": 2}
    ),
    "the published example with the three fields": lambda: {
        "run_id": RUN,
        "workflow_id": "default",
        **a_schema_state(),
    },
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("form", ["two spaces", "tabs and CRLF", "one line"])
def test_a_state_of_a_real_shape_is_changed_only_where_it_is_ours(name: str, form: str, faber: Faber) -> None:
    indent: Any = {"two spaces": 2, "tabs and CRLF": "\t", "one line": None}[form]
    written = json.dumps(SHAPES[name](), indent=indent, ensure_ascii=form == "one line")
    faber.put("")
    before = written.replace("\n", "\r\n" if indent == "\t" else "\n").encode()
    faber.path.write_bytes(before)
    faber.load(trigger="session_start")
    assert changed(before, faber.path.read_bytes()) == {"sessions", "context_metadata", "updated_at"}
    faber.save(reason="compaction")
    assert changed(before, faber.path.read_bytes()) == {"sessions", "context_metadata", "updated_at"}
    kept = before.replace(b'"updated_at"', b"").split(b'"sessions"')[0][:200]
    assert faber.path.read_bytes().replace(b'"updated_at"', b"")[: len(kept)] == kept
