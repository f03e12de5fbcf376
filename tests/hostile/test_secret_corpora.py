"""How much is hidden of corpora that were not made from the patterns: formats as providers describe them, and leaks."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

from holdfast.redaction.redactor import Redactor
from tests.promises import tell

from . import formats

SEED = 20260103
EACH = 5  # credentials of each format
REDACTOR = Redactor()

pytestmark = pytest.mark.promise(26)


def told(name: str, hidden: int, total: int, least: float) -> None:
    tell(f"hidden, {name}", f"{hidden:,} of {total:,}")
    assert hidden / total >= least, name


@pytest.mark.defect("Tokens of most providers that are recognisable by themselves were stored as they are", promise=26)
@pytest.mark.parametrize("shape", formats.SHAPES)
def test_credentials_that_are_recognisable_by_themselves_are_hidden_in_every_shape(shape: str) -> None:
    chance = random.Random(SEED)
    made = [formats.make(one.text, chance) for one in formats.formats("self") for _ in range(EACH)]
    clean = [REDACTOR.text(formats.SHAPES[shape](token)) for token in made]
    hidden = [token for token, text in zip(made, clean, strict=True) if json.dumps(token)[1:-1] not in text]
    told(f"self-describing credentials, {shape}", len(hidden), len(made), 0.99)


@pytest.mark.defect("Tokens of 40 documented prefixes, such as `e2b_` and `jina_`, were stored as they are", promise=26)
def test_no_format_that_is_recognisable_by_itself_is_missed_as_a_whole() -> None:
    chance, missed = random.Random(SEED), []
    for one in formats.formats("self"):
        made = [formats.make(one.text, chance) for _ in range(20)]
        left = [token for token in made if json.dumps(token)[1:-1] in REDACTOR.text(formats.SHAPES["bare"](token))]
        missed += [one.name] if len(left) > len(made) // 4 else []
    assert missed == []


@pytest.mark.defect("Credentials without a shape of their own were stored as they are behind names like FASTLY_KEY")
@pytest.mark.parametrize("shape", formats.ASSIGNED)
def test_credentials_without_a_shape_are_hidden_behind_the_name_of_their_variable(shape: str) -> None:
    put, chance = formats.ASSIGNED[shape], random.Random(SEED)
    made = [(one.variable, formats.make(one.text, chance)) for one in formats.formats("named") for _ in range(EACH)]
    hidden = [value for name, value in made if value not in REDACTOR.text(put(name, value))]
    told(f"NAME=value, {shape}", len(hidden), len(made), 0.99)


@pytest.mark.parametrize("shape", formats.ASSIGNED)
def test_client_ids_and_publishable_keys_stay(shape: str) -> None:
    put, chance = formats.ASSIGNED[shape], random.Random(SEED)
    made = [(one.variable, formats.make(one.text, chance)) for one in formats.formats("public") for _ in range(EACH)]
    gone = [(name, value) for name, value in made if value not in REDACTOR.text(put(name, value))]
    tell(f"public values hidden without need, {shape}", f"{len(gone)} of {len(made):,}")
    assert gone == []


@pytest.mark.defect(
    "Half of the passwords in code, SQL, command lines and settings were stored as they are", promise=26
)
@pytest.mark.parametrize("half", ["looked at while patterns were written", "only counted"])
def test_lines_in_the_shape_of_leaks_lose_their_secret(half: str) -> None:
    leaks = formats.leaks()[1 if half == "only counted" else 0 :: 2]
    assert all(leak.secrets for leak in leaks)
    clean = [REDACTOR.text(leak.line) for leak in leaks]
    hidden = [
        leak.line for leak, text in zip(leaks, clean, strict=True) if not any(secret in text for secret in leak.secrets)
    ]
    told(f"labelled lines, {half}", len(hidden), len(leaks), 0.75)


def test_lines_that_resemble_leaks_stay() -> None:
    lines = formats.harmless()
    changed = [line for line in lines if REDACTOR.text(line) != line]
    tell("harmless look-alikes hidden without need", f"{len(changed)} of {len(lines):,}")
    assert len(changed) <= len(lines) // 100


UNLIKE: list[Callable[[random.Random], str]] = [
    lambda chance: formats.make("<uuid>", chance),
    lambda chance: formats.make("<h40>", chance),
    lambda chance: formats.make("sha512-<b86>==", chance),
    lambda chance: formats.make("<a12>-<uuid>", chance),
    lambda chance: formats.make("src/<l8>/<l6>_<d4>/<n24>.<h8>.js", chance),
    lambda chance: formats.make("/srv/releases/<d14>/<h40>/bundle.<h20>.css", chance),
    lambda chance: formats.make("arn:aws:iam::<d12>:role/<l8>-<d4>", chance),
    lambda chance: formats.make("https://example.org/<l6>/<uuid>/<h32>?page=<d2>", chance),
    lambda chance: formats.make("registry.example.org/<l6>/<l8>:v<d1>.<d2>.<d1>-<h7>", chance),
    lambda chance: formats.make("h1:<b43>=", chance),
    lambda chance: formats.make("test_<l12>_<l8>_<d2>", chance),
    lambda chance: formats.make("req_<n24>", chance),
]


@pytest.mark.parametrize("make", UNLIKE, ids=range(len(UNLIKE)))
def test_no_id_hash_path_or_address_is_taken_for_a_token(make: Callable[[random.Random], str]) -> None:
    chance = random.Random(SEED)
    made = [make(chance) for _ in range(200)]
    assert [text for text in made if REDACTOR.text(f"see {text}, or {text}.").count(text) != 2] == []
