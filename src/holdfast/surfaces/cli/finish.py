"""Pause, complete, fail, abort, abandon, reopen: six words for how a run rests, ends, and is open again."""

from __future__ import annotations

from collections.abc import Callable

import click

from holdfast.core.text import one_line
from holdfast.operations import finish
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli.decorators import run_option, verb
from holdfast.surfaces.cli.runner import Said


def _command(word: str, act: Callable[..., finish.Settled], example: str) -> click.Command:
    @verb(example, word)
    @run_option
    @click.option("--reason", metavar="TEXT", help="Why, in a sentence.")
    def command(workspace: Workspace, run: str | None, reason: str | None) -> Said:
        found = act(workspace, run, reason=reason)
        now = (
            f"{found.run.id} is {found.run.status}"
            if found.changed
            else f"{found.run.id} was {found.run.status} already"
        )
        return Said(found, [found.run.id], [f"{now}: {one_line(found.run.title, 80)}"])

    command.help = act.__doc__
    return command


pause = _command("pause", finish.pause, 'holdfast pause --reason "waiting for the review"')
complete = _command("complete", finish.complete, 'holdfast complete --reason "merged"')
fail = _command("fail", finish.fail, 'holdfast fail --reason "the API is gone"')
abort = _command("abort", finish.abort, "holdfast abort --run run-4x9k2m7pq3")
abandon = _command("abandon", finish.abandon, "holdfast abandon --run run-4x9k2m7pq3")
reopen = _command("reopen", finish.reopen, "holdfast reopen --run run-4x9k2m7pq3")
