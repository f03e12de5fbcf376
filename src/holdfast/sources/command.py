"""A command of the client: it is named and not run. What a project names runs only where the user has allowed it."""

from __future__ import annotations

from holdfast.sources.protocol import Found, Loaded, Unloadable, Wanted, said

WHY = "a command that a project names runs only where you have allowed it, and this version has no way to allow one yet"


def look(wanted: Wanted) -> Found:
    if not said(wanted.command):
        return Found(False, None, "", "names no command")
    return Found(True, None, said(wanted.command), "is not run")


def load(wanted: Wanted) -> Loaded:
    command = said(wanted.command)
    if not command:
        raise Unloadable("names no command")
    text = f"Not run: {command}\nThis is because {WHY}.\nTo see what it says, type the command in the client.\n"
    return Loaded(text, 0, command, ran=False, notes=[f"not run: {WHY}"])
