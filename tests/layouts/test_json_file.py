"""Files that another system owns as well: read whatever it wrote, change a member, and lose nothing beside it."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from holdfast.core.errors import Busy, HoldfastError, Refused
from holdfast.layouts import json_file
from holdfast.layouts.json_file import Changed, JsonFile, Unreadable, best_backup, read_json, with_members, write_json
from holdfast.system import shared_files
from tests.core.formats.test_json_edit import OBJECTS, TEXTS, VALUES
from tests.faber_states import a_state, with_a_session


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.json"


def face_of(path: Path, data: bytes | str) -> JsonFile:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_json(path)


# State reading: every line of what broke in practice

UNREADABLE: dict[str, tuple[bytes, str]] = {
    "empty file": (b"", "The file is empty"),
    "white space": (b"\xef\xbb\xbf \r\n\t", "The file is empty"),
    "null": (b"null", "It holds null where an object belongs"),
    "array root": (b"[1]\n", "It holds an array where an object belongs"),
    "a text": (b'"state"', "It holds a single value where an object belongs"),
    "not UTF-8": (b'{"a": "\xff"}', "It is not UTF-8 at byte 7"),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), "It is not UTF-8 at byte 0"),
    "cut off": (b'{\n  "a": 1,\n  "b": [1', "Invalid JSON at line 3: Expecting ',' delimiter"),
    "cut off at a key": (
        b'{\n"a": 1,',
        "Invalid JSON at line 2: Expecting property name enclosed in double quotes",
    ),
    "a comma too many": (
        b'{"a": 1,}',
        "Invalid JSON at line 1: Expecting property name enclosed in double quotes",
    ),
    "no comma": (b'{"a": 1 "b": 2}', "Invalid JSON at line 1: Expecting ',' delimiter"),
    "no colon": (b'{"a" 1}', "Invalid JSON at line 1: Expecting ':' delimiter"),
    "no value": (b'{"a":\n}', "Invalid JSON at line 2: Expecting value"),
    "two objects": (b"{}\n{}", "Invalid JSON at line 2: Extra data"),
    "two arrays": (b"[]\n[]", "Invalid JSON at line 2: Extra data"),
    "a conflict of git": (b'<<<<<<< HEAD\n{"a": 1}', "Invalid JSON at line 1: Expecting value"),
    "zeros after a power cut": (b"\0" * 512, "Invalid JSON at line 1: Expecting value"),
    "too deep for Python": (b'{"a": ' + b"[" * 200_000, "It is nested too deeply"),
    "too deep for us": (b'{"a": ' + b"[" * 150 + b"]" * 150 + b"}", "It is nested too deeply"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_holds_no_object_says_why_in_one_line(path: Path, name: str) -> None:
    data, why = UNREADABLE[name]
    with pytest.raises(Unreadable) as caught:
        face_of(path, data)
    assert caught.value.why == why
    assert caught.value.facts == [("path", str(path))]


def be_missing(path: Path) -> None:
    pass


def be_a_directory(path: Path) -> None:
    path.mkdir()


def be_a_link(path: Path) -> None:
    path.with_name("elsewhere").write_text("{}")
    path.symlink_to("elsewhere")


def be_a_pipe(path: Path) -> None:
    os.mkfifo(path)


def be_too_large(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(json_file.LIMIT + 1)


@pytest.mark.parametrize(
    ("become", "why"),
    [(be_missing, "no such file"), (be_a_directory, "not a regular file"), (be_a_link, "not a regular file"),
     (be_a_pipe, "not a regular file"), (be_too_large, "large")],
)  # fmt: skip
def test_what_is_no_file_of_a_sane_size_is_unreadable(path: Path, become: Callable[[Path], None], why: str) -> None:
    become(path)
    with pytest.raises(Unreadable) as caught:
        read_json(path)
    assert why in caught.value.why
    assert caught.value.is_missing is (become is be_missing)


@contextmanager
def as_somebody_else() -> Iterator[None]:
    """Root may read everything, so for a moment the test is nobody."""
    before = os.geteuid()
    os.seteuid(before or 65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_permission_denied_is_told(path: Path) -> None:
    path.write_text("{}")
    path.chmod(0)
    with as_somebody_else(), pytest.raises(Unreadable) as caught:
        read_json(path)
    assert (caught.value.is_denied, caught.value.why) == (True, "Permission is denied")


@pytest.mark.parametrize(
    "text",
    ["{}", ' {"a": 1} ', '\ufeff{"a": 1}', '{\r\n\t"a": 1\r\n}\r\n', '{"a":1}', '{"": {"": [null, true, 0.5, "ß"]}}',
     '{"é\\u00e9": "\\ud83d\\ude00", "half": "\\ud800"}', '{"b": 1, "a": 2, "Z": 3}'],
)  # fmt: skip
def test_any_object_can_be_read_with_its_keys_in_their_order(path: Path, text: str) -> None:
    face = face_of(path, text)
    expected = json.loads(text.removeprefix("\ufeff"))
    assert (face.value, list(face.value), face.flaws) == (expected, list(expected), [])


FLAWED = {
    '{"a": 1,\n "a": 2}': ({"a": 2}, ["the key a stands 2 times in one object, at the root"]),
    '{"x": 1,\n "y": [{"a": 1, "a": 2}]}': (
        {"x": 1, "y": [{"a": 2}]},
        ["the key a stands 2 times in one object, in y, which begins at line 2"],
    ),
    '{"x": NaN}': ({"x": None}, ["NaN is no number that JSON programs can read, in x, which begins at line 1"]),
    '{"x": [-Infinity]}': (
        {"x": [None]},
        ["-Infinity is no number that JSON programs can read, in x, which begins at line 1"],
    ),
    '{"x": 1e999}': ({"x": None}, ["1e999 is no number that JSON programs can read, in x, which begins at line 1"]),
    f'{{"x": {"9" * 5000}}}': (
        {"x": None},
        [f"{'9' * 19}… is no number that JSON programs can read, in x, which begins at line 1"],
    ),
}


@pytest.mark.parametrize("text", FLAWED, ids=range(len(FLAWED)))
def test_s36_duplicate_keys_and_numbers_that_are_none_are_reported_and_not_written(path: Path, text: str) -> None:
    face = face_of(path, text)
    assert (face.value, face.flaws) == FLAWED[text]
    with pytest.raises(Refused, match="cannot be written without losing"):
        write_json(face, with_members(face, {"new": 1}))
    assert path.read_text() == text
    assert os.listdir(path.parent) == ["state.json"]


def test_of_many_flaws_some_are_told(path: Path) -> None:
    face = face_of(path, json.dumps({"x": [float("nan")] * 1000}))
    assert len(face.flaws) == json_file.FLAWS


@given(
    st.binary(max_size=60)
    | st.text(max_size=60).map(str.encode)
    | OBJECTS.map(lambda value: json.dumps(value).encode())
)
def test_whatever_the_bytes_there_is_an_object_or_a_line_that_says_why(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("face") / "state.json"
    why, face = "", None
    try:
        face = face_of(path, data)
    except Unreadable as error:
        why = error.why
    assert (face is None) == bool(why)
    assert "\n" not in why
    if face and not face.flaws:
        assert face.value == json.loads(data.decode("utf-8-sig"))


# Members


def reread(path: Path, data: bytes) -> dict[str, Any]:
    return face_of(path.with_name("again.json"), data).value


def keep_every_byte(path: Path, text: str, changes: dict[str, object], values: list[object]) -> None:
    """Change members of an object in a file, and look at all others."""
    face = face_of(path, text)
    changes = {**changes, **dict(zip(face.value, values, strict=False))}
    data = with_members(face, changes)
    assert reread(path, data) == {**face.value, **changes}
    assert list(reread(path, data)) == list({**face.value, **changes})
    again = face_of(path, data)
    for before, after in zip(face.members, again.members, strict=False):
        if before.name not in changes:
            assert face.text[before.start : before.end] == again.text[after.start : after.end]
    assert again.text[: again.opening + 1] == face.text[: face.opening + 1]
    assert again.text[again.closing :] == face.text[face.closing :]


@pytest.mark.promise(3)
@given(text=TEXTS, changes=OBJECTS, values=st.lists(VALUES, max_size=3))
def test_s36_only_the_changed_members_change_and_all_others_keep_every_byte(
    tmp_path_factory: pytest.TempPathFactory, text: str, changes: dict[str, object], values: list[object]
) -> None:
    keep_every_byte(tmp_path_factory.mktemp("face") / "state.json", text, changes, values)


@pytest.mark.long
@pytest.mark.promise(3)
@settings(max_examples=2_000)
@given(text=TEXTS, changes=OBJECTS, values=st.lists(VALUES, max_size=3))
def test_in_2000_files_only_the_changed_members_change(
    tmp_path_factory: pytest.TempPathFactory, text: str, changes: dict[str, object], values: list[object]
) -> None:
    keep_every_byte(tmp_path_factory.mktemp("face") / "state.json", text, changes, values)


FORMS = {
    "two spaces": '{\n  "a": 1,\n  "updated_at": "then"\n}\n',
    "no end of line": '{\n  "a": 1,\n  "updated_at": "then"\n}',
    "a mark": '\ufeff{\n    "a": 1,\n    "updated_at": "then"\n}\n',
    "CRLF and tabs": '{\r\n\t"a": 1,\r\n\t"updated_at": "then"\r\n}\r\n',
    "one line": '{"a": 1, "updated_at": "then"}',
    "tight": '{"a":1,"updated_at":"then"}',
    "strange": '{ "a" :1 ,"updated_at"\n: "then" }  ',
}
SPREAD = """
> "a": 1,
> "updated_at": "now",
> "sessions": {
> > "list": [
> > > {
> > > > "x": null
> > > }
> > ]
> }
}"""


def spread(unit: str, line: str = "\n") -> str:
    return "{" + SPREAD.replace("> ", unit).replace("\n", line)


WRITTEN = {
    "two spaces": spread("  ") + "\n",
    "no end of line": spread("  "),
    "a mark": "\ufeff" + spread("    ") + "\n",
    "CRLF and tabs": spread("\t", "\r\n") + "\r\n",
    "one line": '{"a": 1, "updated_at": "now", "sessions": {"list": [{"x": null}]}}',
    "tight": '{"a":1,"updated_at":"now","sessions":{"list":[{"x":null}]}}',
    "strange": '{ "a" :1 ,"updated_at"\n: "now", "sessions": {"list": [{"x": null}]} }  ',
}


@pytest.mark.parametrize("form", FORMS)
def test_s36_indentation_line_ends_mark_and_final_newline_stay_as_found(path: Path, form: str) -> None:
    face = face_of(path, FORMS[form])
    data = with_members(face, {"sessions": {"list": [{"x": None}]}, "updated_at": "now"})
    assert data.decode() == WRITTEN[form]


@pytest.mark.parametrize(("empty", "filled"), [("{}", '{\n  "a": 1\n}'), ("{\n}\n", '{\n  "a": 1\n}\n')])
def test_an_empty_object_is_filled(path: Path, empty: str, filled: str) -> None:
    assert with_members(face_of(path, empty), {"a": 1}).decode() == filled


def test_half_a_surrogate_pair_survives_in_what_is_written_anew(path: Path) -> None:
    face = face_of(path, '{"sessions": {"note": "\\ud800 and \\udfff", "\\udc00": 1}}')
    data = with_members(face, {"sessions": face.value["sessions"], "new": "\ud800"})
    assert reread(path, data) == {**face.value, "new": "\ud800"}


def test_a_real_state_keeps_its_values_and_the_order_of_its_keys(path: Path) -> None:
    state = with_a_session()
    face = face_of(path, json.dumps(state, indent=2))
    data = with_members(face, {"sessions": {}, "updated_at": "now", "context_metadata": None})
    found = json.loads(data)
    assert list(found) == list(state)
    assert {name for name in state if found[name] != state[name]} == {"sessions", "updated_at", "context_metadata"}


def test_a_state_of_10_mb_is_read_and_changed_like_a_small_one(path: Path) -> None:
    rows = [{"step_id": f"step-{number}", "message": "m" * 80} for number in range(75_000)]
    face = face_of(path, json.dumps({"steps": rows, "sessions": {}}, indent=2))
    assert len(face.data) > 10_000_000
    assert write_json(face, with_members(face, {"sessions": {"total_sessions": 1}})) == []
    assert read_json(path).value == {"steps": rows, "sessions": {"total_sessions": 1}}


@pytest.mark.promise(19)
def test_a_file_that_takes_four_times_its_bytes_in_memory_is_changed_within_bounds(path: Path) -> None:
    path.write_text('{"log": "\U0001f600' + "x" * (json_file.LIMIT - 100) + '", "status": "a"}', encoding="utf-8")
    tracemalloc.start()
    try:
        face = read_json(path)
        data = with_members(face, {"status": "b", "new": 1})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert data.endswith(b'", "status": "b", "new": 1}')
    assert peak < 160 << 20


# Writing


def test_p4_p5_the_version_before_is_kept_beside_with_the_mode_of_the_state(path: Path) -> None:
    face = face_of(path, "{}")
    path.chmod(0o640)
    assert write_json(face, b'{"a": 1}') == []
    backup = path.with_name("state.json.backup")
    assert (path.read_bytes(), backup.read_bytes()) == (b'{"a": 1}', b"{}")
    assert {file.stat().st_mode & 0o777 for file in (path, backup)} == {0o640}
    assert sorted(os.listdir(path.parent)) == ["state.json", "state.json.backup", "state.json.lock"]


def test_s33_the_backup_is_one_generation(path: Path) -> None:
    for number in range(3):
        face = face_of(path, path.read_bytes()) if number else face_of(path, "{}")
        write_json(face, b'{"n": %d}' % number)
    assert path.with_name("state.json.backup").read_bytes() == b'{"n": 1}'


@pytest.mark.parametrize("become", [be_a_directory])
def test_a_backup_that_fails_is_a_warning(path: Path, become: Callable[[Path], None]) -> None:
    face = face_of(path, "{}")
    become(path.with_name("state.json.backup"))
    (warning,) = write_json(face, b'{"a": 1}')
    assert warning.startswith("Could not create backup state.json.backup: ")
    assert path.read_bytes() == b'{"a": 1}'


def test_a_backup_never_follows_a_link(path: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("theirs")
    path.with_name("state.json.backup").symlink_to(victim)
    assert write_json(face_of(path, "{}"), b'{"a": 1}') == []
    assert victim.read_text() == "theirs"


def test_a_concurrent_writer_between_read_and_write_is_told_and_nothing_is_written(path: Path) -> None:
    face = face_of(path, "{}")
    path.with_name("state.json.backup").write_text('{"good": true}')
    path.write_text('{"theirs": 1}')
    with pytest.raises(Changed) as caught:
        write_json(face, b'{"ours": 1}')
    assert caught.value.theirs == b'{"theirs": 1}'
    assert path.read_text() == '{"theirs": 1}'
    assert path.with_name("state.json.backup").read_text() == '{"good": true}'


def test_a_writer_in_the_very_moment_of_the_exchange_wins(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    face, exchange = face_of(path, "{}"), shared_files._exchange

    def be_disturbed(one: Path, other: Path) -> None:
        monkeypatch.setattr(shared_files, "_exchange", exchange)
        other.write_bytes(b'{"theirs": 1}')
        exchange(one, other)

    monkeypatch.setattr(shared_files, "_exchange", be_disturbed)
    with pytest.raises(Changed) as caught:
        write_json(face, b'{"ours": 1}')
    assert (caught.value.theirs, path.read_bytes()) == (b'{"theirs": 1}', b'{"theirs": 1}')
    assert path.with_name("state.json.backup").read_bytes() == b"{}"


def test_a_writer_right_after_us_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    face, replace = face_of(path, "{}"), shared_files.replace_shared

    def be_followed(path: Path, expected: bytes | None, data: bytes, **options: Any) -> bytes | None:
        theirs = replace(path, expected, data, **options)
        path.write_bytes(b'{"theirs": 1}')
        return theirs

    monkeypatch.setattr(shared_files, "replace_shared", be_followed)
    with pytest.raises(Changed):
        write_json(face, b'{"ours": 1}')


def test_a_state_that_is_gone_is_not_made_again(path: Path) -> None:
    face = face_of(path, "{}")
    path.unlink()
    with pytest.raises(Changed) as caught:
        write_json(face, b'{"ours": 1}')
    assert caught.value.theirs is None
    assert not path.exists()


def test_a_state_that_became_a_link_is_refused(path: Path) -> None:
    face = face_of(path, "{}")
    path.unlink()
    be_a_link(path)
    with pytest.raises(Refused):
        write_json(face, b'{"ours": 1}')
    assert path.with_name("elsewhere").read_text() == "{}"


@pytest.mark.parametrize("become", [be_a_link, be_a_pipe, be_a_directory])
def test_a_lock_that_is_no_file_is_told_and_nothing_is_written(path: Path, become: Callable[[Path], None]) -> None:
    face = face_of(path, "{}")
    become(path.with_name("state.json.lock"))
    with pytest.raises(HoldfastError):
        write_json(face, b'{"ours": 1}')
    assert path.read_text() == "{}"


def test_s22_whoever_holds_the_lock_is_waited_for_and_named(path: Path) -> None:
    face = face_of(path, "{}")
    with open(path.with_name("state.json.lock"), "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Busy, match=r"Another process is writing to state\.json and does not finish"):
            write_json(face, b'{"ours": 1}', lock_deadline=0.05)
    assert path.read_text() == "{}"
    assert write_json(face, b'{"ours": 1}') == []


ADD = """
import sys
from pathlib import Path
from holdfast.layouts.json_file import Changed, read_json, with_members, write_json
path, who = Path(sys.argv[1]), sys.argv[2]
for number in range(20):
    while True:
        face = read_json(path)
        try:
            write_json(face, with_members(face, {f"{who}-{number}": number}))
            break
        except Changed:
            pass
"""


def test_many_writers_lose_nothing_of_each_other(path: Path) -> None:
    path.write_text("{}")
    writers = [subprocess.Popen([sys.executable, "-c", ADD, str(path), str(who)]) for who in range(4)]
    assert [writer.wait(120) for writer in writers] == [0] * 4
    assert len(read_json(path).value) == 80


# Backups


def is_ours(state: dict[str, Any]) -> bool:
    return bool(state.get("run_id") == a_state()["run_id"])


def dated(path: Path, value: object, age: int) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    return path


@pytest.mark.parametrize("stem", ["state", "state-2026-01-07T15-57-54Z"])
def test_p4_all_four_names_are_found_newest_first(tmp_path: Path, stem: str) -> None:
    names = [f"{stem}.json.bak", f"backups/{stem}_20260101_120000.json", f"{stem}.backup.json", f"{stem}.json.backup"]
    places = [dated(tmp_path / name, a_state(), age) for age, name in enumerate(names)]
    dated(tmp_path / "backups" / "other.json", a_state(), 0)
    assert [face.path for face in best_backup(tmp_path / f"{stem}.json", is_ours)] == places


def test_p4_a_backup_that_is_damaged_or_of_another_run_is_not_offered(tmp_path: Path) -> None:
    dated(tmp_path / "state.json.backup", '{"run_id"', 0)
    dated(tmp_path / "state.json.bak", a_state(run_id="another"), 1)
    good = dated(tmp_path / "state.backup.json", a_state(), 2)
    (tmp_path / "backups").mkdir()
    (tmp_path / "backups" / "state_1.json").symlink_to(good)
    assert [face.path for face in best_backup(tmp_path / "state.json", is_ours)] == [good]


def test_p4_backups_behind_a_link_are_not_looked_at(tmp_path: Path) -> None:
    dated(tmp_path / "elsewhere" / "state_1.json", a_state(), 0)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "backups").symlink_to(tmp_path / "elsewhere")
    assert best_backup(tmp_path / "run" / "state.json", is_ours) == []
