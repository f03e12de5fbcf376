"""Addresses of stores: a directory is one, and what this version cannot open is refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.core.errors import Refused
from holdfast.journal import open_store
from tests.contract.makers import add_run


def test_a_store_is_made_by_its_first_use(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    assert not store.exists()
    with store.writing() as writer:
        add_run(writer, "run-a", "word")
    store.close()
    with open_store(str(tmp_path)).reading() as reader:
        assert reader.all_run_ids() == ["run-a"]


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "mysql"])
def test_an_address_of_a_server_is_refused_without_its_password(scheme: str) -> None:
    with pytest.raises(Refused, match=f"This version has no store for {scheme}:// addresses") as refused:
        open_store(f"{scheme}://user:secret@host/journal")
    assert "secret" not in f"{refused.value.message}{refused.value.facts}{refused.value.hints}"
