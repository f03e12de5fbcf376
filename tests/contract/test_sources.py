"""Contract of every artifact source: inspect without failing, load or report the reason, touch nothing outside."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from holdfast.core.text import one_line
from holdfast.project import artifacts
from holdfast.project.artifacts import declared, protocol
from holdfast.project.artifacts.protocol import SOURCES, Found, Loaded, Source, Unloadable, Wanted, find_source

GOOD = {
    "json": {"path": "plan.json"},
    "markdown": {"path": "docs/a.md"},
    "directory": {"path": "docs"},
    "work_plugin": {"command": "/fractary-work:issue-fetch 258"},
    "skill": {"command": "summarise"},
    "git_info": {"command": "git log --oneline -5"},
}
EVERY_KIND = pytest.mark.parametrize("kind", sorted(SOURCES))


@pytest.fixture
def root(repository: Path) -> Path:
    """A project with a commit, and a secret outside of it."""
    (repository / "docs").mkdir()
    (repository / "docs/a.md").write_text("# A\n")
    (repository / "plan.json").write_text('{"id": 1}\n')
    git = ["git", "-C", str(repository), "-c", "user.name=Dev", "-c", "user.email=dev@example.org"]
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "The first"], check=True)
    (repository.parent / "secret.txt").write_text("SECRET")
    return repository


def a_source(kind: str) -> Source:
    source = find_source(kind)
    assert source is not None
    return source


def wanted(kind: str, root: Path, **changes: object) -> Wanted:
    return Wanted(**{"id": "an-artifact", "kind": kind, "root": root, **GOOD[kind], **changes})  # type: ignore[arg-type]


def tree_of(directory: Path) -> dict[str, tuple[int, int, bytes]]:
    """All files below a directory: mode, modification time and content."""
    found = {}
    for path in sorted(directory.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path)] = (status.st_mode, status.st_mtime_ns, content)
    return found


def test_every_kind_of_the_documents_has_a_source_and_no_other() -> None:
    assert set(SOURCES) == set(GOOD)
    assert find_source("a kind that nobody has heard of") is None


SHOUT = """
from pathlib import Path
from holdfast.project.artifacts.protocol import Found, Loaded, locate

def look(wanted):
    return Found(True, None, locate(wanted).shown)

def load(wanted):
    return Loaded(Path(locate(wanted).full).read_text().upper(), 1, "shout")
"""


def test_kind_is_added_by_the_list_in_contributing(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
    part = text.partition("\n**an artifact kind.**")[2].partition("\n\n**")[0]
    files = re.findall(r"^\d+\. `([\w/]+\.py)`", part, re.MULTILINE)
    assert files == ["project/artifacts/NAME.py", "project/artifacts/protocol.py", "tests/contract/test_sources.py"]
    (tmp_path / "shout.py").write_text(SHOUT)
    monkeypatch.setattr(artifacts, "__path__", [*artifacts.__path__, str(tmp_path)])
    monkeypatch.setitem(protocol.SOURCES, "shout", "shout")
    ((kind, path),) = declared.parse(["shout:docs/a.md"])
    (root / "docs/a.md").write_text("quiet\n")
    assert a_source(kind).load(Wanted("an-artifact", kind, root, path=path)).text == "QUIET\n"


@EVERY_KIND
def test_what_is_there_is_seen_and_loaded_and_nothing_changes(root: Path, kind: str) -> None:
    before = tree_of(root.parent)
    found = a_source(kind).look(wanted(kind, root))
    loaded = a_source(kind).load(wanted(kind, root))
    assert found.exists
    assert loaded.text
    assert loaded.source == found.shown
    assert loaded.ran == (kind not in ("work_plugin", "skill"))
    assert found.size in (None, loaded.size)
    assert tree_of(root.parent) == before


@EVERY_KIND
def test_what_names_nothing_is_told(root: Path, kind: str) -> None:
    for nothing in (None, "", "  " if "command" in GOOD[kind] else ""):
        asked = wanted(kind, root, path=nothing, command=nothing)
        assert not a_source(kind).look(asked).exists
        with pytest.raises(Unloadable, match="names no"):
            a_source(kind).load(asked)


@pytest.mark.parametrize("kind", ["json", "markdown", "directory", "git_info"])
def test_more_than_the_limit_is_refused_with_the_size(root: Path, kind: str) -> None:
    with pytest.raises(Unloadable, match="larger than 2 bytes") as caught:
        a_source(kind).load(wanted(kind, root, limit=2))
    assert caught.value.size is not None
    assert caught.value.size > 2
    assert not caught.value.missing


PARTS = (
    "git", "log", "diff", "show", "branch", "-p", "--", "--output=x", "--no-index", "..", "../secret.txt", "/", "-c",
    "HEAD", "docs", "a.md", "plan.json", ".git", "config", "\0", "~", "$HOME", "\n", "'", '"', "|", "\udc80", ":",
)  # fmt: skip
GLUED = st.sampled_from([" ", "/", ""])
WILD = st.text(st.characters()) | st.builds(str.join, GLUED, st.lists(st.sampled_from(PARTS)))
COMMANDS = st.lists(st.sampled_from(PARTS)).map(lambda parts: " ".join(["git", "log", *parts]))


@EVERY_KIND
@given(text=WILD | COMMANDS, strategy=st.sampled_from(["all", "latest_only", "summary", "\x1b"]))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_text_gets_an_answer_and_nothing_outside_is_told_or_touched(
    root: Path, kind: str, text: str, strategy: str
) -> None:
    before = tree_of(root.parent)
    asked = wanted(kind, root, path=text, command=text, strategy=strategy, also=root / "docs")
    found = a_source(kind).look(asked)
    assert isinstance(found, Found)
    try:
        loaded = a_source(kind).load(asked)
        assert isinstance(loaded, Loaded)
        assert "SECRET" not in loaded.text
        shown = [loaded.source, *loaded.notes]
    except Unloadable as error:
        shown = [error.why, error.hint or ""]
    for words in [*shown, found.shown, found.why or ""]:
        assert words == one_line(words)
        words.encode()
    assert tree_of(root.parent) == before


@EVERY_KIND
def test_a_project_that_is_gone_is_told(tmp_path: Path, kind: str) -> None:
    asked = wanted(kind, tmp_path / "gone")
    if kind in ("work_plugin", "skill"):
        assert not a_source(kind).load(asked).ran
        return
    assert not a_source(kind).look(asked).exists
    with pytest.raises(Unloadable) as caught:
        a_source(kind).load(asked)
    assert caught.value.missing


@pytest.mark.parametrize("kind", ["work_plugin", "skill"])
def test_a_command_of_the_client_is_named_and_never_run(root: Path, kind: str) -> None:
    loaded = a_source(kind).load(wanted(kind, root, command=f"touch {root}/ran\n\x1b[31m; touch {root}/ran"))
    assert loaded.ran is False
    assert loaded.text.startswith(f"Not run: touch {root}/ran [31m; touch {root}/ran\n")
    assert "allowed it" in loaded.text
    assert "type the command in the client" in loaded.text
    assert "ran" not in os.listdir(root)
