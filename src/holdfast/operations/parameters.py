"""Parameters of verbs as a caller types them, declared in the signature with `Annotated`.

Every surface reads them from here, so no option is declared a second time, and `values` makes of what was typed what a
verb takes. A parameter without a declaration can be given from Python only.
"""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from msgspec import Struct, structs

from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.fold.team import TEXT
from holdfast.core.text import one_line
from holdfast.system import files

ReadInput = Callable[[int], bytes]


class Kind(Enum):
    """The meaning of a typed text."""

    TEXT = auto()
    NUMBER = auto()
    FLAG = auto()
    RUN = auto()  # an id, a part of one, or a row
    CHECKPOINT = auto()
    MOMENT = auto()  # a date, or how long ago
    FILE = auto()  # as it is typed
    OUTPUT = auto()  # a file; `-` is standard output, and no value
    PATH = auto()  # made absolute: the caller may be in any directory
    CONTENT = auto()  # the text of a file; `-` is standard input, where there is one
    LIST = auto()  # several texts with commas between them
    WORDS = auto()  # all words that are left, as one text
    COMMAND = auto()  # all words that are left, and options that are not ours
    LINE = auto()  # all words and options from its first word on
    PATHS = auto()  # the words after `--`, made absolute
    AS_JSON = auto()  # never typed: whether the answer is printed as JSON


class Parameter(Struct, frozen=True, kw_only=True):
    names: tuple[str, ...] = ()  # of an option; empty: an argument
    help: str = ""
    metavar: str | None = None
    kind: Kind = Kind.TEXT
    choices: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    means: Mapping[str, Any] | None = None  # the value of each choice, or the arguments that a flag gives
    variable: str | None = None  # of the environment, which gives it where nothing is typed
    also: str | None = None  # the option by which an argument can be given too
    target: str = ""  # its name in Python
    many: bool = False
    required: bool = False

    @property
    def is_argument(self) -> bool:
        return not self.names and self.kind not in (Kind.AS_JSON, Kind.PATHS)

    @property
    def is_flag(self) -> bool:
        return self.kind is Kind.FLAG


def option(*names: str, help: str, **more: Any) -> Parameter:
    """An option; without names its name in Python with hyphens."""
    return Parameter(names=names or ("--",), help=help, **more)


def argument(metavar: str | None = None, **more: Any) -> Parameter:
    """A word that has its place and no name."""
    return Parameter(metavar=metavar, **more)


def flag(*names: str, help: str, gives: Mapping[str, Any] | None = None) -> Parameter:
    """An option without a value, beside those of the signature: it gives arguments, or says how to show the result."""
    target = names[-1].lstrip("-").replace("-", "_")
    return Parameter(names=names, help=help, kind=Kind.FLAG, means=gives, target=target)


RunName = Annotated[str | None, option("--run", metavar="RUN", kind=Kind.RUN, help="The run; else the current one.")]
Why = Annotated[str | None, option(metavar="TEXT", help="Why, in a sentence.")]
DryRun = Annotated[bool, option(help="Only say what would change.")]
YES = flag("--yes", help="Do not ask.")

ALL = (Kind.WORDS, Kind.COMMAND, Kind.LINE)  # kinds that take every word that is left
KINDS: dict[Any, Kind] = {bool: Kind.FLAG, int: Kind.NUMBER, datetime: Kind.MOMENT}


def parameters_of(function: Callable[..., Any]) -> list[Parameter]:
    """The declared parameters of a verb, in the order of its signature."""
    plain = _unwrapped(function)
    code, names = plain.__code__, names_of(function)
    required = set(names[: code.co_argcount - len(plain.__defaults__ or ())])
    required |= set(names[code.co_argcount :]) - set(plain.__kwdefaults__ or ())
    hints = get_type_hints(plain, include_extras=True)  # evaluated now: a command needs those of one verb only
    found = (_parameter(name, hints[name], name in required) for name in names)
    return [parameter for parameter in found if parameter is not None]


def names_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of all parameters, without the module that inspects signatures, which is slow to load."""
    code = _unwrapped(function).__code__
    names: tuple[str, ...] = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names


def _unwrapped(function: Any) -> Any:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _parameter(name: str, hint: Any, required: bool) -> Parameter | None:
    if get_origin(hint) is not Annotated:
        return None
    told = next(each for each in hint.__metadata__ if isinstance(each, Parameter))
    type_, many = _type_of(get_args(hint)[0])
    names = (f"--{name.replace('_', '-')}",) if told.names == ("--",) else told.names
    kind = KINDS.get(type_, Kind.TEXT) if told.kind is Kind.TEXT and not told.means else told.kind
    many = many and kind is not Kind.LIST
    choices = tuple(told.means) if told.means else told.choices
    return structs.replace(
        told,
        names=names,
        kind=kind,
        choices=choices,
        target=name,
        many=many,
        required=told.required or (required and not many),
    )


def _type_of(hint: Any) -> tuple[Any, bool]:
    """The type of one value, and whether there can be several."""
    if isinstance(hint, types.UnionType):
        hint = next(each for each in get_args(hint) if each is not type(None))
    if get_origin(hint) in (None, type):
        return hint, False
    inner = get_args(hint)
    return (inner[0], True) if inner and inner[0] is str else (hint, False)


def is_given(value: Any) -> bool:
    """Zero is a value, too."""
    return value is not None and value is not False and value != ()


def values(pairs: Iterable[tuple[Parameter, Any]], read_input: ReadInput | None = None) -> dict[str, Any]:
    """What was typed for each parameter, as a verb takes it; what was not given is left out.

    `read_input` reads the standard input for `-`; without it, a surface has none.
    """
    given: dict[str, Any] = {}
    for parameter, raw in pairs:
        if not is_given(raw):
            continue
        if parameter.is_flag:
            given.setdefault(parameter.target, True)
            given |= parameter.means or {}
        elif parameter.kind is Kind.CONTENT:
            given[parameter.target] = _content(_only(raw), read_input)
        elif parameter.means:
            given[parameter.target] = parameter.means[raw]
        elif parameter.many:
            given[parameter.target] = tuple(_value(parameter.kind, each) for each in raw)
        else:
            given[parameter.target] = _value(parameter.kind, _only(raw) if parameter.kind not in ALL else raw)
    return given


def _only(raw: Any) -> Any:
    """The one word of an argument that another variant takes several of."""
    if isinstance(raw, tuple):
        if len(raw) > 1:
            raise WrongUsage(f"Got unexpected extra argument ({one_line(raw[1], 80)})")
        return raw[0]
    return raw


def _value(kind: Kind, raw: Any) -> Any:
    match kind:
        case Kind.MOMENT:
            return moment(raw)
        case Kind.PATH:
            return os.path.abspath(raw)
        case Kind.LIST:
            return tuple(filter(None, (word.strip() for word in raw.split(","))))
        case Kind.OUTPUT:
            return None if raw == "-" else raw
        case Kind.WORDS:
            return raw if isinstance(raw, str) else " ".join(raw)
    return raw


def _content(source: str, read_input: ReadInput | None) -> str:
    if source == "-" and read_input:
        return read_input(8 * TEXT).decode("utf-8", "replace")
    data = files.read(Path(source), 8 * TEXT)
    if data is None:
        raise NotFound("There is no such file", [("file", source)], ["`-` reads from standard input"])
    return data.decode("utf-8", "replace")


def moment(text: str) -> datetime:
    """A point in time: a date, a date with time, or how long ago."""
    unit = {"d": "days", "h": "hours", "m": "minutes"}.get(text[-1:])
    if unit and text[:-1].isdecimal() and len(text) < 8:
        return _long_ago(unit, int(text[:-1]))
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise WrongUsage(f'"{one_line(text, 40)}" is not a time; 2026-11-01, 3d, 12h or 30m are') from None


def _long_ago(unit: str, number: int) -> datetime:
    try:
        return datetime.now(UTC) - timedelta(**{unit: number})
    except OverflowError:
        return datetime(1970, 1, 1, tzinfo=UTC)
