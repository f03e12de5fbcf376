"""Set up: init, uninit, doctor, on, off, config, completion."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from typing import NamedTuple

import click

from holdfast.agents.install import Changed
from holdfast.agents.protocol import setup_of
from holdfast.agents.registry import adapters
from holdfast.core.errors import DONE, FAILED
from holdfast.core.text import count, one_line
from holdfast.operations import config as configure, doctor as examining, init as initialise, uninit as uninstall
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.decorators import VerbGroup, ask, confirm, verb, yes_option
from holdfast.surfaces.cli.runner import Said, is_terminal
from holdfast.surfaces.cli.terminal import Line

STYLE_OF = {"ok": "good", "warning": "warn", "broken": "bad"}

AGENTS = {agent.NAME: agent for agent in adapters()}
SCOPES = dict.fromkeys(scope for agent in AGENTS.values() for scope in agent.SCOPES)


@verb("holdfast init --agent claude --scope local")
@click.option(
    "--agent", type=click.Choice([*AGENTS, initialise.NONE]), help="The agent that shall call us; else what is here."
)
@click.option("--scope", type=click.Choice(list(SCOPES)), help="For you here (local), for all of the project, or you.")
@click.option("--plugin", is_flag=True, help="Write no settings: say how our plugin for Claude Code is loaded.")
@click.option("--status-line", is_flag=True, help="Show the run and its context in the status line, if there is none.")
@click.option(
    "--faber-hooks",
    type=click.Choice(initialise.CHOICES),
    help="FABER's own hooks in the settings: ours instead, or they stay.",
)
@click.option("--print", "dry_run", is_flag=True, help="Print what would be put into the settings, and write nothing.")
@click.option("--adopt", is_flag=True, help="Believe a store that came with a copy or an archive.")
@yes_option
def init(
    workspace: Workspace,
    agent: str | None,
    scope: str | None,
    plugin: bool,
    status_line: bool,
    faber_hooks: str | None,
    dry_run: bool,
    adopt: bool,
    yes: bool,
) -> Said:
    """Prepare this project: make its store, and let its agent call us."""
    if not (dry_run or yes):
        workspace.check_broad()  # before anything else is asked
    found = initialise.init(
        workspace,
        adopt=adopt,
        agent=agent,
        scope=scope,
        plugin=plugin,
        status_line=status_line,
        faber_hooks=faber_hooks or (None if plugin or dry_run or agent == "none" else _asked_about_faber(workspace)),
        broad=yes,
        dry_run=dry_run,
    )
    if found.plugin:
        return Said(found, [found.plugin], list(_loading(found)))
    if dry_run:
        return Said(found, [json.dumps(found.block, indent=2)], [f"This would go into {found.file}", *found.hints])
    talk: list[Line] = ["Ready." if found.created else "It was ready already."]
    if found.agent is None:
        call = shlex.join([sys.executable, "-I", "-S", found.hook, "AGENT", "EVENT"])
        talk.append(f"Any agent's hook can call: {call}")
    else:
        talk += list(_changes(found.file or "", found.events)) or [f"All calls stand in {found.file}"]
    talk += [f"FABER's own hooks are gone from {file}; `holdfast uninit` puts them back" for file in found.faber_hooks]
    return Said(found, [found.store], [*talk, *found.hints])


def _asked_about_faber(workspace: Workspace) -> str | None:
    """Whether FABER's own hooks in this project's settings make way for ours; None where nobody can be asked."""
    found = initialise.find_client_hooks(setup_of(workspace)) if is_terminal() else []
    places = ", ".join(hooks.where for hooks in found if hooks.can_be_replaced)
    if not places:
        return None
    question = f"FABER's own hooks load and save sessions here ({places}). Replace them with Holdfast's?"
    return initialise.REPLACE if ask(question) else initialise.KEEP


def _loading(found: initialise.Initialised) -> Iterator[Line]:
    once, add, install = found.commands
    if found.created:
        yield "Ready."
    yield from ("Load the plugin for one session:", f"  {once}", "or for all:", f"  {add}", f"  {install}")
    yield from found.hints


def _changes(file: str, events: dict[str, str]) -> Iterator[Line]:
    for what in ("added", "replaced", "removed"):
        names = [event for event, done in events.items() if done == what]
        if names:
            yield f"In {file}, {what}: {', '.join(names)}"


@verb("holdfast uninit --scope local")
@click.option("--scope", type=click.Choice(list(SCOPES)), help="Only there; else wherever this project has our calls.")
@click.option("--purge", is_flag=True, help="Delete the store too, with all runs and checkpoints.")
@yes_option
def uninit(workspace: Workspace, scope: str | None, purge: bool, yes: bool) -> Said:
    """Give the agent's settings back as they were."""
    if purge:
        question = f"Delete {workspace.place} with all runs and checkpoints, for good?"
        confirm(question, yes, f"holdfast uninit{f' --scope {scope}' if scope else ''} --purge")
    found = uninstall.uninit(workspace, scope=scope, purge=purge)
    talk: list[Line] = [f"{changed.file} {_given_back(changed)}" for changed in found.files]
    if not found.files:
        talk.append("No settings here had our calls.")
    if found.purged:
        talk.append(f"Deleted {found.purged}")
    if found.packs:
        talk.append(
            f"Left to git, since your history rests on them: {count(found.packs, 'pack')}. What you never committed "
            "may be in there too; `git repack -ad && git prune` takes that out"
        )
    return Said(found, [changed.file for changed in found.files], [*talk, *found.hints])


def _given_back(changed: Changed) -> str:
    if changed.gone:
        return "is gone again"
    return "is what it was before" if changed.exact else "was changed meanwhile; only our calls were taken out"


@verb("holdfast doctor")
def doctor(workspace: Workspace) -> Said:
    """Look whether hooks are active, and what keeps them from it."""
    found = examining.doctor(workspace)
    data: list[Line] = []
    for check in found.checks:
        data.append((STYLE_OF[check.state], f"{check.state:<8} {check.name}: {one_line(check.about, 300)}"))
        if check.state != "ok":
            data += [f"           try: {one_line(hint, 300)}" for hint in check.hints]
    return Said(found, data, code=DONE if found.healthy else FAILED)


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
    return Said(found, lambda: terminal.table(columns, rows))


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
