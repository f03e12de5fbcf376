"""Promise 19: whatever is read, the answer is a value or one of our own errors; never another exception, never a hang.

2,000 inputs per parser, the same ones each time. `FUZZ=100000 scripts/test tests/hostile/test_fuzz.py` takes more of
them, and others.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast import config, intake, process, projects, spool
from holdfast.cli.verbs import VERBS
from holdfast.errors import HoldfastError, Refused
from holdfast.intake import Call, NotACall
from tests.hostile.words import ACTING, hostile_ids, possible_in_arguments
from tests.surfaces.inside import call

pytestmark = pytest.mark.promise(19)

INPUTS = int(os.environ.get("FUZZ", "2000"))


def fuzz(inputs: int = INPUTS) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return settings(
        max_examples=inputs,
        deadline=None,
        derandomize=inputs <= 2000,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        database=None,
    )


# What inputs are made of: text with every kind of letter, numbers at the edges, bytes, and good inputs gone bad.

HOSTILE = possible_in_arguments([word for word in hostile_ids("run-qqqqqqqqqq") if len(word) < 5000] + ACTING)
raw_bytes = st.binary(max_size=20).map(lambda data: data.decode("utf-8", "surrogateescape"))
any_text = st.one_of(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), raw_bytes, st.sampled_from(HOSTILE))
encodable_text = any_text.filter(lambda text: not any("\ud800" <= letter <= "\udfff" for letter in text))
numbers = st.sampled_from([0, -1, 2**31, 2**53, 2**63, 2**64, 2**65, -(2**63) - 1, 10**30, 10**400, 1.5, -0.0, 1e308, 1e-308])
any_json = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.integers(), st.floats(allow_nan=False), encodable_text),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(encodable_text, inner, max_size=4)),
    max_leaves=12,
)
DEEP = [opening * depth + middle + closing * depth
        for opening, middle, closing in ((b"[", b"", b"]"), (b'{"a":', b"1", b"}"), (b"[[", b"", b"]]"), (b"[", b"", b""))
        for depth in (100, 400, 900, 1200, 5000)]  # fmt: skip
ODD_JSON = [
    *DEEP, b"", b" ", b"\xef\xbb\xbf{}", b"\xff\xfe{\x00}\x00", b'"\xff"', b'{"a":"\xff"}', b'{"\xc3":1}', b'"\\ud800"', b'{"a":"\\udc00\\ud800"}',
    b"NaN", b"[Infinity]", b"[-Infinity]", b"1e999", b"-1e999", b"1" * 5000, b"[" + b"9" * 400 + b"]", b"1.", b"01", b"--1", b'{"a":1,"a":2}',
    b'{"$blob":"00"}', b'{"$blob":"zz"}', b'{"$$blob":1}', b"null\x00", b"\x00", b"{}{}", b'"\x00"', b'{"a":"' + b"x" * 2000 + b'"}', b'"\xed\xa0\x80"',
]  # fmt: skip


def bent(good: bytes) -> st.SearchStrategy[bytes]:
    """Good bytes with a piece cut out and another put in."""
    places = st.tuples(st.integers(0, len(good)), st.integers(0, 20), st.binary(max_size=8))
    return places.map(lambda cut: good[: cut[0]] + cut[2] + good[cut[0] + cut[1] :])


payloads = st.one_of(
    st.sampled_from(ODD_JSON),
    st.binary(max_size=60),
    any_json.map(lambda value: json.dumps(value).encode()),
    any_json.map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")),
    bent(b'{"session_id": "a\\u00e9", "tool": {"name": "Edit", "n": [1, 2.5, null]}, "text": "\xc3\xa9"}'),
)


@fuzz()
@given(payloads)
def test_a_payload_is_a_value_or_not_a_call(begin: Callable[[], None], data: bytes) -> None:
    begin()
    try:
        value = intake.parse(data)
    except NotACall:
        return
    assert value is None or isinstance(value, (bool, int, float, str, list, dict))


GOOD_CALL = (
    b"holdfast-call 1\0agent=robot\0event=Did\0time=1767268800000000000\0boot=2cc64b64-1\0monotonic=26360540265\0pid=25089\0"
    b"parent=25088 pid:[4026531836] 25088 (sh) S 1\0directory=/tmp\0env.HOLDFAST_RUN=run-x\0\0"
)
heads = st.one_of(
    st.just(GOOD_CALL),
    bent(GOOD_CALL),
    st.lists(st.binary(max_size=12), max_size=6).map(lambda parts: b"\0".join([b"holdfast-call 1", *parts]) + b"\0\0"),
    st.sampled_from([b"time", b"monotonic"]).flatmap(
        lambda key: st.sampled_from(["9" * 19, "9" * 20, "-1", "٣", "", "1e5", "nan"]).map(
            lambda number: b"holdfast-call 1\0" + key + b"=" + number.encode() + b"\0\0"
        )
    ),
    st.binary(max_size=40),
)
kept_files = st.tuples(heads, payloads).map(b"".join)
NAME = "00000000000000000001-2cc64b64-1-00000000"


@fuzz()
@given(kept_files)
def test_a_kept_file_is_a_call_or_not_a_call(
    begin: Callable[[], None], tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    begin()
    inbox = tmp_path_factory.getbasetemp()
    (inbox / NAME).write_bytes(data)
    try:
        found = intake.read(inbox, NAME)
    except NotACall:
        return
    assert isinstance(found, Call)
    assert found.id == found.id.lower()


def test_every_kept_file_is_taken_in_or_set_aside(target: Path, begin: Callable[[], None]) -> None:
    """From the inbox into the journal, and out again through every way of looking."""
    inbox = target / ".git/holdfast/inbox"

    @fuzz(INPUTS // 20)
    @given(st.lists(kept_files, min_size=20, max_size=20))
    @example([GOOD_CALL + payload for payload in ODD_JSON])
    def take_in(datas: list[bytes]) -> None:
        begin()
        for number, data in enumerate(datas):
            (inbox / f"{number:020d}-2cc64b64-1-{os.urandom(4).hex()}").write_bytes(data)
        done = call("sweep", "--json", directory=target)
        assert done.code == 0, done.out
        assert done.json["taken_in"] + done.json["set_aside"] == len(datas)
        assert [name for name in os.listdir(inbox) if name != "aside"] == []

    take_in()
    for arguments in (("log", "-n", "50"), ("log", "--json", "-n", "50"), ("status",), ("show",), ("brief",), ("runs", "--json")):
        assert call(*arguments, directory=target).code == 0


digits = st.one_of(st.integers(0, 10**20).map(str), st.sampled_from(["", "٣", "²", "-1", "1e5", "9" * 200, "0x1"]))
file_names = st.one_of(
    st.lists(digits, min_size=3, max_size=5).map("-".join),
    st.tuples(digits, st.text("0123456789abcdef.", max_size=8), digits, any_text).map("-".join),
    any_text,
)


@fuzz(INPUTS // 20)
@given(st.lists(file_names, min_size=20, max_size=20))
def test_any_name_in_the_inbox_is_a_call_or_is_passed_over(
    begin: Callable[[], None], tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    begin()
    inbox = tmp_path_factory.mktemp("inbox", numbered=True)
    for name in names:
        if name not in ("", ".", "..") and "/" not in name and "\0" not in name and len(name) < 60:
            (inbox / name.encode("utf-8", "replace").decode()).write_bytes(GOOD_CALL)
    for name in intake.waiting(inbox):
        assert isinstance(intake.read(inbox, name), Call)
    intake.clear_leftovers(inbox, 2.0e9)


GOOD_TOML = b'# mine\n[brief]\nbudget = 20000\n[list]\nlimit = 50\n[store]\ndeadline = 2.5\n'
ODD_TOML = [
    b"brief.budget = inf", b"brief.budget = -inf", b"brief.budget = nan", b"store.deadline = inf", b"store.deadline = nan",
    b"brief.budget = 0x" + b"f" * 6000, b"brief.budget = " + b"9" * 5000, b"brief.budget = true", b"brief.budget = [1]",
    b"brief = 1", b"brief.budget.more = 1", b"list.limit = 1979-05-27", b'list.limit = "50"', b'list.limit = "\\u0663"',
    b"a = " + b"[" * 5000, b"a = " + b"{a=" * 5000, b"a." * 5000 + b"b = 1", b"[" * 3000, b"\xff\xfe", b"\xef\xbb\xbfa = 1", b"a = \"\x1b]52;c;x\x07\"",
    b'"\\u001b]0;x\\u0007" = 1', b"[[store]]\ndeadline = 1", b"brief.budget = 1e400", b"brief.budget = 500.9", b"\0",
]  # fmt: skip
documents = st.one_of(
    st.sampled_from(ODD_TOML),
    bent(GOOD_TOML),
    st.binary(max_size=60),
    st.tuples(st.sampled_from(sorted(config.SETTINGS)), any_json).map(lambda pair: f"{pair[0]} = {json.dumps(pair[1])}".encode()),
    st.dictionaries(encodable_text, numbers, max_size=4).map(
        lambda pairs: "\n".join(f"{json.dumps(key)} = {value!r}" for key, value in pairs.items()).encode()
    ),
)  # fmt: skip


@fuzz()
@given(documents)
def test_a_project_s_settings_never_fail_and_a_user_s_fail_in_our_words(
    begin: Callable[[], None], tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    begin()
    root = tmp_path_factory.getbasetemp()
    for name in (config.PROJECT_FILE, "user.toml"):
        (root / name).write_bytes(data)
    bounds_hold(config.load(root / "absent.toml", root, {}))
    (root / config.PROJECT_FILE).write_bytes(b"")
    try:
        bounds_hold(config.load(root / "user.toml", root, {}))
    except HoldfastError as error:
        assert error.hints


def bounds_hold(found: config.Settings) -> None:
    for key, setting in config.SETTINGS.items():
        assert setting.least <= found.number(key) <= setting.most
    assert found.whole("brief.budget") == int(found.number("brief.budget"))


environments = st.fixed_dictionaries(
    {},
    optional={
        name: encodable_text.filter(lambda text: "\0" not in text)
        for name in ("HOLDFAST", "HOLDFAST_RUN", "HOLDFAST_SESSION", "HOLDFAST_BRIEF_BUDGET", "HOLDFAST_LIST_LIMIT",
                     "HOLDFAST_STORE_DEADLINE", "CLAUDE_PROJECT_DIR")
    },
)  # fmt: skip


def test_an_environment_is_understood_or_refused_in_our_words(target: Path, begin: Callable[[], None]) -> None:
    @fuzz()
    @given(environments)
    def look(environ: dict[str, str]) -> None:
        begin()
        with holdfast.open(target, environ={**os.environ, **environ}) as workspace:
            try:
                holdfast.status(workspace)
                holdfast.brief(workspace)
            except HoldfastError as error:
                assert error.message

    look()


def listed_and_shown(workspace: holdfast.Workspace, data: bytes) -> None:
    """A number names a row of whatever stands in the file, or nothing."""
    (workspace.place / "listed.json").write_bytes(data)
    for name in ("1", "2"):
        with pytest.raises((HoldfastError, StopIteration)):
            holdfast.show(workspace, name)
            raise StopIteration


listings = st.one_of(
    payloads,
    bent(b'{"run":["run-qqqqqqqqqq","run-x"],"session":["ses-qqqqqqqqqq"]}'),
    st.lists(encodable_text, max_size=3).map(lambda names: json.dumps({"run": names}).encode()),
)


def test_a_damaged_list_of_rows_is_passed_over(target: Path, begin: Callable[[], None]) -> None:
    with holdfast.open(target) as workspace:

        @fuzz()
        @given(listings)
        def look(data: bytes) -> None:
            begin()
            listed_and_shown(workspace, data)

        look()


troubles = st.one_of(
    st.binary(max_size=80),
    st.tuples(digits, any_text).map(lambda pair: f"{pair[0]} {pair[1]}\n".encode("utf-8", "replace")),
    bent(b"1767268800 robot Did [Errno 28] No space left on device".ljust(127) + b"\n"),
    st.sampled_from([b"1x y\n", "² y\n".encode(), b"99999999999 y\n", b"-1 y\n", b"9" * 300 + b"\n", b"0\n", b"1\n", "٣ y\n".encode()]),
)


def test_what_hooks_wrote_about_trouble_never_stops_the_status(target: Path, begin: Callable[[], None]) -> None:
    @fuzz()
    @given(troubles)
    def look(data: bytes) -> None:
        begin()
        (target / ".git/holdfast/trouble").write_bytes(data)
        done = call("status", directory=target)
        assert done.code == 0, done.err

    look()


def test_a_damaged_claim_is_no_claim(target: Path, home: Path, begin: Callable[[], None]) -> None:
    claims = home / ".local/state/holdfast/stores"
    (path,) = [claims / name for name in os.listdir(claims) if not name.startswith(".")]
    good = path.read_bytes()
    store = target / ".git/holdfast"

    @fuzz()
    @given(st.one_of(payloads, bent(good), st.tuples(numbers, numbers, encodable_text).map(changed_claim)))
    def look(data: bytes) -> None:
        begin()
        path.write_bytes(data)
        try:
            projects.check(claims, store, target)
        except Refused as error:
            assert "--adopt" in error.hints[0]

    def check_identity() -> None:
        path.write_bytes(good)
        projects.check(claims, store, target)

    look()
    check_identity()


def changed_claim(values: tuple[Any, Any, str]) -> bytes:
    device, inode, text = values
    return json.dumps({"store": text, "path": text, "root": text, "device": device, "inode": inode}).encode()


@fuzz()
@given(st.one_of(st.binary(max_size=60), any_text.map(lambda text: b"gitdir: " + text.encode("utf-8", "replace"))))
@example(b"gitdir: a\0b")
@example(b"gitdir: " + b"../" * 5000)
@example(b"gitdir: .git")
def test_any_git_file_leads_somewhere_or_nowhere(
    begin: Callable[[], None], tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    begin()
    root = tmp_path_factory.getbasetemp() / "git-file"
    root.mkdir(exist_ok=True)
    (root / ".git").write_bytes(data)
    worktree, store = spool.locate(str(root))
    assert isinstance(spool.worktree_name(worktree), str)
    assert store.endswith(("/holdfast", "/.holdfast"))


@fuzz()
@given(st.one_of(st.text(max_size=80), any_text.map(lambda name: f"1 ({name}) S " + "1 " * 40)))
def test_any_line_about_a_process_is_read_or_passed_over(begin: Callable[[], None], text: str) -> None:
    begin()
    found = process.parse_stat(text)
    assert found is None or len(found) == 2


# The command line. `off` would make the rest refuse, and a followed log does not end; both have tests of their own.

OPTIONS = ["--json", "-q", "-v", "--yes", "--run", "--reason", "--because", "--files", "--outcome", "--file", "--at", "--budget", "--limit",
           "--status", "--layout", "--agent", "--tag", "--since", "--until", "--search", "--here", "--after", "-n", "--pid", "--take-over",
           "--remove", "--off", "--all", "--origin", "--project", "--adopt", "--help", "-h", "--", "-", "add", "done", "list", "get", "set",
           "brief.budget", "store.deadline", "bash", "1", "d1", "t1", "n1", "open", "run-qqqqqqqqqq"]  # fmt: skip
values = st.one_of(
    any_text,
    digits,
    st.sampled_from(["999999d", "9999999", "0d", "٣d", "1e9", "0001-01-01", "9999-12-31T23:59:59", "9" * 25, f"{'9' * 20}.1", f"1.{'9' * 20}", "inf"]),
)
verbs = st.sampled_from([verb for verb in VERBS if verb != "off"])
valued = st.tuples(st.sampled_from([word for word in OPTIONS if word.startswith("--")]), values).map("=".join)
lines = st.tuples(
    st.one_of(verbs, verbs, verbs, verbs, any_text), st.lists(st.one_of(st.sampled_from(OPTIONS), values, valued), max_size=4)
).map(lambda pair: [pair[0], *pair[1]])


def follows(arguments: list[str]) -> bool:
    """Whether this is, or abbreviates, `log -f`."""
    return "log" in arguments and any(word[:1] == "-" and "f" in word for word in arguments)


KNOWN = [
    ["log", "-n", "9" * 25], ["runs", "--since", "999999d"], ["runs", "--after", f"{'9' * 20}.1"], ["runs", "--search", "a\udcff"],
    ["runs", "--agent", "a\udcff"], ["runs", "--tag", "\udcff"], ["runs", "--layout", "\udcff"], ["tag", "a b\udcff", "--json"],
    ["show", "x", "\udcff", "--json"], ["config", "set", "store.deadline", "\udcff", "--project", "--json"], ["\udcff", "--json"],
    ["runs", "--search", "a " * 5000], ["runs", "--search", '"' * 1001], ["start", "\udcff", "--json"], ["config", "get", "\udcff", "--json"],
    ["join", "--pid", "9" * 25], ["start", "\u200b"], ["note", "\0"], ["start", "g", "--agent", "\0", "--pid", "1"],
]  # fmt: skip


def test_any_line_of_arguments_gets_an_answer(target: Path, begin: Callable[[], None]) -> None:
    def answer(arguments: list[str]) -> None:
        begin()
        if follows(arguments):
            return
        done = call(*arguments, directory=target)
        assert done.code in (0, 1, 2, 10, 11), f"{arguments!r}: {done.code}\n{done.out}{done.err}"
        assert done.out or done.err or done.code == 0

    failed = []
    for known in KNOWN:
        try:
            answer(known)
        except Exception as error:
            failed.append(f"{known!r:.120} {type(error).__name__} {str(error)[-700:]}")
    assert failed == []
    fuzz()(given(lines)(answer))()


@pytest.mark.parametrize("arguments", [["show", "nowhere\udcff"], ["tag", "a b\udcff", "--json"], ["x\udcff", "--json"], ["runs", "--search", "x\udcff"]])
def test_bytes_that_are_no_text_get_an_answer_from_a_real_process(arguments: list[str], target: Path) -> None:
    import sys

    done = subprocess.run([sys.executable, "-m", "holdfast", *arguments], cwd=target, capture_output=True, check=False)
    assert done.returncode in (0, 1, 2, 10)
    assert b"Traceback" not in done.stderr
