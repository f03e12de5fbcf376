"""Lazy implementation of a protocol by a package: members load on first use, missing ones come from defaults."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


class LazyAdapter:
    """Members of a package, by the module that `MEMBERS` names, with a default module behind them."""

    def __init__(self, package: str, members: Mapping[str, str], default: ModuleType) -> None:
        self._package, self._default = package, default
        self._homes = {member: home for home, names in members.items() for member in names.split()}

    def __getattr__(self, member: str) -> Any:
        home = self._homes.get(member)
        module = self._default if home is None else import_module(f"{self._package}.{home}".rstrip("."))
        value = getattr(module, member)
        setattr(self, member, value)
        return value
