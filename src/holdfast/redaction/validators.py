"""Validators of the patterns' matches: each decides from text and match if it is a secret, or where the secret ends."""

from __future__ import annotations

import binascii
import re

from holdfast.redaction import classifiers
from holdfast.redaction.classifiers import (
    DIGITS,
    LETTERS,
    SEPARATED,
    SHORTEST,
    WORDLY,
    has,
    has_both,
    is_chancy,
    is_code,
    is_dsn_key,
    is_filled_in,
    is_for,
    is_harmless,
    is_keyed,
    is_named,
    is_random,
    is_secretive,
    is_shuffled,
    is_turning,
    matches,
)
from holdfast.redaction.regex import Match

SIGNS = b",;&<>(){}[]$"
QUOTED = re.compile(rb"[\"'\n]")
PARSED = re.compile(rb"[Tt]oken[ \t]*:[ \t]*[\"']")  # a parser's token, followed by a word of the language
MAIL = re.compile(rb"[^@\s]+@[^@\s]+\.[a-zA-Z]{2,}")
QUOTES = b"\"'\\ \t"  # and characters between two of them
WORDS = re.compile(rb"[A-Za-z0-9]+")
SET_NAME = re.compile(rb"[A-Z][A-Za-z0-9_]*=")
NESTED = re.compile(rb"([A-Za-z_][A-Za-z0-9_.-]*)[:=](.*)")
CALLED_SO = [bytes([byte]) for byte in LETTERS + DIGITS + b"_)]>"]  # characters before the bracket of a call
CALLED = re.compile(rb"[A-Za-z_][(\[]|\$\{|\{\{|%[sdv(]")
VALUE = re.compile(rb"\s*(?:[nN]?'([^'\n]*)'|[nN]?\"([^\"\n]*)\"|[^,'\"]*)\s*(?:,|$)")
COLUMN = r"(?i)(?:pass(?:word|wd|wort|phrase|_?hash)?|pwd|secret|token|api_?key)\z"
MOST_PLAIN = 4  # bytes of a value that is too short for a secret
LONGEST_WORD = 12  # bytes of a word
LONGEST_LINE = 1000  # bytes in which the closing quote is searched for
LONGEST_PHRASE = 100
PROSE = frozenset((b"the", b"of", b"your", b"is", b"must", b"to", b"for", b"and"))  # words of a sentence
MOST_WORDS = 3  # words of a secret with blanks: more are a sentence
FURTHEST = 300  # bytes up to its end; unlimited, a text of many names without a blank would take quadratic time
MOST_BEHIND = 8  # trailing signs that are cut off
LONGEST_NAME = 100  # characters of an identifier
MARK = b"[redacted "
ENDS = re.compile(rb"[\s\"'`]|\\[A-Za-z\"'\\]|</")
PARTS = re.compile(rb"[&;,#]")  # separators in a URL or a list of settings
LISTED = (b"?", b"&", b";", b",")  # the sign before a name there
OPENED = {b")": b"(", b"]": b"[", b"}": b"{", b">": b"<"}
OPENING = b"([{<"
NAMELY = LETTERS + DIGITS + b"_.:->$@"


def _group(text: bytes, match: Match, number: int = 1) -> bytes:
    return text[slice(*match.span(number))]


def is_password(text: bytes, match: Match) -> bool:
    value = _group(text, match)
    return value not in classifiers.PLACEHOLDERS and not is_filled_in(value) and not is_named(value)


def is_given(text: bytes, match: Match) -> bool:
    """True if the value of an option is a password, and not a variable that holds one."""
    value = _group(text, match)
    return not is_filled_in(value) and not is_named(value) and not classifiers.is_elsewhere(value)


def is_chosen(text: bytes, match: Match) -> bool:
    """True for a value like a password that a person chose: letters with digits or signs, and no URL, path or call."""
    value = _group(text, match)
    if len(value) > LONGEST_PHRASE:
        return False
    has_sign = bool(value.translate(None, LETTERS + DIGITS + WORDLY + b"/:@"))
    if not has(LETTERS, value) or not (has_sign or has(DIGITS, value)) or is_harmless(value) or is_named(value):
        return False
    is_other = b"://" in value or MAIL.fullmatch(value) or CALLED.search(value) or is_code(value)
    return not is_other and (has_sign or not is_plain_name(value))


def is_plain_name(value: bytes) -> bool:
    """True for an identifier of words and numbers, like `shadow_map_2`, `v1` or `utf8`."""
    parts = value.translate(SEPARATED).split()
    if len(parts) == 1 and value.isalnum():
        return len(value) < SHORTEST and not is_turning(value) and value.lower() == value
    return not any(is_turning(part) for part in parts) and all(is_name(part) or part.isdigit() for part in parts)


def is_odd_choice(text: bytes, match: Match) -> bool:
    """Stricter form of `is_chosen` for weak contexts: letters and digits must alternate, or signs be among them."""
    value = _group(text, match)
    has_sign = bool(value.translate(None, LETTERS + DIGITS + WORDLY + b"/:@,;"))
    kinds = sum(has(kind, value) for kind in (LETTERS[:26], LETTERS[26:], DIGITS))
    return (
        has(DIGITS, value) and is_chosen(text, match) and (is_turning(value) or (has_sign and kinds > 1) or kinds > 2)
    )


def is_key(text: bytes, match: Match) -> bool:
    """True for a random value of a name in capitals, except that of a public key."""
    name, value = _group(text, match), _group(text, match, 2)
    return is_keyed(name.decode()) and is_chancy(value)  # safeguard: value-behind-key-name


def find_inserted(text: bytes, match: Match) -> tuple[int, int]:
    """The span of the value of a secret column in a row of SQL; (0, 0) if there is none."""
    columns = _group(text, match).split(b",")
    values = list(VALUE.finditer(text, *match.span(2)))
    for column, value in zip(columns, values, strict=False):
        name = column.strip(b' \t\n`"[]').decode("utf-8", "replace")
        start, end = value.span(1)
        if matches(COLUMN, name) and end - start > MOST_PLAIN and not is_harmless(text[start:end]):
            return start, end
    return 0, 0


def is_typed(text: bytes, match: Match) -> bool:
    return not is_harmless(_group(text, match))


def is_sent(text: bytes, match: Match) -> bool:
    value = _group(text, match)
    return not is_harmless(value) and not value.isalpha()


def is_header_value(text: bytes, match: Match) -> bool:
    """True if the value of a header is a key, and not the next name in a list of headers."""
    return is_sent(text, match) and not is_next_header(text, match)


def is_next_header(text: bytes, match: Match) -> bool:
    before = text[match.span()[0] : match.span(1)[0]]
    return before.rstrip(QUOTES).endswith(b",") and is_name(_group(text, match))


def is_signature(text: bytes, match: Match) -> bool:
    """True if one of the parameters of a header is random."""
    return any(is_odd(word) for word in WORDS.findall(text, *match.span(1)))


def is_authorized(text: bytes, match: Match) -> bool:
    """True if the value after an authorization scheme is a credential, and not a call or variable that yields one."""
    start, end = match.span(1)
    value = text[start : reach(text, start, end)]
    return len(value) >= SHORTEST and not is_harmless(value) and not is_call(text, start, value)


def is_signed(text: bytes, match: Match) -> bool:
    """The same after a word that may be a scheme or prose."""
    value = _group(text, match)
    return has(DIGITS, value) and b"://" not in value and is_authorized(text, match)


def is_unschemed(text: bytes, match: Match) -> bool:
    """True if the word after the name of a header is a credential: any word in quotes, else no type or attribute."""
    start, end = match.span(1)
    value, before, after = text[start:end], text[start - 1 : start], text[end : end + 1]
    is_wordly = not value.translate(None, WORDLY + b":=").strip(LETTERS)
    if is_wordly and (before not in (b'"', b"'") or after in (b" ", b"\t")):
        return False
    return is_authorized(text, match) and not is_code(value) and not is_next_header(text, match)


def is_call(text: bytes, start: int, value: bytes) -> bool:
    """True if a value is a name followed by brackets."""
    at = next((at for at, byte in enumerate(value) if byte in OPENING), 0)
    return at > 0 and is_name(value[:at]) and not is_torn(text, start, start + len(value))


def end_of_word(text: bytes, match: Match) -> int:
    return reach(text, *match.span(1))


def is_assigned(text: bytes, match: Match) -> bool:
    """True if the value assigned to a secret name is a secret, and not code, a path or a word of prose."""
    begin = match.span(1)[0]
    start, end = match.span(2)
    value, after = text[start:end], text[end : end + 1]
    if is_harmless(value):
        return False
    name = text[begin:start]
    if is_called_so(name, value):
        return False
    if text[begin - 1 : begin] == b":" and text.rfind(b"arn:", max(0, begin - LONGEST_PHRASE), begin) >= 0:
        return False
    if name[-1:] in (b'"', b"'"):
        if name.rstrip(QUOTES).endswith(b",") and not is_argument(text, match):
            return False
        is_parsed = value.isalpha() and len(value) < LONGEST_WORD and PARSED.fullmatch(name) is not None
        return not is_parsed and after not in (b"(", b"[", b"{") and not is_enclosed(text, start)
    is_call = after in (b"(", b"[", b"{") and is_name(value) and not is_torn(text, start, end)
    if is_call or is_code(value) or is_nested(value):
        return False
    if not value.translate(None, WORDLY + b"|").strip(LETTERS):  # a word, alternatives (`a|b`), or an attribute
        if is_shuffled(value) or (after and after in b"$&<>)({[" and is_strange(text, match)):
            return True
        is_tight = name.endswith(b"=") and not name[:-1].endswith((b" ", b"\t")) and b"." not in value
        return is_tight and after not in (b",", b")") and text[begin - 1 : begin] != b"("
    return True


def is_argument(text: bytes, match: Match) -> bool:
    """True if a quoted text after a comma is the value of the name before it, not the next name of a list.

    This holds for the second argument of a call, the value of an option, a pair whose value has a digit, and elsewhere
    for a text that cannot be a name.
    """
    begin = match.span(1)[0]
    start, end = match.span(2)
    name, value = text[begin:start].rstrip(QUOTES + b","), text[start:end]
    if len(value) < LONGEST_PHRASE and is_secretive(value.decode("utf-8", "replace")):
        return False
    if name.startswith(b"-") or not is_name(value.replace(b"/", b"-")):
        return True
    before, after = text[max(0, begin - LONGEST_WORD) : begin].rstrip(QUOTES), text[end : end + 4].lstrip(QUOTES)[:1]
    if name[-1:] in (b"s", b"S") or before[-1:] not in (b"(", b"[", b"{"):
        return False
    is_call = before.endswith(b"(") and before[-2:-1] in CALLED_SO
    is_word = value.isalpha() and name.lower().endswith(b"token")  # a word of a message or a language
    is_pair = after in (b")", b"]", b"}") and value.strip(LETTERS) != b""
    return is_pair or (is_call and not is_word)


def is_called_so(name: bytes, value: bytes) -> bool:
    """True if a value repeats its name, as in `ACCESS_TOKEN = "access-token"`: an alias, not the secret."""
    letters = value.translate(None, WORDLY)
    return letters.isalpha() and letters.lower() in name.translate(None, WORDLY).lower()


def is_nested(value: bytes) -> bool:
    """True if a value is another name, without a value of its own that could be a secret."""
    found = NESTED.fullmatch(value)
    return found is not None and is_name(found[1]) and (not found[2] or is_harmless(found[2]))


def is_enclosed(text: bytes, start: int) -> bool:
    """True if a whole quoted text is a template variable, which may have blanks in its brackets."""
    closing = classifiers.CLOSED.get(text[start : start + 1])
    end = QUOTED.search(text, start, start + LONGEST_LINE)
    return closing is not None and text[start : end.start() if end else start].endswith(closing)


def is_strange(text: bytes, match: Match) -> bool:
    """True if a word with punctuation of code near its start is a password: code has a name before the punctuation."""
    begin, (start, end) = match.span(1)[0], match.span(2)
    if text[begin:start].rstrip(b" \t")[-1:] not in (b"=", b":", b">") and text[begin : begin + 1] != b"-":
        return False  # a name in a sentence
    value = text[start : reach(text, start, end, begin)]
    at = next((at for at, byte in enumerate(value) if byte in SIGNS and at), 0)
    head, sign = value[:at], value[at : at + 1]
    if len(value) < SHORTEST or not has_both(value) or is_harmless(value) or not head or classifiers.is_number(head):
        return False
    if sign in (b"$", b"&"):
        return not is_named(value[at:])
    if sign in (b",", b";", b")", b">"):
        return not is_name(head) or is_last(text, start, end)
    return not is_name(head) or is_torn(text, start, end)


def is_phrase(text: bytes, match: Match) -> bool:
    """True if a quoted text with blanks or escapes is a secret.

    For a password or secret that is any text but a sentence, for other names a few words, one of them random.
    """
    name, value = _group(text, match).rstrip(QUOTES + b":=>"), _group(text, match, 2)
    if len(value) > LONGEST_PHRASE or is_harmless(value) or value.isalpha():
        return False
    words = value.split()
    if name.lower().endswith((b"password", b"passwd", b"passphrase", b"secret")):
        return PROSE.isdisjoint(value.lower().split())
    return len(words) <= MOST_WORDS and any(map(is_odd, words))


def is_odd(word: bytes) -> bool:
    """True for a word of letters and digits that cannot be a name."""
    return len(word) >= SHORTEST and has_both(word) and word.isalnum() and not is_name(word)


def is_kept_for(text: bytes, match: Match) -> bool:
    """True for a value of letters and digits after a name in capitals with a purpose, like `TOKEN_GITHUB`."""
    value = _group(text, match, 2)
    is_other = is_harmless(value) or is_call(text, match.span(2)[0], value) or is_code(value)
    return has_both(value) and not is_other and is_for(_group(text, match).decode())


def end_of_value(text: bytes, match: Match) -> int:
    return reach(text, *match.span(2), match.span(1)[0])  # safeguard: password-end


def is_set(text: bytes, match: Match) -> bool:
    """True if an environment variable is set to a secret of any characters, and it is not an argument in a call."""
    begin = match.span(1)[0]
    start, end = match.span(2)
    before = text[text.rfind(b"\n", 0, begin) + 1 : begin] if SET_NAME.fullmatch(text, begin, start) else b"no name"
    if before.strip(b" \t") not in (b"", b"export"):
        return False
    value = text[start:end]
    is_other = is_harmless(value) or is_call(text, start, value) or value.isalpha()
    return not is_other and not value.endswith(b",")


def is_login(text: bytes, match: Match) -> bool:
    """True for `name:password` in base64, as package registries use it."""
    try:
        plain = binascii.a2b_base64(_group(text, match), strict_mode=True)
    except binascii.Error:
        return False
    return b":" in plain[1:] and plain.isascii()


def is_mixed(text: bytes, match: Match) -> bool:
    """True if the user part of a URL is a token: letters and digits that are no name."""
    value = _group(text, match)
    is_token = sum(byte in DIGITS for byte in value) > 1 and has(LETTERS, value)
    begin = match.span()[0]
    return is_token and text[begin - 1 : begin].isalnum() and not is_dsn_key(text, match)


def is_chance(text: bytes, match: Match) -> bool:
    return is_random(_group(text, match))


# Boundaries of an unquoted secret, which may contain punctuation that would end a word in code


def reach(text: bytes, start: int, end: int, begin: int = 0) -> int:
    """The end of a secret: a blank or a quote, without trailing punctuation of a sentence or of code.

    `begin` is the start of its name: in a URL or a list of settings, the secret ends where the next setting starts.
    """
    end = _stop(text, start, end)
    if begin and text[begin - 1 : begin] in LISTED and (part := PARTS.search(text, start, end)):
        end = part.start()
    for _ in range(MOST_BEHIND):
        if text[end - 1] not in b",;.:" and not _is_too_many(text, start, end):
            break
        end -= 1
    return end


def _is_too_many(text: bytes, start: int, end: int) -> bool:
    """True if the last sign closes a bracket that was opened before the text."""
    opening = OPENED.get(text[end - 1 : end])
    return opening is not None and text.count(text[end - 1 : end], start, end) > text.count(opening, start, end)


def is_name(head: bytes) -> bool:
    """True for an identifier of code: words with at most one number in each."""
    if len(head) > LONGEST_NAME or not head.strip(DIGITS) or head[:1].isdigit() or head.translate(None, NAMELY):
        return False
    return all(not part.lstrip(LETTERS).lstrip(DIGITS).lstrip(LETTERS) for part in head.translate(SEPARATED).split())


def is_torn(text: bytes, start: int, end: int) -> bool:
    """True at the end of a line with an unclosed bracket: code would close it there or continue after it."""
    last = _stop(text, start, end)
    return is_last(text, start, end) and any(
        text.count(opening, start, last) > text.count(closing, start, last) for closing, opening in OPENED.items()
    )


def is_last(text: bytes, start: int, end: int) -> bool:
    """True at the end of a line that needs no continuation."""
    last = _stop(text, start, end)
    return text[last : last + 1] in (b"", b"\n", b"\r", b"\\") and text[last - 1] not in OPENING + b",;"


def _stop(text: bytes, start: int, end: int) -> int:
    furthest = min(len(text), end + FURTHEST)
    found = ENDS.search(text, end, furthest)
    last = found.start() if found else furthest
    mark = text.find(MARK, start, last + len(MARK))
    return mark if mark > start else last
