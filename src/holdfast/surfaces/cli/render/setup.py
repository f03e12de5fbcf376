"""What was set up: agents' settings, recording, and what doctor finds."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator

from holdfast.agents.install import Changed
from holdfast.core.errors import DONE, FAILED
from holdfast.core.text import count, one_line
from holdfast.operations.doctor import Examined
from holdfast.operations.init import Initialised, Switched, Uninstalled
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line

STYLE_OF = {"ok": "good", "warning": "warn", "broken": "bad"}


@renders(Initialised)
def said_initialised(found: Initialised, view: View) -> Said:
    if found.plugin:
        return Said(found, [found.plugin], list(_loading(found)))
    if view.given.get("dry_run"):
        return Said(found, [json.dumps(found.block, indent=2)], [f"This would go into {found.file}", *found.hints])
    talk: list[Line] = ["Ready." if found.created else "It was ready already."]
    if found.agent is None:
        call = shlex.join([sys.executable, "-I", "-S", found.hook, "AGENT", "EVENT"])
        talk.append(f"Any agent's hook can call: {call}")
    else:
        talk += list(_changes(found.file or "", found.events)) or [f"All calls stand in {found.file}"]
    talk += [f"FABER's own hooks are gone from {file}; `holdfast uninit` puts them back" for file in found.faber_hooks]
    return Said(found, [found.store], [*talk, *found.hints])


def _loading(found: Initialised) -> Iterator[Line]:
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


@renders(Uninstalled)
def said_uninstalled(found: Uninstalled, view: View) -> Said:
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


@renders(Examined)
def said_examined(found: Examined, view: View) -> Said:
    data: list[Line] = []
    for check in found.checks:
        data.append((STYLE_OF[check.state], f"{check.state:<8} {check.name}: {one_line(check.about, 300)}"))
        if check.state != "ok":
            data += [f"           try: {one_line(hint, 300)}" for hint in check.hints]
    return Said(found, data, code=DONE if found.healthy else FAILED)


@renders(Switched)
def said_recording(found: Switched, view: View) -> Said:
    if found.off:
        return Said(found, talk=["Nothing is recorded here from now on." if found.changed else "It was off already."])
    return Said(found, talk=["Recording." if found.changed else "It was on already."])
