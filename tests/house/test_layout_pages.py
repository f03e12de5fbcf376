"""The specifications of the layouts in docs/layouts: each ruling once, in order, with a test that exists."""

from __future__ import annotations

import re

from .tree import ROOT

RULINGS = {"faber": {"P": 8, "S": 37}, "orchestrator": {"O": 19}, "go-team": {"G": 31}}
ROW = re.compile(r"^\| ([A-Z])(\d+) \| .+ \| `tests/\S+::\w+` \|$", re.MULTILINE)
TEST = re.compile(r"`(tests/\S+\.py)(?:::(\w+))?`")


def page(layout: str) -> str:
    return (ROOT / "docs" / "layouts" / f"{layout}.md").read_text("utf-8")


def test_a_page_has_every_ruling_once_and_in_order_with_its_test() -> None:
    for layout, series in RULINGS.items():
        wanted = [(letter, str(number)) for letter, count in series.items() for number in range(1, count + 1)]
        assert ROW.findall(page(layout)) == wanted, layout


def test_the_tests_that_a_page_names_exist() -> None:
    named = {found for layout in RULINGS for found in TEST.findall(page(layout))}
    missing = [
        f"{path}::{name}"
        for path, name in sorted(named)
        if not (ROOT / path).is_file()
        or not re.search(rf"^def {name}\b", (ROOT / path).read_text("utf-8"), re.MULTILINE)
    ]
    assert len(named) > len([row for layout in RULINGS for row in ROW.findall(page(layout))])
    assert missing == []
