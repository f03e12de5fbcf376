"""Exported runs that somebody has made up: the same file with other parts, sealed as `export` seals."""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core.errors import Damaged, HoldfastError, Refused
from holdfast.project.transfer.bundle import MAGIC
from holdfast.project.workspace import Workspace

Parts = dict[str, Any]


@contextmanager
def nothing_happens(project: Workspace) -> Iterator[None]:
    """Whatever is tried inside, the store and the repository's objects stay as they are."""
    before = seen(project)
    yield
    assert seen(project) == before


def seen(project: Workspace) -> tuple[object, ...]:
    shown = holdfast.runs(project).runs
    packs = sorted(os.listdir(project.root / ".git/objects/pack"))
    refs = [path.read_bytes() for path in sorted((project.root / ".git/refs/holdfast").glob("*"))]
    return [run.id for run in shown], packs, refs, len(holdfast.checkpoints(project).checkpoints)


def refused(project: Workspace, path: Path) -> HoldfastError:
    with pytest.raises((Damaged, Refused)) as error, nothing_happens(project):
        holdfast.import_run(project, path)
    return error.value


def parts_of(file: Path) -> Parts:
    """The parts of an exported run, expanded, and its manifest."""
    data = file.read_bytes()
    end = len(data) - 40
    length = int.from_bytes(data[end : end + 8])
    told = json.loads(data[end - length : end])
    parts: Parts = {"manifest": told}
    at = len(MAGIC)
    for part in told["parts"]:
        raw = data[at : at + part["size"]]
        parts[part["name"]] = zlib.decompress(raw) if part["form"] == "zlib" else raw
        at += part["size"]
    return parts


def forged(file: Path, change: Callable[[Parts], None]) -> Path:
    """The same file with other parts, sealed as `export` seals."""
    parts = parts_of(file)
    change(parts)
    target = file.with_name("forged")
    target.write_bytes(sealed(parts))
    return target


def sealed(parts: Parts) -> bytes:
    body = MAGIC
    told = parts["manifest"]
    told["parts"] = told.pop("parts_as_they_are", None) or []
    for name, content in parts.items():
        if name == "manifest":
            continue
        if not any(part["name"] == name for part in told["parts"]):
            digest = hashlib.sha256(content).hexdigest()
            told["parts"].append(
                {"name": name, "form": "plain", "size": len(content), "length": len(content), "sha256": digest}
            )
        body += content
    text = json.dumps(told).encode()
    body += text + len(text).to_bytes(8)
    return body + hashlib.sha256(body).digest()


def an_event(number: int, **changes: Any) -> Callable[[Parts], None]:
    """Another event in the place of one."""

    def change(parts: Parts) -> None:
        lines = parts["events"].splitlines()
        event = json.loads(lines[number])
        for name, value in changes.items():
            if name.startswith("body_"):
                event["body"][name[5:]] = value
            else:
                event[name] = value
        lines[number] = json.dumps(event).encode()
        parts["events"] = b"".join(line + b"\n" for line in lines)

    return change


def told(**changes: Any) -> Callable[[Parts], None]:
    return lambda parts: parts["manifest"].update(changes)


def a_checkpoint(**changes: Any) -> Callable[[Parts], None]:
    def change(parts: Parts) -> None:
        record = {**json.loads(parts["checkpoints"]), **changes}
        parts["checkpoints"] = json.dumps(record).encode() + b"\n"

    return change


def an_event_with(text: bytes) -> Callable[[Parts], None]:
    def change(parts: Parts) -> None:
        parts["events"] = parts["events"].replace(b'"a note"', text)

    return change


def without(name: str) -> Callable[[Parts], None]:
    return lambda parts: parts.pop(name)


def a_part(**changes: Any) -> Callable[[Parts], None]:
    """The manifest says something else of the first part."""

    def change(parts: Parts) -> None:
        known = [
            {
                "name": name,
                "form": "plain",
                "size": len(data),
                "length": len(data),
                "sha256": hashlib.sha256(data).hexdigest(),
            }
            for name, data in parts.items()
            if name != "manifest"
        ]
        known[0].update(changes)
        parts["manifest"]["parts_as_they_are"] = known

    return change
