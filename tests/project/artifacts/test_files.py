"""Documents and directories: a workflow that came with a repository names them, so nothing outside is read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.project.artifacts import files
from holdfast.project.artifacts.protocol import Unloadable, Wanted
from tests.environments import humble, small_disk

HOUR = 3_600


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (tmp_path / "secret.txt").write_text("SECRET")
    return made


def a_document(root: Path, path: str, also: Path | None = None, limit: int = 1000) -> Wanted:
    return Wanted("spec", "markdown", root, path=path, also=also, limit=limit)


def a_directory(root: Path, path: str = "docs", strategy: str = "all", limit: int = 1000) -> Wanted:
    return Wanted("docs", "directory", root, path=path, strategy=strategy, limit=limit)


def why_not(wanted: Wanted) -> Unloadable:
    source = files
    assert not source.look(wanted).exists
    with pytest.raises(Unloadable) as caught:
        source.load(wanted)
    return caught.value


# Documents.


def test_a_document_is_read_as_it_is(root: Path) -> None:
    (root / "a.md").write_bytes(b"\xef\xbb\xbf# A\r\nnot UTF-8: \xff\n")
    loaded = files.load(a_document(root, "./x/../a.md"))
    assert (loaded.text, loaded.size, loaded.source) == ("\ufeff# A\r\nnot UTF-8: \ufffd\n", 21, "a.md")
    assert files.look(a_document(root, str(root / "a.md"))).size == 21


def test_a_document_of_exactly_the_limit_is_read_and_a_larger_one_is_not(root: Path) -> None:
    (root / "a.md").write_text("x" * 1000)
    assert files.load(a_document(root, "a.md")).size == 1000
    (root / "a.md").write_text("x" * 5001)
    with pytest.raises(Unloadable, match="larger than 1,000 bytes") as caught:
        files.load(a_document(root, "a.md"))
    assert caught.value.size == 5001
    assert files.look(a_document(root, "a.md")).size == 5001


def hostile(root: Path, kind: str) -> str:
    """A path that must not be read, made so that reading it would tell SECRET, or never end."""
    if kind == "link out":
        os.symlink(root.parent / "secret.txt", root / "link")
    elif kind == "directory link out":
        os.symlink(root.parent, root / "link")
        return "link/secret.txt"
    elif kind == "loop":
        os.symlink("link", root / "link")
    elif kind == "pipe":
        os.mkfifo(root / "link")
    elif kind == "git":
        (root / "sub/.git").mkdir(parents=True)
        (root / "sub/.git/config").write_text("SECRET")
        return "sub/.git/config"
    elif kind == "ours":
        (root / ".holdfast").mkdir()
        (root / ".holdfast/journal.db").write_text("SECRET")
        return ".holdfast/journal.db"
    elif kind == "link to git":
        (root / ".git").mkdir()
        (root / ".git/config").write_text("SECRET")
        os.symlink(".git/config", root / "link")
    return {
        "above": "../secret.txt", "absolute": str(root.parent / "secret.txt"), "device": "/dev/zero", "root": ".",
        "above and back": "../project/../secret.txt", "user": "~/secret.txt", "nul": "a\0b", "half": "\udcff\ud800",
        "long": "x" * 300, "longer": "x/" * 3_000,
    }.get(kind, "link")  # fmt: skip


KINDS = [
    "link out", "directory link out", "loop", "pipe", "git", "ours", "link to git", "above", "absolute", "device",
    "root", "above and back", "user", "nul", "half", "long", "longer", "missing",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_a_file_of_the_project_is_not_read(root: Path, kind: str) -> None:
    error = why_not(a_document(root, hostile(root, kind), also=root / "plugin"))
    assert error.missing == (kind in ("missing", "user"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_directory_passes_over_what_is_not_a_file_of_the_project(root: Path, kind: str) -> None:
    hostile(root, kind)
    (root / "a.md").write_text("text\n")
    loaded = files.load(a_directory(root, "."))
    assert loaded.text == "--- a.md\ntext\n"
    assert files.load(a_directory(root, ".", "latest_only")).text == "--- a.md\ntext\n"
    assert files.load(a_directory(root, ".", "summary")).text.startswith("1 file, 5 bytes\n")


def test_nothing_stays_open_behind_what_is_not_read(root: Path) -> None:
    (root / "docs").mkdir()
    os.mkfifo(root / "pipe")
    before = os.listdir("/proc/self/fd")
    for path in ("docs", "pipe", "gone"):
        why_not(a_document(root, path))
    assert os.listdir("/proc/self/fd") == before


def test_a_binary_file_is_no_text(root: Path) -> None:
    (root / "a.png").write_bytes(b"\x89PNG\0")
    with pytest.raises(Unloadable, match="is not a text"):
        files.load(a_document(root, "a.png"))


@pytest.mark.parametrize("path", ["a.md", "closed/b.md"])
def test_what_may_not_be_read_is_told_so_and_not_called_missing(root: Path, path: str) -> None:
    (root / "a.md").touch(0o000)
    (root / "closed").mkdir()
    (root / "closed/b.md").touch()
    (root / "closed").chmod(0o000)
    script = (
        "import sys, pathlib\n"
        "from holdfast.project.artifacts import files, protocol\n"
        "try: files.load(protocol.Wanted('spec', 'markdown', pathlib.Path(sys.argv[1]), path=sys.argv[2]))\n"
        "except protocol.Unloadable as error: print(error.why, error.missing)\n"
    )
    done = subprocess.run([*humble(), sys.executable, "-c", script, root, path], capture_output=True, check=True)
    assert done.stdout == b"cannot be read: Permission denied False\n"


def test_an_absolute_path_of_another_machine_names_the_file_that_was_meant(root: Path) -> None:
    (root / "specs").mkdir()
    (root / "specs/a.md").touch()
    error = why_not(a_document(root, "/home/dev/project/specs/a.md"))
    assert error.hint == "write `{project_root}/specs/a.md`"
    assert not error.missing
    error = why_not(a_document(root, "/home/dev/project/specs/gone.md"))
    assert error.hint == "write `{project_root}/PATH` with a path inside the project"


def test_an_absolute_path_inside_the_project_is_shown_from_its_root(root: Path, tmp_path: Path) -> None:
    (root / "a.md").write_text("a")
    os.symlink(root, tmp_path / "alias")
    assert files.load(a_document(root, str(tmp_path / "alias/a.md"))).source == "a.md"
    assert files.load(a_document(tmp_path / "alias", str(root / "a.md"))).source == "a.md"


def test_a_relative_path_that_is_not_in_the_project_is_looked_for_in_the_plugin(root: Path, tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    (plugin / "docs").mkdir(parents=True)
    (plugin / "docs/protocol.md").write_text("of the plugin")
    loaded = files.load(a_document(root, "docs/protocol.md", plugin))
    assert (loaded.text, loaded.source) == ("of the plugin", "docs/protocol.md")
    assert files.look(a_document(root, "docs/protocol.md", plugin)).exists
    (root / "docs").mkdir()
    (root / "docs/protocol.md").write_text("of the project")
    assert files.load(a_document(root, "docs/protocol.md", plugin)).text == "of the project"


def test_nothing_leads_out_of_the_plugin_either(root: Path, tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    plugin.mkdir()
    os.symlink(tmp_path / "secret.txt", plugin / "link")
    assert not why_not(a_document(root, "link", plugin)).missing
    assert not why_not(a_document(root, "../secret.txt", plugin)).missing
    assert not why_not(a_document(root, str(tmp_path / "secret.txt"), plugin)).missing


def test_what_is_in_neither_place_names_both(root: Path, tmp_path: Path) -> None:
    error = why_not(a_document(root, "gone.md", tmp_path / "plugin"))
    assert error.missing
    assert error.why == f"exists neither in the project nor in {tmp_path}/plugin"


# Directories.


@pytest.fixture
def docs(root: Path) -> Path:
    """Three texts, of which `b.md` is the newest and as old as `a.md`, beside what is no text."""
    made = root / "docs"
    (made / "deeper").mkdir(parents=True)
    (made / "deeper/z.md").write_text("not directly inside")
    for name, hours in [("c.md", 1), ("a.md", 2), ("b.md", 2)]:
        (made / name).write_text(f"text of {name}\n")
        os.utime(made / name, (hours * HOUR, hours * HOUR))
    return made


def test_all_files_come_by_name_each_under_its_path(root: Path, docs: Path) -> None:
    (docs / "b.md").write_text("no end of line")
    loaded = files.load(a_directory(root))
    assert loaded.text == (
        "--- docs/a.md\ntext of a.md\n\n--- docs/b.md\nno end of line\n\n--- docs/c.md\ntext of c.md\n"
    )
    assert loaded.size == 13 + 14 + 13
    assert (loaded.source, loaded.notes) == ("docs", [])
    assert files.look(a_directory(root)).size == loaded.size


def test_of_two_newest_the_last_by_name_is_the_latest(root: Path, docs: Path) -> None:
    loaded = files.load(a_directory(root, strategy="latest_only"))
    assert (loaded.text, loaded.size) == ("--- docs/b.md\ntext of b.md\n", 13)
    assert files.look(a_directory(root, strategy="latest_only")).size == 13


def test_the_latest_text_is_meant_and_not_a_newer_picture(root: Path, docs: Path) -> None:
    (docs / "new.png").write_bytes(b"\0")
    loaded = files.load(a_directory(root, strategy="latest_only"))
    assert loaded.text == "--- docs/b.md\ntext of b.md\n"
    assert loaded.notes == ["new.png: is not a text"]


def test_a_summary_counts_and_names_the_newest(root: Path, docs: Path) -> None:
    loaded = files.load(a_directory(root, strategy="summary", limit=1))
    assert loaded.text == "3 files, 39 bytes\nnewest: b.md, 1970-01-01 02:00:00 UTC\n"
    assert files.look(a_directory(root, strategy="summary")).size == loaded.size == len(loaded.text)


def test_a_date_that_no_calendar_has_is_unknown(root: Path) -> None:
    with small_disk(root / "docs", "64k") as docs:  # most file systems on disk have no such dates
        (docs / "c.md").touch()
        os.utime(docs / "c.md", (400_000_000_000, 400_000_000_000))
        text = files.load(a_directory(root, strategy="summary")).text
    assert "newest: c.md, at an unknown time" in text


def test_an_empty_directory_is_no_trouble(root: Path) -> None:
    (root / "docs").mkdir()
    assert files.look(a_directory(root)).exists
    assert files.load(a_directory(root)).text == ""
    assert files.load(a_directory(root, strategy="latest_only")).size == 0
    assert files.load(a_directory(root, strategy="summary")).text == "0 files, 0 bytes\n"


def test_what_cannot_be_read_is_named_and_the_rest_is_loaded(root: Path, docs: Path) -> None:
    (docs / "picture\x1b.png").write_bytes(b"\x89PNG\0" + b"x" * 5_000)
    os.mkfifo(docs / "pipe")
    os.symlink(root.parent / "secret.txt", docs / "link")
    loaded = files.load(a_directory(root))
    assert loaded.text.count("--- ") == 3
    assert loaded.notes == [
        "link: is not a file of the project",
        "pipe: is not a regular file",
        "picture.png: is not a text",
    ]


def test_the_limit_counts_for_the_sum(root: Path, docs: Path) -> None:
    assert files.load(a_directory(root, limit=39)).size == 39
    with pytest.raises(Unloadable, match="larger than 38 bytes") as caught:
        files.load(a_directory(root, limit=38))
    assert caught.value.size == 39
    assert files.load(a_directory(root, strategy="latest_only", limit=38)).size == 13


def test_a_strategy_that_nobody_knows_loads_all_and_says_so(root: Path, docs: Path) -> None:
    loaded = files.load(a_directory(root, strategy="newest"))
    assert loaded.text.count("--- ") == 3
    assert loaded.notes == ["newest: is not a load_strategy, so all files were loaded"]


def test_a_file_is_no_directory_and_a_directory_no_document(root: Path, docs: Path) -> None:
    assert why_not(a_directory(root, "docs/a.md")).why == "is not a directory"
    assert why_not(a_document(root, "docs")).why == "is not a regular file"
