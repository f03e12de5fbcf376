"""The lists of CONTRIBUTING under "How to add …", followed with an invented example in a copy of the project.

A step begins with the files that it is about. The examples change these and no others. Those of an agent and a layout
are in `tests/contract`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .tree import ROOT

PACKAGE = ROOT / "src" / "holdfast"
PATH = re.compile(r"`([\w.-]+/[\w./-]*|\w+\.(?:py|toml))`")
TITLES = (
    "a verb", "an event kind", "a field of an event", "a store", "an artifact kind", "an agent", "a layout",
    "a setting", "a surface", "a secret", "a sync, a lock, or a check of a path, of trust or of secrets",
    "a schema change of the store",
)  # fmt: skip


def steps(title: str) -> list[str]:
    """The steps of a list, or its only paragraph."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## How to add")[2]
    found = text.partition(f"**{title}.**")[2].partition("\n\n**")[0].partition("\n\n## ")[0]
    return re.split(r"^\d\. ", found, flags=re.MULTILINE)[1:] or [found]


def paths(title: str) -> set[str]:
    """The files with which the steps begin."""
    return {path for step in steps(title) for path in PATH.findall(step.partition(":")[0])}


class Copy:
    """A copy of the project, in which only the files of a list can be changed."""

    def __init__(self, root: Path, title: str, name: str) -> None:
        self.root = root
        self.left = {path.replace("NAME", name).replace("SUBJECT", name) for path in paths(title)}
        for folder in ("src", "scripts", "docs", "tests"):
            ignored = shutil.ignore_patterns("__pycache__", "node_modules")
            shutil.copytree(ROOT / folder, root / folder, ignore=ignored, symlinks=True)
        shutil.copy(ROOT / "pyproject.toml", root)

    def _take(self, path: str) -> Path:
        folder = next((folder for folder in self.left if folder.endswith("/") and path.startswith(folder)), path)
        assert folder in self.left, f"CONTRIBUTING does not name {path}, or it was changed already"
        self.left.remove(folder)
        is_outside = path.partition("/")[0] in ("tests", "docs", "scripts") or path == "pyproject.toml"
        return (self.root if is_outside else self.root / "src" / "holdfast") / path

    def add(self, path: str, text: str) -> None:
        place = self._take(path)
        assert not place.exists()
        place.parent.mkdir(exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def insert(self, path: str, mark: str, text: str) -> None:
        """Insert a line, or a part of one, behind a mark."""
        place = self._take(path)
        before = place.read_text(encoding="utf-8")
        assert before.count(mark) == 1, f"{path} has no such place: {mark}"
        place.write_text(before.replace(mark, mark + text), encoding="utf-8")

    def make(self, script: str) -> None:
        self.run(str(self._take(script)))

    def run(self, *arguments: str, directory: Path | None = None, **variables: str) -> str:
        path = {**os.environ, "PYTHONPATH": str(self.root / "src"), **variables}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=directory or self.root, env=path, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def prove(self, test: str, example: str) -> None:
        """Run the tests of a file of the contract for the example."""
        out = self.run("-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", test, "-k", example)
        assert re.search(r"[1-9]\d* passed", out), out


def test_the_lists_are_those_that_are_tested() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## How to add")[2]
    assert set(re.findall(r"^\*\*(an? [^*]+)\.\*\*", text, re.MULTILINE)) == set(TITLES)


@pytest.mark.parametrize("title", TITLES)
def test_what_a_list_names_is_there(title: str) -> None:
    named = {path for step in steps(title) for path in PATH.findall(step)}
    real = {re.sub(r"(NAME|SUBJECT).*", "", path) for path in named}
    assert real
    places = (ROOT, PACKAGE, *(PACKAGE / path for path in real if path.endswith("/")))
    assert {path for path in real if not any((place / path).exists() for place in places)} == set()


VERB = '''"""Wave at a run."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from holdfast.operations.parameters import argument, option
from holdfast.operations.verb import Group, verb
from holdfast.project.workspace import Workspace


class Waved(Struct):
    who: str
    times: int


@verb(group=Group.TELL, example="holdfast wave robot --times 2", aliases=("hello",), changes=False)
def wave(
    workspace: Workspace,
    who: Annotated[str, argument()],
    *,
    times: Annotated[int, option(least=1, most=9, metavar="N", help="How often.")] = 1,
) -> Waved:
    """Wave at an agent."""
    return Waved(who, times)
'''
RENDERER = '''"""Waves."""

from __future__ import annotations

from holdfast.operations import wave
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said


@renders
def said_waved(found: wave.Waved, view: View) -> Said:
    return Said(found, [f"{found.who} " * found.times])
'''


def test_a_verb_that_is_added_by_the_list_is_on_every_surface(tmp_path: Path, repository: Path) -> None:
    copy = Copy(tmp_path / "copy", "a verb", "wave")
    copy.add("operations/wave.py", VERB)
    copy.add("surfaces/cli/render/wave.py", RENDERER)
    copy.insert("surfaces/cli/render/__init__.py", "MODULES = {", '\n    "wave": "wave",')
    copy.make("scripts/registry")
    copy.make("scripts/reference")
    assert copy.left == {"tests/operations/", "tests/surfaces/commands.py"}

    def holdfast(*arguments: str) -> str:
        return copy.run("-m", "holdfast", *arguments, directory=repository)

    assert holdfast("wave", "robot", "--times", "2") == "robot robot \n"
    assert json.loads(holdfast("hello", "robot", "--json")) == {"who": "robot", "times": 1}
    assert "  wave " in holdfast("help", "--all")
    assert "--times N" in holdfast("help", "wave")
    assert "wave" in copy.run("-c", "import holdfast; print(*holdfast.__all__)").split()
    assert copy.run("-c", "import holdfast; print(holdfast.wave.__module__)") == "holdfast.operations.wave\n"
    assert "holdfast wave" in (copy.root / "docs/reference/commands.md").read_text()


def test_a_setting_that_is_added_by_the_list_can_be_set_everywhere(tmp_path: Path, repository: Path) -> None:
    copy = Copy(tmp_path / "copy", "a setting", "wave")
    copy.insert(
        "project/settings.py",
        "BY_PROJECT = (\n",
        '    Setting("wave.times", 3, "waves at an agent", 1, 9),\n',
    )
    copy.make("scripts/reference")
    copy.insert(
        "tests/project/test_settings.py", "tuple[int | float | str, bool]] = {\n", '    "wave.times": (3, True),\n'
    )
    assert copy.left == set()
    copy.prove("tests/project/test_settings.py", "wave or the_settings_are_these")

    def value(**variables: str) -> int:
        line = ("-m", "holdfast", "config", "get", "wave.times", "--json")
        return int(json.loads(copy.run(*line, directory=repository, **variables))["value"])

    assert value() == 3
    (repository / ".holdfast.toml").write_text("[wave]\ntimes = 5\n")
    assert value() == 5
    assert value(HOLDFAST_WAVE_TIMES="7") == 7
    assert "`wave.times`" in (copy.root / "docs/reference/settings.md").read_text()


WAVED = '    run.tags = [text_of(body.get("mood"))]\n'


def test_a_field_of_an_event_that_is_added_by_the_list_is_recorded_folded_shown_and_found(
    tmp_path: Path, repository: Path
) -> None:
    copy = Copy(tmp_path / "copy", "a field of an event", "entries")
    copy.insert("operations/entries.py", '"run.renamed", {"name": name', ', "mood": f"{name}?"')
    with pytest.raises(AssertionError, match=r"run\.renamed: mood"):
        copy.prove("tests/operations/test_entries.py", "rename")
    copy.insert("core/event_kinds.py", '"run.renamed": Kind("it got a name", _keys("name', " mood")
    copy.insert("core/fold/run.py", 'run.name = text_of(body.get("name")) or None\n', WAVED)
    copy.insert("core/event_text.py", "renamed to {_text(body.get('name'))}", " ({_text(body.get('mood'))})")
    copy.left.add("core/event_text.py")  # one step, two places
    copy.insert("core/event_text.py", '"run.renamed": ("goal", "name"', ', "mood"')
    copy.make("scripts/reference")
    assert copy.left == {"agents/entries/events.py", "layouts/entries/"}
    copy.prove("tests/house/test_event_kinds.py", "")
    copy.prove("tests/operations/test_entries.py", "rename")

    def holdfast(*arguments: str) -> str:
        return copy.run("-m", "holdfast", *arguments, directory=repository)

    holdfast("start", "Fix the parser")
    holdfast("rename", "Wave")
    assert json.loads(holdfast("status", "--json"))["run"]["tags"] == ["Wave?"]
    assert "renamed to Wave (Wave?)" in holdfast("log")
    assert "`mood`" in (copy.root / "docs/reference/events.md").read_text()


CLEAN = """
import json, sys
from holdfast.redaction.redactor import Redactor
print(json.dumps(Redactor().clean(json.loads(sys.argv[1]))[0]))
"""


def test_a_header_that_is_added_by_the_list_is_hidden_in_every_shape(tmp_path: Path) -> None:
    copy = Copy(tmp_path / "copy", "a secret", "wave")
    copy.insert("redaction/classifiers.py", 'HEADERS = r"', "wave-subscription|")
    copy.insert("redaction/__init__.py", "RULES = ", "1")
    copy.insert("tests/redaction/test_secret_shapes.py", "ALIGNED = [\n", '    "Wave-Subscription: {}",\n')
    assert copy.left == {"redaction/token_formats.py", "redaction/contexts.py"}
    copy.prove("tests/redaction/test_secret_shapes.py", "Wave-Subscription")
    secret = "c0rrect9" + "Horse"
    shapes: list[object] = [
        f"Wave-Subscription: {secret}",
        f"curl -H 'wave-subscription: {secret}' https://example.org",
        f'set("Wave-Subscription", "{secret}")',
        json.dumps({"wave-subscription": secret}),
        {"Wave-Subscription": secret},
        ["Wave-Subscription", secret],
        {"name": "wave-subscription", "value": secret},
    ]
    out = copy.run("-c", CLEAN, json.dumps(shapes))
    assert (secret in out, out.count("[redacted ")) == (False, len(shapes)), out


SURFACE = '''"""A surface that calls the verb of a line of JSON, and answers in JSON."""

from __future__ import annotations

import json

import msgspec

import holdfast
from holdfast.operations.commands import load_all
from holdfast.operations.parameters import values


def main(line: str) -> int:
    call = json.loads(line)
    verb = load_all()[call["verb"]]
    given = values((parameter, call["arguments"].get(parameter.target)) for parameter in verb.parameters)
    with holdfast.open(".") as workspace:
        if verb.changes and verb.asks and verb.asks(workspace, given, False):
            print("{}")
            return 1
        result = verb.call(workspace, given)
    print(msgspec.json.encode(result).decode())
    return 0
'''


def test_a_surface_that_is_added_by_the_list_calls_every_verb(tmp_path: Path, repository: Path) -> None:
    copy = Copy(tmp_path / "copy", "a surface", "telegraph")
    copy.add("surfaces/telegraph/__init__.py", SURFACE)
    copy.insert(
        "__main__.py",
        "def _answer(arguments: list[str]) -> int:\n",
        '    if arguments[:1] == ["telegraph"]:\n'
        "        from holdfast.surfaces.telegraph import main as answer_telegraph\n\n"
        "        return answer_telegraph(arguments[1])\n",
    )
    assert copy.left == {"tests/surfaces/"}

    def call(verb: str, **arguments: object) -> dict[str, Any]:
        line = json.dumps({"verb": verb, "arguments": arguments})
        found: dict[str, Any] = json.loads(copy.run("-m", "holdfast", "telegraph", line, directory=repository))
        return found

    run = call("start", goal="Fix the parser")["run"]
    assert call("note", text="It waves")["entry"] == "n1"
    assert call("status")["run"]["id"] == run["id"]
    assert [found["id"] for found in call("runs", since="3d")["runs"]] == [run["id"]]
    (repository / "plan.md").write_text("one\n")
    made = call("checkpoint")["checkpoint"]
    (repository / "plan.md").write_text("two\n")
    call("restore", checkpoint=made["id"], yes=True)
    assert (repository / "plan.md").read_text() == "one\n"
    call("undo", yes=True)
    assert (repository / "plan.md").read_text() == "two\n"


ARTIFACT = '''"""How many lines a file has."""

from __future__ import annotations

from holdfast.project.artifacts import files
from holdfast.project.artifacts.protocol import Found, Loaded, Wanted


def look(wanted: Wanted) -> Found:
    found = files.look(wanted)
    return Found(found.exists, None, found.shown, found.why)


def load(wanted: Wanted) -> Loaded:
    loaded = files.load(wanted)
    text = f"{len(loaded.text.splitlines())} lines in all\\n"
    return Loaded(text, len(text), loaded.source)
'''


def test_an_artifact_kind_that_is_added_by_the_list_is_in_the_brief(tmp_path: Path, repository: Path) -> None:
    copy = Copy(tmp_path / "copy", "an artifact kind", "lines")
    copy.add("project/artifacts/lines.py", ARTIFACT)
    copy.insert("project/artifacts/protocol.py", "PATHS, COMMANDS = (", '"lines", ')
    copy.left.add("project/artifacts/protocol.py")  # one step, two places
    copy.insert("project/artifacts/protocol.py", "each kind\n", '    "lines": "lines",\n')
    copy.insert("tests/contract/test_sources.py", "GOOD = {\n", '    "lines": {"path": "docs/a.md"},\n')
    assert copy.left == set()

    (repository / "plan.md").write_text("one\ntwo\nthree\n")
    (repository / ".holdfast.toml").write_text('[brief]\nartifacts = "lines:plan.md"\n')
    copy.run("-m", "holdfast", "start", "Fix the parser", directory=repository)
    assert "3 lines in all" in copy.run("-m", "holdfast", "brief", directory=repository)
    copy.prove("tests/contract/test_sources.py", "lines")


STORE = '''"""A store in a directory that its address names."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal.sqlite.store import SqliteStore


class MirrorStore(SqliteStore):
    def __init__(self, directory: Path, deadline: float) -> None:
        super().__init__(directory / "mirror.db", deadline)
'''


def test_a_store_that_is_added_by_the_list_is_opened_and_under_contract(tmp_path: Path, repository: Path) -> None:
    copy = Copy(tmp_path / "copy", "a store", "mirror")
    copy.add("journal/mirror/store.py", STORE)
    copy.insert(
        "journal/__init__.py",
        'on first use."""\n',
        '    if url.startswith("mirror://"):\n'
        "        from holdfast.journal.mirror.store import MirrorStore\n\n"
        '        return MirrorStore(Path(url.removeprefix("mirror://")), deadline)\n',
    )
    copy.insert(
        "tests/contract/makers.py",
        'MAKERS: dict[str, Maker] = {"sqlite": make_sqlite',
        ', "mirror": lambda directory, deadline: open_store(f"mirror://{directory}", deadline)',
    )
    makers = copy.root / "tests/contract/makers.py"
    makers.write_text(
        makers.read_text().replace(
            "from holdfast.journal.", "from holdfast.journal import open_store\nfrom holdfast.journal.", 1
        )
    )
    copy.insert(
        "project/workspace.py",
        'in which it is a file."""\n',
        '        if "MIRROR" in self.environ:\n            return f"mirror://{self.environ[\'MIRROR\']}"\n',
    )
    assert copy.left == {"pyproject.toml", "tests/house/test_access.py"}
    copy.prove("tests/contract/test_store_rows.py", "mirror")

    def holdfast(*arguments: str) -> dict[str, Any]:
        line = ("-m", "holdfast", *arguments, "--json")
        found: dict[str, Any] = json.loads(copy.run(*line, directory=repository, MIRROR=str(tmp_path)))
        return found

    assert holdfast("start", "Fix the parser")["run"]["goal"] == "Fix the parser"
    assert holdfast("verify")["events"] > 0
    sizes = holdfast("runs", "--size")
    assert sizes["room"]["journal"] == (tmp_path / "mirror.db").stat().st_size
    assert min(sizes["rest"].values()) >= 0
    assert not list(repository.rglob("journal.db"))
