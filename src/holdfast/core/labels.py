"""Labels of a run: name, tags, goal, mode, worktree, place in an archive."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core.fold.activity import text_of, texts_of
from holdfast.core.model import Body, Event, Run


def _chosen(run: Run, event: Event, body: Body) -> None:
    run.unasked = False


def _renamed(run: Run, event: Event, body: Body) -> None:
    run.name = text_of(body.get("name")) or None


def moved(run: Run, event: Event, body: Body) -> None:
    run.worktree = text_of(body.get("worktree")) or run.worktree
    run.directory = text_of(body.get("directory")) or run.directory


def _tagged(run: Run, event: Event, body: Body) -> None:
    removed = set(texts_of(body.get("removed")))
    run.tags = [tag for tag in run.tags if tag not in removed]
    run.tags += [tag for tag in dict.fromkeys(texts_of(body.get("added"))) if tag not in run.tags]


def _retold(run: Run, event: Event, body: Body) -> None:
    run.goal = text_of(body.get("goal")) or run.goal
    run.mode = text_of(body.get("mode")) or run.mode


def _archived(run: Run, event: Event, body: Body) -> None:
    run.archived = text_of(body.get("path")) or None


HANDLERS: dict[str, Callable[[Run, Event, Body], None]] = {
    "run.chosen": _chosen,
    "run.renamed": _renamed,
    "run.moved": moved,
    "run.tagged": _tagged,
    "goal.changed": _retold,
    "mode.chosen": _retold,
    "run.archived": _archived,
}
