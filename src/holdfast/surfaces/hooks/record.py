"""Record one hook call, unread: what `entry.py` runs.

The call goes into the store's inbox. Nothing of it is parsed here, so almost nothing is needed: only modules that are
built into the interpreter, and our own that need no more. A hook never creates a store, never prints, and never fails,
because that would break the agent that called it.
"""

import posix
import sys

from holdfast.ingest.detach import go_on_later
from holdfast.project.inbox_writer import CHUNK, keep, note_trouble
from holdfast.system.locate import exists, is_astray, locate_store, open_ours

# After these, what was changed becomes a checkpoint: by the agent, or by somebody else before the next prompt.
TURNS = ("Stop", "StopFailure", "SessionEnd", "UserPromptSubmit")
COMMAND = b'"prompt":"*'  # somebody has typed what may be meant for us, and not for the model


def hook(agent: str, event: str) -> int | None:
    """One hook call, from finding the place to keeping it; answers with the open file that holds it."""
    posix.umask(0o077)
    if posix.environ.get(b"HOLDFAST") == b"0":
        return None
    try:
        posix.chdir(posix.environ.get(b"CLAUDE_PROJECT_DIR") or b".")
    except OSError:
        pass  # a name that leads nowhere: where we are is the next best
    directory = posix.getcwd()  # without any links in it
    root, store = locate_store(directory)
    try:
        held = open_ours(store)
    except OSError:
        return None
    if not exists("id", held) or exists("off", held):
        return None
    try:
        if is_astray(root, store):
            raise OSError("not kept: the worktree was moved, or its `.git` leads astray")
        kept, name = keep(open_ours("inbox", held), agent, event, directory)
        if event in TURNS:
            go_on_later("", name)
        if event == "UserPromptSubmit" and COMMAND in posix.pread(kept, CHUNK, 0):
            posix.dup2(kept, 0)  # go on as the program that answers, with the kept call as its standard input
            posix.execv(sys.executable, [sys.executable, "-I", "-m", "holdfast", "hook", "observe"])
        return kept
    except BaseException as error:
        note_trouble(store, agent, event, error, held)
        return None
