"""Which files of a project a command names, where no program is there that would run them."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast import invocation
from holdfast.bindings import named_files
from tests.faber_states import put

pytestmark = pytest.mark.promise(20)

WITHOUT_ENDING = [
    ("node tools/x", "tools/x.js"),
    ("node tools", "tools/index.js"),
    ("node -r ./x", "x.cjs"),
    ("ruby -r./x", "x.rb"),
    ("lua -lx", "x.lua"),
    ("gawk -i x", "x.awk"),
    ("java Foo", "Foo.class"),
]


@pytest.mark.parametrize(("command", "name"), WITHOUT_ENDING)
def test_a_program_is_named_also_without_the_ending_that_its_interpreter_adds(
    command: str, name: str, tmp_path: Path
) -> None:
    put(tmp_path, name, "good")
    assert list(named_files(invocation.split(command), tmp_path)) == [name]


CHANCE = ["gh issue view 7", "git log --oneline", "ls /etc", "make test", "sed 's/.*/x/'", "gh api --jq '.[] | {a, b}'"]


@pytest.mark.parametrize("command", CHANCE)
def test_a_file_is_not_named_by_a_part_of_its_name(command: str, tmp_path: Path) -> None:
    for name in ("log.txt", "issue.md", "index.html", "__init__.py", "tests/test.sh", "7.json", ".env", "etc2", "es"):
        put(tmp_path, name, "good")
    assert named_files(invocation.split(command), tmp_path) == {}
