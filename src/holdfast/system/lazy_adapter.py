"""A package behind a protocol: each member is loaded when it is used, and one that is left out is the default's."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


class LazyAdapter:
    """The members of a package by the module that defines them, as its `MEMBERS` says, before those of a default."""

    def __init__(self, package: str, members: Mapping[str, str], default: ModuleType) -> None:
        self._package, self._default = package, default
        self._homes = {member: home for home, names in members.items() for member in names.split()}

    def __getattr__(self, member: str) -> Any:
        home = self._homes.get(member)
        module = self._default if home is None else import_module(f"{self._package}.{home}".rstrip("."))
        value = getattr(module, member)
        setattr(self, member, value)
        return value
