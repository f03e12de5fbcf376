"""What was set up: agents' settings, recording, what doctor finds, Holdfast's own settings, trust."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.core.errors import DONE, FAILED
from holdfast.core.text import count, one_line, spelled
from holdfast.surfaces.cli.render import View, listed, previews, renders, say
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line

if TYPE_CHECKING:
    from holdfast.agents.install import Changed
    from holdfast.operations import config, doctor, init, trust

STYLE_OF = {  # of checks, and of grants
    "ok": "good", "warning": "warn", "broken": "bad", "trusted": "good", "changed": "bad", "waiting": "warn",
}  # fmt: skip
WHITE = r"[ \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]"
BLANK = re.compile(rf"{WHITE}*+(?:\n{WHITE}*+){{6,}}|{WHITE}{{41,}}")  # of a length that nobody needs


@renders
def said_initialised(found: init.Initialised, view: View) -> Said:
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


def _loading(found: init.Initialised) -> Iterator[Line]:
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


@renders
def said_uninstalled(found: init.Uninstalled, view: View) -> Said:
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


@renders
def said_examined(found: doctor.Examined, view: View) -> Said:
    data: list[Line] = []
    for check in found.checks:
        data.append((STYLE_OF[check.state], f"{check.state:<8} {check.name}: {one_line(check.about, 300)}"))
        if check.state != "ok":
            data += [f"           try: {one_line(hint, 300)}" for hint in check.hints]
    return Said(found, data, code=DONE if found.healthy else FAILED)


@renders
def said_recording(found: init.Switched, view: View) -> Said:
    if found.off:
        return Said(found, talk=["Nothing is recorded here from now on." if found.changed else "It was off already."])
    return Said(found, talk=["Recording." if found.changed else "It was on already."])


@renders
def said_settings(found: config.Configured, view: View) -> Said:
    shown = 3 if view.given.get("origin") else 2
    rows = [[value.key, str(value.value), value.origin][:shown] for value in found.settings]
    return listed(found, "setting value origin" if shown == 3 else "setting value", rows)


say(
    {
        "settings.Value": lambda found: (str(found.value),),
        "config.Set": lambda found: (str(found.value), f"Written to {found.file}"),
    }
)


@renders
def said_grants(found: trust.TrustListed, view: View) -> Said:
    lines: list[Line] = []
    for grant in found.grants:
        lines.append((STYLE_OF.get(grant.state, "dim"), f"{grant.state:<8} {one_line(grant.path)}"))
        lines += [f"           {literal(command)}" for command in grant.commands]
    return Said(found, lines, [] if lines else ["Nothing is allowed"])


@renders
def said_untrusted(found: trust.Untrusted, view: View) -> Said:
    lines: list[Line] = [one_line(place) for place in found.paths]
    return Said(found, lines, ["Not trusted any more" if lines else "Nothing here was trusted"])


@renders
def said_trusted(found: trust.Trusted, view: View) -> Said:
    number = len(found.allowed) + sum(brought.state != "trusted" for brought in found.files)
    if number:
        return Said(found, found.allowed, [f"Allowed: {count(len(found.allowed), 'file')} of {number}"])
    names = ", ".join(one_line(brought.path, 200) for brought in found.files)
    return Said(found, talk=[f"All of it is trusted: {names}" if names else "Nothing here waits for trust"])


@previews
def shown(found: trust.Brought) -> Iterator[Line]:
    """What a file brings, word for word; what would act on a terminal or hide is spelled out."""
    was = " (it has changed since you allowed it)" if found.state == "changed" else ""
    yield ("title", f"{literal(found.path)}{was}")
    for order in found.orders:
        yield f"  {one_line(order.artifact)}: {literal(order.command)}"
        if order.why_not:
            yield ("dim", f"    it never runs: it {one_line(order.why_not, 200)}")
    for file in found.files:
        yield f"  which names {literal(file.path)} (sha256 {file.sha256[:16]}…):"
        yield from (f"    | {line}" for line in _counted(file.text).split("\n"))
        if file.cut:
            yield ("warn", "    | there is more of it: look at all of it before you allow it")
    yield (
        "dim",
        "  This file and the files that it names are bound byte for byte; what else they read or run is not",
    )


def literal(command: str) -> str:
    return _counted(command).replace("\n", "\\n").replace("\t", "\\t")


def _counted(text: str) -> str:
    """The text, spelled out; where there is nothing for long it says so, or what stands before leaves the screen."""
    return BLANK.sub(_count, spelled(text))


def _count(found: re.Match[str]) -> str:
    lines = found.group().count("\n")
    return f"\n[{count(lines - 1, 'empty line')}]\n" if lines else f"[{count(len(found.group()), 'blank')}]"
