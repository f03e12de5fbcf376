"""Settings: what can be set, where, and what holds now.

Later wins: the default, the user's file, the project's `.holdfast.toml`, `HOLDFAST_…` in the environment. A project's
file may only set what is harmless; anything that decides trust, paths outside the project or what runs is the user's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.core.errors import Busy, HoldfastError, WrongUsage
from holdfast.core.text import one_line
from holdfast.system import files
from holdfast.system.shared_files import Generations

PROJECT_FILE = ".holdfast.toml"
PATTERNS = ("redact.allow", "redact.patterns")
PROJECT_LIMIT = 64 * 1024  # bytes; reading TOML takes its time, and a repository is not trusted with ours
USER_LIMIT = 1024 * 1024  # bytes of their own: no user writes more, and to edit TOML takes eight times as much memory


class Setting(Struct, frozen=True):
    key: str
    default: int | float | str
    about: str
    least: float = 0
    most: float = float("inf")
    by_project: bool = True
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        return "HOLDFAST_" + self.key.upper().replace(".", "_")


SETTINGS = {
    setting.key: setting
    for setting in (
        Setting("artifact.limit", 1024, "kilobytes of the largest artifact that is loaded", 1, 1_000_000),
        Setting("artifact.warn", 100, "kilobytes of an artifact above which a load warns", 1, 1_000_000),
        Setting(
            "aside.keep_days",
            30,
            "days that damaged originals and replaced stores stay, however full the store is; 0: for good",
            0,
            36_500,
            by_project=False,
        ),
        Setting("brief.artifacts", "", "what every brief carries: a list of paths, `KIND:PATH` and `KIND:COMMAND`"),
        Setting("brief.budget", 10_000, "characters of a brief", 500, 1_000_000),
        Setting("checkpoint.file_limit", 50, "megabytes of the largest file that a checkpoint takes", 1, 100_000),
        Setting("checkpoint.total_limit", 500, "megabytes that one checkpoint reads at most", 1, 1_000_000),
        Setting(
            "checkpoint.filtered",
            "ask",
            "files behind Git LFS or git-crypt: `keep` them as they stand in the worktree, `skip` them, or `ask` once",
            by_project=False,
            choices=("ask", "keep", "skip"),
        ),
        Setting(
            "checkpoint.include",
            "",
            "ignored files that checkpoints take all the same: patterns with commas between",
            by_project=False,
        ),
        Setting(
            "checkpoint.keep_days",
            0,
            "days that a checkpoint is kept; 0: however old it is",
            0,
            36_500,
            by_project=False,
        ),
        Setting(
            "checkpoint.most",
            0,
            "checkpoints of a worktree that are kept; 0: any number",
            0,
            1_000_000_000,
            by_project=False,
        ),
        Setting(
            "command.deadline", 30.0, "seconds that a command may take which you allowed", 0.1, 3_600, by_project=False
        ),
        Setting(
            "context.window",
            0,
            "tokens that the agent's context holds; 0: as its status line says, or else its model",
            0,
            1_000_000_000,
        ),
        Setting(
            "faber.plugin_root",
            "",
            "the directory of FABER's plugin, for its built-in workflows; empty: where Claude Code keeps it",
            by_project=False,
        ),
        Setting("go_team.root", "checkpoints", "the directory of the Go Team's files, inside the project"),
        Setting(
            "go_team.steps",
            "init, requirements, architecture, implementation, testing, review, optimization, release, synthesis",
            "the steps of a new Go Team run, with commas between",
        ),
        Setting("join.hours", 24.0, "hours after which a new conversation no longer joins a run by itself", 0, 100_000),
        Setting("list.limit", 20, "rows of a list before the next page", 1, 10_000),
        Setting("load.budget", 400_000, "bytes of all artifacts that a load prints", 1_000, 100_000_000),
        Setting(
            "output.keep_days",
            0,
            "days that the tool output of a run that has ended is kept; 0: until the store is full",
            0,
            36_500,
            by_project=False,
        ),
        Setting(
            "recovery.auto_resume",
            "off",
            "whether `start` and `run` go on with an interrupted Go Team run in the recommended way, without asking",
            by_project=False,
            choices=("off", "on"),
        ),
        Setting(
            "run.keep_days",
            0,
            "days that a run is kept that has ended and was exported; 0: until the store is full",
            0,
            36_500,
            by_project=False,
        ),
        Setting(
            "run.most",
            0,
            "runs above which those that have ended and were exported go; 0: any number",
            0,
            1_000_000_000,
            by_project=False,
        ),
        Setting(
            "redact.allow",
            "",
            "what is never hidden: patterns of whole secrets, with spaces between",
            by_project=False,
        ),
        Setting(
            "redact.patterns",
            "",
            "what is hidden too: patterns, with spaces between; of one with a group, only the group",
            by_project=False,
        ),
        Setting("save.interval", 30.0, "seconds between two saves while a command is supervised", 1, 86_400),
        Setting("silent.after", 60.0, "seconds after which a session on another machine counts as silent", 1, 86_400),
        Setting(
            "store.cap",
            2_000,
            "megabytes that the store may take, all together; then the oldest tool output goes first",
            1,
            100_000_000,
            by_project=False,
        ),
        Setting("store.deadline", 10.0, "seconds to wait for another writer", 0.1, 600, by_project=False),
        Setting(
            "tidy.every",
            24.0,
            "hours between two tidyings that nobody asked for; 0: only when full",
            0,
            100_000,
            by_project=False,
        ),
    )
}


class Value(Struct):
    """What holds for one setting, and where it comes from."""

    key: str
    value: int | float | str
    origin: str


class Settings:
    """The settings that hold in one project."""

    def __init__(self, values: dict[str, Value], warnings: list[str]) -> None:
        self.values = values
        self.warnings = warnings

    def number(self, key: str) -> float:
        value = self.values[key].value
        assert not isinstance(value, str)
        return value

    def words(self, key: str) -> list[str]:
        """A text that lists things, with commas between."""
        return _words(self.values[key].value)

    def whole(self, key: str) -> int:
        return int(self.number(key))


def words_in(data: bytes, key: str) -> list[str]:
    """A list in the bytes of a project's settings; empty where they are not read either."""
    try:
        return _words(_flatten(_parse(data)).get(key, "")) if len(data) <= PROJECT_LIMIT else []
    except (ValueError, RecursionError):
        return []


def _words(value: object) -> list[str]:
    return [word.strip() for word in str(value).split(",") if word.strip()]


def load(user_file: Path, root: Path, environ: Mapping[str, str]) -> Settings:
    """Read every place. Nonsense of the user's own is refused; a project's is passed over with a warning."""
    values = {key: Value(key, setting.default, "default") for key, setting in SETTINGS.items()}
    for key, value in _flatten(_read(user_file)).items():
        values[key] = Value(key, check(key, value, str(user_file)), str(user_file))
    project, warnings = _project_values(root / PROJECT_FILE)
    values |= project
    for key, setting in SETTINGS.items():
        if setting.variable in environ:
            values[key] = Value(key, check(key, environ[setting.variable], setting.variable), setting.variable)
    return Settings(values, warnings)


def _project_values(path: Path) -> tuple[dict[str, Value], list[str]]:
    """What a repository brings: only what is harmless, and never a reason to fail."""
    values: dict[str, Value] = {}
    warnings: list[str] = []
    try:
        found = _flatten(_read(path, PROJECT_LIMIT))
    except HoldfastError as error:
        return {}, [f"{path}: {error.message}; it is ignored"]
    for key, value in found.items():
        if key not in SETTINGS or not SETTINGS[key].by_project:
            warnings.append(f"{path}: `{one_line(key, 60)}` is not for a project to set; it is ignored")
            continue
        try:
            values[key] = Value(key, check(key, value, str(path)), str(path))
        except WrongUsage as error:
            warnings.append(f"{path}: {error.message}; it is ignored")
    return values, warnings


def check(key: str, value: Any, origin: str) -> int | float | str:
    """The value as the setting's own type and within its bounds."""
    setting = get_setting(key, origin)
    kind = type(setting.default)
    try:
        if isinstance(value, bool) or (kind is int and isinstance(value, float) and not value.is_integer()):
            raise ValueError
        if kind is str and (not isinstance(value, str) or "\0" in value):  # no path and no program has a NUL
            raise ValueError
        converted = kind(value)
    except (TypeError, ValueError, OverflowError):
        raise _unfit(setting, value, origin) from None
    if isinstance(converted, (int, float)) and not setting.least <= converted <= setting.most:
        raise _unfit(setting, value, origin)
    if setting.choices and converted not in setting.choices:
        raise _unfit(setting, value, origin)
    return converted


def get_setting(key: str, origin: str = "the command line") -> Setting:
    if setting := SETTINGS.get(key):
        return setting
    import difflib

    near = difflib.get_close_matches(key, SETTINGS, 1)
    hints = [f"did you mean `{near[0]}`?"] if near else []
    raise WrongUsage(f"There is no setting {one_line(key, 60)}", [("in", origin)], [*hints, "`holdfast config list`"])


def write(path: Path, key: str, value: str, generations: Generations | None = None) -> int | float | str:
    """Set one key in a file and leave the rest of it, with its comments, as it was. The last versions are kept."""
    import tomllib

    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    from holdfast.system import shared_files

    converted = check(key, value, "the command line")
    before = files.read(path, USER_LIMIT)
    table, name = key.split(".")
    try:
        document = tomlkit.parse((before or b"").decode())
        document.setdefault(table, tomlkit.table())[name] = converted
        text = tomlkit.dumps(document)
        if _flatten(tomllib.loads(text)).get(key) != converted:
            raise ValueError(f"{table} is not a table")
    except (TOMLKitError, ValueError, TypeError, RecursionError, AttributeError) as error:
        raise _unreadable(path, error) from error
    files.make_directories(path.parent)
    if before is not None and generations is not None:
        generations.keep(path, before)
    if shared_files.replace_shared(path, before, text.encode()) is not None:
        raise Busy("Somebody else changed the settings at the same moment", [("file", path)], ["run the command again"])
    return converted


def _unfit(setting: Setting, value: Any, origin: str) -> WrongUsage:
    text = "a text without NUL" if isinstance(value, str) else "a text"
    kind = {int: "a whole number", float: "a number", str: text}[type(setting.default)]
    if setting.choices:
        kind = "one of " + ", ".join(setting.choices)
    bounds = "" if isinstance(setting.default, str) else f" from {setting.least:,.12g} to {setting.most:,.12g}"
    return WrongUsage(
        f"The setting {setting.key} takes {kind}{bounds}",
        [("in", origin), ("value", _shown(value))],
        [f"`holdfast config set {setting.key} {setting.default}` puts the default back"],
    )


def _shown(value: Any) -> str:
    try:
        return one_line(str(value), 60)
    except ValueError:  # Python does not write out a number of thousands of digits
        return "a very large number"
    except RecursionError:
        return "tables in tables, too deep to show"


def _unreadable(path: Path, error: Exception) -> WrongUsage:
    return WrongUsage(
        "A settings file cannot be read", [("file", path), ("error", one_line(str(error), 200))], ["mend it"]
    )


def _read(path: Path, limit: int = USER_LIMIT) -> dict[str, Any]:
    data = files.read(path, limit)
    try:
        return {} if data is None else _parse(data)
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, error) from error


def _parse(data: bytes) -> dict[str, Any]:
    import tomllib  # costs 5 ms, and most people have no settings file

    return tomllib.loads(data.decode())


def _flatten(tables: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for table, content in tables.items():
        if isinstance(content, dict):
            flat |= {f"{table}.{name}": _listed(value) for name, value in content.items()}
        else:
            flat[table] = content
    return flat


def _listed(value: Any) -> Any:
    """A list of texts is as good as a text with commas between."""
    is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return ", ".join(value) if is_list else value


def user_directory(kind: str, environ: Mapping[str, str] = os.environ) -> Path:
    """The user's own directory for `config` or `state`."""
    override = environ.get(f"HOLDFAST_{kind.upper()}_DIR")
    if override:
        return Path(override)
    if sys.platform == "linux":  # the library would say the same, at 6 ms a command
        variable, home = {"config": ("XDG_CONFIG_HOME", ".config"), "state": ("XDG_STATE_HOME", ".local/state")}[kind]
        base = os.environ.get(variable, "")
        return (Path(base) if os.path.isabs(base) else Path.home() / home) / "holdfast"
    import platformdirs

    directories = {"config": platformdirs.user_config_path, "state": platformdirs.user_state_path}
    return directories[kind]("holdfast", appauthor=False)


def own_directory() -> Path:
    """Where lies what nobody but the user may decide: no variable moves it that a project's settings could bring."""
    home = Path.home()
    return home / ("Library/Application Support" if sys.platform == "darwin" else ".local/share") / "holdfast"
