"""Which files of a project a command names, where no program is there that would run them."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.project.trust import command_line
from holdfast.project.trust.named_files import named_files
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
    ("java -cp out tools.Foo", "out/tools/Foo.class"),
    ("uvicorn tools.x:app", "tools/x.py"),
    ("pytest -ptools.x", "tools/x.py"),
    ("python3 -m unittest x.Test", "x.py"),
    ("python3 -c 'import tools.x'", "tools/x.cpython-311-x86_64-linux-gnu.so"),
]


@pytest.mark.parametrize(("command", "name"), WITHOUT_ENDING)
def test_a_program_is_named_also_without_the_ending_that_its_interpreter_adds(
    command: str, name: str, tmp_path: Path
) -> None:
    put(tmp_path, name, "good")
    assert list(named_files(command_line.split(command), tmp_path)) == [name]


CHANCE = ["gh issue view 7", "git log --oneline", "ls /etc", "make test", "sed 's/.*/x/'", "gh api --jq '.[] | {a, b}'"]
CHANCE += ["curl https://tests.example.com", "jq .tests.all log.json.gz", "etc2.passwd"]


@pytest.mark.parametrize("command", CHANCE)
def test_a_file_is_not_named_by_a_part_of_its_name(command: str, tmp_path: Path) -> None:
    for name in ("log.txt", "issue.md", "index.html", "__init__.py", "tests/test.sh", "7.json", ".env", "etc2", "es"):
        put(tmp_path, name, "good")
    assert named_files(command_line.split(command), tmp_path) == {}


ANYTHING = [
    "psql -c 'select * from issues'",
    "psql -c 'select count(*) from issues'",
    """gh issue list --jq '.[] | "* \\(.title)"' """,
    "git log --grep='fix(.*)'",
    "grep -E '^(fix|feat)(.*)' log",
    "curl 'https://jira.example.com/search?jql=project=*'",
]


@pytest.mark.parametrize("command", ANYTHING)
def test_a_pattern_that_anything_fits_names_what_lies_beside_it_and_not_the_whole_tree(
    command: str, tmp_path: Path
) -> None:
    for number in range(40):
        put(tmp_path, f"src/pkg{number}/mod.py", "good")
    for name in (".git/config", "README.md", ".env"):
        put(tmp_path, name, "good")
    (named,) = named_files(command_line.split(command), tmp_path)
    assert named in ("README.md", ".env")


def test_what_stands_in_the_command_is_looked_for_also_where_a_pattern_leads_that_anything_fits(tmp_path: Path) -> None:
    put(tmp_path, "tools/x.sh", "good")
    put(tmp_path, "tools/y-1.py", "good")
    for command in ("sh -c 'cd * && ./x.sh'", "sh -c 'cd */ && ./x.sh'", "sh -c 'cd * && ./x*'"):
        assert list(named_files(command_line.split(command), tmp_path)) == ["tools/x.sh"]


@pytest.mark.parametrize(
    "command", ["sh -c 'for d in .*; do test -f $d/x.sh && sh $d/x.sh; done'", "sh -c 'cd .??? && x.sh'"]
)
def test_a_pattern_that_anything_fits_leads_to_no_script_that_is_gits_or_ours(command: str, tmp_path: Path) -> None:
    """A repository can bring a `.holdfast`, with what it likes in it."""
    put(tmp_path, ".holdfast/x.sh", "good")
    put(tmp_path, ".git/x.sh", "good")
    with pytest.raises(command_line.Unfit, match="leads out of the project"):
        named_files(command_line.split(command), tmp_path)


def test_many_names_with_points_take_no_more_time_than_one(tmp_path: Path) -> None:
    for number in range(1_500):
        put(tmp_path, f"f{number}", "good")
    assert named_files(command_line.split("true " + " ".join(f"a{number}.b" for number in range(70))), tmp_path) == {}
