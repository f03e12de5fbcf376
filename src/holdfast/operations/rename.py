"""Names and tags: how people call a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import WrongUsage
from holdfast.core.model import Draft, Run
from holdfast.core.text import as_tuple, checked
from holdfast.operations.parameters import RunName, argument, option
from holdfast.operations.verb import Group, verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace

TAG_LIMIT = 64


class Renamed(Struct):
    run: Run


class Tagged(Struct):
    run: Run


@verb(group=Group.TELL, example='holdfast rename "Retries"', about="give a run a name")
def rename(workspace: Workspace, name: Annotated[str, argument()], *, run: RunName = None) -> Renamed:
    """Give a run a name, which is shown instead of its goal."""
    checked(name, "name", 200)
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        if found.name != name:
            journal.append(found.id, Draft("run.renamed", {"name": name}))
        return Renamed(journal.get_run(found.id))


@verb(group=Group.TELL, example="holdfast tag urgent --remove waiting")
def tag(
    workspace: Workspace,
    add: Annotated[Sequence[str], argument(metavar="TAG…")],
    *,
    remove: Annotated[Sequence[str], option(metavar="TAG", help="Take this tag off. Can be repeated.")] = (),
    run: RunName = None,
) -> Tagged:
    """Add tags to a run, or take them off. Prints all its tags."""
    add, remove = as_tuple(add), as_tuple(remove)
    for word in (*add, *remove):
        checked(word, "tag", TAG_LIMIT)
        if any(letter.isspace() or letter == "," for letter in word):
            raise WrongUsage("A tag is one word", [("tag", word)], ["use a dash: `in-review`"])
    with workspace.writing() as journal:
        found = select.get_run(workspace, journal, run)
        added = [word for word in dict.fromkeys(add) if word not in found.tags]
        removed = [word for word in dict.fromkeys(remove) if word in found.tags]
        if added or removed:
            journal.append(found.id, Draft("run.tagged", {"added": added, "removed": removed}))
        return Tagged(journal.get_run(found.id))
