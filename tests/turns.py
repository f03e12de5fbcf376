"""Turns of an agent as the journal and the checkpoints have them, without hooks."""

from __future__ import annotations

import holdfast
from holdfast.core.model import Checkpoint, Draft, Reason
from holdfast.project.checkpoints.create import Turn, keep_if_changed
from holdfast.project.workspace import Workspace
from tests.worktrees import put

SESSION = "ses-0000000001"


def turn(project: Workspace, prompt: str, answer: str = "done", **files: str) -> None:
    """A prompt, the checkpoint of what others changed before it, an edit of files, an answer, and its checkpoint."""
    with project.reading() as journal:
        run = journal.view.pointer(project.worktree)
    assert run is not None
    holdfast.prompt(project, prompt, run=run)
    keep_if_changed(project, Reason.TURN, Turn(run, SESSION, lambda: False))
    holdfast.action(project, f"Edited {', '.join(files) or 'nothing'}", run=run)
    put(project.root, {name.replace("_", "."): text for name, text in files.items()})
    with project.writing() as journal:
        journal.append(run, Draft("turn.ended", {"text": answer}))
    keep_if_changed(project, Reason.TURN, Turn(run, SESSION))


def three_turns(project: Workspace) -> list[Checkpoint]:
    """The checkpoints of three turns, oldest first: the second changes nothing, before the third a person edits."""
    put(project.root, {"a.txt": "one\n"})
    holdfast.start(project, "Build a shop")
    turn(project, "Add retries to the client", "Retries use exponential backoff", a_txt="one\ntwo\n", b_txt="new\n")
    turn(project, "Explain the cart", "It is a list")
    put(project.root, {"a.txt": "mine\n"})
    turn(project, "Do the refactoring into classes", "Cart is a class", c_txt="class\n")
    with project.reading() as journal:
        return list(journal.list_checkpoints(project.worktree))[::-1]
