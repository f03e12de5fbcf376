"""Settings: later places win, a project sets only what is harmless, and a file keeps what people wrote into it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from holdfast.core.errors import Busy, HoldfastError, Refused, WrongUsage
from holdfast.project import settings as config
from holdfast.system.shared_files import Generations


@pytest.fixture
def user(tmp_path: Path) -> Path:
    return tmp_path / "config" / "config.toml"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


def set_user(user: Path, text: str) -> None:
    user.parent.mkdir(exist_ok=True)
    user.write_text(text)


def set_project(root: Path, text: str) -> None:
    (root / config.PROJECT_FILE).write_text(text)


def write(user: Path, key: str, value: str) -> object:
    return config.write(user, key, value, Generations(user.parent.parent / "generations"))


# what holds


def test_later_places_win(user: Path, root: Path) -> None:
    key, environ = "list.limit", {"HOLDFAST_LIST_LIMIT": "7"}
    assert config.load(user, root, {}).values[key] == config.Value(key, 20, "default")
    set_user(user, "[list]\nlimit = 5\n")
    assert config.load(user, root, {}).values[key] == config.Value(key, 5, str(user))
    set_project(root, "[list]\nlimit = 6\n")
    assert config.load(user, root, {}).values[key] == config.Value(key, 6, str(root / ".holdfast.toml"))
    assert config.load(user, root, environ).values[key] == config.Value(key, 7, "HOLDFAST_LIST_LIMIT")


HUGE = "9" * 5000
HARMLESS = [
    ("[store]\ndeadline = 0.1\n", 1),
    ("[trust]\nall = true\n", 1),
    ("[list]\nlimit = 0\n", 1),
    ("[list]\nlimit = true\n", 1),
    ('[list]\nlimit = "many"\n', 1),
    ("[list]\nlimit = []\n", 1),
    ("list = 3\n", 1),
    ("not toml", 1),
    ("[list]\nlimit = 5\nlimit = 6\n", 1),
    (f"[list]\nlimit = {HUGE}\n", 1),
    (f"[list]\nlimit = 0x{'f' * 5000}\n", 1),
    (f"[other]\nkey = {HUGE}\n", 1),
    ("[list]\nlimit = 1979-05-27T07:32:00Z\n", 1),
    ("[list]\nlimit = nan\n", 1),
    ("[list]\nlimit = inf\n", 1),
    ("a = " + "[" * 5000 + "]" * 5000, 1),
    ('"\\u202e\\u0000" = 1\n', 1),
    ("", 0),
    ("# only a comment\n", 0),
    ("[list]\n", 0),
]


@pytest.mark.promise(19, 20)
@pytest.mark.parametrize(("text", "warnings"), HARMLESS, ids=lambda value: repr(value)[:40])
def test_project_can_neither_break_a_command_nor_set_what_is_the_users(
    user: Path, root: Path, text: str, warnings: int
) -> None:
    set_project(root, text)
    found = config.load(user, root, {})
    assert len(found.warnings) == warnings
    assert {value.origin for value in found.values.values()} == {"default"}


@pytest.mark.promise(19)
@pytest.mark.parametrize(
    "data", [b"\xff", b"\xef\xbb\xbf[list]\nlimit = 3\n", b"\0", b"x" * (1024 * 1024 + 1)], ids=len
)
def test_project_file_that_is_no_text_is_passed_over(user: Path, root: Path, data: bytes) -> None:
    (root / config.PROJECT_FILE).write_bytes(data)
    assert len(config.load(user, root, {}).warnings) == 1


@pytest.mark.promise(19)
def test_settings_that_are_too_long_to_be_read_are_not_changed_either(user: Path, root: Path) -> None:
    """They were read whole to be changed: one of 25 MB took 200 MB."""
    set_user(user, "# mine\n" * 200_000)
    before = user.read_bytes()
    for attempt in (lambda: config.load(user, root, {}), lambda: config.write(user, "list.limit", "7")):
        with pytest.raises(Refused, match="too large"):
            attempt()
    assert user.read_bytes() == before


@pytest.mark.promise(22)
def test_project_file_that_is_no_file_is_passed_over(user: Path, root: Path) -> None:
    os.mkfifo(root / config.PROJECT_FILE)
    assert len(config.load(user, root, {}).warnings) == 1
    (root / config.PROJECT_FILE).unlink()
    set_user(user, "[list]\nlimit = 3\n")
    (root / config.PROJECT_FILE).symlink_to(user)
    assert len(config.load(user, root, {}).warnings) == 1


@pytest.mark.promise(19)
@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "[list]\nlimt = 3",
        "[list]\nlimit = 0",
        f"[list]\nlimit = {HUGE}",
        f"[store]\ndeadline = 1{'0' * 400}",
        '[go_team]\nroot = "a\\u0000b"',
    ],
    ids=lambda text: text[:24],
)
def test_nonsense_of_the_user_is_refused_in_one_sentence(user: Path, root: Path, text: str) -> None:
    set_user(user, text)
    with pytest.raises(WrongUsage) as refused:
        config.load(user, root, {})
    assert str(user) in dict(refused.value.facts).values()


@pytest.mark.promise(19)
@pytest.mark.parametrize(
    "value", ["", "x", "0", "-1", "1e9", "nan", "inf", "1.5", HUGE, "\udcff"], ids=lambda text: repr(text[:9])
)
def test_nonsense_of_the_environment_is_refused_in_one_sentence(user: Path, root: Path, value: str) -> None:
    with pytest.raises(WrongUsage) as refused:
        config.load(user, root, {"HOLDFAST_LIST_LIMIT": value})
    assert dict(refused.value.facts)["in"] == "HOLDFAST_LIST_LIMIT"


@pytest.mark.promise(19)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=80)
    | st.text(max_size=80).map(str.encode)
    | st.from_regex(r"\[list\]\nlimit = .{0,30}").map(str.encode)
)
def test_any_project_file_is_survived(user: Path, root: Path, data: bytes) -> None:
    (root / config.PROJECT_FILE).write_bytes(data)
    assert set(config.load(user, root, {}).values) == set(config.SETTINGS)


def test_mistyped_setting_is_suggested() -> None:
    with pytest.raises(WrongUsage) as refused:
        config.get_setting("list.limt")
    assert "did you mean `list.limit`?" in refused.value.hints


# writing


COMMENTED = """\
# my settings

[brief]   # how much a session is told
budget = 4_000 # enough

[other]
kept = "as it is"  # who knows what for
"""


def test_comments_order_and_unknown_keys_stay(user: Path) -> None:
    set_user(user, COMMENTED)
    assert write(user, "brief.budget", "9000") == 9000
    assert user.read_text() == COMMENTED.replace("4_000", "9000")
    write(user, "list.limit", "5")
    assert user.read_text().startswith(COMMENTED.replace("4_000", "9000"))
    assert "[list]\nlimit = 5\n" in user.read_text()


@pytest.mark.parametrize(
    "before",
    [
        "",
        "list.limit = 3 # dotted\n",
        "list = {limit = 3}\n",
        "[list]\n# empty\n",
        "[brief]\nbudget = 700",
        "[list]\r\nlimit = 3\r\n",
    ],
)
def test_setting_is_written_into_any_sound_file(user: Path, root: Path, before: str) -> None:
    set_user(user, before)
    write(user, "list.limit", "8")
    assert config.load(user, root, {}).whole("list.limit") == 8


@pytest.mark.parametrize(
    "before", ["list = 3\n", "[[list]]\nlimit = 3\n", 'list = "text"\n', "not toml", "list = []\n"]
)
def test_file_that_cannot_take_the_setting_is_left_alone(user: Path, before: str) -> None:
    set_user(user, before)
    with pytest.raises(HoldfastError):
        write(user, "list.limit", "8")
    assert user.read_text() == before


@pytest.mark.parametrize(
    ("key", "value"), [("list.limit", "0"), ("list.limit", "x"), ("list.unknown", "1"), ("x", "1")]
)
def test_wrong_value_is_refused_before_anything_is_written(user: Path, key: str, value: str) -> None:
    with pytest.raises(WrongUsage):
        write(user, key, value)
    assert not user.parent.exists()


def test_new_file_is_the_users_alone_and_an_old_one_keeps_its_mode(user: Path) -> None:
    write(user, "list.limit", "8")
    assert user.stat().st_mode & 0o777 == 0o600
    user.chmod(0o644)
    write(user, "list.limit", "9")
    assert user.stat().st_mode & 0o777 == 0o644


def test_earlier_versions_of_the_file_are_kept(user: Path) -> None:
    for number in range(7, 10):
        write(user, "list.limit", str(number))
    kept = Generations(user.parent.parent / "generations").find(user)
    assert kept == [b"[list]\nlimit = 8\n", b"[list]\nlimit = 7\n"]


def test_change_of_somebody_else_at_the_same_moment_is_not_overwritten(
    user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_user(user, "[list]\nlimit = 3\n")
    keep = Generations.keep

    def be_disturbed(self: Generations, path: Path, data: bytes) -> None:
        keep(self, path, data)
        set_user(user, "[list]\nlimit = 4\n")

    monkeypatch.setattr(Generations, "keep", be_disturbed)
    with pytest.raises(Busy):
        write(user, "list.limit", "9")
    assert user.read_text() == "[list]\nlimit = 4\n"


# places


def test_directory_of_the_user_can_be_named(home: Path, tmp_path: Path) -> None:
    assert config.user_directory("config", {"HOLDFAST_CONFIG_DIR": str(tmp_path)}) == tmp_path
    assert home in config.user_directory("state", {}).parents
