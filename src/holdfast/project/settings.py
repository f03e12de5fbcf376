"""Settings: the table of all of them, and their effective values.

Later sources win: the default, the user's file, the project's `.holdfast.toml`, `HOLDFAST_…` in the environment. The
project's file comes with a clone, so it may set only what is harmless.
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
PROJECT_LIMIT = 64 * 1024  # bytes; TOML is slow to parse, and a repository must not cost us seconds
USER_LIMIT = 1024 * 1024  # bytes; editing TOML takes eight times as much memory


class Setting(Struct, frozen=True):
    key: str
    default: int | float | str
    about: str
    least: float = 0
    most: float = float("inf")
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        return "HOLDFAST_" + self.key.upper().replace(".", "_")

    @property
    def by_project(self) -> bool:
        return self in BY_PROJECT


BY_PROJECT = (
    Setting("artifact.limit", 1024, "kilobytes of the largest artifact that is loaded", 1, 1_000_000),
    Setting("artifact.warn", 100, "kilobytes of an artifact above which a load warns", 1, 1_000_000),
    Setting("brief.artifacts", "", "artifacts in every brief: a list of paths, `KIND:PATH` and `KIND:COMMAND`"),
    Setting("brief.budget", 10_000, "characters of a brief", 500, 1_000_000),
    Setting("checkpoint.file_limit", 50, "megabytes of the largest file that a checkpoint takes", 1, 100_000),
    Setting("checkpoint.total_limit", 500, "megabytes that one checkpoint reads at most", 1, 1_000_000),
    Setting(
        "context.window",
        0,
        "tokens that the agent's context holds; 0: as its status line says, or else its model",
        0,
        1_000_000_000,
    ),
    Setting("go_team.root", "checkpoints", "the directory of the Go Team's files, inside the project"),
    Setting(
        "go_team.steps",
        "init, requirements, architecture, implementation, testing, review, optimization, release, synthesis",
        "the steps of a new Go Team run, separated by commas",
    ),
    Setting("join.hours", 24.0, "hours after which a new conversation no longer joins a run by itself", 0, 100_000),
    Setting("list.limit", 20, "rows of a list before the next page", 1, 10_000),
    Setting("load.budget", 400_000, "bytes of all artifacts that a load prints", 1_000, 100_000_000),
    Setting("save.interval", 30.0, "seconds between two saves while a command is supervised", 1, 86_400),
    Setting("silent.after", 60.0, "seconds after which a session on another machine counts as silent", 1, 86_400),
)
BY_USER_ONLY = (  # anything that decides trust, paths outside the project, retention, or which programs run
    Setting(
        "aside.keep_days",
        30,
        "days to keep damaged originals and replaced stores, however full the store is; 0: forever",
        0,
        36_500,
    ),
    Setting(
        "checkpoint.filtered",
        "ask",
        "files behind Git LFS or git-crypt: `keep` them as in the worktree, `skip` them, or `ask` once",
        choices=("ask", "keep", "skip"),
    ),
    Setting("checkpoint.include", "", "ignored files to include in checkpoints: patterns separated by commas"),
    Setting("checkpoint.keep_days", 0, "days that a checkpoint is kept; 0: forever", 0, 36_500),
    Setting("checkpoint.most", 0, "checkpoints of a worktree that are kept; 0: any number", 0, 1_000_000_000),
    Setting("command.deadline", 30.0, "seconds that a command you have trusted may take", 0.1, 3_600),
    Setting(
        "faber.plugin_root",
        "",
        "the directory of FABER's plugin, for its built-in workflows; empty: where Claude Code keeps it",
    ),
    Setting(
        "output.keep_days",
        0,
        "days that the tool output of an ended run is kept; 0: until the store is full",
        0,
        36_500,
    ),
    Setting(
        "recovery.auto_resume",
        "off",
        "`on`: `start` and `run` resume an interrupted Go Team run in the recommended way, without asking",
        choices=("off", "on"),
    ),
    Setting("redact.allow", "", "secrets that are not redacted: patterns of whole secrets, separated by spaces"),
    Setting(
        "redact.patterns",
        "",
        "more to redact: patterns separated by spaces; of a pattern with a group, only the group is redacted",
    ),
    Setting("run.keep_days", 0, "days that an ended and exported run is kept; 0: until the store is full", 0, 36_500),
    Setting("run.most", 0, "runs above which ended and exported ones are removed; 0: any number", 0, 1_000_000_000),
    Setting(
        "store.cap",
        2_000,
        "megabytes that the whole store may take; at the cap the oldest tool output is removed first",
        1,
        100_000_000,
    ),
    Setting("store.deadline", 10.0, "seconds to wait for another writer", 0.1, 600),
    Setting(
        "tidy.every", 24.0, "hours between two automatic runs of `tidy`; 0: only when the store is full", 0, 100_000
    ),
)
SETTINGS = {setting.key: setting for setting in (*BY_PROJECT, *BY_USER_ONLY)}


class Value(Struct):
    key: str
    value: int | float | str
    origin: str


class Settings:
    def __init__(self, values: dict[str, Value], warnings: list[str]) -> None:
        self.values = values
        self.warnings = warnings

    def number(self, key: str) -> float:
        value = self.values[key].value
        assert not isinstance(value, str)
        return value

    def whole(self, key: str) -> int:
        return int(self.number(key))

    def text(self, key: str) -> str:
        value = self.values[key].value
        assert isinstance(value, str)
        return value

    def words(self, key: str) -> list[str]:
        """Return the items of a list separated by commas."""
        return _words(self.text(key))


def words_in(data: bytes, key: str) -> list[str]:
    """Return a list in the bytes of a project's settings; empty if `load` would ignore the file."""
    try:
        return _words(_flatten(_parse(data)).get(key, "")) if len(data) <= PROJECT_LIMIT else []
    except (ValueError, RecursionError):
        return []


def _words(value: object) -> list[str]:
    return [word.strip() for word in str(value).split(",") if word.strip()]


def load(user_file: Path, root: Path, environ: Mapping[str, str]) -> Settings:
    """Read all sources. An invalid value of the user is refused; one of the project is ignored with a warning."""
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
    """Read the settings that come with a repository. They never make a command fail."""
    values: dict[str, Value] = {}
    warnings: list[str] = []
    try:
        found = _flatten(_read(path, PROJECT_LIMIT))
    except HoldfastError as error:
        return {}, [f"{path}: {error.message}; it is ignored"]
    for key, value in found.items():
        if key not in SETTINGS or not SETTINGS[key].by_project:
            warnings.append(f"{path}: `{one_line(key, 60)}` cannot be set by a project; it is ignored")
            continue
        try:
            values[key] = Value(key, check(key, value, str(path)), str(path))
        except WrongUsage as error:
            warnings.append(f"{path}: {error.message}; it is ignored")
    return values, warnings


def check(key: str, value: Any, origin: str) -> int | float | str:
    """Validate a value, and convert it to the type of the setting."""
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
    """Set one key in a file, and leave the rest with its comments unchanged. The last versions are kept."""
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
        raise Busy("Another process changed the settings at the same time", [("file", path)], ["run the command again"])
    return converted


def _unfit(setting: Setting, value: Any, origin: str) -> WrongUsage:
    text = "a text without NUL" if isinstance(value, str) else "a text"
    kind = {int: "a whole number", float: "a number", str: text}[type(setting.default)]
    if setting.choices:
        kind = "one of " + ", ".join(setting.choices)
    bounds = "" if isinstance(setting.default, str) else f" from {setting.least:,.12g} to {setting.most:,.12g}"
    facts = [("in", origin), ("value", _shown(value))]
    hints = [f"`holdfast config set {setting.key} {setting.default}` restores the default"]
    return WrongUsage(f"The setting {setting.key} takes {kind}{bounds}", facts, hints)


def _shown(value: Any) -> str:
    try:
        return one_line(str(value), 60)
    except ValueError:  # Python refuses to format an integer of thousands of digits
        return "a very large number"
    except RecursionError:
        return "tables nested too deeply to show"


def _unreadable(path: Path, error: Exception) -> WrongUsage:
    return WrongUsage(
        "A settings file cannot be read", [("file", path), ("error", one_line(str(error), 200))], ["correct it"]
    )


def _read(path: Path, limit: int = USER_LIMIT) -> dict[str, Any]:
    data = files.read(path, limit)
    try:
        return {} if data is None else _parse(data)
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, error) from error


def _parse(data: bytes) -> dict[str, Any]:
    import tomllib  # costs 5 ms, and few users have a settings file

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
    """Join a list of texts by commas, the other form of a list."""
    is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return ", ".join(value) if is_list else value


def user_directory(kind: str, environ: Mapping[str, str] = os.environ) -> Path:
    override = environ.get(f"HOLDFAST_{kind.upper()}_DIR")
    if override:
        return Path(override)
    if sys.platform == "linux":  # the same as platformdirs, without its 6 ms
        variable, home = {"config": ("XDG_CONFIG_HOME", ".config"), "state": ("XDG_STATE_HOME", ".local/state")}[kind]
        base = os.environ.get(variable, "")
        return (Path(base) if os.path.isabs(base) else Path.home() / home) / "holdfast"
    import platformdirs

    directories = {"config": platformdirs.user_config_path, "state": platformdirs.user_state_path}
    return directories[kind]("holdfast", appauthor=False)


def own_directory() -> Path:
    """Return the directory of the user's grants. No variable that a project's settings could bring moves it."""
    home = Path.home()
    return home / ("Library/Application Support" if sys.platform == "darwin" else ".local/share") / "holdfast"
