"""How much of a generated corpus is hidden, and how much of what is no secret: figures, asserted and printed."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import example, given, strategies as st

from holdfast.redaction.redactor import BUDGET, Redactor, check_pattern
from tests.promises import tell

from . import secrets

SEED = 20260102
TREE = Path(__file__).parents[2]
REDACTOR = Redactor()

pytestmark = pytest.mark.promise(26)


def told(value: object) -> str:
    return json.dumps(REDACTOR.clean(value)[0], ensure_ascii=False)


def share(name: str, found: int, total: int, least: float) -> None:
    tell(f"hidden, {name}", f"{found:,} of {total:,}")
    tell("seed", SEED)
    assert found / total >= least, name


@pytest.mark.parametrize("shape", secrets.SHAPES)
def test_tokens_of_providers_are_hidden_in_every_shape_of_a_transcript(shape: str) -> None:
    chance = random.Random(SEED)
    made = [make(chance) for make in secrets.PROVIDERS.values() for _ in range(25)]
    hidden = [token for token in made if token not in told(secrets.SHAPES[shape](token))]
    share(f"tokens of providers, {shape}", len(hidden), len(made), 0.99)


@pytest.mark.parametrize(
    ("name", "make", "least"),
    [
        ("authorization", secrets.header, 0.98),
        ("addresses", secrets.address, 0.98),
        ("private keys", secrets.private_key, 1.0),
    ],
)
def test_credentials_in_lines_are_hidden(
    name: str, make: Callable[[random.Random], tuple[str, str]], least: float
) -> None:
    chance = random.Random(SEED)
    made = [(shape, *make(chance)) for shape in secrets.SHAPES.values() for _ in range(100)]
    hidden = [secret for shape, line, secret in made if secret not in told(shape(line))]
    share(name, len(hidden), len(made), least)


def forms(value: str) -> Iterator[str]:
    yield value
    yield base64.b64encode(value.encode()).decode()
    yield base64.b64encode(f"user:{value}".encode()).decode()
    yield base64.urlsafe_b64encode(f"{{'k': '{value}'}}".encode()).decode()
    yield quote(value, safe="")
    yield json.dumps(value)[1:-1]
    yield json.dumps(json.dumps({"a": value}))


def test_values_of_the_environment_are_hidden_in_all_their_forms() -> None:
    chance = random.Random(SEED)
    letters = secrets.LETTERS + "/+!\"'\\ &%ö"
    hidden = total = 0
    for _ in range(40):
        value = secrets.some(chance, letters, chance.randrange(10, 300)).strip() + "x1"
        redactor = Redactor([value])
        for form in forms(value):
            total += 1
            hidden += form.strip("=") not in json.dumps(redactor.clean(f"so {form} it is")[0], ensure_ascii=False)
    share("values of the environment", hidden, total, 1.0)


def lost(texts: list[str]) -> tuple[int, int]:
    """How many characters are hidden, and of how many."""
    gone = sum(found.length for text in texts for found in REDACTOR.find(text))
    return gone, sum(map(len, texts))


def corpora() -> dict[str, list[str]]:
    chance = random.Random(SEED)
    return {
        "source": [path.read_text() for path in sorted((TREE / "src").rglob("*.py"))],
        "tests": [path.read_text() for path in sorted((TREE / "tests").rglob("*.py"))],
        "documents": [path.read_text() for path in sorted((TREE / "docs").rglob("*.md"))],
        "lock files": list(secrets.lock_files(chance)),
        "git log": [secrets.git_log(chance)],
        "code that names secrets": list(secrets.code(chance)),
    }


def test_code_documents_logs_and_lock_files_stay_as_they_are() -> None:
    for name, texts in corpora().items():
        gone, total = lost(texts)
        tell(f"characters hidden without need, {name}", f"{gone / total:.3%}")
        assert gone / total <= 0.002, name


def test_no_id_hash_uuid_or_path_is_hidden() -> None:
    chance = random.Random(SEED)
    made = list(secrets.ids(chance))
    gone = [id for id in made if told({"id": id, "text": f"see {id}, or {id}."}).count(id) != 3]
    tell("ids, hashes, UUIDs and paths hidden without need", f"{len(gone)} of {len(made):,}")
    assert gone == []


SECRETS = st.builds(
    lambda seed, name: secrets.PROVIDERS[name](random.Random(seed)),
    st.integers(),
    st.sampled_from(sorted(secrets.PROVIDERS)),
)
AROUND = ["password=", 'token": "', "Authorization: Bearer ", "://a:", "@", "[redacted token]", "[redacted ", "\\", '"']
AROUND += ["=", "%41", "-----BEGIN RSA PRIVATE KEY-----", "curl -u a:", "'", " ", "--token ", "eyJ", "{", "}"]
AROUND += ["Authorization", "Cookie", "x-api-key", "password", "$", "/", "a=", "['token'] = '", "IDENTIFIED BY '"]
PIECES = st.one_of(SECRETS, st.text(max_size=20), st.sampled_from(AROUND))
TEXTS = st.lists(PIECES, max_size=8).map("".join)
VALUES = st.recursive(
    TEXTS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)), max_leaves=8
)


@given(VALUES)
def test_twice_is_once(value: object) -> None:
    clean, _ = REDACTOR.clean(value)
    assert REDACTOR.clean(clean) == (clean, {})


@given(st.lists(TEXTS, min_size=2, max_size=4, unique=True))
@example(["use it", "DB_PASSWORD=ab$cd&ef(12zz", "and this"])
def test_texts_lose_together_what_each_of_them_loses_alone(texts: list[str]) -> None:
    together, _ = Redactor().clean({str(number): text for number, text in enumerate(texts)})
    assert list(together.values()) == [Redactor().text(text) for text in texts]


@given(SECRETS, st.sampled_from(sorted(secrets.SHAPES)))
def test_a_text_without_its_secret_says_the_rest(secret: str, shape: str) -> None:
    clean = told(secrets.SHAPES[shape](secret))
    assert secret not in clean
    assert re.search(r"\[redacted [a-z ]+\]", clean)


def test_what_is_too_much_to_look_at_is_not_kept() -> None:
    clean, _ = REDACTOR.clean({"a": "x " * (BUDGET // 2), "b": "ghp_" + "a1" * 18, "c": "short"})
    assert (clean["b"], clean["c"]) == ("[40 characters, too many to look for secrets in]", "short")


@pytest.mark.parametrize("source", ["(", "a**", "(?=x)", "x*", "", "[z-a]", "\\1"])
def test_a_pattern_that_cannot_be_used_is_told(source: str) -> None:
    assert check_pattern(source)


def test_own_patterns_hide_and_allowed_texts_stay() -> None:
    redactor = Redactor([], ["acme-[0-9]{6}", "badge ([a-z]+)"], ["ghp_a+", "hunter2hunter2"])
    value = {"t": "acme-123456, badge abcdef, ghp_" + "a" * 36, "password": "hunter2hunter2"}
    clean, counts = redactor.clean(value)
    assert clean["t"] == "[redacted own pattern], badge [redacted own pattern], ghp_" + "a" * 36
    assert (clean["password"], counts) == ("hunter2hunter2", {"own pattern": 2})
