"""Conditions: what they mean, where they go wrong, and that no text is ever run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from holdfast.layouts.faber.conditions import DEEPEST, LONGEST, NotACondition, holds, pointed
from tests.strategies import JSON, WILD_TEXT, many_examples

STATE: dict[str, object] = {
    "status": "paused",
    "work_id": "258",
    "empty": "",
    "zero": 0,
    "count": 10,
    "half": 0.5,
    "yes": True,
    "no": False,
    "nothing": None,
    "artifacts": {"spec_path": "specs/a && b.md", "pr_number": None, "with-hyphen": 1},
    "steps": [{"status": "success"}, {"status": "failure", "tries": [3, 4]}],
    "none": [],
    "state": "a field of that name",
    "null": "a field of that name",
}

TABLE = [
    # a path alone, true as in JavaScript
    ("state.status", True),
    ("status", True),
    ("state.empty", False),
    ("state.zero", False),
    ("state.half", True),
    ("state.yes", True),
    ("state.no", False),
    ("state.nothing", False),
    ("state.none", True),
    ("state.artifacts", True),
    ("state", True),
    ("state.state", True),
    # a missing field is null, and null equals missing
    ("state.gone", False),
    ("state.gone.deeper.still", False),
    ("state.gone == null", True),
    ("state.gone === null", True),
    ("state.gone === state.nothing", True),
    ("state.nothing == null", True),
    ("state.status.deeper == null", True),
    ("state.artifacts.spec_path != null", True),
    ("state.artifacts.pr_number !== null", False),
    ("state.status !== undefined", True),
    ("state.gone === undefined", True),
    ("null", False),
    ("null == false", False),
    ("null == 0", False),
    ("null == ''", False),
    # the prefix may be absent
    ("artifacts.spec_path != null", True),
    ("work_id == '258'", True),
    # texts, with operators in them
    ("state.artifacts.spec_path == 'specs/a && b.md'", True),
    ('state.artifacts.spec_path == "specs/a && b.md"', True),
    ("state.status == 'a || b' || state.status == 'paused'", True),
    (r"'it\'s' == " '"it\'s"', True),
    (r"'a\\b' == 'a\\b'", True),
    ("'('", True),
    ("''", False),
    ("'0'", True),
    # numbers and texts
    ("state.count == 10", True),
    ("state.count == '10'", True),
    ("state.count == '10.0'", True),
    ("state.count == ' 10 '", True),
    ("state.count === '10'", False),
    ("state.count !== '10'", True),
    ("state.count === 10.0", True),
    ("state.count == 'ten'", False),
    ("state.count != 'ten'", True),
    ("state.zero == ''", False),
    ("'1' == '1.0'", False),
    ("state.count > 9", True),
    ("state.count > '9'", True),
    ("state.work_id > 99", True),
    ("state.work_id < 1e3", True),
    ("state.work_id < '99'", True),
    ("'a' < 'b'", True),
    ("'10' < '9'", True),
    ("state.status < 5", False),
    ("state.status >= 5", False),
    ("null >= 0", False),
    ("null <= null", False),
    ("true > 0", False),
    ("state.none < 1", False),
    ("state.count >= 10 && state.count <= 10", True),
    ("state.half < .6", True),
    ("state.zero > -1", True),
    ("-1 == '-1'", True),
    # true and false
    ("state.yes == true", True),
    ("state.yes === true", True),
    ("state.yes == 1", True),
    ("state.yes === 1", False),
    ("state.no == 0", True),
    ("state.no === null", False),
    ("state.yes == 'true'", False),
    # lists and objects are themselves
    ("state.none == state.none", True),
    ("state.none === state.steps", False),
    ("state.none == null", False),
    ("state.none == 0", False),
    # into lists
    ("state.steps.0.status == 'success'", True),
    ("state.steps[1].status === 'failure'", True),
    ("state.steps.1.tries.1 == 4", True),
    ("state.steps.2 == null", True),
    ("state.steps[99999999999999999999] == null", True),
    ("state.steps.first == null", True),
    ("state.artifacts.with-hyphen", True),
    # not
    ("!state.gone", True),
    ("!state.status", False),
    ("!!state.status", True),
    ("! ! ! state.no", True),
    ("!state.count == 10", False),
    ("!(state.count == 11)", True),
    ("!state.no == true", True),
    # which binds first
    ("true || false && false", True),
    ("(true || false) && false", False),
    ("false && true || true", True),
    ("false && (true || true)", False),
    ("state.gone != null && state.status == 'paused'", False),
    ("state.status == 'paused' && state.gone != null", False),
    ("state.status == 'paused' || state.gone != null", True),
    ("(state.gone || state.work_id) == '258'", True),
    ("(state.status && state.work_id) === '258'", True),
    ("((((state.yes))))", True),
    ("state.yes&&!state.no&&state.count>=10", True),
    ("  state.yes\n\t&& true ", True),
]


@pytest.mark.parametrize(("text", "answer"), TABLE)
def test_a_condition_means_what_it_says(text: str, answer: bool) -> None:
    assert holds(text, STATE) is answer


WRONG = [
    ("", 0, "a value was expected"),
    ("   ", 3, "a value was expected"),
    ("state.a =", 8, "a single = compares nothing"),
    ("state.a = 1", 8, "a single = compares nothing"),
    ("a & b", 2, "write &&"),
    ("a | b", 2, "write ||"),
    ("a &&", 4, "a value was expected"),
    ("&& a", 0, "a value was expected"),
    ("a b", 2, "an operator was expected"),
    ("(a", 0, "never closed"),
    ("a)", 1, "an operator was expected"),
    ("(a b)", 3, "an operator or )"),
    ("()", 1, "a value was expected"),
    ("a == 'text", 5, "this text is never closed"),
    ('"', 0, "this text is never closed"),
    ("'it''s'", 4, "an operator was expected"),
    ("a == == b", 5, "a value was expected"),
    ("1 < a < 3", 6, "two comparisons in a row"),
    ("a ? b : c", 2, "no meaning"),
    ("a + 1", 2, "no meaning"),
    ("state.", 5, "no meaning"),
    ("state..a", 5, "no meaning"),
    ("a[b]", 1, "no meaning"),
    ("1.2.3", 0, "not a number"),
    ("12abc", 0, "not a number"),
    ("!", 1, "a value was expected"),
    ("__import__('os').system('x')", 10, "an operator was expected"),
    ("state.a; import os", 7, "no meaning"),
    ("state.items.includes('x')", 20, "an operator was expected"),
    ("a\x00b", 1, "no meaning"),
    ("a == ٣", 5, "not a number"),
]


@pytest.mark.parametrize(("text", "at", "why"), WRONG)
def test_what_is_no_condition_says_where_and_why(text: str, at: int, why: str) -> None:
    with pytest.raises(NotACondition) as caught:
        holds(text, STATE)
    assert caught.value.at == at
    assert why in caught.value.why
    assert str(caught.value) == f"{caught.value.why}, at character {at + 1}"


def test_a_condition_without_end_is_refused_before_it_is_read() -> None:
    assert holds(" " * (LONGEST - 4) + "true", {}) is True
    with pytest.raises(NotACondition, match="longer than") as caught:
        holds(" " * LONGEST + "true", {})
    assert caught.value.at == LONGEST


def test_parentheses_go_only_so_deep() -> None:
    assert holds("(" * DEEPEST + "true" + ")" * DEEPEST, {}) is True
    with pytest.raises(NotACondition, match="inside each other") as caught:
        holds("(" * (DEEPEST + 1) + "true" + ")" * (DEEPEST + 1), {})
    assert caught.value.at == DEEPEST
    assert holds("(true) && " * 500 + "(true)", {}) is True, "one after the other they are not deep"


def test_any_number_of_nots_is_counted() -> None:
    assert holds("!" * 9_001 + "true", {}) is False


@pytest.mark.parametrize("text", ["9" * 5_000, "'" + "9" * 5_000 + "'", "1e999", "'1e999'"])
def test_a_number_of_any_size_is_compared(text: str) -> None:
    assert holds(f"{text} > 1", {}) is True
    assert holds(f"n < {text}", {"n": 10**4_000}) is True
    assert holds(f"n != {text}", {"n": float("nan")}) is True


def test_what_is_not_a_number_is_false_and_equals_nothing() -> None:
    assert not holds("n || n == n || n === n || n < n", {"n": float("nan")})


def test_a_state_that_is_nested_without_end_is_no_trouble() -> None:
    deep: dict[str, object] = {}
    for _ in range(100_000):
        deep = {"a": deep, "b": [deep]}
    assert holds("a === a && a !== b && a.b.0.a && " + "a." * 4_000 + "a", deep)


# Where the caret stands.


def test_the_caret_stands_under_the_character() -> None:
    text = "state.a = 1"
    with pytest.raises(NotACondition) as caught:
        holds(text, {})
    assert pointed(text, caught.value) == "state.a = 1\n        ^"


def test_what_is_shown_is_one_line_in_which_nothing_acts() -> None:
    text = "a\n\x1b[31m \u202e&& ?"
    shown, caret = pointed(text, NotACondition(len(text) - 1, "")).split("\n")
    assert shown == "a  [31m  && ?"
    assert caret.index("^") == shown.index("?")


def test_of_a_long_condition_only_what_is_around_the_character_is_shown() -> None:
    text = "a && " * 100 + "? && " + "b && " * 100
    shown, caret = pointed(text, NotACondition(500, "")).split("\n")
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) < 120
    assert shown[caret.index("^")] == "?"


@given(WILD_TEXT, st.dictionaries(st.sampled_from(["a", "b"]), JSON))
@many_examples
def test_any_text_gets_an_answer_or_a_place(text: str, state: dict[str, Any]) -> None:
    check_answer(text, state)


ALPHABET = ["===", "!==", "==", "!=", ">", "<", ">=", "<=", "&&", "||", "!", "(", ")", "'", '"', " ", ".", "state."]
WORDS = ["a", "b.c", "a.0", "null", "true", "false", "1", "-2.5", "'x'", "\\", "é", "=", "&", "[", "]", "\n", "\x00"]


@given(st.lists(st.sampled_from(ALPHABET + WORDS)).map("".join), st.dictionaries(st.sampled_from(["a", "b"]), JSON))
@many_examples
def test_any_row_of_signs_gets_an_answer_or_a_place(text: str, state: dict[str, Any]) -> None:
    check_answer(text, state)


def check_answer(text: str, state: dict[str, Any]) -> None:
    error = complaint(text, state)
    if error is not None:
        assert 0 <= error.at <= len(text)
        assert error.why
        shown, caret = pointed(text, error).split("\n")
        assert caret.strip() == "^"
        assert len(caret) <= len(shown) + 1


def complaint(text: str, state: dict[str, Any]) -> NotACondition | None:
    try:
        assert holds(text, state) in (True, False)
    except NotACondition as error:
        return error
    return None


# The same language once more, over a tree that was never a text.

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-20, 20)
    | st.sampled_from([0.5, -1.5, 2.0, 1e3])
    | st.sampled_from(["", "0", "2", "-1", "1.5", "x", "X && y", "(", "a'b", 'a"b', "a\\", "10"])
)
NAMES = st.lists(st.sampled_from(["a", "b", "c", "0", "1"]), max_size=3).flatmap(
    lambda rest: st.sampled_from(["a", "b", "c"]).map(lambda first: [first, *rest])
)
STATES = st.dictionaries(
    st.sampled_from("abc"),
    st.recursive(
        LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner), max_leaves=6
    ),
)
TREES: st.SearchStrategy[Any] = st.recursive(
    LEAVES.map(lambda value: ("value", value)) | NAMES.map(lambda names: ("path", names)),
    lambda inner: (
        st.tuples(st.just("!"), inner)
        | st.tuples(st.sampled_from(["===", "!==", "==", "!=", ">", "<", ">=", "<=", "&&", "||"]), inner, inner)
    ),
    max_leaves=8,
)
BINDING = {"||": 1, "&&": 2, "!": 4, "value": 5, "path": 5}


def written(tree: Any, spaced: bool) -> str:
    kind = tree[0]
    if kind == "value":
        return written_value(tree[1])
    if kind == "path":
        return ("state." if spaced else "") + ".".join(tree[1])
    space = " " if spaced else ""
    if kind == "!":
        return "!" + space + wrapped(tree[1], 4, spaced)
    own = BINDING.get(kind, 3)
    left, right = (own + 1, own + 1) if own == 3 else (own, own + 1)
    return f"{wrapped(tree[1], left, spaced)}{space}{kind}{space}{wrapped(tree[2], right, spaced)}"


def wrapped(tree: Any, least: int, spaced: bool) -> str:
    text = written(tree, spaced)
    return text if BINDING.get(tree[0], 3) >= least else f"({text})"


def written_value(value: object) -> str:
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return (
        {None: "null", True: "true", False: "false"}[value]
        if value is None or value is True or value is False
        else repr(value)
    )


def worth(tree: Any, state: Any) -> Any:
    kind = tree[0]
    if kind == "value":
        return tree[1]
    if kind == "path":
        for name in tree[1]:
            try:
                state = (
                    state[name] if isinstance(state, dict) else state[int(name)] if isinstance(state, list) else None
                )
            except (KeyError, IndexError, ValueError):
                return None
        return state
    if kind == "!":
        return not truth(worth(tree[1], state))
    left, right = worth(tree[1], state), worth(tree[2], state)
    if kind == "&&":
        return right if truth(left) else left
    if kind == "||":
        return left if truth(left) else right
    return compared(kind, left, right)


def truth(value: Any) -> bool:
    return isinstance(value, (list, dict)) or value not in (None, False, "", 0)


def compared(sign: str, left: Any, right: Any) -> bool:
    if sign.startswith("!"):
        return not compared("=" + sign[1:], left, right)
    if sign == "===":
        return left is right if isinstance(left, (list, dict)) else kind_of(left) == kind_of(right) and left == right
    if sign == "==" and kind_of(left) == kind_of(right):
        return compared("===", left, right)
    if sign == "==":
        return spelled(left, True) is not None and spelled(left, True) == spelled(right, True)
    if kind_of(left) != "str" or kind_of(right) != "str":
        left, right = spelled(left), spelled(right)
    if left is None or right is None:
        return False
    return bool({"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[sign])


def kind_of(value: Any) -> str:
    return {"float": "int"}.get(type(value).__name__, type(value).__name__)


def spelled(value: Any, logical: bool = False) -> Any:
    if isinstance(value, bool):
        return float(value) if logical else None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


@given(TREES, STATES, st.booleans())
@many_examples
def test_a_condition_agrees_with_what_it_was_written_from(tree: Any, state: dict[str, Any], spaced: bool) -> None:
    assert holds(written(tree, spaced), state) is truth(worth(tree, state))
