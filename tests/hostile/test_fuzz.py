"""Promise 19: whatever is read, the answer is a value or one of our own errors; never another exception, never a hang.

2,000 inputs per parser, the same ones each time. `FUZZ=100000 scripts/test tests/hostile/test_fuzz.py` takes more of
them, and others.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings, strategies as st

import holdfast
from holdfast import config, intake, process, projects, spool
from holdfast.errors import HoldfastError
from holdfast.intake import Call, NotACall
from tests.hostile import inputs
from tests.surfaces.inside import call

pytestmark = pytest.mark.promise(19)

INPUTS = int(os.environ.get("FUZZ", "2000"))
BATCH = 20  # inputs that are tried together, where trying one costs much
Begin = Callable[[], None]


def fuzz(examples: int = INPUTS) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=INPUTS == 2000,
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


@fuzz()
@given(inputs.payloads)
def test_a_payload_is_a_value_or_not_a_call(begin: Begin, data: bytes) -> None:
    begin()
    with contextlib.suppress(NotACall):
        json.dumps(intake.parse(data), allow_nan=False)


@fuzz()
@given(inputs.kept_files)
def test_a_kept_file_is_a_call_or_not_a_call(
    begin: Begin, tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    begin()
    inbox, name = tmp_path_factory.getbasetemp(), "00000000000000000001-2cc64b64-1-00000000"
    (inbox / name).write_bytes(data)
    with contextlib.suppress(NotACall):
        assert isinstance(intake.read(inbox, name), Call)


def test_every_kept_file_is_taken_in_or_set_aside(target: Path, begin: Begin) -> None:
    """From the inbox into the journal, and out again through every way of looking."""
    inbox = target / ".git/holdfast/inbox"

    @fuzz(INPUTS // BATCH)
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


@fuzz(INPUTS // BATCH)
@given(batches_of(inputs.file_names))
def test_any_name_in_the_inbox_is_a_call_or_is_passed_over(
    begin: Begin, tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    begin()
    inbox = tmp_path_factory.mktemp("inbox")
    for name in names:
        (inbox / name).write_bytes(inputs.GOOD_CALL)
    for name in intake.waiting(inbox):
        assert isinstance(intake.read(inbox, name), Call)
    intake.clear_leftovers(inbox, 2.0e9)


@fuzz()
@given(inputs.documents)
def test_a_project_s_settings_never_fail_and_a_user_s_fail_in_our_words(
    begin: Begin, tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    begin()
    root = tmp_path_factory.getbasetemp()
    project, user, absent = root / config.PROJECT_FILE, root / "user.toml", root / "absent.toml"
    project.write_bytes(data)
    assert bounds_hold(config.load(absent, root, {}))
    project.write_bytes(b"")
    user.write_bytes(data)
    with in_our_words():
        assert bounds_hold(config.load(user, root, {}))


def bounds_hold(found: config.Settings) -> bool:
    numbers = {key: setting for key, setting in config.SETTINGS.items() if not isinstance(setting.default, str)}
    return all(setting.least <= found.number(key) <= setting.most for key, setting in numbers.items())


def test_an_environment_is_understood_or_refused_in_our_words(target: Path, begin: Begin) -> None:
    @fuzz()
    @given(inputs.environments)
    def look(environ: dict[str, str]) -> None:
        begin()
        with holdfast.open(target, environ={**os.environ, **environ}) as workspace, in_our_words():
            assert holdfast.brief(workspace).text

    look()


def test_a_damaged_list_of_rows_is_passed_over(target: Path, begin: Begin) -> None:
    with holdfast.open(target) as workspace:

        @fuzz()
        @given(inputs.listings)
        def look(data: bytes) -> None:
            begin()
            (workspace.place / "listed.json").write_bytes(data)
            with in_our_words():
                assert holdfast.show(workspace, "1").run.id

        look()


def test_what_hooks_wrote_about_trouble_never_stops_the_status(target: Path, begin: Begin) -> None:
    @fuzz(INPUTS // BATCH)
    @given(batches_of(inputs.troubles))
    def look(lines: list[bytes]) -> None:
        begin()
        (target / ".git/holdfast/trouble").write_bytes(b"\n".join(lines))
        assert call("status", directory=target).ok()

    look()


def test_a_damaged_claim_is_no_claim(target: Path, home: Path, begin: Begin) -> None:
    claims, store = home / ".local/state/holdfast/stores", target / ".git/holdfast"
    (path,) = [claims / name for name in os.listdir(claims) if not name.startswith(".")]
    good = path.read_bytes()
    damaged = st.one_of(
        inputs.payloads, inputs.bent(good), st.tuples(inputs.numbers, inputs.numbers, inputs.sound_text).map(claim)
    )

    @fuzz()
    @given(damaged)
    def look(data: bytes) -> None:
        begin()
        path.write_bytes(data)
        with in_our_words():
            projects.check(claims, store, target)

    try:
        look()
    finally:
        path.write_bytes(good)
    projects.check(claims, store, target)


def claim(values: tuple[Any, Any, str]) -> bytes:
    device, inode, text = values
    return json.dumps({"store": text, "path": text, "root": text, "device": device, "inode": inode}).encode()


@fuzz()
@given(inputs.git_files)
@example(b"gitdir: a\0b")
@example(b"gitdir: " + b"../" * 5000)
@example(b"gitdir: .git")
def test_any_git_file_leads_somewhere_or_nowhere(
    begin: Begin, tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    begin()
    root = tmp_path_factory.getbasetemp() / "git-file"
    root.mkdir(exist_ok=True)
    (root / ".git").write_bytes(data)
    worktree, store = spool.locate(str(root))
    assert spool.worktree_name(worktree)
    assert store.endswith(("/holdfast", "/.holdfast"))


@fuzz()
@given(inputs.process_lines)
def test_any_line_about_a_process_is_read_or_passed_over(begin: Begin, text: str) -> None:
    begin()
    found = process.parse_stat(text)
    assert found is None or len(found) == 2


def answered(target: Path, line: list[str]) -> None:
    done = call(*line, directory=target)
    assert done.code in (0, 1, 2, 10, 11), f"{line!r:.300}: exit {done.code}\n{done.out}{done.err}"
    assert done.out or done.err or done.code == 0


@pytest.mark.parametrize("line", inputs.ODD_LINES, ids=lambda line: ascii(" ".join(line))[:40])
def test_an_odd_line_of_arguments_gets_an_answer(line: list[str], target: Path, begin: Begin) -> None:
    begin()
    answered(target, line)


def test_any_line_of_arguments_gets_an_answer(target: Path, begin: Begin) -> None:
    @fuzz()
    @given(inputs.lines)
    def answer(line: list[str]) -> None:
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
