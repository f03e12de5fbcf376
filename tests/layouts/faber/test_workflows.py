"""FABER's workflow definitions: found in every place, merged with what they extend, and never believed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from holdfast.layouts.faber.workflows import BUILT_IN, CUSTOM, find_workflow, plugin_root
from tests.core.formats.test_json_edit import OBJECTS, VALUES
from tests.faber_states import put
from tests.file_trees import tree_of

NEW, OLD = CUSTOM
OWN = [f"plugins/faber/{place}" for place in BUILT_IN]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    return tmp_path / "plugin"


def artifact(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "type": "markdown", "path": f"{name}.md", **more}


def declaring(*always: str, extends: str | None = None, **more: Any) -> dict[str, Any]:
    """A definition with these artifacts in `always_load`."""
    block = {"always_load": [artifact(name, **more) for name in always]}
    return {"id": "x", "critical_artifacts": block, **({"extends": extends} if extends else {})}


def always(root: Path, plugin: Path | None, workflow_id: str) -> list[str] | None:
    found = find_workflow(root, plugin, workflow_id)
    assert found.warnings == []
    return None if found.artifacts is None else [item["id"] for item in found.artifacts["always_load"]]


# P6: places and names


@pytest.mark.parametrize("workflow_id", ["fractary-faber:default", "fractary-faber-default", "default", " default\n"])
@pytest.mark.parametrize("place", [NEW, OLD, *OWN, *BUILT_IN])
def test_p6_a_workflow_is_found_in_every_place_under_every_form_of_its_name(
    root: Path, plugin: Path, workflow_id: str, place: str
) -> None:
    put(plugin if place in BUILT_IN and place != NEW else root, f"{place}/default.json", declaring("here"))
    assert always(root, plugin, workflow_id) == ["here"]


def test_p6_a_projects_own_workflow_counts_before_the_built_in_one(root: Path, plugin: Path) -> None:
    for base, place in [(plugin, BUILT_IN[0]), (root, OWN[0]), (root, OLD), (root, NEW)]:
        put(base, f"{place}/default.json", declaring(place.replace("/", "-")))
        assert always(root, plugin, "default") == [place.replace("/", "-")]


def test_p6_a_name_in_fabers_namespace_means_the_built_in_one_first(root: Path, plugin: Path) -> None:
    put(root, f"{NEW}/default.json", declaring("mine"))
    assert always(root, plugin, "fractary-faber:default") == ["mine"]
    put(plugin, f"{BUILT_IN[0]}/default.json", declaring("theirs"))
    assert always(root, plugin, "fractary-faber:default") == ["theirs"]
    assert always(root, plugin, "fractary-faber-default") == ["theirs"]
    assert always(root, plugin, "default") == ["mine"]
    put(root, f"{NEW}/fractary-faber-default.json", declaring("by its whole name"))
    assert always(root, plugin, "fractary-faber-default") == ["by its whole name"]


def test_p6_every_path_that_was_tried_is_named(root: Path, plugin: Path) -> None:
    found = find_workflow(root, plugin, "fractary-faber:default")
    built_in = [base / place for base in (root / "plugins/faber", plugin) for place in BUILT_IN]
    places = [*built_in, root / NEW, root / OLD]
    assert found == (None, [str(place / "default.json") for place in places], [], ())


def test_p6_without_a_plugin_only_the_project_is_searched(root: Path) -> None:
    assert all(path.startswith(str(root)) for path in find_workflow(root, None, "default").tried)


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "fractary-faber:../../x", "a\\b", "a\0b", "", "..", "x" * 300])
def test_p6_a_name_is_checked_like_a_run_id(root: Path, name: str) -> None:
    put(root, "x.json", declaring("stolen"))
    found = find_workflow(root, root, name)
    assert (found.artifacts, found.tried) == (None, [])
    assert len(found.warnings) == 1
    assert "is not looked for: it " in found.warnings[0]


def test_p6_a_link_out_of_the_workflows_is_not_followed(root: Path, tmp_path: Path) -> None:
    outside = put(tmp_path, "outside/default.json", declaring("stolen"))
    (root / NEW).mkdir(parents=True)
    (root / NEW / "default.json").symlink_to(outside)
    (root / NEW / "team").symlink_to(outside.parent)
    (root / OLD).parent.mkdir(parents=True)
    (root / OLD).symlink_to(outside.parent)
    for name in ("default", "team/default"):
        found = find_workflow(root, None, name)
        assert found.artifacts is None
        assert found.warnings


@pytest.mark.parametrize("text", ["", "null", "[]", '{"a"', "\0", '{"critical_artifacts": [[[' + "[" * 500])
def test_a_definition_that_cannot_be_read_is_passed_over_with_a_warning(root: Path, text: str) -> None:
    put(root, f"{NEW}/default.json", text)
    put(root, f"{OLD}/default.json", declaring("older"))
    found = find_workflow(root, None, "default")
    assert found.artifacts is not None
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith(f"{root / NEW / 'default.json'}: ")


def test_a_definition_without_a_block_has_no_artifacts(root: Path) -> None:
    put(root, f"{NEW}/default.json", {})
    put(root, f"{OLD}/default.json", declaring("older"))
    assert always(root, None, "default") is None
    put(root, f"{NEW}/default.json", {"critical_artifacts": {}})
    found = find_workflow(root, None, "default")
    assert found.artifacts == {"always_load": [], "conditional_load": [], "phase_specific": {}}


# S29: what a workflow extends


def test_s29_artifacts_are_merged_by_id_parent_first_and_the_child_overrides(root: Path, plugin: Path) -> None:
    put(plugin, f"{BUILT_IN[0]}/core.json", declaring("state", "protocol", "core", required=True))
    put(plugin, f"{BUILT_IN[0]}/default.json", declaring("spec", "protocol", extends="fractary-faber:core"))
    put(root, f"{NEW}/mine.json", declaring("mine", "state", extends="fractary-faber-default", required=False))
    found = find_workflow(root, plugin, "mine")
    assert found.warnings == []
    assert found.artifacts is not None
    loaded = [(item["id"], item.get("required")) for item in found.artifacts["always_load"]]
    assert loaded == [("state", False), ("protocol", None), ("core", True), ("spec", None), ("mine", False)]


def test_s29_a_child_without_a_block_has_its_parents(root: Path) -> None:
    put(root, f"{NEW}/core.json", declaring("core"))
    put(root, f"{NEW}/mine.json", {"extends": "core"})
    assert always(root, None, "mine") == ["core"]


def test_s29_an_id_that_moves_to_another_list_leaves_the_parents(root: Path) -> None:
    parent = {
        "always_load": [artifact("a"), artifact("b")],
        "conditional_load": [artifact("c", condition="state.x")],
        "phase_specific": {"build": [artifact("d"), artifact("e")], "frame": [artifact("d")]},
    }
    child = {
        "always_load": [artifact("c")],
        "conditional_load": [artifact("a", condition="state.y")],
        "phase_specific": {"build": [artifact("d", load_strategy="summary")], "release": [artifact("e")]},
    }
    put(root, f"{NEW}/core.json", {"critical_artifacts": parent})
    put(root, f"{NEW}/mine.json", {"critical_artifacts": child, "extends": "core"})
    assert find_workflow(root, None, "mine").artifacts == {
        "always_load": [artifact("b"), artifact("c")],
        "conditional_load": [artifact("a", condition="state.y")],
        "phase_specific": {"build": [artifact("d", load_strategy="summary")], "release": [artifact("e")]},
    }


def test_s29_a_project_may_extend_the_built_in_workflow_of_the_same_name(root: Path, plugin: Path) -> None:
    put(plugin, f"{BUILT_IN[0]}/default.json", declaring("theirs"))
    put(root, f"{NEW}/default.json", declaring("mine", extends="fractary-faber:default"))
    assert always(root, plugin, "default") == ["theirs", "mine"]


@pytest.mark.parametrize("chain", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_s29_a_cycle_ends_with_a_warning(root: Path, chain: list[str]) -> None:
    for number, name in enumerate(chain):
        put(root, f"{NEW}/{name}.json", declaring(name, extends=chain[(number + 1) % len(chain)]))
    found = find_workflow(root, None, "a")
    assert found.artifacts is not None
    assert [item["id"] for item in found.artifacts["always_load"]] == chain[::-1]
    assert found.warnings == [f"{root / NEW / chain[-1]}.json: it extends a, which extends it in turn"]


def test_s29_a_chain_without_end_is_cut(root: Path) -> None:
    for number in range(30):
        put(root, f"{NEW}/w{number}.json", declaring(f"a{number}", extends=f"w{number + 1}"))
    assert len(always(root, None, "w0") or []) == 10


@pytest.mark.parametrize("extends", ["missing", "../x", 7, ["core"], {}])
def test_s29_a_parent_that_is_not_found_is_warned_of(root: Path, extends: object) -> None:
    put(root, f"{NEW}/mine.json", {**declaring("mine"), "extends": extends})
    found = find_workflow(root, None, "mine")
    assert found.artifacts is not None
    assert "which is not found" in found.warnings[-1]


# Malformed blocks


@pytest.mark.parametrize(
    ("block", "warning"),
    [([], "critical_artifacts is no object"), ("x", "critical_artifacts is no object"),
     ({"always_load": {}}, "always_load is no array"), ({"conditional_load": "x"}, "conditional_load is no array"),
     ({"phase_specific": []}, "phase_specific is no object"),
     ({"phase_specific": {"build": 1}}, "phase_specific.build is no array"),
     ({"always_load": [1, {}, {"id": 7}, {"id": ""}]}, "4 of always_load have no id and are passed over"),
     ({"always_load": [{"id": "a"}, {"id": "a"}]}, "a stands twice in always_load; the first one counts")],
)  # fmt: skip
def test_what_is_malformed_is_a_warning(root: Path, block: object, warning: str) -> None:
    path = put(root, f"{NEW}/default.json", {"critical_artifacts": block})
    assert find_workflow(root, None, "default").warnings == [f"{path}: {warning}"]


LISTS = st.lists(st.dictionaries(st.sampled_from(["id", "type", "path"]), VALUES) | VALUES, max_size=3) | VALUES
BLOCKS = st.dictionaries(
    st.sampled_from(["always_load", "conditional_load", "phase_specific", "other"]),
    LISTS | st.dictionaries(st.text(), LISTS, max_size=2),
)
DEFINITIONS = st.fixed_dictionaries(
    {}, optional={"critical_artifacts": BLOCKS | VALUES, "extends": st.sampled_from(["a", "b", "c"]) | VALUES}
)


@given(DEFINITIONS | OBJECTS, DEFINITIONS, st.text(max_size=20) | st.sampled_from(["a", "b"]))
def test_any_definition_under_any_name_has_a_clear_answer(
    tmp_path_factory: pytest.TempPathFactory, one: dict[str, Any], other: dict[str, Any], name: str
) -> None:
    root = tmp_path_factory.mktemp("any") / "project"
    put(root, f"{NEW}/a.json", one)
    put(root, f"{OLD}/b.json", other)
    before = tree_of(root.parent)
    found = find_workflow(root, root / "plugin", name)
    assert all(os.path.normpath(path).startswith(str(root) + os.sep) for path in found.tried)
    assert all("\n" not in warning for warning in found.warnings)
    if found.artifacts is not None:
        assert set(found.artifacts) == {"always_load", "conditional_load", "phase_specific"}
    assert tree_of(root.parent) == before


# Where the plugin lies


@pytest.mark.parametrize(
    ("environ", "setting", "found"),
    [({"HOME": "/h"}, "", "/h/.claude/plugins/marketplaces/fractary-faber/plugins/faber"),
     ({"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"}, "", "/c/plugins/marketplaces/fractary-faber/plugins/faber"),
     ({"HOME": "/h"}, "/opt/faber", "/opt/faber"), ({"HOME": "/h"}, "~/faber", "/h/faber"), ({"HOME": "/h"}, "~", "/h"),
     ({"HOME": "/h"}, "relative/faber", None), ({"CLAUDE_CONFIG_DIR": "relative"}, "", None)],
)  # fmt: skip
def test_the_plugin_lies_where_it_is_set_or_where_claude_code_keeps_it(
    environ: dict[str, str], setting: str, found: str | None
) -> None:
    assert plugin_root(environ, setting) == (Path(found) if found else None)
