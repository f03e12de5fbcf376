"""Resolution of names: the run, session, checkpoint or event that an argument denotes.

A name may be shortened to a unique prefix or suffix; a number is a row of the last list. An ambiguous name is refused
with the candidates.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

import msgspec

from holdfast.core import ids
from holdfast.core.errors import Ambiguous, HoldfastError, NotFound, WrongUsage
from holdfast.core.model import OPEN, Checkpoint, Draft, Run, Session, Status, text_of
from holdfast.core.text import count, one_line, path_text, sound_text
from holdfast.journal.codec import checkpoint_of, read_record
from holdfast.journal.journal import Journal, is_ledger
from holdfast.journal.store import RunQuery
from holdfast.project.checkpoints import describe
from holdfast.project.sessions import find_conversation, find_named_conversation
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.clock import micros
from holdfast.system.safe_paths import real_path

SHOWN = 10
TERMINALS = 50  # lists that are stored
LISTED = "listed.json"
NAME = 64  # characters of a conversation's name
ENDINGS = 15  # listed runs of an ambiguous suffix
OPEN_STATUSES = frozenset(status.value for status in OPEN)
STATUSES = [status.value for status in Status]


def get_run(workspace: Workspace, journal: Journal, name: str | None, *, ended_too: bool = False) -> Run:
    """Resolve a run: by name, by this session, by this worktree, or as the only open one.

    With `ended_too`, the worktree's current run counts after its end too, so that ending it twice ends no other one.
    """
    named = _given_run(workspace, journal) if name is None else name
    if named is not None:
        return find_by_name(workspace, journal, named)
    session = journal.find_session(workspace.session or "")
    if session is None or not (session.is_open or session.fenced):
        told = find_named_conversation(workspace, journal)
        session = told if told and told.is_open else None
    if session and (run := journal.find_run(session.run)):
        return run
    worktree = workspace.worktree
    pointed = journal.find_run(journal.view.pointer(worktree) or "")
    if pointed and (pointed.is_open or ended_too):
        return pointed
    open_here, _ = journal.list_runs(RunQuery(worktree=worktree, statuses=OPEN_STATUSES, limit=SHOWN + 1))
    if len(open_here) == 1:
        return journal.get_run(open_here[0].id)
    if open_here:
        raise several(workspace, "Several runs are open here", open_here)
    if run := newest_run(journal, worktree):
        return run
    hints = ['`holdfast start "GOAL"`', "`holdfast runs`"]
    raise NotFound("No run is open here", [("directory", path_text(workspace.root))], hints)


@contextlib.contextmanager
def reading(workspace: Workspace, name: str | None, *, ended_too: bool = False) -> Iterator[tuple[Journal, Run]]:
    """Open the journal for reading, and resolve a run in it."""
    with workspace.reading() as journal:
        yield journal, get_run(workspace, journal, name, ended_too=ended_too)


@contextlib.contextmanager
def writing(workspace: Workspace, name: str | None, *, ended_too: bool = False) -> Iterator[tuple[Journal, Run]]:
    """Begin a transaction, and resolve the run that it is about."""
    with workspace.writing() as journal:
        yield journal, get_run(workspace, journal, name, ended_too=ended_too)


def read_run(workspace: Workspace, name: str | None, *, ended_too: bool = False) -> Run:
    with reading(workspace, name, ended_too=ended_too) as (_, run):
        return run


def _given_run(workspace: Workspace, journal: Journal) -> str | None:
    """Return the run that the environment names, unless the conversation of this command has left it."""
    given = workspace.environ.get("HOLDFAST_RUN") or None
    own = find_conversation(workspace, journal) if given else None
    if own is None or own.run == given:
        return given
    has_left = any(earlier.run == given for earlier in journal.sessions_of(own.agent_session or ""))
    return own.run if has_left else given


def current_run(journal: Journal, worktree: str) -> Run | None:
    run = journal.find_run(journal.view.pointer(worktree) or "")
    return run if run and run.is_open else None


def choose(journal: Journal, worktree: str, run: Run) -> None:
    """Make a run the current one of a worktree, because a command asked for it, and unarchive it."""
    if run.archived:
        journal.append(run.id, Draft("run.archived", {"path": None}))
    if run.unasked:
        journal.append(run.id, Draft("run.chosen", {}))
    journal.point(worktree, run.id)


def newest_run(journal: Journal, worktree: str) -> Run | None:
    for statuses in (OPEN_STATUSES, frozenset[str]()):
        runs, _ = journal.list_runs(RunQuery(worktree=worktree, statuses=statuses, limit=1))
        if runs:
            return journal.get_run(runs[0].id)
    return None


def find_by_name(workspace: Workspace, journal: Journal, name: str) -> Run:
    if not is_ledger(name) and (run := journal.find_run(name)):
        return run
    found = _matching(workspace, journal, "run", name)
    if len(found) > 1:
        raise several(workspace, f'Several runs fit "{one_line(name, 40)}"', [journal.get_run(id) for id in found])
    if not found:
        raise _not_found(workspace, "run", name, _near(name, journal))
    return journal.get_run(found[0])


def get_session(workspace: Workspace, journal: Journal, name: str) -> Session:
    found = journal.find_session(name) or journal.find_session(_find_only(workspace, journal, "session", name) or "")
    if found is None:
        raise _not_found(workspace, "session", name)
    return found


def get_checkpoint(workspace: Workspace, journal: Journal, name: str, *, searches: bool = True) -> Checkpoint:
    """Resolve a checkpoint: by its id, its name (the newest, here first), a row of the last list, a prompt of the
    run (`@prompt:3`), its age (`10m`), part of its id, or a search for words of its prompt, answer and file names.
    """
    if found := find_checkpoint(workspace, journal, name, searches=searches):
        return found
    raise _not_found(workspace, "checkpoint", name)


def count_back(workspace: Workspace, journal: Journal, name: str) -> Checkpoint:
    """Resolve a checkpoint; without a list, a number counts from the newest one."""
    if not _is_row(name) or listed(workspace, "checkpoint"):
        return get_checkpoint(workspace, journal, name)
    newest = list(journal.list_checkpoints(workspace.worktree, limit=max(1, int(name))))
    if not 0 < int(name) <= len(newest):
        raise _not_found(workspace, "checkpoint", name)
    return newest[-1]


def find_checkpoint(workspace: Workspace, journal: Journal, name: str, *, searches: bool = False) -> Checkpoint | None:
    if found := journal.find_checkpoint(name):
        return found
    if not _is_row(name) and (found := _named_checkpoint(workspace, journal, name)):
        return found
    if name.startswith(describe.AT_PROMPT):
        return get_at_prompt(workspace, journal, name)
    if age := describe.parse_age(name):
        return _get_by_age(workspace, journal, name, age)
    if found := journal.find_checkpoint(_find_only(workspace, journal, "checkpoint", name) or ""):
        return found
    return _find_by_words(workspace, journal, name) if searches and not _is_row(name) else None


def get_at_prompt(workspace: Workspace, journal: Journal, name: str, run: str | None = None) -> Checkpoint:
    """Return the checkpoint with the worktree as it was when a prompt of the run was given: `@prompt:3`."""
    number = describe.parse_prompt_number(name)
    if number is None:
        hint = "`holdfast restore @prompt:3`: the worktree when the third prompt was given"
        raise WrongUsage(f'"{one_line(name, 40)}" is not the number of a prompt', [], [hint])
    found = get_run(workspace, journal, run, ended_too=True)
    prompts = describe.prompts_of(journal, found.id)
    if not 1 <= number <= len(prompts):
        facts = [("run", found.id), ("prompts", len(prompts))]
        raise NotFound(f"This run has no prompt {number}", facts, ["`holdfast rewind` lists them"])
    made = journal.list_checkpoints(found.worktree)
    if at := describe.find_at_prompt(journal, prompts[number - 1], made):
        return at
    facts = [("prompt", one_line(text_of(prompts[number - 1].body.get("text")), 60)), ("run", found.id)]
    message = f"There is no checkpoint of when prompt {number} was given"
    raise NotFound(message, facts, ["`holdfast checkpoints` lists those there are"])


def _get_by_age(workspace: Workspace, journal: Journal, name: str, age: timedelta) -> Checkpoint:
    if found := describe.find_by_age(workspace, journal, age):
        return found
    message = f"There is no checkpoint of this worktree that is {one_line(name, 40)} old or older"
    raise NotFound(message, [], ["`holdfast checkpoints` lists them with their age"])


def _find_by_words(workspace: Workspace, journal: Journal, text: str) -> Checkpoint | None:
    if ids.is_safe(text) and text.startswith(("cp-", "run-", "ses-")):  # an id that is gone is no search
        return None
    found = describe.search(workspace, journal, text)
    if len(found) > 1:
        shown = describe.describe(workspace, journal, found[:SHOWN])
        facts = [(made.id, describe.about(made)) for made in shown]
        hints = ["name one of them", "`holdfast checkpoints --search TEXT` lists all"]
        raise Ambiguous(f'{count(len(found), "checkpoint")} fit "{one_line(text, 40)}"', facts, hints)
    return found[0] if found else None


def _find_only(workspace: Workspace, journal: Journal, kind: str, name: str) -> str | None:
    found = _matching(workspace, journal, kind, name)
    if len(found) > 1:
        hints = ["give more letters of one", f"`holdfast {kind}s` lists them"]
        raise Ambiguous(f'Several {kind}s fit "{one_line(name, 40)}"', [(kind, id) for id in found], hints)
    return found[0] if found else None


def names_checkpoint(workspace: Workspace, word: str, *, is_path: bool) -> bool:
    """True if a word denotes a checkpoint and not a path; one that could be both is refused.

    A number that is no path is a row of the last list, if there was one.
    """
    with workspace.reading() as journal:
        try:
            found = find_checkpoint(workspace, journal, word, searches=" " in word and not is_path)
        except (Ambiguous, NotFound):
            if is_path:
                return False
            raise
    if found is not None and is_path and found.worktree != workspace.worktree:
        return False  # a checkpoint of another worktree has the name of a file here
    if found is None and not is_path and _is_row(word) and listed(workspace, "checkpoint"):
        error = _not_found(workspace, "checkpoint", word)
        error.hints.append("`holdfast diff A -- PATH` means a path")
        raise error
    if found is not None and found.id != word and is_path:
        facts = [("checkpoint", found.id), ("path", word)]
        hints = [f"`holdfast diff A {found.id}` means the checkpoint", "`holdfast diff A -- PATH` means the path"]
        raise Ambiguous(f'"{one_line(word, 40)}" is both a checkpoint and a path', facts, hints)
    return found is not None


def _named_checkpoint(workspace: Workspace, journal: Journal, name: str) -> Checkpoint | None:
    """Return the newest checkpoint of a name: of this worktree, or else of another one."""
    for worktree in (workspace.worktree, None):
        named = (row for row in journal.view.list_checkpoints(worktree) if row.named)
        if found := next((found for found in map(checkpoint_of, named) if found.name == name), None):
            return found
    return None


def inside(workspace: Workspace, path: str) -> bytes:
    """Return a path relative to the root, as git names it; empty for the root itself."""
    root = os.fsencode(workspace.root)
    full = os.path.normpath(os.path.join(root, os.fsencode(path)))
    if not (full + b"/").startswith(root + b"/"):  # it may be below the root through a link
        full = os.path.join(real_path(os.path.dirname(full)), os.path.basename(full))
    if not (full + b"/").startswith(root + b"/"):
        facts = [("path", path), ("worktree", path_text(workspace.root))]
        raise WrongUsage("This path is not in the worktree", facts, ["give one below the worktree"])
    return full[len(root) + 1 :]


def get_entry(entries: Iterable[str], name: str, letter: str, noun: str) -> str:
    """Resolve the id of a decision, task or note: `d3`, or just 3."""
    wanted = name if name[:1].isalpha() else letter + name
    known = list(entries)
    if wanted in known:
        return wanted
    listed = ", ".join(known[-SHOWN:]) or "none"
    raise NotFound(f'There is no {noun} "{one_line(name, 40)}"', [("known", listed)], ["`holdfast show` lists them"])


def get_seq(run: Run, name: str) -> int:
    """Parse the number of an event in its run: `42` or `#42`."""
    digits = name.lstrip("#")
    if not digits.isdecimal() or len(digits) > 15:
        raise WrongUsage(f'"{one_line(name, 40)}" is not the number of an event', [], ["`holdfast log` shows them"])
    seq = int(digits)
    if not 1 <= seq <= run.seq:
        raise NotFound(f"Run {run.id} has no event {seq}", [("events", f"1 to {run.seq}")], ["`holdfast log`"])
    return seq


def remember(workspace: Workspace, kind: str, shown: list[str]) -> None:
    """Store a list, so that a number can denote a row of it."""
    lists, name = _new_lists(workspace).lists, _terminal(workspace) + kind
    lists.pop(name, None)
    lists[name] = shown


class NewLists:
    """The lists of this workspace, written when it is closed, so that a program that lists often writes once."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.lists: dict[str, list[str]] = {}

    def close(self) -> None:
        if self.lists and self.workspace.exists:
            newest = dict(list(_with(self.workspace, self.lists).items())[-TERMINALS:])
            with contextlib.suppress(HoldfastError):  # a lost list is no reason to fail
                files.put(self.workspace.here / LISTED, msgspec.json.encode(newest), synced=False)


def _new_lists(workspace: Workspace) -> NewLists:
    return workspace.keep(NewLists, lambda: NewLists(workspace))


def forget_listed(workspace: Workspace, names: Collection[str]) -> None:
    """Blank these names in all lists. Their rows stay, so that the other numbers do not shift."""
    owners = {one_line(name, NAME) for name in names}
    kept = {
        whose: ["" if id in names else id for id in shown]
        for whose, shown in _lists(workspace).items()
        if whose.rpartition(" ")[0] not in owners
    }
    _new_lists(workspace).lists = {}
    if kept:
        files.write(workspace.here / LISTED, msgspec.json.encode(kept))
    else:
        files.remove(workspace.here / LISTED)


def listed(workspace: Workspace, kind: str) -> list[str]:
    return _lists(workspace).get(_terminal(workspace) + kind, [])


def is_checkpoint(workspace: Workspace, journal: Journal, name: str) -> bool:
    """True if a name denotes a checkpoint: by its form; a number, if they were listed last; else if no run matches."""
    if name.startswith(("cp-", "run-", "ses-")):
        return name.startswith("cp-")
    if name.isdecimal():
        mine = _terminal(workspace)
        kinds = [key.removeprefix(mine) for key in _lists(workspace) if key.startswith(mine)]
        return [kind for kind in kinds if kind in ("run", "checkpoint")][-1:] == ["checkpoint"]
    if not is_ledger(name) and (journal.find_run(name) or _matching(workspace, journal, "run", name)):
        return False
    if name.startswith(describe.AT_PROMPT) or describe.parse_age(name):
        return True
    if _named_checkpoint(workspace, journal, name) or _matching(workspace, journal, "checkpoint", name):
        return True
    return bool(describe.search(workspace, journal, name))


def several(workspace: Workspace, message: str, runs: list[Run]) -> Ambiguous:
    facts = [(run.id, f"{run.status}, {one_line(run.title, 60)}") for run in runs[:SHOWN]]
    way = "`holdfast switch RUN` makes one current in this worktree"
    if workspace.is_preview:  # `switch` needs a store
        way = "`holdfast resume RUN` resumes one"
    return Ambiguous(message, facts, ["name one of them", way])


def _terminal(workspace: Workspace) -> str:
    """Return the owner of a list: the terminal, so that a list in another one does not change the numbers in this one.

    A client starts each command in a process session of its own, so there the conversation is the owner.
    """
    conversation = workspace.callers[0].conversation if workspace.callers else ""
    return f"{one_line(conversation, NAME) or os.getsid(0)} "


def _lists(workspace: Workspace) -> dict[str, list[str]]:
    return _with(workspace, _new_lists(workspace).lists)


def _with(workspace: Workspace, new: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return all stored lists, the latest last."""
    kept = read_record(workspace.here / LISTED, dict[str, list[str]]) or {}
    return {name: shown for name, shown in kept.items() if name not in new} | new


def _matching(workspace: Workspace, journal: Journal, kind: str, name: str) -> list[str]:
    if _is_row(name):
        row = int(name) - 1
        shown = listed(workspace, kind)
        return list(filter(None, shown[row : row + 1])) if row >= 0 else []  # never part of an id
    found = journal.view.find_ids(kind, name, SHOWN + 1) if ids.is_safe(name) else []
    return [id for id in found if not is_ledger(id)]


def _is_row(name: str) -> bool:
    return name.isdecimal() and len(name) < 6


def _near(name: str, journal: Journal) -> list[str]:
    from difflib import get_close_matches

    newest, _ = journal.list_runs(RunQuery(limit=200))
    return get_close_matches(one_line(name, 60), [run.id for run in newest], 1, 0.8)


def _not_found(workspace: Workspace, noun: str, name: str, near: Sequence[str] = ()) -> NotFound:
    hint = f"`holdfast {noun}s` lists them"
    rows = len(listed(workspace, noun)) if _is_row(name) else 0
    if rows and 0 < int(name) <= rows:
        return NotFound(f"The {noun} in row {int(name)} of the last list was removed", [], [hint])
    if rows:
        return NotFound(f"There is no {noun} {int(name)}: the last list had {count(rows, 'row')}", [], [hint])
    hints = [f"did you mean `{near[0]}`?"] if near else []
    return NotFound(f'There is no {noun} "{one_line(name, 60)}"', [], [*hints, hint])


def get_typed(workspace: Workspace, journal: Journal, name: str) -> Run:
    """Resolve a run by its id, a row of the last list, or a unique suffix of its id."""
    if not name:
        return get_run(workspace, journal, None)
    is_row = name.isdecimal() and len(name) < 6 and 0 < int(name) <= len(listed(workspace, "run"))
    if journal.find_run(name) or is_row or not name.isdecimal():
        return find_by_name(workspace, journal, name)
    ending = [id for id in journal.view.find_ids("run", name, ENDINGS) if id.endswith(name) and not is_ledger(id)]
    if len(ending) > 1:
        raise several(workspace, f'Several runs end with "{name}"', [journal.get_run(id) for id in ending])
    return journal.get_run(ending[0]) if ending else find_by_name(workspace, journal, name)


def pointed(workspace: Workspace) -> str | None:
    with workspace.reading() as journal:
        return journal.view.pointer(workspace.worktree)


def statuses(words: tuple[str, ...], command: str) -> frozenset[str]:
    """Parse names of statuses; `open` is all open ones."""
    for word in words:
        if word not in ("open", *STATUSES):
            facts = [("known", ", ".join(["open", *STATUSES]))]
            raise WrongUsage(f'There is no status "{one_line(word, 40)}"', facts, [f"`holdfast {command} --help`"])
    return frozenset(words) - {"open"} | (OPEN_STATUSES if "open" in words else frozenset())


def layouts(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(sound_text, words))


def labels(agent: str | None, tag: str | None) -> frozenset[str]:
    return frozenset(sound_text(label) for label in (agent and f"agent:{agent}", tag and f"tag:{tag}") if label)


def moment(time: datetime | None) -> int | None:
    return micros(time.astimezone()) if time else None


def length(workspace: Workspace, limit: int | None) -> int:
    if limit is not None and limit < 1:
        raise WrongUsage("A list has at least one row", [("limit", limit)])
    return limit or workspace.settings.whole("list.limit")
