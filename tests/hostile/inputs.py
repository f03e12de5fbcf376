"""What fuzzed inputs are made of: text with every kind of letter, numbers at the edges, bytes, good inputs gone bad."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from holdfast.project import settings
from holdfast.surfaces.cli.runner import WORDS as VERBS
from tests.hostile.words import ACTING, hostile_ids, possible_in_arguments


def bent(good: bytes) -> SearchStrategy[bytes]:
    """Good bytes with a piece cut out and another put in."""
    cuts = st.tuples(st.integers(0, len(good)), st.integers(0, 20), st.binary(max_size=8))
    return cuts.map(lambda cut: good[: cut[0]] + cut[2] + good[cut[0] + cut[1] :])


def is_text(word: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in word)


# Text and numbers

HOSTILE = possible_in_arguments([word for word in hostile_ids("run-qqqqqqqqqq") if len(word) < 5000] + ACTING)
real_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
raw_bytes = st.binary(max_size=20).map(lambda data: data.decode("utf-8", "surrogateescape"))
any_text = st.one_of(real_text, raw_bytes, st.sampled_from(HOSTILE))
sound_text = st.one_of(real_text, st.sampled_from([word for word in HOSTILE if is_text(word)]))
digits = st.one_of(st.integers(0, 10**20).map(str), st.sampled_from(["", "٣", "²", "-1", "1e5", "9" * 200, "0x1"]))
NUMBERS = [0, -1, 2**31, 2**53, 2**63, 2**64, 2**65, -(2**63) - 1, 10**30, 10**400, 1.5, -0.0, 1e308, 1e-308]
numbers = st.sampled_from(NUMBERS)

# JSON, as hooks hand it over

any_json: SearchStrategy[Any] = st.recursive(
    st.one_of(st.sampled_from([None, True, False, "", *NUMBERS]), sound_text),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(sound_text, inner, max_size=3)),
    max_leaves=5,
)
NESTS = [(b"[", b"", b"]"), (b'{"a":', b"1", b"}"), (b"[[", b"", b"]]"), (b"[", b"", b"")]
DEEP = [left * depth + inside + right * depth for left, inside, right in NESTS for depth in (100, 400, 900, 1200, 5000)]
ODD_JSON = [
    *DEEP,
    b"",
    b" ",
    b"\xef\xbb\xbf{}",
    b"\xff\xfe{\x00}\x00",
    b'"\xff"',
    b'{"a":"\xff"}',
    b'{"\xc3":1}',
    b'"\xed\xa0\x80"',
    b'"\\ud800"',
    b'{"a":"\\udc00\\ud800"}',
    b"NaN",
    b"[Infinity]",
    b"[-Infinity]",
    b"1e999",
    b"-1e999",
    b"1" * 5000,
    b"[" + b"9" * 400 + b"]",
    b"1.",
    b"01",
    b"--1",
    b'{"a":1,"a":2}',
    b'{"$blob":"00"}',
    b'{"$blob":"zz"}',
    b'{"$$blob":1}',
    b"null\x00",
    b"\x00",
    b'"\x00"',
    b"{}{}",
    b'{"a":"' + b"x" * 2000 + b'"}',
]
payloads = st.one_of(
    st.sampled_from(ODD_JSON),
    st.binary(max_size=60),
    any_json.map(lambda value: json.dumps(value).encode()),
    any_json.map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")),
    bent(b'{"session_id": "a\\u00e9", "tool": {"name": "Edit", "n": [1, 2.5, null]}, "text": "\xc3\xa9"}'),
)

# Kept files and their names

GOOD_CALL = b"\0".join(
    [
        b"holdfast-call 1",
        b"agent=robot",
        b"event=Did",
        b"time=1767268800000000000",
        b"boot=2cc64b64-1",
        b"monotonic=26360540265",
        b"pid=25089",
        b"parent=25088 pid:[4026531836] 25088 (sh) S 1",
        b"directory=/tmp",
        b"env.HOLDFAST_RUN=run-x",
        b"\0",
    ]
)
odd_fields = st.tuples(
    st.sampled_from(["time", "monotonic", "parent", "client", "env.HOLDFAST_SESSION", "directory", "agent"]),
    st.one_of(digits, sound_text),
).map("=".join)
heads = st.one_of(
    st.just(GOOD_CALL),
    bent(GOOD_CALL),
    odd_fields.map(lambda field: b"holdfast-call 1\0" + field.encode() + b"\0\0"),
    st.lists(st.binary(max_size=12), max_size=6).map(lambda parts: b"\0".join([b"holdfast-call 1", *parts]) + b"\0\0"),
    st.binary(max_size=40),
)
kept_files = st.tuples(heads, payloads).map(b"".join)
file_names = st.one_of(
    st.lists(digits, min_size=3, max_size=5).map("-".join),
    st.tuples(digits, st.text("0123456789abcdef.", max_size=8), digits, sound_text).map("-".join),
    sound_text,
).filter(lambda name: name not in ("", ".", "..") and "/" not in name and "\0" not in name and len(name) < 60)

# Settings and the environment

GOOD_TOML = b"# mine\n[brief]\nbudget = 20000\n[list]\nlimit = 50\n[store]\ndeadline = 2.5\n"
ODD_TOML = [
    b"brief.budget = inf",
    b"brief.budget = -inf",
    b"brief.budget = nan",
    b"brief.budget = 1e400",
    b"brief.budget = 500.9",
    b"brief.budget = true",
    b"brief.budget = [1]",
    b"brief.budget = 0x" + b"f" * 6000,
    b"brief.budget = " + b"9" * 5000,
    b"brief.budget.more = 1",
    b"brief = 1",
    b"store.deadline = inf",
    b"store.deadline = nan",
    b"[[store]]\ndeadline = 1",
    b"list.limit = 1979-05-27",
    b'list.limit = "50"',
    b'list.limit = "\\u0663"',
    b"a = " + b"[" * 2000,
    b"a = " + b"{a=" * 2000,
    b"a." * 2000 + b"b = 1",
    b"[" * 3000,
    b"\xff\xfe",
    b"\xef\xbb\xbfa = 1",
    b'a = "\x1b]52;c;x\x07"',
    b'"\\u001b]0;x\\u0007" = 1',
    b"\0",
]
documents = st.one_of(
    st.sampled_from(ODD_TOML),
    bent(GOOD_TOML),
    st.binary(max_size=60),
    st.tuples(st.sampled_from(sorted(settings.SETTINGS)), any_json).map(
        lambda pair: f"{pair[0]} = {json.dumps(pair[1])}".encode()
    ),
    st.dictionaries(sound_text, numbers, max_size=4).map(
        lambda pairs: "\n".join(f"{json.dumps(key)} = {value!r}" for key, value in pairs.items()).encode()
    ),
)
VARIABLES = [
    "HOLDFAST",
    "HOLDFAST_RUN",
    "HOLDFAST_SESSION",
    "HOLDFAST_BRIEF_BUDGET",
    "HOLDFAST_LIST_LIMIT",
    "HOLDFAST_STORE_DEADLINE",
]
environments = st.dictionaries(
    st.sampled_from(VARIABLES), st.one_of(any_text.filter(lambda text: "\0" not in text), digits), max_size=3
)

# Small files of our own that somebody may damage

ODD_TROUBLES = ["1x y", "² y", "99999999999 y", "-1 y", "9" * 300, "0", "1", "٣ y", "1"]

# The command line

OPTIONS = """
--json -q -v --yes --run --reason --because --files --outcome --file --at --budget --limit --status --layout --agent
--tag --since --until --search --here --after -n --pid --take-over --remove --off --all --origin --project --adopt
--help -h -- - add done list get set brief.budget store.deadline bash 1 d1 t1 n1 open run-qqqqqqqqqq
""".split()  # noqa: SIM905
ODD_VALUES = """
999999d 9999999 0d ٣d 1e9 0001-01-01 9999-12-31T23:59:59 9999999999999999999999999 99999999999999999999.1
1.99999999999999999999 inf
""".split()  # noqa: SIM905
values = st.one_of(any_text, digits, st.sampled_from(ODD_VALUES))
# `off` would make the rest refuse, and a followed log does not end; both have tests of their own.
verbs = st.sampled_from([verb for verb in VERBS if verb not in ("off", "run")])  # `run` ends as what it runs
options_with_values = st.tuples(st.sampled_from([word for word in OPTIONS if word[:2] == "--"]), values).map("=".join)
words = st.one_of(st.sampled_from(OPTIONS), values, options_with_values)
lines = (
    st.tuples(st.one_of(verbs, verbs, verbs, verbs, any_text), st.lists(words, max_size=4))
    .map(lambda pair: [pair[0], *pair[1]])
    .filter(lambda line: not ("log" in line and any(word[:1] == "-" and "f" in word for word in line)))
)
ODD_LINES = [
    ["log", "-n", "9" * 25],
    ["runs", "--since", "999999d"],
    ["runs", "--after", f"{'9' * 20}.1"],
    ["runs", "--search", "a\udcff"],
    ["runs", "--search", "a " * 5000],
    ["runs", "--search", '"' * 1001],
    ["runs", "--agent", "a\udcff"],
    ["runs", "--tag", "\udcff"],
    ["runs", "--layout", "\udcff"],
    ["tag", "a b\udcff", "--json"],
    ["show", "x", "\udcff", "--json"],
    ["config", "set", "store.deadline", "\udcff", "--project", "--json"],
    ["config", "get", "\udcff", "--json"],
    ["start", "\udcff", "--json"],
    ["start", "\u200b"],
    ["start", "g", "--agent", "\0", "--pid", "1"],
    ["join", "--pid", "9" * 25],
    ["note", "\0"],
    ["\udcff", "--json"],
]
