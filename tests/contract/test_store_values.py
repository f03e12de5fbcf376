"""Large values: deduplicated, delta-encoded if that is smaller, and deleted with their last reference.

A value whose delta base is deleted stays readable.
"""

from __future__ import annotations

import random
from pathlib import Path

from holdfast.journal import codec
from holdfast.journal.store import Store, Writer
from tests.contract.makers import a_run_row, an_event_row

KIND = "output.given"


def versions(count: int, size: int = 20_000) -> list[str]:
    """Texts that each differ slightly from the one before."""
    chance = random.Random(1)
    text = "".join(chance.choices("abcdefgh", k=size))
    found = []
    for number in range(count):
        at = chance.randrange(size)
        text = f"{text[:at]}<{number}>{text[at + 5 :]}"
        found.append(text)
    return found


def add(writer: Writer, number: int, text: str, run: str = "run-a", kind: str = KIND) -> bytes:
    """Add an event with a large value, as the journal does. Returns the hash of the value."""
    body, values = codec.pack({"text": text})
    if writer.find_run(run) is None:
        writer.put_run(a_run_row(run))
    writer.add_event(an_event_row(number, run, kind=kind, body=body), "")
    for digest, data in values.items():
        writer.put_blob(run, digest, data, kind)
    return next(iter(values))


def stored_in(writer: Writer, *runs: str) -> int:
    return sum(found.values for run in runs for found in writer.run_sizes(run))


def test_versions_of_one_text_take_little_more_than_the_first(store: Store) -> None:
    texts = versions(codec.DEEPEST + 20)
    with store.writing() as writer:
        digests = [add(writer, number, text) for number, text in enumerate(texts, 1)]
        assert [writer.blob(digest) for digest in digests] == [text.encode() for text in texts]
        alone = len(codec.squeeze(texts[0].encode()))
        assert stored_in(writer, "run-a") < 2 * alone + 120 * len(texts)


def test_texts_of_other_kinds_of_events_and_of_other_runs_are_nothing_to_rest_on(store: Store) -> None:
    first, second = versions(2)
    with store.writing() as writer:
        add(writer, 1, first)
        add(writer, 2, second, kind="note.added")
        add(writer, 1, second + "!", run="run-b")
        assert stored_in(writer, "run-a") > 2 * len(codec.squeeze(first.encode())) - 100
        assert stored_in(writer, "run-b") > 9_000


def test_what_rests_on_a_deleted_runs_value_stays_readable(store: Store) -> None:
    texts = versions(4)
    with store.writing() as writer:
        digests = [add(writer, number, text) for number, text in enumerate(texts, 1)]
        add(writer, 1, texts[2], run="run-b")
    with store.writing() as writer:
        writer.delete_run("run-a")
        assert [writer.blob(digest) is not None for digest in digests] == [False, False, True, False]
        assert writer.blob(digests[2]) == texts[2].encode()


def test_a_value_that_a_run_no_longer_refers_to_goes_when_it_was_the_last(store: Store) -> None:
    texts = versions(3)
    with store.writing() as writer:
        digests = [add(writer, number, text) for number, text in enumerate(texts, 1)]
        add(writer, 1, texts[0], run="run-b")
        writer.drop_blob_uses("run-a", digests[:2])
        assert writer.blob_uses("run-a") == {digests[2]}
        assert [writer.blob(digest) for digest in digests] == [texts[0].encode(), None, texts[2].encode()]
        writer.drop_blob_uses("run-b", digests[:1])
        assert writer.blob(digests[0]) is None
        assert writer.blob(digests[2]) == texts[2].encode()


def test_what_several_runs_share_is_no_ones_own(store: Store) -> None:
    (text,) = versions(1)
    with store.writing() as writer:
        add(writer, 1, text)
        own = stored_in(writer, "run-a")
        add(writer, 1, text, run="run-b")
        assert (own, stored_in(writer, "run-a", "run-b"), writer.shared_bytes()) == (own, 0, own)
        assert own > 5_000


def test_a_body_that_was_replaced_is_sound_and_the_run_is_thinned_out_until_something_happens(store: Store) -> None:
    with store.writing() as writer:
        writer.put_run(a_run_row("run-a", status="completed", seq=1))
        writer.add_event(an_event_row(1), "")
        assert writer.runs_with_output() == ["run-a"]
        writer.replace_body("run-a", 1, b"j{}")
        writer.note_thinned("run-a")
        assert writer.runs_with_output() == []
        writer.put_run(a_run_row("run-a", status="completed", seq=2))
        assert writer.runs_with_output() == ["run-a"]
        assert next(writer.events("run-a")).body == b"j{}"


def test_runs_with_output_have_ended_and_the_one_that_rested_longest_comes_first(store: Store) -> None:
    with store.writing() as writer:
        for name, status, updated in (("new", "failed", 9), ("open", "active", 1), ("old", "completed", 3)):
            writer.put_run(a_run_row(name, status=status, updated=updated, seq=1))
        assert writer.runs_with_output() == ["old", "new"]


def test_space_is_given_back(store: Store, place: Path) -> None:
    file = place / "journal.db"
    with store.writing() as writer:
        writer.put_run(a_run_row())
        for number in range(300):
            text = "".join(random.Random(number).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=20_000))
            add(writer, number + 1, text, kind="call.kept")
    store.shrink(lambda done, total: None)
    before = file.stat().st_size
    with store.writing() as writer:
        writer.delete_run("run-a")
    told: list[tuple[int, int]] = []
    store.shrink(lambda done, total: told.append((done, total)))
    assert before > 3_000_000 > 400_000 > file.stat().st_size
    assert told[-1][0] == told[-1][1] > 500
