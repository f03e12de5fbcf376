"""The files of a project that are words of a command."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.project import trust
from holdfast.project.trust import named_paths
from tests.faber_states import put

pytestmark = pytest.mark.promise(20)

CHANCE = ["gh issue view 7", "git log --oneline", "ls /etc", "make test", "sed 's/.*/x/'", "gh api --jq '.[] | {a, b}'"]
CHANCE += ["curl https://tests.example.com", "jq .tests.all log.json.gz", "etc2.passwd"]


@pytest.mark.parametrize("command", CHANCE)
def test_a_file_is_not_named_by_a_part_of_its_name(command: str, tmp_path: Path) -> None:
    for name in ("log.txt", "issue.md", "index.html", "__init__.py", "tests/test.sh", "7.json", ".env", "etc2", "es"):
        put(tmp_path, name, "good")
    assert named_paths(trust.split(command), tmp_path) == {}


def test_a_command_that_follows_very_many_links_never_runs(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(trust.Unfit, match="more than 40 links"):
        named_paths(trust.split("cat loop"), tmp_path)
