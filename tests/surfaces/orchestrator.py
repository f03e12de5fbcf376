"""A small orchestrator, as a stranger would write one: it knows `import holdfast`, and nothing else of ours.

`python orchestrator.py work` takes on a job and dies in the middle; `python orchestrator.py resume` goes on with it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator

import holdfast

JOB = ["Read the code", "Write the change", "Test it"]


def work(project: holdfast.Workspace) -> None:
    started = holdfast.start(project, "Ship the change", pid=os.getpid(), agent="orchestrator")
    run: holdfast.Run = started.run
    for text in JOB:
        holdfast.add_task(project, text, run=run.id)
    holdfast.prompt(project, "Please ship it")
    holdfast.action(project, "Read 12 files", files=("a.py", "b.py"))
    holdfast.finish_task(project, "t1", outcome="understood")
    holdfast.decide(project, "Change a.py only", because="b.py is generated")
    holdfast.note(project, "Tests need a database")
    holdfast.tag(project, ("urgent",))
    os.kill(os.getpid(), signal.SIGKILL)


def resume(project: holdfast.Workspace) -> None:
    standing = holdfast.status(project)
    assert standing.run is not None
    assert standing.run.status is holdfast.Status.INTERRUPTED
    joined = holdfast.join(project, standing.run.id, pid=os.getpid(), agent="orchestrator")
    told = holdfast.brief(project).text
    left = [task.text for task in joined.run.open_tasks]
    for task in joined.run.open_tasks:
        holdfast.finish_task(project, task.id, outcome="done")
    holdfast.complete(project, reason="shipped")
    print(
        json.dumps({"left": left, "told": told, "log": list(history(project, joined.run)), "refused": refused(project)})
    )


def history(project: holdfast.Workspace, run: holdfast.Run) -> Iterator[str]:
    for event in holdfast.log(project, run=run.id).events:
        yield event.kind


def refused(project: holdfast.Workspace) -> dict[str, int]:
    """What goes wrong is an exception with a sentence, facts, hints and a code."""
    found: dict[str, int] = {}
    try:
        holdfast.show(project, "nowhere")
    except holdfast.NotFound as error:
        found[error.message] = error.code
    try:
        holdfast.pause(project)
    except holdfast.HoldfastError as error:
        found[error.message] = error.code
    return found


if __name__ == "__main__":
    with holdfast.open(sys.argv[2]) as project:
        {"work": work, "resume": resume}[sys.argv[1]](project)
