"""`scan`: proposed once after an upgrade that recognises more, and told what it did not look at."""

from __future__ import annotations

import pytest

import holdfast
from holdfast.operations.doctor import doctor
from holdfast.project.workspace import Workspace
from holdfast.redaction import RULES, RULES_FILE
from tests.tools import Command
from tests.worktrees import put

SECRET = "correct9" + "Horse"


def proposals(project: Workspace) -> list[bool]:
    """Whether `status` and `doctor` propose to scan."""
    warned = [warning for warning in holdfast.status(project).warnings if "holdfast scan" in warning]
    checks = [check for check in doctor(project).checks if check.name == "secrets"]
    return [bool(warned), bool(checks)]


@pytest.mark.defect("After an upgrade that recognised more secrets nothing said to scan what was stored before")
def test_after_an_upgrade_that_recognises_more_a_scan_is_proposed_until_it_was_done(project: Workspace) -> None:
    run = holdfast.start(project, "work").run.id
    assert proposals(project) == [False, False]
    for earlier in (None, b"1\n", b"what\n"):
        (project.place / RULES_FILE).unlink(missing_ok=True)
        if earlier is not None:
            (project.place / RULES_FILE).write_bytes(earlier)
        project.warnings.clear()
        assert proposals(project) == [True, True]
        holdfast.scan(project, run)
        project.warnings.clear()
        assert proposals(project) == [True, True]  # the other runs were not looked at
        holdfast.scan(project)
        project.warnings.clear()
        assert proposals(project) == [False, False]
    assert (project.place / RULES_FILE).read_text() == f"{RULES}\n"


@pytest.mark.defect("`scan` did not say that the code in checkpoints was not looked at, and could not look at it")
def test_scan_says_that_code_was_not_looked_at_and_looks_at_it_when_asked(project: Workspace) -> None:
    put(project.root, {"settings.py": f'password = "{SECRET}"\n', "a.bin": b"\0\1", "plain.py": "x = 1\n"})
    holdfast.start(project, "work")
    holdfast.checkpoint(project)
    put(project.root, {"plain.py": "x = 2\n"})
    holdfast.checkpoint(project)
    said = Command.run("scan", directory=project.root).ok()
    assert "`holdfast scan --code`" in said.err
    found = holdfast.scan(project, code=True)
    assert (found.checkpoints, found.code, found.skipped) == (2, 3, 1)
    assert [(one.kind, one.length, one.where.partition(", ")[2]) for one in found.secrets] == [
        ("password", len(SECRET), "settings.py:1")
    ]
    said = Command.run("scan", "--code", directory=project.root).ok()
    assert "3 files in 2 checkpoints" in said.err
    assert SECRET not in said.out + said.err


def test_scan_looks_at_the_code_of_one_run(project: Workspace) -> None:
    put(project.root, {"settings.py": f'password = "{SECRET}"\n'})
    first = holdfast.start(project, "with a checkpoint").run.id
    holdfast.checkpoint(project)
    second = holdfast.start(project, "without one").run.id
    assert len(holdfast.scan(project, first, code=True).secrets) == 1
    assert holdfast.scan(project, second, code=True).secrets == []
