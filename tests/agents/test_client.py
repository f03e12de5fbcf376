"""The installation of the real client, by the real npm from a registry of the test's own."""

from __future__ import annotations

import io
import json
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import which

import pytest

from tests.agents import client

CLIENT = PLATFORM = "@anthropic-ai/claude-code"
PLATFORM += "-test"
pytestmark = pytest.mark.skipif(which("npm") is None, reason="NOT TESTED: there is no npm")


class Registry(ThreadingHTTPServer):
    """A registry with a small Claude Code, which answers until it is told to hang."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.asked: list[str] = []
        self.hangs_at = ""
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, path: str) -> bytes:
        name = PLATFORM if PLATFORM in path else CLIENT
        version: dict[str, object] = {"name": name, "version": client.VERSION}
        if path.endswith(".tgz"):
            return packed(version, name == PLATFORM)
        version["dist"] = {"tarball": f"{self.url}/{name}.tgz"}
        if name == CLIENT:
            version["dependencies"] = {PLATFORM: client.VERSION}
        about = {"name": name, "dist-tags": {"latest": client.VERSION}, "versions": {client.VERSION: version}}
        return json.dumps(about).encode()


class Answer(BaseHTTPRequestHandler):
    server: Registry

    def do_GET(self) -> None:
        path = self.path.replace("%2f", "/")
        self.server.asked.append(path)
        if self.server.hangs_at and path.endswith(self.server.hangs_at):
            self.server.released.wait()
        body = self.server.answer(path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


def packed(about: dict[str, object], with_program: bool) -> bytes:
    made = io.BytesIO()
    program = f"#!/bin/sh\necho {client.VERSION}\n" if with_program else ""
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, text in {"package.json": json.dumps(about), "claude": program}.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(text), 0o755
            archive.addfile(entry, io.BytesIO(text.encode()))
    return made.getvalue()


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """Named by the machine's npmrc and by nothing else."""
    with Registry() as served:
        (tmp_path / "etc").mkdir()
        (tmp_path / "etc" / "npmrc").write_text(f"registry={served.url}\n")
        monkeypatch.setenv("PREFIX", str(tmp_path))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.setattr(client, "_account", lambda: tmp_path)
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield served
        served.released.set()
        served.shutdown()


@pytest.mark.defect(
    "The tests installed the real client without the machine's npmrc, so without its certificates and proxy"
)
def test_the_client_is_installed_with_the_settings_of_the_machine(registry: Registry) -> None:
    program = client.get_claude()
    assert program.parts[-2:] == ("claude-code-test", "claude")
    assert f"/{PLATFORM}.tgz" in registry.asked
    registry.asked.clear()
    assert client.get_claude() == program
    assert registry.asked == []


@pytest.mark.defect(
    "An installation of the real client that made no progress was waited for 300 s by each process in turn"
)
def test_an_installation_without_progress_is_given_up_once_for_all_who_wait(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "STALLED", 3.0)
    registry.hangs_at = f"{PLATFORM}.tgz"
    failures: list[str] = []

    def install() -> None:
        with pytest.raises(client.NotHere) as raised:
            client.get_claude()
        failures.append(str(raised.value))

    waiting = [threading.Thread(target=install) for _ in range(3)]
    for thread in waiting:
        thread.start()
    for thread in waiting:
        thread.join()
    assert failures == ["`npm install` made no progress for 3 s"] * 3
    assert registry.asked.count(f"/{PLATFORM}.tgz") == 1
    registry.hangs_at = ""
    assert client.get_claude().name == "claude"


def test_an_installation_ends_in_time_even_while_it_makes_progress(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "INSTALLED", 2.0)
    registry.hangs_at = f"{PLATFORM}.tgz"
    with pytest.raises(client.NotHere, match="`npm install` was not done in time"):
        client.get_claude()
