"""Text of others in Markdown and XML: it is shown, and it does nothing."""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as tree

import pytest
from hypothesis import given

from holdfast.core.text import as_code, as_markdown, as_xml, one_line
from tests.strategies import TEXT, WILD_TEXT, many_examples


def shown(markdown: str) -> str:
    """What a reader sees of a line that holds nothing but text: escapes resolved, spaces of no width gone."""
    plain = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown)
    return html.unescape(plain).replace("\u200b", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain words, 3.5 % (of it)", "plain words, 3.5 % (of it)"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("a *b* _c_ `d` [e](f) ~g~ |h| $i$", r"a \*b\* \_c\_ \`d\` \[e\](f) \~g\~ \|h\| \$i\$"),
        ("thanks @octocat", "thanks @&#8203;octocat"),
        ("closes #12, GH-7 and o/r#3", r"closes \#&#8203;12, GH-&#8203;7 and o/r\#&#8203;3"),
        ("see https://example.org and www.example.org", "see https:&#8203;//example.org and www.&#8203;example.org"),
        ("merges !12", "merges !&#8203;12"),
        ("- not a list", "&#8203;- not a list"),
        ("1. not a list", "&#8203;1. not a list"),
        ("/close", "&#8203;/close"),
        ("# not a heading", "# not a heading"),
        ("line\n\n<!-- one", "line &lt;!-- one"),
        ("&#64;octocat", r"&amp;\#&#8203;64;octocat"),
    ],
)
def test_text_in_markdown_looks_like_this(text: str, expected: str) -> None:
    assert as_markdown(text) == expected


@many_examples
@given(text=WILD_TEXT | TEXT)
def test_any_text_is_shown_as_it_is_and_nothing_in_it_acts(text: str) -> None:
    line = as_markdown(text)
    assert shown(line) == one_line(text, 500)
    assert "\n" not in line
    assert not re.search(r"[<>]|(?<!\\)[`*\[\]|~$]|@\w|(?<!&)#\w|://|(?<!&)(?<!\\)#8", line)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.py", "`a.py`"), ("a`b", "``a`b``"), ("`a``b`", "``` `a``b` ```"), ("a|b", "`a¦b`"), ("", "` ? `"),
        ("a\nb", "`a b`"),
    ],
)  # fmt: skip
def test_code_stays_between_its_backticks(text: str, expected: str) -> None:
    assert as_code(text) == expected


@many_examples
@given(text=WILD_TEXT | TEXT)
def test_any_text_stands_in_xml_as_text(text: str) -> None:
    made = tree.fromstring(f'<a b="{as_xml(text)}">{as_xml(text)}</a>')
    assert list(made) == []
    assert made.text == made.get("b") or not as_xml(text)
