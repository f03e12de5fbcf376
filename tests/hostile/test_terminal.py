"""Promise 24, the terminal's part: what somebody wrote is read on a terminal, and never obeyed by it."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

import holdfast
from tests.hostile.words import ACTING
from tests.surfaces.commands import CASES, Known
from tests.surfaces.terminal import Terminal
from tests.tools import hook

pytestmark = pytest.mark.promise(24)

TEXT = " ".join(f"word{number}{word}" for number, word in enumerate(ACTING))
SHORT = "n\x1b]52;c;eA==\x07a\x9b2Jm\u202ee\x1b[2J"
PLACE = "pro\x1b]0;owned\x07je\u202ect\x9b"

# Written down here once more, so that a hole in our own list is not a hole in its test.
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]|\r(?!\n)"
)
DRAWN = re.compile(r"\r?\x1b\[(?:[0-9]+A|J|[0-9;]*m|\?25[hl])")  # how a list is drawn: up, clear, colours, cursor
COLOUR = re.compile(r"\x1b\[[0-9;]*m")

ALL = """
import json, sys
from holdfast.surfaces.cli import app
for number, arguments in enumerate(json.load(open(sys.argv[1]))):
    print(f"<<{number}>>", flush=True)
    code = app.run(arguments)
    print(f"<<{number} exit {code}>>", flush=True)
"""

ERRORS = """\
show unknown-{}
{}
status --{}
runs --status {}
runs --since {}
config get {}
config set brief.budget {}
config set store.deadline {} --project
task {}
completion {}
note x --run {}
leave {}
pin {}
show --at {}
tag ,{}
switch {}
log -n {}"""


@pytest.fixture
def hostile(tmp_path: Path) -> tuple[Path, Known]:
    """A project in which every text that somebody else can choose is hostile, its directory's name included."""
    directory = tmp_path / PLACE
    (directory / ".git").mkdir(parents=True)
    (directory / ".git/HEAD").write_text("ref: refs/heads/main\n")
    with holdfast.open(directory) as workspace:
        earlier = holdfast.start(workspace, TEXT).run
        run = holdfast.start(workspace, TEXT, pid=os.getpid(), agent=SHORT).run
        workspace.session = None
        session = holdfast.join(workspace, run.id, agent=SHORT).session
        for _ in range(4):
            holdfast.add_task(workspace, TEXT)
            holdfast.decide(workspace, TEXT, because=TEXT)
            holdfast.note(workspace, TEXT)
            holdfast.prompt(workspace, TEXT)
            holdfast.action(workspace, TEXT, files=(TEXT,))
        holdfast.finish_task(workspace, "t1", outcome=TEXT, files=(TEXT,))
        holdfast.pin(workspace, "n1")
        holdfast.rename(workspace, SHORT)
        holdfast.tag(workspace, (SHORT, "t\x1b]0;x\x07ag"))
        holdfast.leave(workspace, holdfast.join(workspace, agent=SHORT).session.id, reason=TEXT)
        holdfast.pause(workspace, earlier.id, reason=TEXT)
        place = workspace.place
    for word in (SHORT, *ACTING):
        if "\0" not in word and word.isprintable() is False and "\ud800" not in word:
            hook(directory, agent=word, event=word, call=json.dumps({"text": TEXT}).encode())
    (place / "inbox" / "00000000000000000001-a-1-a").write_bytes(TEXT.encode("utf-8", "replace"))
    (place / "trouble").write_bytes(b"1767268800 " + SHORT.encode() + b"\n")
    (directory / ".holdfast.toml").write_text(f"{json.dumps(SHORT)} = 1\nbrief.budget = {json.dumps(SHORT)}\n")
    return directory, Known(run.id, earlier.id, session.id)


def lines_of(known: Known) -> list[list[str]]:
    """Every command, ending with those that change much; each for people, with everything said, and for programs."""
    ending = {"delete", "off", "complete", "fail", "abort", "abandon", "completion"}
    waiting = {"-": ".holdfast.toml"}  # a dash would wait for somebody who types
    lines = [case.line(known) for case in CASES if case.words not in ending]
    plain = [[waiting.get(word, word) for word in line] for line in lines]
    last = [case.line(known) for case in CASES if case.words in ending]
    texts = (SHORT, TEXT[:300].replace("\0", ""))
    errors = [[word.replace("{}", text) for word in line.split()] for line in ERRORS.splitlines() for text in texts]
    looks = [*plain, ["show", known.session], ["sessions", "--all"]]
    loud = [[*line, "-v"] for line in looks]
    return [
        *looks,
        *loud,
        *([*line, "--json"] for line in looks),
        *errors,
        *([*line, "--json"] for line in errors),
        *last,
    ]


@pytest.mark.parametrize("colour", [False, True], ids=["plain", "colour"])
def test_no_verb_lets_through_what_a_terminal_would_obey(
    colour: bool, hostile: tuple[Path, Known], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, known = hostile
    if colour:
        monkeypatch.delenv("NO_COLOR")
    lines = lines_of(known)
    (tmp_path / "lines.json").write_text(json.dumps(lines))
    program = [sys.executable, "-c", ALL, str(tmp_path / "lines.json")]
    with Terminal(directory=directory, program=program) as terminal:
        assert terminal.finish() == 0, terminal.text[-2000:]
    answers = re.findall(r"<<(\d+)>>\r\n(.*?)<<\1 exit (\d+)>>", terminal.text, re.DOTALL)
    assert len(answers) == len(lines)
    bad = {}
    for (_, screen, code), line in zip(answers, lines, strict=True):
        shown = COLOUR.sub("", screen) if colour else screen
        if code == "3" or "Traceback" in screen or FORBIDDEN.search(shown):
            bad[" ".join(line)[:60]] = (code, FORBIDDEN.findall(shown)[:5], shown[:200])
    assert bad == {}
    assert "word1" in terminal.text, "what is harmless in it is shown"


def test_questions_are_harmless_too(hostile: tuple[Path, Known]) -> None:
    directory, known = hostile
    for arguments in (("delete", known.earlier), ("forget", "6")):
        with Terminal(*arguments, directory=directory) as terminal:
            terminal.wait_for("[y/N]")
            terminal.type("n\n")
            assert terminal.finish() == 1
        assert not FORBIDDEN.search(terminal.text)


@pytest.mark.parametrize(("kind", "question", "answer"), [("dumb", "Which one", "1\n"), ("xterm", " of ", "\r")])
def test_a_choice_between_runs_is_harmless_too(
    kind: str, question: str, answer: str, hostile: tuple[Path, Known]
) -> None:
    directory, _ = hostile
    with holdfast.open(directory) as workspace:
        for _ in range(2):
            holdfast.start(workspace, TEXT)
        holdfast.complete(workspace)
    with Terminal("note", "text", directory=directory, env={"TERM": kind}) as terminal:
        terminal.wait_for(question)
        terminal.type(answer)
        assert terminal.finish() == 0
    assert not FORBIDDEN.search(DRAWN.sub("", terminal.text))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_a_shell_completes_is_harmless_too(shell: str, hostile: tuple[Path, Known]) -> None:
    directory, known = hostile
    place = "" if shell == "fish" else "2"
    env = {"_HOLDFAST_COMPLETE": f"{shell}_complete", "COMP_WORDS": "holdfast switch ", "COMP_CWORD": place}
    with Terminal(directory=directory, env=env) as terminal:
        terminal.finish()
    assert known.run in terminal.text
    assert not FORBIDDEN.search(terminal.text)


def test_the_judge_of_this_file_finds_what_it_should() -> None:
    missed = [word for word in ACTING if not FORBIDDEN.search(word)]
    assert missed == []
    assert not FORBIDDEN.search("plain text\r\n\twith tabs, é, 日本, 🙂\n")
