"""Redaction of everything that is stored or sent: each string of a decoded JSON value, including its keys.

It recognises the token formats of providers, headers, URLs with a password, private keys, assignments to secret names,
the secret values of this environment and of the project's `.env` files, and matches of the user's own patterns; also
inside strings that are themselves JSON, base64 or percent-encoded. A secret that looks like ordinary text passes:
redaction does not guarantee that nothing secret is left.
"""

from __future__ import annotations

import bisect
import functools
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from holdfast.redaction import prefilter
from holdfast.redaction.classifiers import SHORTEST, kind_of
from holdfast.redaction.environment import forms
from holdfast.redaction.json_values import DEEPEST, gather, is_command, is_secret_member, items_of, members_of, value_in
from holdfast.redaction.patterns import KEY, KEY_ENDS, KEY_LINE, MARKS, Found
from holdfast.redaction.regex import Regex, compiled
from holdfast.redaction.text_forms import (
    BASE64,
    BESIDE,
    FULL,
    LINES,
    PERCENT,
    display_forms,
    display_parts,
    from_base64,
    from_percent,
    wrapped,
)

BUDGET = 64 << 20  # characters of one value; the rest is not scanned, and therefore not stored
LARGEST = 32 << 20  # bytes of memory for one string: four per character if it contains an emoji
TOGETHER = 1 << 20  # characters of strings that are scanned as one block, which is a copy: larger ones cost memory
REMEMBERED = 4 << 20  # characters of strings in the cache of clean ones
SHORT, ROOM = 200, 1 << 18  # bytes of one known form in the combined pattern, and of all of them
LONGEST_LINE = 1000  # characters of a line of a private key
ROUNDS = 8  # limit of rescans: a placeholder may create a word boundary, and so the start of another secret
PASSED = "surrogatepass"
# safeguard: text-boundary
BETWEEN_TEXTS = "\n\0\n"  # ends a line and a word, as the end of a string does; no match spans it

Counts = Counter[str]


class Finding(msgspec.Struct, frozen=True):
    """Kind, length and line number of a secret, without any part of the secret itself."""

    kind: str
    length: int
    line: int


class Redactor:
    """Masks secrets in values. `known` are literal secrets; `own` and `allow` are the user's patterns."""

    def __init__(self, known: Iterable[str] = (), own: Iterable[str] = (), allow: Iterable[str] = ()) -> None:
        values = list(known)
        self._known, self._long = _literals(values)
        self._beside = BESIDE + max((value.count("\n") for value in values), default=0)  # lines of context
        self._own = [compiled(source) for source in own]
        self._allow = [compiled(source) for source in allow]
        self._left = 0
        self._passed: set[str] = set()  # cache of clean strings: those of a call occur again in its event
        self._room = REMEMBERED
        self._seen: tuple[tuple[int, int], list[Found]] = ((0, 0), [])  # the last string with secrets, and their spans
        self._is_plain = False  # True if all strings of the value are displayed unchanged
        self._noted: list[tuple[str, str]] | None = None  # kind and text of each masked secret, if `find` needs them

    def clean(self, value: Any) -> tuple[Any, Counts]:
        """A decoded JSON value with its secrets masked, and the number found of each kind."""
        counts: Counts = Counter()
        self._is_plain = False
        if self.is_clean([value]):
            return value, counts
        self._left = BUDGET
        clean = self._value(value, counts, DEEPEST)
        self._seen = ((0, 0), [])
        return clean, counts

    def is_clean(self, values: Iterable[Any]) -> bool:
        """True if none of the values contains a secret. Scanning many at once takes a fraction of the time."""
        texts: list[str] = []
        if any(gather(value, texts) for value in values):
            return False
        fresh = set(texts) - self._passed
        if not fresh:
            return True
        if sum(map(sys.getsizeof, fresh)) > LARGEST:  # scanned one by one, or all their forms are in memory at once
            return False
        again: list[str] = []
        parts = (display_parts(text, self._beside) for text in fresh)
        forms = display_forms(fresh) if self._own else {part for found in parts for part in found}
        self._is_plain = not forms
        if any(gather(form, again) for form in forms):
            return False
        looked_at = fresh.union(again)
        if any(map(self._may_hold, _blocks(looked_at))):
            return False
        datas = (text.encode("utf-8", PASSED) for text in looked_at) if self._own else ()
        # safeguard: user-pattern-per-text
        if any(own.search(data) for data in datas for own in self._own):  # not joined: a pattern may use anchors
            return False
        size = sum(map(len, fresh))
        if size > self._room:
            self._passed, self._room = set(), REMEMBERED
        if size <= self._room:
            self._passed |= fresh
            self._room -= size
        return True

    def text(self, text: str) -> str:
        """One string with its secrets masked, without the counts."""
        return str(self.clean(text)[0])

    def find(self, text: str) -> list[Finding]:
        """The secrets that would be masked in a string; if it is JSON, also those that only member names reveal."""
        return max((self._findings(form) for form in (text, *display_forms([text]))), key=len)

    def _findings(self, text: str) -> list[Finding]:
        data = text.encode("utf-8", PASSED)
        found = self._spans(data) + self._encoded_spans(data, DEEPEST)
        if value_in(text) is not None:
            self._noted = []
            self.clean(text)
            found += _located(data, self._noted)
            self._noted = None
        line, at, findings = 1, 0, []
        for start, end, kind in _merged(found):
            line, at = line + data.count(b"\n", at, start), start
            findings.append(Finding(kind, len(data[start:end].decode("utf-8", "replace")), line))
        return findings

    def _may_hold(self, data: bytes) -> bool:
        return bool(self._spans(data) or self._encoded_spans(data, DEEPEST))

    def _value(self, value: Any, counts: Counts, depth: int, name: str = "") -> Any:
        if isinstance(value, str):
            return self._named_text(name, value, counts, depth)
        if isinstance(value, list | tuple):
            words = self._command(value, counts) if is_command(value) else value  # safeguard: secret-in-command-list
            return list(self._items(items_of(words, name), counts, depth))  # safeguard: secret-in-named-list
        if isinstance(value, dict):
            texts = [self._text(key, counts, depth) for key in value]
            items = (self._value(item, counts, depth, called) for called, item in members_of(value, name))
            return dict(zip(texts, items, strict=True))
        return value

    def _command(self, words: Sequence[str], counts: Counts) -> list[str]:
        """The words of a command line, with secrets masked that are recognisable only in the line as a whole."""
        line = [word.encode("utf-8", PASSED) for word in words]
        joined = b" ".join(line)
        found = _merged(self._spans(joined))
        for start, end, kind in found:
            counts[kind] += 1
            self._note(kind, joined[start:end].decode("utf-8", PASSED))
        return [word.decode("utf-8", PASSED) for word in _words_with_marks(line, found)]

    def _items(self, items: Iterable[tuple[str, Any]], counts: Counts, depth: int) -> Iterator[Any]:
        """The items of a list with secrets masked. A patch has a private key as one item per line."""
        begins, ends, of_it = compiled(KEY), compiled(KEY_ENDS), compiled(KEY_LINE)
        in_key = False
        for name, item in items:
            line = item.encode("utf-8", PASSED) if isinstance(item, str) and len(item) < LONGEST_LINE else b"no line"
            in_key = in_key and of_it.fullmatch(line) is not None
            yield _mark("private key") if in_key and item else self._value(item, counts, depth, name)
            if in_key or begins.search(line):
                in_key = not ends.search(line)

    def _named_text(self, name: str, text: str, counts: Counts, depth: int) -> str:
        if not is_secret_member(name, text) or (self._allow and self._is_allowed(text.encode("utf-8", PASSED))):
            return self._text(text, counts, depth)
        kind = kind_of(name.encode("utf-8", "replace"))
        counts[kind] += 1
        self._note(kind, text)
        return _mark(kind)

    def _note(self, kind: str, secret: str) -> None:
        if self._noted is not None:
            self._noted.append((kind, secret))

    def _text(self, text: str, counts: Counts, depth: int) -> str:
        if len(text) < SHORTEST:
            return text
        self._left -= len(text)
        if self._left < 0 or sys.getsizeof(text) > LARGEST:
            return f"[{len(text):,} characters, too many to look for secrets in]"
        text = self._hidden(text, counts, depth)
        # safeguard: hide-shown-forms
        for form in display_forms([text]) if not self._is_plain and self._display_may_hold(text) else ():
            clean = self._hidden(form, counts, min(depth, 1))  # strings nested deeper are scanned on their own
            text = text if clean == form else clean
        return text

    def _display_may_hold(self, text: str) -> bool:
        """True if the display form of a string may contain a secret; often a few lines are enough to decide."""
        parts = display_parts(text, self._beside)
        is_whole = bool(parts) and (bool(self._own) or (len(parts) == 1 and value_in(parts[0]) is not None))
        return is_whole or any(self._may_hold(part.encode("utf-8", PASSED)) for part in parts)

    def _hidden(self, text: str, counts: Counts, depth: int) -> str:
        if depth and (inner := value_in(text)) is not None:
            before = counts.total()
            clean = self._value(inner, counts, depth - 1)
            if counts.total() != before:
                import json  # lazy: rarely needed

                text = json.dumps(clean, ensure_ascii=False)
        whole = data = text.encode("utf-8", PASSED)
        for look in (self._spans, functools.partial(self._encoded_spans, depth=depth)):
            found = _merged(look(data))
            for _ in range(ROUNDS):
                if not found:
                    break
                for start, end, kind in found:
                    counts[kind] += 1
                    self._note(kind, data[start:end].decode("utf-8", PASSED))
                first, rest = found[0].start, len(data) - found[-1].end
                data = _with_marks(data, found)
                at, until = _lines_around(data, first, len(data) - rest)
                lines = data[at:until]
                again = _merged(self._spans(lines) or self._encoded_spans(lines, depth))
                found = [Found(one.start + at, one.end + at, one.kind) for one in again]
        return text if data is whole else data.decode("utf-8", PASSED)

    def _spans(self, data: bytes) -> list[Found]:
        """Spans of secrets, without placeholders and values that the user allows."""
        text = (len(data), hash(data))  # a string with secrets is scanned twice: first in a block, then alone
        if text == self._seen[0]:
            return self._seen[1]
        found = list(prefilter.find(data))
        for kind, each in [("known value", self._known), *(("own pattern", own) for own in self._own)]:
            for match in each.finditer(data) if each else ():
                found.append(Found(*match.span(1 if each and each.groups else 0), kind))
        found += (Found(at, at + len(form), "known value") for form in self._long for at in _places(data, form))
        marks = [match.span() for match in compiled(MARKS).finditer(data)] if found else []
        left = [one for one in found if 0 <= one.start < one.end and not self._is_passed(data, one, marks)]
        self._seen = (text, left) if left else self._seen
        return left

    def _is_passed(self, data: bytes, found: Found, marks: list[tuple[int, int]]) -> bool:
        at = bisect.bisect_right(marks, (found.start, len(data))) - 1
        is_mark = at >= 0 and found.start < marks[at][1]
        return is_mark or self._is_allowed(data[found.start : found.end])

    def _is_allowed(self, secret: bytes) -> bool:
        return any(regex.fullmatch(secret) for regex in self._allow)

    def _encoded_spans(self, data: bytes, depth: int) -> list[Found]:
        """Encoded words whose decoded text contains a secret."""
        found: list[Found] = []
        words: list[tuple[int, int, bytes]] = []
        size = 0
        for start, end, plain in self._decoded(data) if depth else ():
            if plain:
                words.append((start, end, plain))
                size += len(plain)
            if size > TOGETHER:  # bounds the memory
                found += self._decoded_spans(words, depth)
                words, size = [], 0
        found += self._decoded_spans(words, depth)
        return [one for one in found if not self._is_allowed(data[one.start : one.end])]

    def _decoded_spans(self, words: list[tuple[int, int, bytes]], depth: int) -> Iterator[Found]:
        """The decoded words that contain a secret. Usually none does, so they are first scanned as one block."""
        together = BETWEEN_TEXTS.encode().join(plain for _, _, plain in words)
        if not together or not (self._spans(together) or self._encoded_spans(together, depth - 1)):
            return
        for start, end, plain in words:
            if inner := self._spans(plain) or self._encoded_spans(plain, depth - 1):
                yield Found(start, end, inner[0].kind)

    def _decoded(self, data: bytes) -> Iterator[tuple[int, int, bytes | None]]:
        is_wrapped = False
        for match in compiled(BASE64).finditer(data):
            start, end = match.span()
            is_wrapped = is_wrapped or end - start >= FULL
            yield start, end, from_base64(data[start:end])
        for start, end, word in wrapped(data, compiled(LINES)) if is_wrapped else ():
            yield start, end, from_base64(word)
        for start, end in compiled(PERCENT).places(data) if b"%" in data else ():
            yield start, end, from_percent(data[start:end])


def check_pattern(source: str) -> str | None:
    """The reason why a pattern of the user's cannot be used; None if it can."""
    try:
        regex = compiled(source)
    except ValueError as error:
        return str(error)
    return "it matches the empty string" if regex.search(b"") else None


def listed(text: str) -> list[str]:
    """The patterns in a setting: separated by spaces, with commas if the setting was a list."""
    return [word for part in text.split() if (word := part.removesuffix(","))]


def _literals(known: Iterable[str]) -> tuple[Regex | None, list[bytes]]:
    """One pattern for the short forms of known values, and the long forms that are searched for one by one."""
    found = {form.encode("utf-8", "surrogateescape") for value in known for form in forms(value)}
    short: list[bytes] = []
    long: list[bytes] = []
    room = ROOM
    for form in sorted((form for form in found if len(form) >= SHORTEST), key=lambda form: (-len(form), form)):
        room -= len(form) if len(form) <= SHORT else 0
        (short if len(form) <= SHORT and room > 0 else long).append(form)
    source = "|".join("".join(f"\\x{byte:02x}" for byte in form) for form in short)
    return compiled(source, captures=False) if short else None, long


def _blocks(texts: Iterable[str]) -> Iterator[bytes]:
    """The strings, joined into blocks."""
    block: list[str] = []
    size = 0
    for text in texts:
        if block and size + len(text) > TOGETHER:
            yield BETWEEN_TEXTS.join(block).encode("utf-8", PASSED)
            block, size = [], 0
        block.append(text)
        size += len(text)
    yield BETWEEN_TEXTS.join(block).encode("utf-8", PASSED)


def _places(data: bytes, form: bytes) -> Iterator[int]:
    at = data.find(form)
    while at >= 0:
        yield at
        at = data.find(form, at + len(form))


# Placeholders in place of the spans that were found


def _mark(kind: str) -> str:
    return f"[redacted {kind}]"


def _merged(found: list[Found]) -> list[Found]:
    """Overlapping findings merged into one, with the kind that was found first."""
    result: list[Found] = []
    order = {one: number for number, one in reversed(list(enumerate(found)))}
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if result and one.start < result[-1].end:
            first = min(result[-1], one, key=lambda each: order.get(each, 0))
            result[-1] = Found(result[-1].start, max(result[-1].end, one.end), first.kind)
        else:
            result.append(one)
    return result


def _with_marks(data: bytes, found: list[Found]) -> bytes:
    """The text with placeholders for all findings."""
    pieces, at = [], 0
    for start, end, kind in found:
        pieces += [data[at:start], _mark(kind).encode()]
        at = end
    return b"".join((*pieces, data[at:]))


def _lines_around(data: bytes, start: int, end: int) -> tuple[int, int]:
    """A span, extended to the lines around it."""
    for _ in range(BESIDE):
        start = data.rfind(b"\n", 0, max(start, 0))
        end = data.find(b"\n", end + 1) if 0 <= end < len(data) else -1
    return start + 1, end if end >= 0 else len(data)


def _words_with_marks(words: Sequence[bytes], found: list[Found]) -> Iterator[bytes]:
    """The words with placeholders for all findings, whose positions refer to the words joined by blanks."""
    at = 0
    for word in words:
        end = at + len(word)
        inside = [one for one in found if one.start < end and one.end > at]
        yield _with_marks(word, [Found(max(one.start - at, 0), min(one.end, end) - at, one.kind) for one in inside])
        at = end + 1


def _located(data: bytes, hidden: list[tuple[str, str]]) -> list[Found]:
    """Spans of masked secrets in a JSON text; one with another encoding gets the position after the last one found."""
    import json  # lazy: rarely needed

    found, at = [], 0
    for kind, secret in hidden:
        forms = {json.dumps(secret, ensure_ascii=plain)[1:-1].encode("utf-8", PASSED) for plain in (True, False)}
        places = [(place, len(form)) for form in forms for start in (at, 0) if (place := data.find(form, start)) >= 0]
        at, length = places[0] if places else (at, 1)
        found.append(Found(at, at + length, kind))
        at += length
    return found
