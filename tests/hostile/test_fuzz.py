"""Promise 19: whatever is read, the answer is a value or one of our own errors; never another exception, never a hang.

2,000 inputs a parser with every change, the same ones each time. `scripts/test -m long tests/hostile/test_fuzz.py`
takes 100,000 and `-m hours` a million; `FUZZ_SEED` says which ones.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings, strategies as st

import holdfast
from holdfast.core.errors import HoldfastError
from holdfast.project import inbox as intake, settings as config
from holdfast.project.inbox import Call
from tests.hostile import inputs
from tests.hostile.fuzzing import FAST, each_lesser_number, each_number, fuzz
from tests.hostile.parsers import PARSERS, Parser
from tests.hostile.parsers_on_disk import ON_DISK, on_disk
from tests.promises import Figure
from tests.surfaces.in_process import call

pytestmark = pytest.mark.promise(19)

BATCH = 20  # inputs that are tried together, where trying one costs much
Begin = Callable[[], None]


@each_number
@pytest.mark.parametrize("name", PARSERS)
def test_whatever_is_read_is_a_value_or_refused_in_our_words(name: str, count: int, figure: Figure) -> None:
    assert fuzz(name, PARSERS[name], count) == count
    figure("fuzzed inputs", count)


@pytest.fixture(scope="module")
def files() -> Iterator[dict[str, Parser]]:
    """What reads files, in a place where writing costs little: there is one, and what is tried there leaves nothing."""
    quick = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=quick if os.access(quick, os.W_OK) else None) as place:
        yield on_disk(Path(place).resolve())


@pytest.mark.promise(6)
@each_number
@pytest.mark.parametrize("name", ON_DISK)
def test_whatever_file_is_read_is_a_value_or_refused_in_our_words(
    name: str, count: int, files: dict[str, Parser], figure: Figure
) -> None:
    assert fuzz(name, files[name], count) == count
    figure("fuzzed inputs", count)


def test_the_fuzzing_would_see_what_falls_out_hangs_or_takes_all_memory() -> None:
    """Or all of the above would prove nothing."""

    def hang(data: bytes) -> None:
        while True:
            pass

    kept: list[bytes] = []
    for attempt, told in (
        (lambda data: json.loads(data), "JSONDecodeError"),
        (hang, "Hang"),
        (lambda data: kept.append(bytes(range(256)) * (1 << 19)), "it took"),
    ):
        with pytest.raises(AssertionError, match=told):
            fuzz("wrong", Parser([b"{}", b'{"a": 1}'], attempt), 3)


def test_the_same_number_makes_the_same_inputs() -> None:
    def tried(seed: int) -> list[bytes]:
        found: list[bytes] = []
        fuzz("any", Parser([b'{"a": [1, 2], "b": "c"}', b"a=b\n"], found.append), 300, seed)
        return found

    assert tried(1) == tried(1) != tried(2)


# What goes through a whole command


def within(count: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return settings(
        max_examples=count,
        derandomize=count <= FAST,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        database=None,
    )


def batches_of(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(strategy, min_size=BATCH, max_size=BATCH)


@contextlib.contextmanager
def in_our_words() -> Iterator[None]:
    """What goes wrong in here is an error of ours, with a sentence and a way out."""
    try:
        yield
    except HoldfastError as error:
        told = (error.message, error.hints)
        assert all(told), told


@each_lesser_number
def test_every_kept_file_is_taken_in_or_set_aside(target: Path, begin: Begin, count: int) -> None:
    """From the inbox into the journal, and out again through every way of looking."""
    inbox = target / ".git/holdfast/inbox"

    @within(count // BATCH)
    @given(batches_of(inputs.kept_files))
    @example([inputs.GOOD_CALL + payload for payload in inputs.ODD_JSON])
    def take_in(files: list[bytes]) -> None:
        begin()
        for number, data in enumerate(files):
            (inbox / f"{number:020d}-2cc64b64-1-{os.urandom(4).hex()}").write_bytes(data)
        found = call("sweep", "--json", directory=target).ok().json
        assert found["taken_in"] + found["set_aside"] == len(files)
        assert [name for name in os.listdir(inbox) if name != "aside"] == []

    take_in()
    for line in ("log -n 50", "log --json -n 50", "status", "show", "brief", "runs --json"):
        assert call(*line.split(), directory=target).ok()


@each_lesser_number
def test_any_name_in_the_inbox_is_a_call_or_is_passed_over(begin: Begin, tmp_path: Path, count: int) -> None:
    @within(count // BATCH)
    @given(batches_of(inputs.file_names))
    def look(names: list[str]) -> None:
        begin()
        inbox = Path(tempfile.mkdtemp(dir=tmp_path))
        for name in names:
            (inbox / name).write_bytes(inputs.GOOD_CALL)
        for name in intake.waiting(inbox):
            assert isinstance(intake.read(inbox, name), Call)
        intake.clear_leftovers(inbox, 2.0e9)

    look()


@each_lesser_number
def test_a_setting_is_within_its_bounds_whatever_a_file_says(begin: Begin, tmp_path: Path, count: int) -> None:
    project, user, absent = tmp_path / config.PROJECT_FILE, tmp_path / "user.toml", tmp_path / "absent.toml"

    @within(count // BATCH)
    @given(batches_of(inputs.documents))
    def look(documents: list[bytes]) -> None:
        for data in documents:
            begin()
            project.write_bytes(data)
            assert bounds_hold(config.load(absent, tmp_path, {}))
            user.write_bytes(data)
            with in_our_words():
                assert bounds_hold(config.load(user, absent, {}))

    look()


def bounds_hold(found: config.Settings) -> bool:
    numbers = {key: setting for key, setting in config.SETTINGS.items() if not isinstance(setting.default, str)}
    return all(setting.least <= found.number(key) <= setting.most for key, setting in numbers.items())


@each_lesser_number
def test_an_environment_is_understood_or_refused_in_our_words(target: Path, begin: Begin, count: int) -> None:
    @within(count // BATCH)
    @given(batches_of(inputs.environments))
    def look(environments: list[dict[str, str]]) -> None:
        for environ in environments:
            begin()
            with holdfast.open(target, environ={**os.environ, **environ}) as workspace, in_our_words():
                assert holdfast.brief(workspace).text

    look()


def answered(target: Path, line: list[str]) -> None:
    done = call(*line, directory=target)
    assert done.code in (0, 1, 2, 10, 11), f"{line!r:.300}: exit {done.code}\n{done.out}{done.err}"
    assert done.out or done.err or done.code == 0


@pytest.mark.parametrize("line", inputs.ODD_LINES, ids=lambda line: ascii(" ".join(line))[:40])
def test_an_odd_line_of_arguments_gets_an_answer(line: list[str], target: Path, begin: Begin) -> None:
    begin()
    answered(target, line)


@each_lesser_number
def test_any_line_of_arguments_gets_an_answer(target: Path, begin: Begin, count: int) -> None:
    @within(count // BATCH)
    @given(batches_of(inputs.lines))
    def answer(lines: list[list[str]]) -> None:
        for line in lines:
            begin()
            answered(target, line)

    answer()


NO_TEXT = [
    ["show", "nowhere\udcff"],
    ["tag", "a b\udcff", "--json"],
    ["x\udcff", "--json"],
    ["runs", "--search", "\udcff"],
]


@pytest.mark.parametrize("line", NO_TEXT, ids=lambda line: line[0].encode("ascii", "replace").decode())
def test_bytes_that_are_no_text_get_an_answer_from_a_real_process(line: list[str], target: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "holdfast", *line], cwd=target, capture_output=True, check=False)
    assert done.returncode in (0, 1, 2, 10)
    assert b"Traceback" not in done.stderr
