"""Hashes, whichever code makes them."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest

from holdfast.core import ids
from holdfast.core.ids import SMALL, hexdigest


@pytest.mark.parametrize("name", ["sha1", "sha256", "blake2b"])
@pytest.mark.parametrize("size", [0, 5, SMALL - 1, SMALL])
def test_it_is_the_hash_of_the_whole(name: str, size: int) -> None:
    data = bytes(range(256)) * (size // 256) + bytes(size % 256)
    assert hexdigest(name, data[:3], data[3:]) == hashlib.new(name, data).hexdigest()


def test_a_digest_can_be_shorter() -> None:
    assert hexdigest("blake2b", b"text", digest_size=10) == hashlib.blake2b(b"text", digest_size=10).hexdigest()


def test_a_python_without_its_own_has_hashlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "HOMES", {"sha256": ("_no_such_module",)})
    ids._maker.cache_clear()
    assert hexdigest("sha256", b"text") == hashlib.sha256(b"text").hexdigest()
    ids._maker.cache_clear()


def test_what_is_short_loads_no_library() -> None:
    text = "import sys; from holdfast.core import ids; ids.file_name('a b'); print('hashlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout == "False\n"
