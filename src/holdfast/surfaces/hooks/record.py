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

TYPE_CHECKING = False  # what the typing module would say, without its 10 ms

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# After these, changed files become a checkpoint: the agent's changes, or those that were made before the next prompt.
TURNS = ("turn", "end", "prompt")
DUE = "briefs-due"  # the store's directory with a mark for each conversation whose model is to be told the brief


def hook(agent: str, event: str, load: "Callable[[str], object]" = __import__) -> int | None:
    """Record one call, from locating the store to starting the background work; returns the open file of the call."""
    posix.umask(0o077)
    if posix.environ.get(b"HOLDFAST") == b"0":
        return None
    client = client_of(agent, load)
    try:
        posix.chdir(posix.environ.get((client.PROJECT or "").encode()) or b".")
    except OSError:
        pass  # the variable names no directory: the working directory is the next best
    directory = posix.getcwd()  # without any links in it
    root, store = locate_store(directory)
    try:
        held = open_ours(store)
    except OSError:
        return None
    if not exists("id", held) or exists("off", held):
        return None
    try:
        if is_astray(root, store):  # safeguard: worktree-elsewhere-in-hook
            raise OSError("not kept: the worktree was moved, or its `.git` leads astray")
        kept: int
        kept, name = keep(open_ours("inbox", held), agent, event, directory, client)
        moment = client.MOMENTS.get(event)
        if moment in TURNS:
            go_on_later("", name)
        if moment == "prompt" and client.COMMAND and _wants_answer(posix.pread(kept, CHUNK, 0), client, held):
            posix.dup2(kept, 0)  # go on as the program that answers, with the recorded call as its standard input
            posix.execv(sys.executable, [sys.executable, "-I", "-m", "holdfast", "hook", "observe"])
        return kept
    except BaseException as error:
        note_trouble(store, agent, event, error, held)
        return None


def client_of(agent: str, load: "Callable[[str], object]") -> "Any":
    """The known facts about a client's hooks."""
    generic, recognised = "holdfast.agents.generic_client", "holdfast.agents.recognised"
    known = "holdfast.agents." + agent + ".client"
    load(generic)
    if agent.isidentifier():
        try:
            load(known)
            return sys.modules[known]
        except (ImportError, OSError):  # no client with a folder of its own
            load(recognised)
            return sys.modules[recognised].CLIENTS.get(agent, sys.modules[generic])
    return sys.modules[generic]


def _wants_answer(call: bytes, client: "Any", held: int) -> bool:
    """True if a prompt may be a chat command, or needs the brief with it."""
    if client.COMMAND in call:
        return True
    begin = call.find(client.CONVERSES) + len(client.CONVERSES)
    end = call.find(b'"', begin)
    return begin >= len(client.CONVERSES) and end > begin and exists(f"{DUE}/{mark_name(call[begin:end])}", held)


def mark_name(conversation: bytes) -> str:
    """The name of a conversation's mark: FNV-1a, because no module with a better hash is built into every interpreter.

    Two conversations with one mark would only be told a brief too many.
    """
    value = 0xCBF29CE484222325
    for byte in conversation:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"
