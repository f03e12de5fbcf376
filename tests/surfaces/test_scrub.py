"""Commands repeat what somebody has said: never a secret, and no half of one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import holdfast
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import scrub
from tests.redaction.test_redactor import TOKENS
from tests.tools import Command

TOKEN, LONG = TOKENS["github"], TOKENS["jwt"]
KNOWN = "xq7Vn-kk2-plum"
LONG_KNOWN = "Vn7" + "-kk2-plum" * 10

pytestmark = pytest.mark.promise(26)


@pytest.fixture
def guarded(project: Workspace) -> Workspace:
    """A project with secrets of its own, and a pattern of the user's."""
    holdfast.start(project, "goal")
    (project.root / ".env").write_text(f"API_TOKEN={KNOWN}\nDB_PASSWORD={LONG_KNOWN}\n")
    (project.root / "sub").mkdir()
    Command.run("config", "set", "redact.patterns", "acme-[0-9]{6}", directory=project.root).ok()
    return project


def say(project: Workspace, *words: str, directory: str = ".") -> str:
    """All that a command says; never more than a few letters of a secret."""
    done = Command.run(*words, directory=project.root / directory)
    told = done.out + done.err
    for secret in (TOKEN, LONG, KNOWN, LONG_KNOWN, "acme-123456", "hunter2xyz9"):
        assert secret[:9] not in told, words
    return told


def count_of(project: Workspace) -> int:
    return len(holdfast.log(project).events)


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["words", "json"])
def test_what_a_team_tells_is_answered_as_it_is_stored_and_the_same_again_is_no_news(
    guarded: Workspace, form: tuple[str, ...]
) -> None:
    """The answer was made of what was typed, and that was never what is stored: each time it was news."""
    given = guarded.root / "given"
    given.write_text(f"password=hunter2xyz9\nGH={TOKEN}\n{KNOWN}\n")
    for words in (
        ("output", "spec", str(given)),
        ("output", "files_created", str(given)),
        ("handoff", f"robot-{KNOWN}"),
        ("handoff", TOKEN),
        ("metric", "coverage", f"so {TOKEN}"),
        ("metric", "db_password", "hunter2xyz9"),
    ):
        before = count_of(guarded)
        say(guarded, *words, *form)
        assert count_of(guarded) == before + 1
        again = say(guarded, *words, *form)
        assert count_of(guarded) == before + 1, words
        assert not form or json.loads(again.splitlines()[0])["changed"] is False
    for words in (("metric", TOKEN, "5"), ("output", TOKEN, str(given))):
        assert "A key is a short word" in say(guarded, *words, *form)


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["words", "json"])
@pytest.mark.parametrize("secret", [TOKEN, LONG, KNOWN, LONG_KNOWN, "acme-123456"])
@pytest.mark.parametrize("directory", [".", "sub"])
def test_what_was_typed_in_vain_is_repeated_without_secrets_wherever_one_stands(
    guarded: Workspace, secret: str, directory: str, form: tuple[str, ...]
) -> None:
    for words in (["search", secret], ["search", "a " * 30 + secret], ["show", secret], ["command", f"*save {secret}"]):
        say(guarded, *words, *form, directory=directory)


def test_settings_that_cannot_be_read_make_no_error_say_a_secret(guarded: Workspace, home: Path) -> None:
    path = next(home.rglob("config.toml"))
    path.write_text("[broken")
    say(guarded, "show", TOKEN)
    say(guarded, "show", KNOWN)


def test_what_was_typed_and_holds_no_secret_is_repeated_as_it_is(
    guarded: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(guarded.root)
    typed = ["so " * 40, f"so and so {TOKEN}"]
    told = ["No such thing: so so so so…", ["try so and so ghp_a1B2a1B…", "so and s…"], [("a", "b…")]]
    found = scrub.without_secrets(told, typed)
    assert found[0] == told[0]
    assert found[1] == ["try so and so [redacted t…", "so and s…"]
    assert found[2] == [["a", "b…"]]
