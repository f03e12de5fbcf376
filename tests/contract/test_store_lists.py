"""Contract of every store for lists of runs: filters, search, and pagination by key that yields each row once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.journal.store import HitQuery, Reader, RunQuery, RunRow, Store
from tests.contract.makers import a_run_row, a_session_row, add_run, an_event_row


def names(rows: list[RunRow]) -> list[str]:
    return [row.id for row in rows]


def found(reader: Reader, search: str, **filters: Any) -> list[str]:
    return names(reader.list_runs(RunQuery(search=search, **filters)).rows)


def pages(store: Store, query: RunQuery) -> Iterator[list[str]]:
    """The pages of a query, each from a view of its own, as separate commands read them."""
    while True:
        with store.reading() as reader:
            page = reader.list_runs(query)
        yield names(page.rows)
        if page.next is None:
            return
        query = query._replace(after=page.next)


# filters

FILTERED = [
    ({}, "edcba"),
    ({"statuses": frozenset({"active"})}, "dca"),
    ({"statuses": frozenset({"active", "paused"})}, "dcba"),
    ({"statuses": frozenset({"unheard-of"})}, ""),
    ({"layouts": frozenset({"other"})}, "b"),
    ({"labels": frozenset({"tag:x"})}, "ca"),
    ({"labels": frozenset({"tag:x", "agent:robot"})}, "c"),
    ({"labels": frozenset({"tag:none"})}, ""),
    ({"worktree": "/two"}, "e"),
    ({"since": 30}, "edc"),
    ({"until": 30}, "ba"),
    ({"since": 20, "until": 40}, "cb"),
    ({"since": 30, "statuses": frozenset({"active"}), "labels": frozenset({"tag:x"})}, "c"),
    ({"limit": 2}, "ed"),
]


@pytest.fixture
def listed(store: Store) -> Store:
    """Five runs, the newest last, all of which match the word `common`."""
    tagged, both = frozenset({"tag:x"}), frozenset({"tag:x", "agent:robot"})
    with store.writing() as writer:
        add_run(writer, "a", "common", updated=10, labels=tagged)
        add_run(writer, "b", "common", updated=20, status="paused", layout="other")
        add_run(writer, "c", "common", updated=30, labels=both)
        add_run(writer, "d", "common", updated=40)
        add_run(writer, "e", "common", updated=50, status="completed", worktree="/two")
    return store


@pytest.mark.parametrize(("query", "expected"), FILTERED)
def test_runs_are_filtered_and_come_newest_first(listed: Store, query: dict[str, Any], expected: str) -> None:
    with listed.reading() as reader:
        assert names(reader.list_runs(RunQuery(**query)).rows) == list(expected)


@pytest.mark.parametrize(("query", "expected"), FILTERED)
def test_search_obeys_the_same_filters(listed: Store, query: dict[str, Any], expected: str) -> None:
    with listed.reading() as reader:
        assert names(reader.list_runs(RunQuery(search="common", **query)).rows) == list(expected)


def test_run_moves_up_when_it_is_worked_on(listed: Store) -> None:
    with listed.writing() as writer:
        writer.put_run(a_run_row("a", updated=60))
    with listed.reading() as reader:
        assert names(reader.list_runs(RunQuery()).rows) == list("aedcb")


def test_all_ids_come_in_the_order_in_which_runs_were_made(listed: Store) -> None:
    with listed.writing() as writer:
        writer.put_run(a_run_row("a", updated=99))
        assert writer.all_run_ids() == list("abcde")


def test_labels_of_a_run_are_replaced_as_a_whole(listed: Store) -> None:
    with listed.writing() as writer:
        writer.put_run(a_run_row("c", labels=frozenset({"tag:new"})))
    with listed.reading() as reader:
        row = reader.find_run("c")
        assert row is not None
        assert row.labels == {"tag:new"}
        assert names(reader.list_runs(RunQuery(labels=frozenset({"tag:x"}))).rows) == ["a"]
        assert names(reader.list_runs(RunQuery(labels=frozenset({"tag:new"}))).rows) == ["c"]


# pages

QUERIES = [RunQuery(), RunQuery(search="common"), RunQuery(statuses=frozenset({"active"}))]
SIZES = [1, 2, 3, 7, 100]


@pytest.fixture
def many(store: Store) -> Store:
    """Twenty runs, several of them with the same time, each with two matching events."""
    with store.writing() as writer:
        for number in range(20):
            add_run(writer, f"run-{number:02d}", "common word", "rare", "common again", updated=number // 3)
    return store


@pytest.mark.parametrize("query", QUERIES, ids=["all", "search", "filter"])
@pytest.mark.parametrize("size", SIZES)
def test_pages_hold_every_run_exactly_once(many: Store, query: RunQuery, size: int) -> None:
    with many.reading() as reader:
        expected = names(reader.list_runs(query).rows)
    turned = list(pages(many, query._replace(limit=size)))
    assert [name for page in turned for name in page] == expected
    assert len(set(expected)) == 20
    assert all(len(page) == size for page in turned[:-1])


@pytest.mark.parametrize("query", QUERIES, ids=["all", "search", "filter"])
@pytest.mark.parametrize("size", [1, 3, 7])
def test_pages_hold_every_run_exactly_once_while_runs_are_added(many: Store, query: RunQuery, size: int) -> None:
    with many.reading() as reader:
        expected = names(reader.list_runs(query).rows)
    seen = []
    for number, page in enumerate(pages(many, query._replace(limit=size))):
        seen += page
        with many.writing() as writer:
            add_run(writer, f"new-{number}", "common", updated=1_000 + number)
    assert seen == expected


def test_pages_do_not_skip_while_runs_are_deleted(many: Store) -> None:
    seen = []
    for page in pages(many, RunQuery(limit=4)):
        seen += page
        with many.writing() as writer:
            writer.delete_run(page[-1])
    assert len(seen) == len(set(seen)) == 20


def test_last_page_says_that_it_is_the_last(many: Store) -> None:
    for query in (RunQuery(limit=20), RunQuery(limit=20, search="common"), RunQuery(limit=21)):
        with many.reading() as reader:
            assert reader.list_runs(query).next is None


# search


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("retry", {"a", "b"}),
        ("RETRY", {"a", "b"}),
        ("retry client", {"a"}),
        ("client retry", {"a"}),
        ('"retry the client"', {"a"}),
        ('"client retry"', set()),
        ('"the client', {"a"}),
        ("exp*", {"b"}),
        ("exponent", set()),
        ("cli* retr*", {"a"}),
        ("cafe", {"c"}),
        ("CAFÉ", {"c"}),
        ("src/main.py", {"d"}),
        ("main.py", {"d"}),
        ("missing", set()),
        ("retry missing", set()),
        ("日本語", {"e"}),
        ("", set()),
        ("   ", set()),
        ("*", set()),
        ('""', set()),
    ],
)
def test_words_phrases_and_beginnings_find_runs(store: Store, search: str, expected: set[str]) -> None:
    texts = {
        "a": "Retry the client",
        "b": "retry with exponential backoff",
        "c": "the café",
        "d": "changed src/main.py",
        "e": "日本語",
    }
    with store.writing() as writer:
        for name, text in texts.items():
            add_run(writer, name, text)
    with store.reading() as reader:
        assert set(found(reader, search)) == expected


@pytest.mark.parametrize(
    "search",
    [
        "a OR b",
        "NOT a",
        "words : a",
        "a NEAR b",
        "(a",
        "a)",
        '"',
        '"""',
        "a\0b",
        "'; DROP TABLE run; --",
        "^a",
        "-a",
        "{a b}:c",
        "a+b",
        "%_",
        "\\",
        "*a*",
        "😀",
        "a" * 100_000,
        "a " * 5_000,
        " ".join(f"word{number}" for number in range(2_000)),
        "a\ufeffb\u202e",
    ],
)
def test_no_search_is_a_command_to_the_database(listed: Store, search: str) -> None:
    with listed.reading() as reader:
        assert found(reader, search) == []
        assert found(reader, "common") == list("edcba")


def test_search_lists_a_run_once_and_by_its_newest_event_that_fits(store: Store) -> None:
    with store.writing() as writer:
        add_run(writer, "early", "topic one", "topic two")
        add_run(writer, "late", "topic three", "other")
        writer.add_event(an_event_row(3, "early"), "topic again")
        assert found(writer, "topic") == ["early", "late"]
        assert found(writer, "topic three") == ["late"]


def test_words_must_stand_in_one_event(store: Store) -> None:
    with store.writing() as writer:
        add_run(writer, "a", "one", "two")
        assert found(writer, "one two") == []


def test_run_is_found_by_its_own_words_alone(store: Store) -> None:
    with store.writing() as writer:
        add_run(writer, "a", "apple")
        add_run(writer, "b", "pear")
        assert (found(writer, "apple"), found(writer, "pear")) == (["a"], ["b"])


def test_forgotten_words_find_nothing_and_others_stay(store: Store) -> None:
    with store.writing() as writer:
        add_run(writer, "a", "secret one", "plain one")
        add_run(writer, "b", "secret two")
        writer.forget_words("a", 1)
        assert found(writer, "secret") == ["b"]
        assert found(writer, "plain") == ["a"]
        assert len(list(writer.events("a"))) == 2


# hits


def hit_seqs(reader: Reader, search: str, **filters: Any) -> list[tuple[str, int]]:
    return [(hit.run, hit.seq) for hit in reader.hits(HitQuery(search, **filters)).found]


@pytest.fixture
def kinds(store: Store) -> Store:
    """Two runs with the word `topic` in events of several kinds, more often in some."""
    with store.writing() as writer:
        for name, status in (("a", "active"), ("b", "paused")):
            writer.put_run(a_run_row(name, seq=3, status=status))
        writer.add_event(an_event_row(1, "a", kind="goal.x", time=10), "topic and some other words")
        writer.add_event(an_event_row(2, "a", kind="note.x", time=20), "topic topic")
        writer.add_event(an_event_row(3, "a", kind="note.x", time=30), "nothing")
        writer.add_event(an_event_row(1, "b", kind="note.x", time=40), "topic and some other words")
    return store


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, [("b", 1), ("a", 2), ("a", 1)]),
        ({"merits": {}}, [("a", 2), ("b", 1), ("a", 1)]),
        ({"merits": {"goal.x": 9.0}}, [("a", 1), ("a", 2), ("b", 1)]),
        ({"merits": {}, "limit": 1}, [("a", 2)]),
        ({"kinds": frozenset({"goal.x"})}, [("a", 1)]),
        ({"run": "b"}, [("b", 1)]),
        ({"since": 20, "until": 40}, [("a", 2)]),
        ({"runs": RunQuery(statuses=frozenset({"paused"}))}, [("b", 1)]),
        ({"runs": RunQuery(labels=frozenset({"tag:none"}))}, []),
    ],
)
def test_hits_are_filtered_and_come_by_merit_or_newest_first(
    kinds: Store, filters: dict[str, Any], expected: list[tuple[str, int]]
) -> None:
    with kinds.reading() as reader:
        assert hit_seqs(reader, "topic", **filters) == expected


@pytest.mark.parametrize("search", ["", "*", '"', "a OR b", "'; DROP TABLE run; --", "z " * 500_000, "z" * 1_000_000])
def test_no_search_for_hits_is_a_command_to_the_database(kinds: Store, search: str) -> None:
    with kinds.reading() as reader:
        assert hit_seqs(reader, search, merits={}) == []


def test_a_page_of_more_runs_than_one_statement_can_ask_for_is_whole(store: Store) -> None:
    with store.writing() as writer:
        for number in range(1_100):
            add_run(writer, f"run-{number:04d}", "common")
    with store.reading() as reader:
        assert found(reader, "common", limit=2_000) == [f"run-{number:04d}" for number in reversed(range(1_100))]


def test_open_sessions_with_a_process_are_known_without_reading_them(store: Store) -> None:
    with store.writing() as writer:
        writer.put_run(a_run_row())
        writer.put_session(a_session_row("ses-a", has_process=False))
    assert not store.has_processes()
    with store.writing() as writer:
        writer.put_session(a_session_row("ses-b", has_process=True))
    assert store.has_processes()
    with store.writing() as writer:
        writer.put_session(a_session_row("ses-b", has_process=True, is_open=False))
    assert not store.has_processes()


def test_changes_are_counted_and_looking_is_none(store: Store) -> None:
    with store.writing() as writer:
        add_run(writer, "a", "word")
    before = store.changes()
    with store.reading() as reader:
        assert found(reader, "word") == ["a"]
    assert store.changes() == before
    with store.writing() as writer:
        writer.put_run(a_run_row("a", updated=9))
    assert store.changes() > before


# ids


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        ("run-abc123", {"run-abc123"}),
        ("run-abc", {"run-abc123", "run-abc999"}),
        ("abc1", {"run-abc123"}),
        ("123", {"run-abc123"}),
        ("999", {"run-abc999"}),
        ("bc", set()),
        ("%", set()),
        ("_", set()),
        ("odd_", {"odd_id"}),
        ("_id", {"odd_id"}),
        ("%d", set()),
        ("\\", set()),
        ("unknown", set()),
    ],
)
def test_fragment_finds_ids_by_their_beginning_or_end(store: Store, fragment: str, expected: set[str]) -> None:
    with store.writing() as writer:
        for name in ("run-abc123", "run-abc999", "odd_id"):
            writer.put_run(a_run_row(name))
        assert set(writer.find_ids("run", fragment, 10)) == expected
        assert writer.find_ids("session", fragment, 10) == []


def test_number_of_ids_that_are_found_is_bounded(store: Store) -> None:
    with store.writing() as writer:
        for number in range(5):
            writer.put_run(a_run_row(f"run-{number}"))
        assert len(writer.find_ids("run", "run-", 3)) == 3


# most of the words, and misspelt ones


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("retry missing", ["b", "a"]),
        ("retry backoff missing", ["b"]),
        ('"client retry"', ["a"]),
        ("exponent", ["b"]),
        ("src/main.py missing", ["d"]),
        ("missing nowhere", []),
        ("retry client", ["a"]),
    ],
)
def test_where_no_event_has_all_words_those_with_most_are_found(store: Store, search: str, expected: list[str]) -> None:
    texts = {"a": "retry the client now", "b": "retry with backoff exponential", "c": "other", "d": "src/main.py"}
    with store.writing() as writer:
        for name, text in texts.items():
            add_run(writer, name, text)
    with store.reading() as reader:
        hits = reader.hits(HitQuery(search, merits={}, most=True))
        page = reader.list_runs(RunQuery(search=search, merits={}, most=True))
        assert [hit.run for hit in hits.found] == names(page.rows) == expected
        assert hits.is_partial == page.is_partial == (bool(expected) and search != "retry client")
        newest = reader.hits(HitQuery(search, most=True)).found
        assert sorted(hit.run for hit in newest) == sorted(expected)
        assert [hit.run for hit in newest] == sorted(expected, reverse=True)


def test_a_search_with_words_of_very_many_events_finds_the_rare_word(store: Store) -> None:
    with store.writing() as writer:
        writer.put_run(a_run_row("a"))
        for seq in range(1, 5_200):
            writer.add_event(an_event_row(seq, "a"), "common" if seq != 77 else "rare")
        found = writer.hits(HitQuery("common rare", merits={}, most=True))
        assert (found.is_partial, [hit.seq for hit in found.found]) == (True, [77])
        assert [hit.seq for hit in writer.hits(HitQuery("common missing", merits={}, most=True, limit=2)).found] == [
            5199,
            5198,
        ]


def test_pages_of_runs_by_merit_hold_each_run_once_while_others_are_added(store: Store) -> None:
    with store.writing() as writer:
        for number in range(9):
            add_run(writer, f"run-{number}", "topic " * (number % 4 + 1))
    query, seen = RunQuery(search="topic", merits={}, limit=2), []
    with store.reading() as reader:
        whole = names(reader.list_runs(query._replace(limit=20)).rows)
    for number in range(9):
        with store.writing() as writer:
            page = writer.list_runs(query)
            add_run(writer, f"new-{number}", "topic topic topic topic topic")
        seen += names(page.rows)
        if page.next is None:
            break
        query = query._replace(after=page.next)
    assert seen == whole
    assert len(set(seen)) == 9


def test_a_misspelt_word_is_corrected_to_one_that_occurs(store: Store) -> None:
    with store.writing() as writer:
        add_run(writer, "a", "exponential backoff", "the client")
        add_run(writer, "b", "clinics")
        for search, expected in (
            ("exponentail backof", {"exponentail": "exponential", "backof": "backoff"}),
            ("clinet", {"clinet": "client"}),
            ("EXPONETIAL", {"exponetial": "exponential"}),
            ("backoff", {}),
            ("exp", {}),
            ("zzzzzz", {}),
            ("z" * 100_000, {}),
            ("", {}),
        ):
            assert writer.spellings(search) == expected, search
        writer.forget_words("b", 1)
        assert writer.spellings("clinic") == {}
