"""A small agent that works for hours - and is killed in the middle of it.

`python agent.py` starts a run; `python agent.py --resume` is the next session, which knows what the last one knew.
Any orchestrator can do the same: it needs `import holdfast` and nothing else.
"""

import os
import signal
import sys

import holdfast

PLAN = ["Find every call that can time out", "Add a retry with backoff", "Test it against a server that sheds load"]


def work(project: holdfast.Workspace) -> None:
    holdfast.start(project, "Make the shop's HTTP client survive timeouts", pid=os.getpid(), agent="demo")
    for task in PLAN:
        holdfast.add_task(project, task)
    holdfast.action(project, "Read client.py: 3 calls can time out", files=("client.py",))
    holdfast.finish_task(project, "t1", outcome="3 calls: fetch, order, pay")
    holdfast.decide(project, "Never retry pay()", because="a second payment is worse than an error")
    holdfast.action(project, "Edit client.py: retry around fetch()", files=("client.py",))
    print("working ... and here the machine runs out of memory", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def go_on(project: holdfast.Workspace) -> None:
    joined = holdfast.join(project, pid=os.getpid(), agent="demo")
    print(f"I know my goal: {joined.run.goal}")
    for decision in joined.run.standing_decisions:
        print(f"I know what was decided: {decision.text}, because {decision.because}")
    for task in joined.run.open_tasks:
        print(f"I know what is left: {task.text}")
        holdfast.finish_task(project, task.id, outcome="done by the second session")
    holdfast.complete(project)


if __name__ == "__main__":
    with holdfast.open() as project:
        go_on(project) if "--resume" in sys.argv else work(project)
