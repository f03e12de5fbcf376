"""Settings: where a value comes from, who may set it, and that no file can do harm."""

from __future__ import annotations

import contextlib
import itertools
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from holdfast.core.errors import Refused, WrongUsage
from holdfast.project import settings
from holdfast.project.settings import PROJECT_FILE, SETTINGS
from tests.strategies import TEXT, WILD_TEXT, examples, many_examples


class Place:
    """A user's directory and a project, each with a settings file or without."""

    def __init__(self, directory: Path) -> None:
        self.user = directory / "config.toml"
        self.root = directory
        self.project = directory / PROJECT_FILE

    def load(self, environ: dict[str, str] | None = None) -> settings.Settings:
        return settings.load(self.user, self.root, environ or {})


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("settings"))


# key: (default, may a project set it)
BY_HAND: dict[str, tuple[int | float | str, bool]] = {
    "artifact.limit": (1024, True),
    "artifact.warn": (100, True),
    "aside.keep_days": (30, False),
    "brief.artifacts": ("", True),
    "brief.budget": (10_000, True),
    "checkpoint.file_limit": (50, True),
    "checkpoint.total_limit": (500, True),
    "checkpoint.filtered": ("ask", False),
    "checkpoint.include": ("", False),
    "checkpoint.keep_days": (0, False),
    "checkpoint.most": (0, False),
    "command.deadline": (30.0, False),
    "context.window": (0, True),
    "faber.plugin_root": ("", False),
    "go_team.root": ("checkpoints", True),
    "go_team.steps": (
        "init, requirements, architecture, implementation, testing, review, optimization, release, synthesis",
        True,
    ),
    "join.hours": (24.0, True),
    "list.limit": (20, True),
    "load.budget": (400_000, True),
    "output.keep_days": (0, False),
    "recovery.auto_resume": ("off", False),
    "redact.allow": ("", False),
    "redact.patterns": ("", False),
    "run.keep_days": (0, False),
    "run.most": (0, False),
    "save.interval": (30.0, True),
    "silent.after": (60.0, True),
    "store.cap": (2_000, False),
    "store.deadline": (10.0, False),
    "tidy.every": (24.0, False),
}


def test_the_settings_are_these() -> None:
    assert {key: (found.default, found.by_project) for key, found in SETTINGS.items()} == BY_HAND


@pytest.mark.parametrize("key", SETTINGS)
def test_a_setting_has_a_name_a_variable_words_and_a_default_within_its_bounds(key: str) -> None:
    setting = SETTINGS[key]
    assert setting.key == key
    assert setting.variable == "HOLDFAST_" + key.upper().replace(".", "_")
    assert setting.about
    assert key.count(".") == 1
    assert settings.check(key, setting.default, "here") == setting.default


def test_no_variable_of_a_setting_has_another_meaning() -> None:
    taken = {"HOLDFAST_RUN", "HOLDFAST_SESSION", "HOLDFAST_LOG", "HOLDFAST_CONFIG_DIR", "HOLDFAST_STATE_DIR"}
    variables = [setting.variable for setting in SETTINGS.values()]
    assert len(set(variables)) == len(variables)
    assert not taken & set(variables)


def test_without_any_file_the_defaults_hold(place: Place) -> None:
    found = place.load()
    assert {key: (value.value, value.origin) for key, value in found.values.items()} == {
        key: (default, "default") for key, (default, _) in BY_HAND.items()
    }
    assert found.warnings == []


@pytest.mark.parametrize("places", list(itertools.product([False, True], repeat=3)), ids=str)
def test_later_wins_the_default_the_user_the_project_the_environment(
    place: Place, places: tuple[bool, bool, bool]
) -> None:
    by_user, by_project, by_environment = places
    expected: tuple[int, str] = (10_000, "default")
    if by_user:
        place.user.write_text("[brief]\nbudget = 1001\n")
        expected = (1001, str(place.user))
    if by_project:
        place.project.write_text("[brief]\nbudget = 1002\n")
        expected = (1002, str(place.project))
    environ = {"HOLDFAST_BRIEF_BUDGET": "1003"} if by_environment else {}
    if by_environment:
        expected = (1003, "HOLDFAST_BRIEF_BUDGET")
    found = place.load(environ)
    assert (found.values["brief.budget"].value, found.values["brief.budget"].origin) == expected
    assert (found.whole("brief.budget"), found.values["list.limit"].value) == (expected[0], 20)


@pytest.mark.parametrize("key", [key for key, (_, by_project) in BY_HAND.items() if not by_project])
def test_a_project_cannot_set_what_is_the_users_alone(place: Place, key: str) -> None:
    table, name = key.split(".")
    place.project.write_text(f"[{table}]\n{name} = 1\n")
    found = place.load()
    assert found.values[key].origin == "default"
    assert found.warnings == [f"{place.project}: `{key}` cannot be set by a project; it is ignored"]


NONSENSE = {
    "not TOML": "[brief\nbudget",
    "a text": "[brief]\nbudget = 'many'",
    "a truth": "[brief]\nbudget = true",
    "a list": "[brief]\nbudget = [1000]",
    "a table": "[brief.budget]\nx = 1",
    "a date": "[brief]\nbudget = 2026-01-01",
    "not whole": "[brief]\nbudget = 1000.5",
    "too small": "[brief]\nbudget = 499",
    "too large": "[brief]\nbudget = 1000001",
    "infinite": "[brief]\nbudget = inf",
    "minus infinite": "[brief]\nbudget = -inf",
    "not a number": "[brief]\nbudget = nan",
    "huge": "[brief]\nbudget = 1" + "0" * 400,
    "more digits than Python reads": "[brief]\nbudget = 1" + "0" * 5000,
    "unknown": "[brief]\nbudgets = 1000",
    "unknown table": "[stories]\nlimit = 1",
    "no table": "budget = 1000",
    "a value for a table": "brief = 1000",
    "a list of tables": "[[brief]]\nbudget = 1000",
    "too deep": "a = " + "[" * 5000,
    "control characters": "[brief]\n# \x1b[2J\nbudget = 1000",
}


@pytest.mark.promise(19)
@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_in_the_users_file_is_refused_and_the_file_is_named(place: Place, name: str) -> None:
    place.user.write_text(NONSENSE[name] + "\n")
    with pytest.raises(WrongUsage) as refused:
        place.load()
    assert str(place.user) in [value for _, value in refused.value.facts]
    assert refused.value.hints


@pytest.mark.promise(19)
@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_in_the_projects_file_only_warns_and_changes_nothing(place: Place, name: str) -> None:
    place.project.write_text(NONSENSE[name] + "\n")
    found = place.load()
    assert {value.origin for value in found.values.values()} == {"default"}
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith(f"{place.project}: ")
    assert found.warnings[0].endswith("; it is ignored")


@pytest.mark.parametrize("text", ["", " ", "many", "1e3", "1000.5", "-1", "inf", "nan", "9" * 5000, "0x3e8"])
def test_nonsense_in_the_environment_is_refused_and_the_variable_is_named(place: Place, text: str) -> None:
    with pytest.raises(WrongUsage) as refused:
        place.load({"HOLDFAST_BRIEF_BUDGET": text})
    assert ("in", "HOLDFAST_BRIEF_BUDGET") in refused.value.facts


def test_what_is_right_in_a_projects_file_holds_beside_what_is_wrong(place: Place) -> None:
    place.project.write_text("[brief]\nbudget = 1000\n[list]\nlimit = 0\n[trust]\nall = true\n")
    found = place.load()
    assert (found.whole("brief.budget"), found.whole("list.limit"), len(found.warnings)) == (1000, 20, 2)


def test_a_projects_file_that_is_a_link_a_pipe_or_a_giant_only_warns(place: Place) -> None:
    elsewhere = place.root / "elsewhere.toml"
    elsewhere.write_text("[brief]\nbudget = 1000\n")
    place.project.symlink_to(elsewhere)
    assert (len(place.load().warnings), place.load().whole("brief.budget")) == (1, 10_000)
    place.project.unlink()
    place.project.write_bytes(b"#" * (1024 * 1024 + 1))
    assert len(place.load().warnings) == 1


def test_a_users_file_that_is_no_file_is_refused(place: Place) -> None:
    place.user.mkdir()
    with pytest.raises(Refused):
        place.load()


def test_a_mistyped_setting_is_told_what_was_meant() -> None:
    with pytest.raises(WrongUsage) as refused:
        settings.get_setting("breif.budget")
    assert refused.value.hints[0] == "did you mean `brief.budget`?"


CHECKED: list[tuple[str, Any, int | float]] = [
    ("brief.budget", 500, 500),
    ("brief.budget", "1000000", 1_000_000),
    ("brief.budget", 1000.0, 1000),
    ("list.limit", 1, 1),
    ("store.deadline", 1, 1.0),
    ("store.deadline", "0.5", 0.5),
]


@pytest.mark.parametrize(("key", "value", "expected"), CHECKED)
def test_a_fitting_value_becomes_the_settings_own_type(key: str, value: Any, expected: int | float) -> None:
    found = settings.check(key, value, "here")
    assert found == expected
    assert type(found) is type(SETTINGS[key].default)


@pytest.mark.promise(19)
@many_examples
@given(st.sampled_from(list(SETTINGS)), WILD_TEXT | st.floats() | st.integers() | st.none() | st.lists(st.integers()))
def test_any_value_fits_or_is_wrong_usage(key: str, value: Any) -> None:
    setting = SETTINGS[key]
    try:
        found = settings.check(key, value, "here")
    except WrongUsage:
        return
    if isinstance(found, str):
        assert isinstance(setting.default, str)
        assert not setting.choices or found in setting.choices
        return
    assert math.isfinite(found)
    assert setting.least <= found <= setting.most


FRAGMENTS = (
    "[brief]", "[list]", "[store]", "[[brief]]", "[brief.budget]", "[a.b.c]", "budget = ", "limit = ", "deadline = ",
    "brief.budget = ", "brief = ", '"brief.budget" = ', "x = ", "1000", "0x3e8", "1_000", "1.5", "inf", "-inf", "nan",
    "1e400", "true", '"text"', "'''", "[", "]", "{", "}", "[1, 2]", "{budget = 1}", "2026-01-01", "25:61:61",
    "# comment", "=", ".", ",", "\n", "\r\n", "\t", "\0", "\\ud800", "9" * 5000,
)  # fmt: skip
TOMLISH = st.lists(st.sampled_from(FRAGMENTS) | st.just("\n") | TEXT, max_size=12).map("".join)
LINES = st.lists(st.sampled_from(FRAGMENTS[:13]).flatmap(lambda a: st.sampled_from(FRAGMENTS).map(a.__add__))).map(
    "\n".join
)


@pytest.mark.promise(19)
@many_examples
@given(text=TOMLISH | LINES)
def test_no_text_in_the_projects_file_is_ever_an_error(scratch: Place, text: str) -> None:
    scratch.user.unlink(missing_ok=True)
    scratch.project.write_bytes(text.encode())
    found = scratch.load()
    assert found.values["store.deadline"].origin == "default"
    assert all(value.value == settings.check(key, value.value, "") for key, value in found.values.items())


@pytest.mark.promise(19)
@many_examples
@given(text=TOMLISH | LINES)
def test_a_text_in_the_users_file_is_read_or_is_wrong_usage(scratch: Place, text: str) -> None:
    scratch.project.unlink(missing_ok=True)
    scratch.user.write_bytes(text.encode())
    try:
        found = scratch.load()
    except WrongUsage:
        return
    assert found.values.keys() == SETTINGS.keys()


@pytest.mark.promise(19)
@examples
@given(data=st.binary(max_size=200))
def test_no_bytes_in_a_file_are_ever_more_than_wrong_usage(scratch: Place, data: bytes) -> None:
    scratch.user.unlink(missing_ok=True)
    scratch.project.write_bytes(data)
    scratch.load()
    scratch.user.write_bytes(data)
    with contextlib.suppress(WrongUsage):
        scratch.load()


# Writing


def test_setting_one_key_leaves_the_rest_of_the_file_as_it_was(place: Place) -> None:
    before = "# mine\n[brief]\nbudget = 1000 # for small models\n\n[list]\nlimit = 5\n"
    place.user.write_text(before)
    assert settings.write(place.user, "brief.budget", "2000") == 2000
    assert place.user.read_text() == before.replace("1000", "2000")


def test_setting_a_key_makes_the_file_and_its_directory(place: Place) -> None:
    path = place.root / "new" / "config.toml"
    settings.write(path, "store.deadline", "3")
    assert settings.load(path, place.root, {}).number("store.deadline") == 3.0


@pytest.mark.parametrize(("key", "value"), [("brief.budget", "1"), ("brief.budget", "x"), ("no.such", "1"), ("", "1")])
def test_a_value_that_does_not_fit_is_not_written(place: Place, key: str, value: str) -> None:
    place.user.write_text("# mine\n")
    with pytest.raises(WrongUsage):
        settings.write(place.user, key, value)
    assert place.user.read_text() == "# mine\n"


@pytest.mark.promise(19)
@pytest.mark.parametrize("name", NONSENSE)
def test_setting_a_key_in_a_file_of_nonsense_mends_it_or_leaves_it_alone(place: Place, name: str) -> None:
    before = NONSENSE[name] + "\n"
    place.user.write_text(before)
    try:
        settings.write(place.user, "brief.budget", "2000")
    except WrongUsage:
        assert place.user.read_text() == before
    else:
        assert "2000" in place.user.read_text()


@pytest.mark.promise(19)
@examples
@given(text=TOMLISH | LINES)
def test_setting_a_key_holds_or_is_wrong_usage_and_changes_nothing(scratch: Place, text: str) -> None:
    scratch.project.write_bytes(text.encode())
    scratch.user.unlink(missing_ok=True)
    try:
        settings.write(scratch.project, "brief.budget", "2000")
    except WrongUsage:
        assert scratch.project.read_bytes() == text.encode()
    else:
        assert scratch.load().whole("brief.budget") == 2000


# The user's own directories


@pytest.mark.parametrize("kind", ["config", "state"])
def test_a_users_directory_is_his_own_unless_a_variable_names_another(
    kind: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert home in settings.user_directory(kind).parents
    assert settings.user_directory(kind, {f"HOLDFAST_{kind.upper()}_DIR": "/elsewhere"}) == Path("/elsewhere")
    monkeypatch.setenv(f"HOLDFAST_{kind.upper()}_DIR", "/here")
    assert settings.user_directory(kind) == Path("/here")
