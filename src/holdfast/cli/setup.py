"""Set up: init, on, off, config, completion."""

from __future__ import annotations

import sys
from typing import NamedTuple

import click

from holdfast.cli import words
from holdfast.cli.command import VerbGroup, verb
from holdfast.cli.outcome import Said
from holdfast.operations import configure, initialise
from holdfast.workspace import Workspace


@verb("holdfast init")
@click.option("--adopt", is_flag=True, help="Believe a store that came with a copy or an archive.")
def init(workspace: Workspace, adopt: bool) -> Said:
    """Prepare this project: make its store."""
    found = initialise.init(workspace, adopt=adopt)
    hook = f"Any agent's hook can call: {sys.executable} -I -S {found.hook} AGENT EVENT"
    return Said(found, [found.store], ["Ready." if found.created else "It was ready already.", hook])


@verb("holdfast off")
def off(workspace: Workspace) -> Said:
    """Record nothing in this project until `holdfast on`. In one shell: `export HOLDFAST=0`."""
    found = initialise.off(workspace)
    return Said(found, talk=["Nothing is recorded here from now on." if found.changed else "It was off already."])


@verb("holdfast on")
def on(workspace: Workspace) -> Said:
    """Record in this project again."""
    found = initialise.on(workspace)
    return Said(found, talk=["Recording." if found.changed else "It was on already."])


@click.group(cls=VerbGroup, example="holdfast config list --origin", no_args_is_help=True)
def config() -> None:
    """Look at settings and change them."""


@verb("holdfast config list --origin", "list", config)
@click.option("--origin", is_flag=True, help="Show where each value comes from.")
def list_(workspace: Workspace, origin: bool) -> Said:
    """Every setting with its value."""
    found = configure.config_list(workspace)
    columns = ["setting", "value", "origin"] if origin else ["setting", "value"]
    rows = [[value.key, str(value.value), value.origin][: len(columns)] for value in found.settings]
    return Said(found, lambda: words.table(columns, rows))


@verb("holdfast config get brief.budget", "get", config)
@click.argument("key")
def get(workspace: Workspace, key: str) -> Said:
    """One setting's value."""
    found = configure.config_get(workspace, key)
    return Said(found, [str(found.value)])


@verb("holdfast config set brief.budget 20000", "set", config)
@click.argument("key")
@click.argument("value")
@click.option("--project", "for_project", is_flag=True, help="In the project's .holdfast.toml, where it is harmless.")
def set_(workspace: Workspace, key: str, value: str, for_project: bool) -> Said:
    """Set one setting; comments in the file stay."""
    found = configure.config_set(workspace, key, value, for_project=for_project)
    return Said(found, [str(found.value)], [f"Written to {found.file}"])


class Completion(NamedTuple):
    shell: str
    script: str


@verb('eval "$(holdfast completion bash)"')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(workspace: Workspace, shell: str) -> Said:
    """Print the completion script of a shell."""
    from click.shell_completion import ShellComplete, get_completion_class

    maker = get_completion_class(shell)
    assert maker is not None
    made = maker(click.get_current_context().find_root().command, {}, "holdfast", "_HOLDFAST_COMPLETE")
    script = ShellComplete.source(made)  # the class's own `source` would run whatever is called bash
    return Said(Completion(shell, script)._asdict(), [script])
