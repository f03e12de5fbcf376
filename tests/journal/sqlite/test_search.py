"""What people type, asked of a real full-text index: no text is ever an error, and words mean themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import apsw
import pytest
from hypothesis import given, strategies as st

from holdfast.core.search_terms import terms
from holdfast.journal.sqlite.migrations import fresh_database
from holdfast.journal.sqlite.search import conjunction
from holdfast.journal.sqlite.transaction import like_fragment
from tests.strategies import TEXT, WILD_TEXT, examples, many_examples


@pytest.fixture(scope="module")
def database() -> Iterator[apsw.Connection]:
    """The index as the store has it, in memory."""
    connection = fresh_database()
    yield connection
    connection.close()


def found(database: apsw.Connection, documents: Iterable[str], text: str) -> list[int]:
    """The numbers of the documents that a search finds; none for a search without a word."""
    database.execute("DELETE FROM search")
    for number, words in enumerate(documents, 1):
        database.execute("INSERT INTO search (rowid, words) VALUES (?, ?)", (number, words))
    expression = conjunction(terms(text))
    if not expression:
        return []
    rows = database.execute("SELECT rowid FROM search WHERE search MATCH ? ORDER BY rowid", (expression,))
    return [number for (number,) in rows]


DOCUMENTS = [
    "Add retries to the client",
    "Use exponential backoff (because the server sheds load)",
    "src/client.py",
    "Ärger mit der Größe",
    "retries AND backoff OR not near",
    "日本語 の テスト",
]
SEARCHES = [
    ("retries", [1, 5]), ("RETRIES", [1, 5]), ("retr", []), ("retr*", [1, 5]), ("client", [1, 3]), ("client add", [1]),
    ('"the client"', [1]), ('"client the"', []), ('"to the cli', []), ("client.py", [3]), ("src/client.py", [3]),
    ("retries AND backoff", [5]), ("retries OR nothing", []), ("NOT retries", [5]), ("NEAR(retries backoff)", []),
    ("words:retries", []), ("-retries", [1, 5]), ("+retries", [1, 5]), ("^add", [1]), ("retries^", [1, 5]),
    ("arger", [4]), ("größe", [4]), ("日本語", [6]), ("a*", [1, 4, 5]), ("*", []), ("", []), ('"', []), ('""', []),
    ("()", []), ('a"d"d', [1]), ("'; DROP TABLE run; --", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "numbers"), SEARCHES)
def test_a_search_finds_these_documents(database: apsw.Connection, text: str, numbers: list[int]) -> None:
    assert found(database, DOCUMENTS, text) == numbers


@pytest.mark.promise(19)
@many_examples
@given(text=WILD_TEXT | st.text('ab*"^:(){}+-,.\\ \0', max_size=30))
def test_no_text_is_ever_an_error(database: apsw.Connection, text: str) -> None:
    assert found(database, ["nothing that fits, surely"], f"{text} qqq") == []


OPERATORS = ["AND", "OR", "NOT", "NEAR", "NEAR(", "words:", "{words}", "^", "*", '"', '""', "+", "-", "(", ")", "a"]


@pytest.mark.promise(19)
@many_examples
@given(words=st.lists(st.sampled_from(OPERATORS) | TEXT, max_size=12))
def test_no_row_of_operators_is_ever_an_error(database: apsw.Connection, words: list[str]) -> None:
    for text in (" ".join(words), "".join(words)):
        assert found(database, ["nothing that fits, surely"], f"{text} qqq") == []


@pytest.mark.promise(19)
@pytest.mark.parametrize("text", ["a " * 5000, '"' + "a " * 5000, "x" * 100_000, "* " * 5000, "a* " * 2000])
def test_a_very_long_search_is_not_an_error(database: apsw.Connection, text: str) -> None:
    assert found(database, ["nothing that fits, surely"], text) == []


WORDS = st.lists(st.text("abcdefgh", min_size=1, max_size=5), min_size=1, max_size=6)


@examples
@given(words=WORDS, data=st.data())
def test_a_document_is_found_by_any_of_its_words_in_any_order(
    database: apsw.Connection, words: list[str], data: st.DataObject
) -> None:
    asked = data.draw(st.permutations(words))
    assert found(database, [" ".join(words)], " ".join(asked)) == [1]
    assert found(database, [" ".join(words)], " ".join([*asked, "zzz"])) == []


@examples
@given(words=WORDS)
def test_a_document_is_found_by_its_phrase_and_by_the_beginning_of_a_word(
    database: apsw.Connection, words: list[str]
) -> None:
    assert found(database, [" ".join(words)], f'"{" ".join(words)}"') == [1]
    assert found(database, [" ".join(words)], f"{words[-1][:1]}*") == [1]


@examples
@given(ids=st.lists(st.text("ab%_\\-", max_size=6), max_size=8), fragment=st.text("ab%_\\-", max_size=3))
def test_a_fragment_means_itself_and_no_wildcard(database: apsw.Connection, ids: list[str], fragment: str) -> None:
    like = like_fragment(fragment)
    for id in ids:
        select = "SELECT ?1 LIKE ?2 || '%' ESCAPE '\\', ?1 LIKE '%' || ?2 ESCAPE '\\'"
        begins, ends = database.execute(select, (id, like)).get
        assert (bool(begins), bool(ends)) == (id.startswith(fragment), id.endswith(fragment))


PAGES = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("size", [1_000, 4_000])
def test_the_index_of_a_text_is_no_larger_than_the_text(database: apsw.Connection, size: int) -> None:
    """Texts as long as an agent's answers, each indexed in a transaction of its own."""
    prose = "".join(path.read_text() for path in sorted(PAGES.rglob("guides/*.md")))
    texts = [prose[at : at + size] for at in range(0, len(prose), size)]
    select = "SELECT (SELECT sum(length(block)) FROM search_data) + (SELECT sum(length(sz)) FROM search_docsize)"
    database.execute("DELETE FROM search; INSERT INTO search (search) VALUES ('optimize')")
    before = database.execute(select).get or 0
    for number, text in enumerate(texts, 1):
        database.execute("INSERT INTO search (rowid, words) VALUES (?, ?)", (number, text))
    assert (database.execute(select).get - before) / sum(len(text.encode()) for text in texts) <= 1.0
