"""A command that was allowed: a list of words, no shell, no input, an end in time, and nothing of it stays behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.project.artifacts import command
from holdfast.project.artifacts.protocol import Unloadable, Wanted
from holdfast.system.process import identify


def wanted(root: Path, *words: str, limit: int = 10_000, deadline: float = 30.0) -> Wanted:
    shown = " ".join(words)
    return Wanted(
        "x", "skill", root, command=shown, words=list(words), limit=limit, deadline=deadline, environ=os.environ
    )


def run(root: Path, *words: str) -> str:
    return command.load(wanted(root, *words)).text


def test_words_are_words_and_no_shell_reads_them(tmp_path: Path) -> None:
    assert run(tmp_path, "printf", "%s|", "a b", "$HOME", "; touch x", "`id`", "*") == "a b|$HOME|; touch x|`id`|*|"
    assert os.listdir(tmp_path) == []


def test_it_stands_in_the_project_without_input_or_terminal_in_a_group_of_its_own(tmp_path: Path) -> None:
    assert run(tmp_path, "sh", "-c", "pwd; cat; test -t 0 || echo none") == f"{tmp_path}\nnone\n"
    group, own = run(tmp_path, "sh", "-c", "ps -o pgid= -p $$; echo $$").split()
    assert (group == own, group != str(os.getpgrp())) == (True, True)


def test_of_the_environment_it_sees_what_it_needs_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "secret")
    monkeypatch.setenv("LD_PRELOAD", "")
    monkeypatch.setenv("PATH", f".:{tmp_path}/bin::{os.environ['PATH']}")
    seen = dict(line.split("=", 1) for line in run(tmp_path, "env").splitlines())
    assert set(seen) <= {*command.PASSED, "PATH", "HOLDFAST", *command.UNCOMPILED, "PWD", "SHLVL", "_"}
    assert seen["HOLDFAST"] == "0"
    assert all(os.path.isabs(place) and not place.startswith(str(tmp_path)) for place in seen["PATH"].split(":"))


@pytest.mark.parametrize("words", [["sleep", "1000"], ["sh", "-c", "exec 1>&- 2>&-; sleep 1000"]])
def test_what_does_not_end_is_ended(words: list[str], tmp_path: Path) -> None:
    with pytest.raises(Unloadable, match=r"did not end within 0\.2 seconds"):
        command.load(wanted(tmp_path, *words, deadline=0.2))


def test_what_it_leaves_running_is_ended_with_it(tmp_path: Path) -> None:
    pid = int(run(tmp_path, "sh", "-c", "sleep 1000 & echo $!"))
    while (found := identify(pid)) is not None:
        assert found.pid == pid  # the kernel has it on its list until init has seen its end


def test_it_says_no_more_than_anybody_wants_to_hear(tmp_path: Path) -> None:
    with pytest.raises(Unloadable, match="larger than 1,000 bytes") as caught:
        command.load(wanted(tmp_path, "yes", limit=1_000))
    assert (caught.value.size or 0) > 1_000
    assert command.load(wanted(tmp_path, "sh", "-c", "head -c 100000 /dev/zero >&2; echo fine")).text == "fine\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["sh", "-c", "echo no such issue >&2; exit 3"], "failed with exit code 3: no such issue"),
        (["sh", "-c", "kill -9 $$"], "failed with exit code -9"),
        (["no-such-program"], "is no program here"),
        (["./nothing"], "cannot be run: No such file or directory"),
        (["printf", r"a\0b"], "printed output that is not a text"),
    ],
)
def test_what_goes_wrong_is_told(words: list[str], why: str, tmp_path: Path) -> None:
    with pytest.raises(Unloadable) as caught:
        command.load(wanted(tmp_path, *words))
    assert caught.value.why.startswith(why)
