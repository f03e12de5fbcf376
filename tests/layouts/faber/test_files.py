"""Where FABER keeps its runs, which one is active, and what a state says; named after the rulings P and S."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from holdfast.core.errors import WorkflowError
from holdfast.core.model import Status
from holdfast.layouts.faber import schema
from holdfast.layouts.faber.schema import (
    at,
    check_run_id,
    fill,
    find_active,
    find_state,
    list_states,
    placeholders,
    state_candidates,
    tell,
    unfilled,
)
from holdfast.layouts.protocol import NATIVE
from holdfast.layouts.registry import find_layout
from tests.core.formats.test_json_edit import OBJECTS, VALUES
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
    phases_as_object,
    phases_by_name,
    phases_by_phase_name,
    put,
    put_state,
    statuses,
    with_a_session,
)
from tests.file_trees import tree_of
from tests.hostile.ids import HOSTILE_IDS

# P2, P3: paths and ids

SCHEMES = {
    "run": f"{RUNS}/{RUN}/state.json",
    "plan and suffix": f"{RUNS}/{PLAN}/{SUFFIX}/state.json",
    "suffix in the name": f"{RUNS}/{PLAN}/state-{SUFFIX}.json",
    "older": f"{OLD_RUNS}/{RUN}/state.json",
    "oldest": f"{OLDEST_RUNS}/{RUN}/state.json",
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_p2_a_run_is_found_in_each_of_the_five_schemes(tmp_path: Path, scheme: str) -> None:
    path = put_state(tmp_path, SCHEMES[scheme])
    assert find_state(tmp_path, RUN) == path
    assert list_states(tmp_path) == [(RUN, path)]


def test_p2_the_schemes_are_tried_in_this_order(tmp_path: Path) -> None:
    assert state_candidates(tmp_path, RUN) == [tmp_path / place for place in SCHEMES.values()]
    for place in reversed(SCHEMES.values()):
        path = put_state(tmp_path, place)
        assert find_state(tmp_path, RUN) == path
        assert list_states(tmp_path) == [(RUN, path)], "no run twice"


@pytest.mark.parametrize(
    ("run_id", "place"),
    [("fractary-faber-258-20260105-143022", f"{RUNS}/fractary-faber-258-20260105-143022/state.json"),
     (RUN + "Z", f"{RUNS}/{PLAN}/state-{SUFFIX}Z.json"),
     (f"{PLAN}/{SUFFIX}", f"{RUNS}/{PLAN}/{SUFFIX}/state.json"),
     (f"{PLAN}/{SUFFIX}", f"{RUNS}/{PLAN}/state-{SUFFIX}.json"),
     ("org/project/0b5e", f"{RUNS}/org/project/0b5e/state.json"),
     ("org/project/0b5e", f"{OLD_RUNS}/org/project/0b5e/state.json"),
     ("a-run-b-run-c", f"{RUNS}/a-run-b/state-c.json"),
     ("org/plan-run-1", f"{RUNS}/org/plan/state-1.json"),
     ("-run-", f"{RUNS}/-run-/state.json"),
     ("  padded \n", f"{RUNS}/padded/state.json"),
     ("\ufeffmarked", f"{RUNS}/marked/state.json"),
     ("with a space", f"{RUNS}/with a space/state.json")],
)  # fmt: skip
def test_p3_every_form_of_a_run_id_leads_to_its_file(tmp_path: Path, run_id: str, place: str) -> None:
    path = put_state(tmp_path, place)
    assert find_state(tmp_path, run_id) == path
    ((listed, found),) = list_states(tmp_path)
    assert (found, find_state(tmp_path, listed)) == (path, path)


REFUSED = {
    "": "it is empty",
    " \r\n": "it is empty",
    "\ufeff": "it is empty",
    "/etc/passwd": "it is an absolute path, or a part of it is empty",
    "a//b": "it is an absolute path, or a part of it is empty",
    "a/": "it is an absolute path, or a part of it is empty",
    "..": "it leads out of the runs directory",
    "a/../../b": "it leads out of the runs directory",
    "./a": "it leads out of the runs directory",
    "a\\b": "it holds a backslash or a control character",
    "a\0b": "it holds a backslash or a control character",
    "a\nb": "it holds a backslash or a control character",
    "a\x1b[2Jb": "it holds a backslash or a control character",
    "a\u202eb": "it holds a backslash or a control character",
    "a\ud800b": "it holds a backslash or a control character",
    "a" * 201: "it is too long",
    "a/" * 600 + "a": "it is too long",
}


@pytest.mark.parametrize("run_id", REFUSED, ids=lambda run_id: repr(run_id)[:20])
def test_p3_what_could_lead_elsewhere_is_no_run_id(run_id: str) -> None:
    with pytest.raises(WorkflowError) as caught:
        check_run_id(run_id)
    assert caught.value.message == "Invalid run ID"
    assert caught.value.facts[1] == ("Error", REFUSED[run_id])
    assert caught.value.code == 1


def is_answered(root: Path, run_id: str) -> None:
    """A file inside the project, none, or an error with both facts; and nothing is written."""
    before = tree_of(root.parent)
    refusal, candidates = None, []
    try:
        assert find_state(root, run_id) is None
        candidates = state_candidates(root, check_run_id(run_id))
    except WorkflowError as error:
        refusal = [name for name, _ in error.facts]
    assert refusal in (None, ["Run ID", "Error"])
    for candidate in candidates:
        assert os.path.normpath(candidate) == str(candidate)
        assert root / ".fractary" in candidate.parents
    assert tree_of(root.parent) == before


@pytest.mark.parametrize("run_id", HOSTILE_IDS[:200] + HOSTILE_IDS[-60:], ids=lambda run_id: repr(run_id)[:30])
def test_a_hostile_run_id_never_leads_out_of_the_project(tmp_path: Path, run_id: str) -> None:
    put_state(tmp_path, "project/elsewhere/state.json")
    put_state(tmp_path, "outside/state.json")
    is_answered(tmp_path / "project", run_id)


@given(st.text() | st.text("./\\-run \0\n~a", max_size=20))
def test_any_text_as_run_id_has_a_clear_answer(tmp_path_factory: pytest.TempPathFactory, run_id: str) -> None:
    root = tmp_path_factory.mktemp("any") / "project"
    put_state(root, "elsewhere/state.json")
    is_answered(root, run_id)


def test_p3_a_link_out_of_the_runs_directory_is_not_followed(tmp_path: Path) -> None:
    outside = put_state(tmp_path, "outside/state.json")
    root = tmp_path / "project"
    (root / RUNS / "linked-file").mkdir(parents=True)
    (root / RUNS / "linked-file" / "state.json").symlink_to(outside)
    (root / RUNS / "linked").symlink_to(outside.parent)
    put_state(root, "beside/state.json")
    (root / RUNS / "sideways").symlink_to(root / "beside")
    (root / ".fractary" / "runs").symlink_to(tmp_path)
    for run_id in ("linked-file", "linked", "sideways", "outside"):
        assert find_state(root, run_id) is None
    assert list_states(root) == []


def test_p3_a_link_within_the_runs_directory_is_a_run(tmp_path: Path) -> None:
    put_state(tmp_path, f"{RUNS}/one/state.json")
    (tmp_path / RUNS / "other").symlink_to("one")
    assert find_state(tmp_path, "other") == tmp_path / RUNS / "other" / "state.json"
    assert [run_id for run_id, _ in list_states(tmp_path)] == ["one"]


def test_a_directory_in_place_of_the_state_is_no_run(tmp_path: Path) -> None:
    (tmp_path / SCHEMES["run"]).mkdir(parents=True)
    assert (find_state(tmp_path, RUN), list_states(tmp_path)) == (None, [])


def test_listing_leaves_backups_and_other_files_out(tmp_path: Path) -> None:
    path = put_state(tmp_path)
    for name in ("state.json.backup", "state.backup.json", "state-1.backup.json", "backups/state_1.json", "plan.json"):
        put_state(tmp_path, f"{RUNS}/{RUN}/{name}")
    put_state(tmp_path, f"{RUNS}/{RUN}/backups/state-2.json")
    put_state(tmp_path, f"{RUNS}/state.json")
    assert list_states(tmp_path) == [(RUN, path)]


def test_listing_is_bounded_in_depth_and_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_state(tmp_path, f"{RUNS}/a/b/c/d/state.json")
    put_state(tmp_path, f"{RUNS}/a/b/c/d/e/state.json")
    assert [run_id for run_id, _ in list_states(tmp_path)] == ["a/b/c/d"]
    for number in range(30):
        put_state(tmp_path, f"{OLD_RUNS}/run{number}/state.json")
    monkeypatch.setattr(schema, "ENTRIES", 20)
    assert 0 < len(list_states(tmp_path)) < 20


def test_without_any_files_of_fabers_there_is_nothing(tmp_path: Path) -> None:
    assert (find_state(tmp_path, RUN), list_states(tmp_path)) == (None, [])
    found = find_active(tmp_path)
    assert (found.run, found.file, found.warnings) == (None, None, [])


def test_a_layout_of_that_name_follows_nothing() -> None:
    assert find_layout("faber").follow == NATIVE.follow


# P1: the active file


@pytest.mark.parametrize("place", [ACTIVE, OLD_ACTIVE])
@pytest.mark.parametrize(
    "text", [RUN, RUN + "\n", RUN + "\r\n", f"\n  {RUN} \t\n\n", "\ufeff" + RUN, f"\ufeff\r\n{RUN}"]
)
def test_p1_either_file_names_the_run_with_any_white_space_around(tmp_path: Path, place: str, text: str) -> None:
    put_state(tmp_path)
    file = put(tmp_path, place, text)
    found = find_active(tmp_path)
    assert (found.run, found.file, found.warnings) == (RUN, file, [])


@pytest.mark.parametrize("text", ["", " ", "\r\n\n", "\ufeff"])
def test_p1_an_empty_file_names_none_and_the_other_counts(tmp_path: Path, text: str) -> None:
    put_state(tmp_path)
    put(tmp_path, ACTIVE, text)
    assert find_active(tmp_path) == schema.Active()
    put(tmp_path, OLD_ACTIVE, RUN)
    assert (find_active(tmp_path).run, find_active(tmp_path).warnings) == (RUN, [])


def test_p1_the_newer_place_counts_where_both_agree(tmp_path: Path) -> None:
    put_state(tmp_path)
    file = put(tmp_path, ACTIVE, RUN)
    put(tmp_path, OLD_ACTIVE, RUN + "\n")
    assert find_active(tmp_path) == schema.Active(RUN, file, [])


@pytest.mark.parametrize(
    ("existing", "taken"), [({"new", "old"}, "new"), ({"new"}, "new"), ({"old"}, "old"), (set(), "new")]
)
def test_p1_where_both_disagree_the_one_whose_run_exists_is_taken_with_a_warning(
    tmp_path: Path, existing: set[str], taken: str
) -> None:
    files = {"new": put(tmp_path, ACTIVE, "new"), "old": put(tmp_path, OLD_ACTIVE, "old")}
    for run_id in existing:
        put_state(tmp_path, f"{RUNS}/{run_id}/state.json")
    said = f"The active-run files disagree: {ACTIVE} names new and {OLD_ACTIVE} names old; taken is {taken}"
    assert find_active(tmp_path) == schema.Active(taken, files[taken], [said])


def test_p1_several_lines_are_warned_of(tmp_path: Path) -> None:
    file = put(tmp_path, ACTIVE, f"{RUN}\nanother\n")
    warning = f"{ACTIVE} has several lines; the first one counts"
    assert find_active(tmp_path) == schema.Active(RUN, file, [warning])


@pytest.mark.parametrize("text", ["../../etc/passwd", "/etc/passwd", "a\\b", "a\0b", "..", "x" * 5000])
def test_p1_a_traversal_names_none_and_is_told(tmp_path: Path, text: str) -> None:
    put(tmp_path, ACTIVE, text)
    assert find_active(tmp_path) == schema.Active(None, None, [f"{ACTIVE} is ignored: Invalid run ID"])


def test_p1_what_cannot_be_read_names_none_and_is_told(tmp_path: Path) -> None:
    put(tmp_path, "outside", RUN)
    root = tmp_path / "project"
    (root / ACTIVE).mkdir(parents=True)
    (root / OLD_ACTIVE).symlink_to(tmp_path / "outside")
    assert find_active(root).warnings == [
        f"{ACTIVE} is ignored: This is not a regular file",
        f"{OLD_ACTIVE} is ignored: This is a link or a socket, not a regular file",
    ]
    (root / ACTIVE).rmdir()
    (root / ACTIVE).write_bytes(b"\xff\xfe")
    assert find_active(root).warnings[0] == f"{ACTIVE} is ignored: It is not UTF-8"
    assert find_active(root).run is None


def test_p1_an_active_file_outside_the_project_is_not_believed(tmp_path: Path) -> None:
    put(tmp_path, "outside/.active-run-id", RUN)
    root = tmp_path / "project"
    (root / ".fractary").mkdir(parents=True)
    (root / ".fractary" / "faber").symlink_to(tmp_path / "outside")
    warnings = [f"{name} is ignored: A link leads out of the project" for name in (ACTIVE, OLD_ACTIVE)]
    assert find_active(root) == schema.Active(None, None, warnings)


def test_p1_a_run_that_is_missing_or_completed_is_named_all_the_same(tmp_path: Path) -> None:
    file = put(tmp_path, ACTIVE, RUN)
    assert find_active(tmp_path) == schema.Active(RUN, file, [])
    put_state(tmp_path, status="completed")
    assert find_active(tmp_path) == schema.Active(RUN, file, [])


@given(st.binary(max_size=80) | st.text(max_size=80).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_text_as_active_file_has_a_clear_answer(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    root = tmp_path_factory.mktemp("any") / "project"
    put(root, ACTIVE, "").write_bytes(data)
    before = tree_of(root.parent)
    found = find_active(root)
    assert found.run is None or check_run_id(found.run) == found.run
    assert all("\n" not in warning for warning in found.warnings)
    assert tree_of(root.parent) == before


# S1, S2, S3, S11: what a state says

SHAPES: dict[str, dict[str, Any]] = {
    "array of name": {"phases": phases_by_name()},
    "array of phase_name": {"phases": phases_by_phase_name()},
    "array of phase": {"phases": [{"phase": name, "status": word} for name, word in statuses().items()]},
    "array of id": {"phases": [{"id": name, "status": word} for name, word in statuses().items()]},
    "object": {"phases": phases_as_object()},
    "phase_states": {"phases": None, "phase_states": phases_as_object()},
    "partial": {"phases": [{"name": f"{name} (partial)", "status": word} for name, word in statuses().items()]},
}


class Asked(dict[str, Any]):
    """A state that remembers which of its members anybody asked for."""

    def __init__(self, state: dict[str, Any]) -> None:
        super().__init__(state)
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return super().get(name, default)


@pytest.mark.parametrize("state", [{}, a_state(), a_schema_state(), with_a_session()], ids=["empty", "a", "b", "c"])
def test_no_member_is_told_of_that_is_not_looked_through_for_secrets(state: dict[str, Any]) -> None:
    asked = Asked(state)
    assert tell(asked, RUN) == tell(schema.telling(state), RUN)
    assert asked.names <= set(schema.TELLING)


@pytest.mark.parametrize("shape", SHAPES)
def test_s1_s2_s11_phases_are_understood_in_every_shape(shape: str) -> None:
    assert tell(a_state(**SHAPES[shape]), RUN).phases == list(statuses().items())


@pytest.mark.parametrize(
    ("phases", "told"),
    [(None, []), ([], []), ({}, []), ("frame", []), (7, []),
     ([None, 1, "frame", {}, {"name": None}], [("1", ""), ("frame", "")]),
     ({"deploy": {"status": "exploded"}, "frame": None}, [("deploy", "exploded"), ("frame", "")]),
     ([{"name": "a\x1b[2J\nb", "status": ["x"]}], [("a[2J b", "")])],
)  # fmt: skip
def test_phases_that_are_missing_or_strange_are_told_as_far_as_they_go(
    phases: object, told: list[tuple[str, str]]
) -> None:
    assert tell(a_state(phases=phases), RUN).phases == told


def test_phases_without_end_are_cut() -> None:
    assert len(tell(a_state(phases=phases_by_name() * 1000), RUN).phases) == schema.PHASES
    assert len(tell(a_state(phases={str(n): {} for n in range(1000)}), RUN).phases) == schema.PHASES


@pytest.mark.parametrize(
    ("word", "status"),
    [("pending", Status.CREATED), ("in_progress", Status.ACTIVE), ("running", Status.ACTIVE),
     ("paused", Status.PAUSED), ("awaiting_feedback", Status.PAUSED), ("completed", Status.COMPLETED),
     ("failed", Status.FAILED), ("cancelled", Status.ABORTED), ("Completed", Status.COMPLETED), ("finished", None)],
)  # fmt: skip
def test_the_status_is_fabers_word_and_ours(word: str, status: Status | None) -> None:
    told = tell(a_state(status=word), RUN)
    assert (told.word, told.status) == (word, status)


@pytest.mark.parametrize("value", [None, 1.5, True, [], {}, ""])
def test_a_status_that_is_no_word_is_none(value: object) -> None:
    told = tell(a_state(status=value), RUN)
    assert (told.word, told.status) == (None, None)


def test_a_real_state_is_told() -> None:
    told = tell(with_a_session(), RUN)
    assert (told.phase, told.step, told.goal) == ("build", "implement", "Add a login")
    assert told.workflow == "fractary-faber:default"


def test_s3_a_state_of_the_schema_without_a_run_id_is_told() -> None:
    told = tell(a_schema_state(), RUN)
    assert (told.word, told.phase, told.goal, told.workflow) == ("in_progress", "architect", "review-the-config", None)
    values = placeholders(a_schema_state(), RUN, Path("/project"))
    assert (values["plan_id"], values["run_suffix"], values["work_id"]) == (PLAN, SUFFIX, "158")


@pytest.mark.parametrize(
    ("over", "goal"),
    [({}, "Add a login"), ({"work_items": None, "target": "the target"}, "the target"),
     ({"work_items": [{"target": "an item"}]}, "an item"), ({"work_items": []}, "7"),
     ({"work_items": {}, "work_id": None}, RUN), ({"work_items": [{"issue": {"title": "a\n\x1b]0;b"}}]}, "a ]0;b"),
     ({"work_items": [{"title": "x" * 1000}]}, "x" * 199 + "…"), ({"work_items": 7, "work_id": 41}, "41")],
)  # fmt: skip
def test_the_goal_is_the_best_words_there_are(over: dict[str, Any], goal: str) -> None:
    assert tell(a_state(**over), RUN).goal == goal


@pytest.mark.parametrize(
    ("over", "phase", "step"),
    [({"current_phase": None, "current_step": None}, None, None), ({"current_phase": "none"}, None, "implement"),
     ({"current_phase": "build (partial)"}, "build", "implement"), ({"current_phase": 7}, "7", "implement"),
     ({"current_step": None, "current_step_id": "build:implement"}, "build", "build:implement"),
     ({"current_phase": ["build"], "current_step": {}}, None, None)],
)  # fmt: skip
def test_s11_phase_and_step_are_names_or_nothing(over: dict[str, Any], phase: str | None, step: str | None) -> None:
    told = tell(a_state(**over), RUN)
    assert (told.phase, told.step) == (phase, step)


FIELDS = [*a_state(), "target", "phase_states", "current_step_id", "sessions"]


@given(OBJECTS | st.dictionaries(st.sampled_from(FIELDS), VALUES), st.text(min_size=1, max_size=40))
def test_any_object_as_state_is_told_in_lines_that_are_safe_to_show(state: dict[str, Any], run_id: str) -> None:
    told = tell(state, run_id)
    texts = [told.word, told.phase, told.step, told.goal, told.workflow]
    for text in [*texts, *(part for phase in told.phases for part in phase)]:
        assert text is None or (len(text) <= 200 and "\n" not in text and "\x1b" not in text)
    values = placeholders(state, run_id, Path("/project"))
    assert all(isinstance(value, str) and value for value in values.values())


# P8: placeholders


def test_p8_these_placeholders_have_values(tmp_path: Path) -> None:
    assert placeholders(a_state(), RUN, tmp_path) == {
        "run_id": RUN,
        "plan_id": PLAN,
        "work_id": "7",
        "project_root": str(tmp_path),
        "run_suffix": SUFFIX,
    }


def test_p8_a_value_that_is_null_has_no_placeholder(tmp_path: Path) -> None:
    state = a_state(plan_id=None, work_id=None, work_items=None)
    assert set(placeholders(state, "a-plain-id", tmp_path)) == {"run_id", "project_root"}
    assert placeholders({"work_id": 41}, "p/s", tmp_path)["work_id"] == "41"
    assert placeholders({}, "p/s", tmp_path)["run_suffix"] == "s"


@pytest.mark.parametrize(
    ("text", "filled", "missing"),
    [("runs/{plan_id}/state-{run_suffix}.json", "runs/p/state-s.json", []), ("no placeholder", "no placeholder", []),
     ("specs/{work_id}.md", None, ["work_id"]), ("{work_id}{nonsense}{work_id}", None, ["work_id", "nonsense"]),
     ("{a,b} {} { plan_id }", "{a,b} {} { plan_id }", []), ("{plan_id}{plan_id}", "pp", [])],
)  # fmt: skip
def test_p8_an_unknown_or_null_placeholder_leaves_the_whole_text_unresolved(
    text: str, filled: str | None, missing: list[str]
) -> None:
    values = {"plan_id": "p", "run_suffix": "s"}
    assert (fill(text, values), unfilled(text, values)) == (filled, missing)


def test_p8_a_value_is_not_filled_a_second_time() -> None:
    assert fill("{work_id}", {"work_id": "{run_id}", "run_id": "r"}) == "{run_id}"


@pytest.mark.parametrize(
    ("path", "value"),
    [("artifacts.spec_path", "/specs/158.md"), ("artifacts", a_schema_state()["artifacts"]), ("artifacts.none", None),
     ("artifacts.spec_path.deeper", None), ("artifacts.pr_number", None), ("", None), ("list.1", "b"), ("list.2", None),
     ("list.-1", None), ("list.x", None), ("list." + "9" * 5000, None), ("..", None)],
)  # fmt: skip
def test_a_dotted_path_leads_to_a_value_or_nowhere(path: str, value: object) -> None:
    assert at(a_schema_state(list=["a", "b"]), path) == value


@given(VALUES, st.text() | st.text("ab.01", max_size=10))
def test_any_dotted_path_in_any_value_has_an_answer(value: object, path: str) -> None:
    json.dumps(at(value, path))
