"""Where output goes and what becomes of it: pipes, full disks, closed doors, terminals with and without colour."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.surfaces.cli import progress
from tests.surfaces.commands import Known
from tests.surfaces.in_process import call
from tests.surfaces.terminal import Terminal, on_a_terminal
from tests.tools import Command

HOLDFAST = f"{sys.executable} -m holdfast"


def shell(line: str, directory: Path, **env: str) -> Command:
    """One line of bash, in which `holdfast` is the command; the code is that of the first program in a pipe."""
    script = f'holdfast() {{ {HOLDFAST} "$@"; }}; {line}; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(
        ["bash", "-c", script], cwd=directory, env={**os.environ, **env}, capture_output=True, timeout=60, check=False
    )
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    return Command((line,), done.returncode, out, err)


@pytest.fixture
def talkative(repository: Path) -> Path:
    """A project whose log is longer than what a pipe holds."""
    with holdfast.open(repository) as workspace:
        run = holdfast.start(workspace, "goal").run.id
        with workspace.writing() as journal:
            journal.append(run, *[holdfast.Draft("note.added", {"text": "words " * 25})] * 1000)
    return repository


@pytest.mark.parametrize("arguments", ["log", "log --json", "show", "log -f"])
def test_a_reader_that_has_seen_enough_is_no_error(arguments: str, talkative: Path) -> None:
    done = shell(f"holdfast {arguments} | head -1", talkative)
    assert (done.code, done.err) == (0, "")
    assert done.out.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", ["status --json", "show nowhere --json", "--help", "--version", "completion bash"]
)
def test_a_reader_that_was_never_there_gets_no_traceback(arguments: str, worked: Known, repository: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", *arguments.split()],
        cwd=repository,
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert done.stderr == b""
    assert done.returncode == (10 if "nowhere" in arguments else 0)


FULL = ["status", "status --json", "note x", "log", "runs", "show nowhere --json", "--help", "--version"]


@pytest.mark.parametrize("arguments", FULL)
@pytest.mark.promise(19)
def test_a_full_disk_behind_stdout_is_one_sentence(arguments: str, worked: Known, repository: Path) -> None:
    done = shell(f"holdfast {arguments} > /dev/full", repository)
    assert "Traceback" not in done.err
    assert "Exception ignored" not in done.err
    assert done.code in (1, 10)
    assert "holdfast: The disk is full\n" in done.err or "There is no run" in done.err


CLOSED = [
    ("status >&-", ""),
    ("note x >&-", "Noted on"),
    ("status --json >&-", ""),
    ("note x 2>&-", ""),
    ("show nowhere 2>&-", ""),
    ("delete {earlier} <&-", "--yes"),
    ("status <&- >&- 2>&-", ""),
]


@pytest.mark.parametrize(("line", "said"), CLOSED)
@pytest.mark.promise(19)
def test_a_closed_stream_is_no_bug_of_ours(line: str, said: str, worked: Known, repository: Path) -> None:
    done = shell(f"holdfast {worked.fill(line)}", repository)
    assert done.code in (0, 1, 10), done.err
    assert said in done.err
    assert "bug" not in done.err
    if "2>&-" in line and ">&-" not in line.replace("2>&-", ""):
        assert "Noted on" not in done.out, "talk must not end up among the data"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("arguments", [("show",), ("show", "--json"), ("runs",)], ids=" ".join)
def test_a_stream_that_cannot_show_a_letter_shows_something_else(
    arguments: tuple[str, ...], encoding: str, repository: Path
) -> None:
    call("start", "日本語 и кириллица " + "long " * 40, directory=repository).ok()
    done = Command.run(*arguments, directory=repository, env={"PYTHONIOENCODING": encoding}).ok()
    assert "run-" in done.out


COLOUR = re.compile(r"\x1b\[[0-9;]*m")
COLOURFUL = [("status",), ("runs",), ("show", "nowhere"), ("sessions",), ("status", "-v")]


@pytest.mark.parametrize("arguments", COLOURFUL, ids=" ".join)
def test_a_terminal_gets_colour(
    arguments: tuple[str, ...], worked: Known, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR")
    _, screen = on_a_terminal(*arguments, directory=repository)
    assert COLOUR.search(screen), screen


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"NO_COLOR": ""}, {"TERM": "dumb"}], ids=str)
@pytest.mark.parametrize("arguments", [("status",), ("runs",), ("show", "nowhere")], ids=" ".join)
def test_a_terminal_that_wants_no_colour_gets_none(
    env: dict[str, str], arguments: tuple[str, ...], worked: Known, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR")
    _, screen = on_a_terminal(*arguments, directory=repository, env=env)
    assert "\x1b" not in screen
    assert worked.run in screen or "There is no run" in screen


LISTS = [("runs",), ("runs", "--all-projects"), ("runs", "--size"), ("sessions",), ("checkpoints",), ("config", "list")]


@pytest.mark.parametrize("width", [20, 40, 60, 80])
@pytest.mark.parametrize("arguments", LISTS, ids=" ".join)
def test_nothing_in_a_list_is_cut_off_on_a_narrow_terminal(
    arguments: tuple[str, ...], width: int, worked: Known, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR")
    made = call("checkpoint", "-q", directory=repository).ok().out.strip()
    ids = {"runs": worked.run, "sessions": worked.session, "checkpoints": made, "config": "brief.budget"}
    _, screen = on_a_terminal(*arguments, directory=repository, env={"COLUMNS": str(width)})
    assert ids[arguments[0]] in screen
    assert "…" not in screen


@pytest.mark.parametrize("arguments", COLOURFUL, ids=" ".join)
def test_a_pipe_gets_no_colour(
    arguments: tuple[str, ...], worked: Known, cli: Callable[..., Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR")
    done = cli(*arguments, env={"TERM": "xterm-256color"})
    assert "\x1b" not in done.out + done.err


def test_people_read_local_time_and_programs_utc(worked: Known, cli: Callable[..., Command]) -> None:
    tokyo = {"TZ": "Asia/Tokyo"}
    event = cli("log", "-n", "1", "--json", env=tokyo).ok().json["events"][0]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", event["time"])
    lines = {zone: cli("log", "-n", "1", env={"TZ": zone}).ok().out for zone in ("UTC", "Asia/Tokyo")}
    times = {zone: line.split()[1:3] for zone, line in lines.items()}
    assert times["UTC"] == [event["time"][:10], event["time"][11:19]]
    assert (int(times["Asia/Tokyo"][1][:2]) - int(times["UTC"][1][:2])) % 24 == 9


SHOWING = ["status", "show", "log", "show {session}", "command *sessions"]


@pytest.mark.defect("Some verbs printed times in UTC, others in local time, and none could name the zone")
@pytest.mark.parametrize("arguments", SHOWING)
def test_times_are_local_with_their_zone_if_verbose_and_in_utc_in_json(
    arguments: str, worked: Known, cli: Callable[..., Command]
) -> None:
    def times(*options: str, zone: str = "Asia/Tokyo") -> set[str]:
        done = cli(*worked.fill(arguments).split(), *options, env={"TZ": zone})
        return set(
            re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?[^,)\s]*(?: UTC| [+]\d\d:\d\d)?", done.out + done.err)
        )

    local = times()
    assert local
    assert not any("UTC" in time or "+" in time for time in local)
    assert {f"{time} +09:00" for time in local} <= times("--verbose")
    assert {f"{time} UTC" for time in times(zone="UTC")} <= times("--verbose", zone="UTC")
    assert all(time.endswith(" UTC") for time in times("--json"))


@pytest.mark.parametrize("options", [("--markdown",), ("--svg", "-")])
def test_a_document_names_the_zone_of_its_times(
    options: tuple[str, ...], worked: Known, cli: Callable[..., Command]
) -> None:
    text = cli("show", *options, env={"TZ": "Asia/Tokyo"}).ok().out
    assert re.search(r"\d\d:\d\d [+]09:00", text)
    assert "UTC" not in text


def test_every_time_in_json_is_utc(worked: Known, say: Callable[..., Command], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    for arguments in (("status",), ("show",), ("runs",), ("sessions",), ("log",), ("brief",)):
        text = say(*arguments, "--json").ok().out
        stamps = re.findall(r'"(\d{4}-\d\d-\d\dT[^"]*)"', text)
        assert stamps
        assert all(stamp.endswith("Z") for stamp in stamps), arguments


def test_a_followed_log_prints_events_as_they_come(worked: Known, repository: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast", "log", "-n", "1", "-f"],
        cwd=repository,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "Edited client.py" in process.stdout.readline()
        for text in ("first news", "second news"):
            call("note", text, directory=repository).ok()
            assert f"note: {text}\n" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stdout.read() == ""
        assert "Traceback" not in process.stderr.read()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is done counts as long work."""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)


@pytest.mark.usefixtures("impatient")
def test_long_work_shows_plain_lines_where_there_is_no_terminal(worked: Known, say: Callable[..., Command]) -> None:
    done = say("verify").ok()
    assert done.err.startswith("verifying runs: 1 of 2\n")
    assert done.out.startswith("Whole: ")


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("option", ["--json", "-q"])
def test_long_work_shows_nothing_to_machines(option: str, worked: Known, say: Callable[..., Command]) -> None:
    assert say("verify", option).ok().err == ""


def test_short_work_shows_no_progress(
    worked: Known, say: Callable[..., Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 600.0)
    assert say("verify").ok().err == ""


def test_plain_lines_come_at_intervals(
    capsys: pytest.CaptureFixture[str], impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    reporter = progress.Reporter(shown=True)
    for done in range(1, 1001):
        reporter("counting", done, 1000)
    reporter.close()
    assert capsys.readouterr().err == "counting: 1 of 1,000\n"
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    reporter("counting", 1000, 1000)
    assert capsys.readouterr().err == "counting: 1,000 of 1,000\n"


def test_where_the_whole_is_unknown_no_number_stands_for_it(
    capsys: pytest.CaptureFixture[str], impatient: None
) -> None:
    progress.Reporter(shown=True)("looking at files", 1_200, 0)
    assert capsys.readouterr().err == "looking at files: 1,200\n"


BAR = """
import sys
from holdfast.surfaces.cli import progress
progress.PATIENCE = 0.0
reporter = progress.Reporter(shown=sys.argv[1] == "shown")
for done in range(1, 11):
    reporter("counting", done, 10)
reporter.close()
print("data")
"""


@pytest.mark.parametrize(("shown", "bar"), [("shown", True), ("hidden", False)])
def test_long_work_draws_a_bar_on_a_terminal_and_takes_it_away(shown: str, bar: bool, repository: Path) -> None:
    with Terminal(shown, directory=repository, program=[sys.executable, "-c", BAR]) as terminal:
        assert terminal.finish() == 0
    assert ("counting" in terminal.text and "━" in terminal.text and "100%" in terminal.text) is bar
    assert terminal.text.endswith("data\r\n")
    assert terminal.text.count("\x1b[?25l") == terminal.text.count("\x1b[?25h"), "the cursor is shown again"
    assert ("\x1b[2K" in terminal.text) is bar, "the bar does not stay"


STOPPED = """
import functools, os, signal, sys
from msgspec import structs
from holdfast.surfaces.cli import app, progress
from holdfast.operations.commands import get_verb
from holdfast.operations.registry import VERBS
progress.PATIENCE = 0.0

def stop(workspace, **_):
    workspace.progress("working", 1, 2)
    if sys.argv[1] == "ctrl-c":
        os.kill(os.getpid(), signal.SIGINT)
    raise RuntimeError("boom")

found = get_verb("verify")
VERBS["verify"] = structs.replace(found, function=functools.wraps(found.function)(stop))
sys.exit(app.run(["verify"]))
"""


@pytest.mark.parametrize(("how", "code"), [("ctrl-c", 130), ("bug", 3)])
def test_the_terminal_is_left_as_it_was_when_long_work_is_cut_short(
    how: str, code: int, worked: Known, repository: Path
) -> None:
    with Terminal(how, directory=repository, program=[sys.executable, "-c", STOPPED]) as terminal:
        assert terminal.finish() == code
    assert "working" in terminal.text
    assert terminal.text.count("\x1b[?25l") == terminal.text.count("\x1b[?25h"), "the cursor is shown again"
