"""Descriptions of checkpoints: the prompt each belongs to; and checkpoints found by a prompt, an age or words.

A checkpoint is made at the end of a turn, or when a prompt is given after somebody else has changed files. The first
holds the turn's work; the second, which has no session, is the state in which its prompt was given.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from datetime import timedelta
from itertools import groupby

from holdfast.core.model import Checkpoint, Event, Reason, text_of, texts_of
from holdfast.core.text import count, one_line
from holdfast.journal.journal import Journal
from holdfast.project.workspace import Workspace
from holdfast.system.clock import ago

PROMPT, ANSWER, ACTION = "prompt.given", "turn.ended", "action.taken"
WORKING = ("action.begun", ACTION, ANSWER, "subagent.started")  # the first of them after a prompt: work has begun
WORDS = 200  # characters of a prompt in a list
FILLERS = frozenset({"a", "an", "the", "my", "our", "this", "that", "to", "of", "in", "on", "was", "were", "we", "i"})
AGE = re.compile(
    r"(\d{1,6})\s*(s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?|w|weeks?)(\s+ago)?", re.IGNORECASE | re.ASCII
)
SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
AROUND = "\"'`.,:;!?()"  # of a word in a sentence
AT_PROMPT = "@prompt:"


class ListedCheckpoint(Checkpoint):
    prompt: str | None = None  # the first words of the prompt, or else of the action, before it
    added: int | None = None  # lines since the previous checkpoint; null: not counted
    removed: int | None = None
    precedes: bool = False  # it is the state in which its prompt was given, before any work on it


# Prompts


def is_at_prompt(made: Checkpoint) -> bool:
    return made.reason is Reason.TURN and made.session is None


def last_events(journal: Journal, made: Iterable[Checkpoint], kinds: Collection[str]) -> dict[str, Event]:
    """Map each checkpoint to the last event of these kinds before it. Every run is read at most once."""
    with_run = [(found.run, found.seq, found.id) for found in made if found.run and found.seq is not None]
    found: dict[str, Event] = {}
    for run, group in groupby(sorted(with_run), key=lambda each: each[0]):
        known = journal.find_run(run)
        if known is None:
            continue
        forgotten = set(known.forgotten)
        last: Event | None = None
        before = 0
        for _, seq, id in group:
            if seq > before:
                events = journal.events(run, after=before, until=seq, newest=1 + len(forgotten), kinds=kinds)
                last = next((event for event in reversed(list(events)) if event.seq not in forgotten), last)
                before = seq
            if last is not None:
                found[id] = last
    return found


def prompts_of(journal: Journal, run: str) -> list[Event]:
    """Return the prompts of a run, oldest first, without forgotten ones."""
    known = journal.get_run(run)
    return [event for event in journal.events(run, kinds=(PROMPT,)) if event.seq not in known.forgotten]


def find_at_prompt(journal: Journal, prompt: Event, made: Iterable[Checkpoint]) -> Checkpoint | None:
    """Return the checkpoint with the worktree as it was when a prompt was given; `made`: of its worktree, newest first.

    It is the one made at the prompt itself, if no work had begun; else the last one before the prompt.
    """
    work = next((journal.view.events(prompt.run, after=prompt.seq, kinds=WORKING)), None)
    for found in made:
        if found.run != prompt.run or found.seq is None:
            if found.time <= prompt.time:
                return found
        elif found.seq < prompt.seq or (is_at_prompt(found) and (work is None or found.seq < work.seq)):
            return found
    return None


def find_after(made: Iterable[Checkpoint], run: str, seq: int) -> Checkpoint | None:
    """Return the first checkpoint of a run that holds the effect of an event; `made` is in any order."""
    later = [found for found in made if found.run == run and found.seq is not None and found.seq >= seq]
    regular = [found for found in later if not found.reason.is_way_back and not is_at_prompt(found)]
    return min(regular or later, key=lambda found: (found.seq, found.number), default=None)


# Words


def parse_age(text: str) -> timedelta | None:
    """Parse `10m`, `2h`, `3 days` or `3 days ago`."""
    found = AGE.fullmatch(text.strip())
    return timedelta(seconds=int(found[1]) * SECONDS[found[2][0].lower()]) if found else None


def parse_prompt_number(text: str) -> int | None:
    """Parse `@prompt:3`."""
    number = text.removeprefix(AT_PROMPT)
    return int(number) if text.startswith(AT_PROMPT) and number.isdecimal() and len(number) < 8 else None


def find_by_age(workspace: Workspace, journal: Journal, age: timedelta) -> Checkpoint | None:
    """Return the newest checkpoint of this worktree of at least this age; a safety one if there is no other."""
    until = workspace.clock.now() - age
    old = [made for made in journal.list_checkpoints(workspace.worktree) if made.time <= until]
    return next((made for made in old if not made.reason.is_way_back), next(iter(old), None))


def words_of(text: str) -> list[str]:
    """Split a search into its words, without those that say nothing unless there are no others."""
    words = [word for each in text.casefold().split() if (word := each.strip(AROUND))]
    return [word for word in words if word not in FILLERS] or words


def fitting(journal: Journal, made: list[Checkpoint], text: str) -> Iterator[Checkpoint]:
    """Filter for checkpoints whose name, message, prompt, answer or changed files have all words of a text."""
    words = words_of(text)
    prompts = last_events(journal, made, (PROMPT,))
    answers = last_events(journal, made, (ANSWER,))
    for found in made if words else ():
        prompt, answer = prompts.get(found.id), answers.get(found.id)
        texts = [found.name or "", found.message or "", *found.changed]
        if prompt:
            texts.append(text_of(prompt.body.get("text")))
        if answer and (prompt is None or answer.seq > prompt.seq):
            texts.append(text_of(answer.body.get("text")))
        if _has(words, "\n".join(texts)):
            yield found


def search(workspace: Workspace, journal: Journal, text: str) -> list[Checkpoint]:
    """Return the checkpoints of this worktree that a text may mean, newest first, without safety checkpoints.

    `before X` means those with such a name, or else the states in which prompts with X were given.
    """
    regular = [made for made in journal.list_checkpoints(workspace.worktree) if not made.reason.is_way_back]
    words = words_of(text)
    if words[:1] == ["before"] and len(words) > 1:
        named = [made for made in regular if _has(words, made.name or "")]
        if found := named or _before_prompts(journal, regular, words[1:]):
            return found
    return list(fitting(journal, regular, text))


def _before_prompts(journal: Journal, made: list[Checkpoint], words: list[str]) -> list[Checkpoint]:
    wanted = set()
    for run in dict.fromkeys(found.run for found in made if found.run):
        for prompt in prompts_of(journal, run) if journal.find_run(run) else ():
            if _has(words, text_of(prompt.body.get("text"))) and (at := find_at_prompt(journal, prompt, made)):
                wanted.add(at.id)
    return [found for found in made if found.id in wanted]


def _has(words: list[str], text: str) -> bool:
    searched = text.casefold()
    return all(word in searched for word in words)


# Lists


def describe(workspace: Workspace, journal: Journal, made: list[Checkpoint]) -> list[ListedCheckpoint]:
    """Add to checkpoints what a list shows of each, except the lines, which git counts."""
    prompts = last_events(journal, made, (PROMPT,))
    actions = last_events(journal, [found for found in made if found.id not in prompts], (ACTION,))
    listed = []
    for found in made:
        event = prompts.get(found.id) or actions.get(found.id)
        listed.append(
            ListedCheckpoint(
                **{name: getattr(found, name) for name in Checkpoint.__struct_fields__},
                prompt=workspace.hide(first_words(event)) if event else None,
                precedes=_precedes(journal, found, prompts.get(found.id)),
            )
        )
    return listed


def about(made: ListedCheckpoint) -> str:
    """Return a line about a checkpoint, for a choice between several."""
    files = f"{count(made.changes, 'file')}{told_lines(made)}"
    return f"{ago(made.time)}, {made.kind}, {files}: {told_words(made, 80)}".removesuffix(": ")


def _precedes(journal: Journal, made: Checkpoint, prompt: Event | None) -> bool:
    if prompt is None or not is_at_prompt(made):
        return False
    return not any(journal.view.events(prompt.run, after=prompt.seq, until=made.seq, newest=1, kinds=WORKING))


def told_lines(made: ListedCheckpoint) -> str:
    return f" +{made.added:,} -{made.removed:,}" if made.added is not None and made.removed is not None else ""


def told_words(made: ListedCheckpoint, width: int) -> str:
    """Return the marks of a checkpoint, and in whose words it is: its message, or the prompt that it belongs to."""
    marks = [f"[{one_line(made.name, 60)}]"] if made.name else []
    marks += ["[pinned]"] if made.pinned else []
    words = made.message or made.prompt or ""
    before = "before: " if made.precedes and made.prompt and not made.message else ""
    return " ".join(filter(None, [*marks, one_line(before + words, width) if words else ""]))


def first_words(event: Event) -> str:
    """Return the beginning of a prompt or an action, in one line."""
    return one_line(text_of(event.body.get("text")) or ", ".join(texts_of(event.body.get("files"))), WORDS)
