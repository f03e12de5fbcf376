"""Secrets that a scan finds: kind, place and length, and nothing of a secret itself."""

from __future__ import annotations

from holdfast.core.text import count, one_line
from holdfast.operations.scan_secrets import Scanned
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line


@renders(Scanned)
def said_scan(found: Scanned, view: View) -> Said:
    data: list[Line] = [
        f"{one_line(secret.where, 300)}: {secret.kind}, {count(secret.length, 'character')}" for secret in found.secrets
    ]
    return Said(found, data, _talk(found, of_files=view.given.get("target") is not None))


def _talk(found: Scanned, *, of_files: bool) -> list[Line]:
    looked = count(found.files, "file") if of_files else count(found.events, "event")
    number = len(found.secrets) + found.more
    talk: list[Line] = [f"Looked at {looked}"]
    if found.code is not None:
        talk.append(f"Looked at {count(found.code, 'file')} in {count(found.checkpoints, 'checkpoint')}")
    elif found.checkpoints:
        talk.append("The code in checkpoints was not looked at: `holdfast scan --code` does")
    if found.skipped:
        talk.append(f"{count(found.skipped, 'file')} skipped: no text, too large, or not to be read")
    if found.hidden:
        kinds = ", ".join(f"{times:,} of kind {kind}" for kind, times in found.hidden.items())
        talk.append(f"Hidden: {kinds}")
    if found.more:
        talk.append(f"{count(found.more, 'secret')} more, not listed")
    if not number:
        return [*talk, "Nothing that looks like a secret stands there as it is"]
    in_code = sum(secret.run is None for secret in found.secrets) if not found.files else 0
    if in_code:
        talk.append(("warn", f"{count(in_code, 'secret')} in the code of checkpoints, which is kept as it is"))
        number -= in_code
    if not number:
        return talk
    if found.files:
        return [*talk, ("warn", f"{count(number, 'secret')} would be hidden")]
    run = next((secret.run for secret in found.secrets if secret.run), "RUN")
    way = f"`holdfast export {run} FILE`, `holdfast delete {run} --purge`, then `holdfast import FILE`"
    return [*talk, ("warn", f"{count(number, 'secret')} stored as they are, by an older version: {way} hides them")]
