"""Patterns for secrets, all of linear time. `validators` then rejects the false positives among their matches.

Each pattern names the kind of secret and the group that is masked. They match bytes, so that any text can be scanned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from holdfast.redaction import contexts, validators
from holdfast.redaction.classifiers import FOR, HEADERS, KEYED, NAMED, TAIL, kind_of
from holdfast.redaction.contexts import NAMELY, QUOTE
from holdfast.redaction.regex import Match
from holdfast.redaction.token_formats import EDGE

GAP = r"[ \t]*"  # of any width, since values may be aligned in columns
SCHEMES = r"(?:bearer|basic|token|negotiate|apikey|ssws|bot|key)[ \t]+"
SIGNED = r"(?:digest|hawk|oauth|aws4-hmac-sha256|signature)[ \t]+"


BY_NAME = ""


class Found(NamedTuple):
    """The span of a secret in a text, in bytes."""

    start: int
    end: int
    kind: str


class Pattern(NamedTuple):
    kind: str  # named by the placeholder; BY_NAME: derived from the name before the secret
    source: str
    group: int = 0
    is_one: Callable[[bytes, Match], bool] = lambda text, match: True
    end: Callable[[bytes, Match], int] | None = None  # end of the masked span, if not that of the group
    gate: tuple[bytes, ...] = ()  # for a pattern that can span many lines: the text must contain one of these
    words: str = ""  # names of commands, one of which must be in the line
    hint: str = ""  # a simple pattern that matches wherever this one does: all hints are searched for in one pass
    behind: str = ""  # for a pattern that starts with a head: the rest after it; heads are searched for only once
    place: Callable[[bytes, Match], tuple[int, int]] | None = None  # the masked span, if no group gives it

    def find(self, text: bytes, match: Match) -> Found:
        start, end = self.place(text, match) if self.place else match.span(self.group)
        kind = self.kind or kind_of(text[match.span()[0] : start])
        return Found(start, self.end(text, match) if self.end else end, kind)


# A key may be truncated, and its lines may be prefixed with numbers or signs. A mere mention of a header is followed by
# other text.
KEY = r"(?:-{4,5} ?BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-Lines: [0-9]+)"
KEY_ENDS = r"-{4,6} ?END [A-Z0-9 ]+-{4,5}"
CODE = r"[A-Za-z0-9+/=]"
BETWEEN = r"(?:\\+[nrt]|[^A-Za-z0-9+/=]){1,14}(?:[0-9]{1,6}[^A-Za-z0-9+/=]{1,4})?"
KEY_LINE = rf"\W{{0,14}}(?:[0-9]{{1,6}}\W{{1,4}})?(?:{CODE}*|[A-Z][A-Za-z-]+: .*|{KEY_ENDS})\W{{0,4}}"
LAST = rf"(?:{BETWEEN}{CODE}{{1,9}})?"
NAME = rf"[A-Za-z0-9_.-]*(?:{NAMED}){TAIL}"
MARKS = r"\[redacted [a-z ]+\]"
# safeguard: password-behind-hidden
TYPED = r"(?:[^\s\"'\\\[]|\[[^\s\"'\\r])[^\s\"'\\]{2,}"  # no placeholder: a rescan finds the password after one
CURL = rf"{EDGE}curl\b(?:[^\n]|\\\n)*?\s"
# Only with options and URLs in between: in prose, a later `-a` belongs to another command.
HTTPIE = rf"{EDGE}https?[ ]+(?:(?:[A-Z]+|[^\s\"'\\]*[./:=-](?:{MARKS}|[^\s\"'\\]*))[ ]+)*?"
TO = rf"[ =]{{0,2}}(?:{QUOTE})?"  # between an option and its value
BARE = r"[^\s\"'`,;&<>(){}\[\]$\\]"
SIGN = r"[,;&<>(){}\[\]$]"
ASSIGNED = rf"(?i){NAME}(?:{QUOTE})?{GAP}(?:=>|:=|=|:){GAP}"  # a name and its assignment operator, up to the value
HEAD = ASSIGNED.replace("(?i)", "(?i)(", 1)
ANY = r"[^\s\"'`]{6,}"
QUOTED = r"(?:[^\s\"'\\]|\\[/u0-9]){6,}"
STRANGE = rf"\$?{BARE}{{1,5}}{SIGN}[^\s\"'`]"
PHRASE, PHRASE_2 = r"((?:[^'\\\n]|\\.){8,})", r"((?:[^\"\\\n]|\\.){8,})"
MONGO = r"mongo(?:sh|dump|restore|export|import)"  # not the servers, whose `-p` is a port
MYSQL = r"(?:mysql(?:dump|admin|import|check|show|slap|binlog|pump|sh)?|mariadb(?:-[a-z]+)?)"
SQL = r"(?:identified\s+(?:with\s+\S+\s+)?by|(?:with|login|encrypted|(?:user|role)\s+\S+)\s+password)"
AUTHORIZED = rf"(?i){EDGE}(?:proxy-)?authorization(?:{QUOTE})?{GAP}[:=,]{GAP}(?:{QUOTE})?"
SENT = r"[^\s\"'`\\,;()<>{}\[\]][^\s\"'`\\]"  # a value that starts with a bracket is a template variable
ADDRESS_SIGNS = (b"://",)  # their patterns start with it, so a search by lines would be no faster
KEY_SIGNS = (b"PRIVATE KEY", b"Private-Lines")
USER = r"[^\s/:@\"'<>`\\]*"
SIGNATURES = "sig|signature|X-Amz-Signature|X-Goog-Signature"
CRUMBS = r"[A-Za-z0-9_.-]+=[^\s\"'\\][^\n\"'\\]{7,}"
LOGIN = r"(?:-[a-zA-Z]*[uU]|--user|--proxy-user)"
GIVEN = rf"(?:{QUOTE})?([^\s\"'\\]{{4,}})"
ENTERED = rf"(?:sshpass|(?:docker|podman)[ ]login|{MONGO})"
SETTING = r"\b(?:set[ ]-[a-z]+|setenv|setx|config(?:ure)?[ ]set|(?-i:ENV))"
GRANT = "(?i)authorization"
LISTED = rf"{NAMELY}(?:{QUOTE})?(?:\]{GAP}=|{GAP},)"
OPTION = rf"{NAMELY}[ \t]"
WORD, VALUE = validators.end_of_word, validators.end_of_value
PATTERNS = (
    Pattern("private key", rf"{KEY}(?:[^-]|-{{1,4}}[^-])*?{KEY_ENDS}", gate=KEY_SIGNS),
    Pattern(
        "private key",
        rf"{KEY}(?:{BETWEEN}[A-Z][A-Za-z-]+: [^\n\\]{{0,100}}){{0,4}}(?:{BETWEEN}{CODE}{{10,}})+{LAST}",
        gate=KEY_SIGNS,
    ),
    Pattern("private key", rf"{KEY}[\s\"',\\]*(?:\z|\x00)", gate=KEY_SIGNS),
    Pattern("password", rf"://{USER}:([^\s/\"'<>`\\]+)@", 1, validators.is_password, gate=ADDRESS_SIGNS),
    Pattern("token", r"://([A-Za-z0-9_.~-]{16,})@", 1, validators.is_mixed, gate=ADDRESS_SIGNS),
    Pattern("signature", rf"[?&](?:{SIGNATURES})=([A-Za-z0-9%+/_=-]{{20,}})", 1, hint=r"(?i)[?&](?:x-[a-z]+-)?sig"),
    Pattern(
        "credential", rf"{AUTHORIZED}{SCHEMES}(?:{QUOTE})?({SENT}{{7,}})", 1, validators.is_authorized, WORD, hint=GRANT
    ),
    Pattern(
        "credential",
        rf"{AUTHORIZED}[A-Za-z][A-Za-z0-9_-]*[ \t]+({SENT}{{15,}})",  # safeguard: credential-of-any-scheme
        1,
        validators.is_signed,
        WORD,
        hint=GRANT,
    ),
    Pattern("credential", rf"{AUTHORIZED}([A-Za-z0-9._~+/=:-]{{8,}})", 1, validators.is_unschemed, WORD, hint=GRANT),
    Pattern("credential", rf"{AUTHORIZED}{SIGNED}([^\n'\\]{{12,}})", 1, validators.is_signature, hint=GRANT),
    Pattern(
        "credential",
        rf"(?i){EDGE}(?:{HEADERS})(?:{QUOTE})?{GAP}[:=,]{GAP}(?:{QUOTE})?([A-Za-z0-9._~+/=-]{{8,}})",
        1,
        validators.is_header_value,
        WORD,
        hint=rf"(?i)(?:{HEADERS})",
    ),
    Pattern(
        "cookie",
        rf"(?i){EDGE}cookie(?:{QUOTE})?{GAP}:{GAP}(?:{QUOTE})?({CRUMBS})",
        1,
        hint=rf"(?i)cookie(?:{QUOTE})?{GAP}:",
    ),
    Pattern(
        "credential",
        rf"(?i){EDGE}bearer[ \t]+([A-Za-z0-9._~+/=-]{{12,}})",
        1,
        validators.is_sent,
        WORD,
        hint=r"(?i)bearer[ \t]",
    ),
    Pattern("password", rf"{CURL}{LOGIN}{TO}[^\s:\"'\\]+:({TYPED})", 1, validators.is_given, gate=(b"curl",)),
    Pattern(
        "cookie", rf"{CURL}(?:-[a-zA-Z]*b|--cookie){TO}([A-Za-z0-9_.-]+=[^\n\"'\\]{{8,}}){QUOTE}", 1, gate=(b"curl",)
    ),
    # safeguard: first-of-passwords
    Pattern("password", rf"\b{MYSQL}\s(?:[^\n]*?\s)?-p{GIVEN}", 1, validators.is_given, words=contexts.MYSQL),
    Pattern(
        "password", rf"{HTTPIE}(?:-a|--auth){TO}[^\s:\"'\\]+:({TYPED})", 1, validators.is_typed, words="http https"
    ),
    Pattern("password", rf"\b{ENTERED}\b[^\n]*?\s-p[ =]{{0,2}}{GIVEN}", 1, validators.is_sent, words=contexts.MONGO),
    Pattern(
        "password",
        rf"-pass(?:in|out)?[ ]{{1,3}}(?:{QUOTE})?pass:([^\s\"'\\]{{4,}})",
        1,
        validators.is_typed,
        words="pass",
    ),
    Pattern(
        "password",
        rf"(?i)\b{SQL}\s+{QUOTE}([^\"'\\\n]{{4,}}){QUOTE}",
        1,
        validators.is_typed,
        hint=rf"(?i)(?:by|password)\s+{QUOTE}",
    ),
    Pattern("password", rf"\bredis-cli\b[^\n]*?\s-a[ =]{{0,2}}{GIVEN}", 1, validators.is_sent, words="redis"),
    Pattern("password", r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+([^\s\\]{4,})", 1, words="machine"),
    Pattern(
        BY_NAME, rf"(?i)({SETTING}[ ]+{NAME}[ ]+)(?:{QUOTE})?({BARE}{{6,}})", 2, validators.is_assigned, hint=OPTION
    ),
    Pattern(
        BY_NAME,
        rf"(?i)[_\"']auth(?:{QUOTE})?{GAP}[:=]{GAP}(?:{QUOTE})?({CODE}{{12,}})",
        1,
        validators.is_login,
        hint=rf"(?i)[_\"']auth(?:{QUOTE})?{GAP}[:=]",
    ),
    Pattern(BY_NAME, rf"(?i)<{NAME}>([^<>\s]{{6,}})</", 1, validators.is_sent, hint=f"{NAMELY}>"),
    Pattern(
        BY_NAME,
        rf"(?i)(?:name|key)={QUOTE}{NAME}{QUOTE}\s+value={QUOTE}([^\s\"'\\]{{6,}})",
        1,
        validators.is_sent,
        hint="(?i)value=",
    ),
    Pattern(
        BY_NAME,
        rf"(?i)(?:name|key):{GAP}(?:{QUOTE})?{NAME}(?:{QUOTE})?(?:\s|\\n)+value:{GAP}(?:{QUOTE})?([^\s\"'\\]{{6,}})",
        1,
        validators.is_sent,
        hint="(?i)value:",
    ),
    Pattern(
        BY_NAME,
        rf"(?i){NAME}:[ ][|>][+-]?(?:\s|\\n)+([^\s\"'\\]{{6,}})",
        1,
        validators.is_sent,
        hint=rf"{NAMELY}:[ ][|>]",
    ),
    Pattern(BY_NAME, rf"(?i)({NAME}=)({ANY})", 2, validators.is_set, behind=rf"({ANY})"),
    Pattern(BY_NAME, rf"{HEAD}{QUOTE})({QUOTED})", 2, validators.is_assigned, behind=rf"{QUOTE}({QUOTED})"),
    Pattern(BY_NAME, rf"{HEAD})(\$?{BARE}{{6,}})", 2, validators.is_assigned, VALUE, behind=rf"(\$?{BARE}{{6,}})"),
    Pattern(BY_NAME, rf"{HEAD})({STRANGE})", 2, validators.is_strange, VALUE, behind=rf"({STRANGE})"),
    Pattern(BY_NAME, rf"{HEAD}'){PHRASE}'", 2, validators.is_phrase, behind=f"'{PHRASE}'"),
    Pattern(BY_NAME, rf"{HEAD}\"){PHRASE_2}\"", 2, validators.is_phrase, behind=f'"{PHRASE_2}"'),
    Pattern(
        BY_NAME,
        rf"(?i)({NAME}(?:{QUOTE}{GAP},|(?:{QUOTE})?\]{GAP}=){GAP}{QUOTE})({QUOTED})",
        2,
        validators.is_assigned,
        hint=LISTED,
    ),
    Pattern(
        BY_NAME, rf"(?i)(--?{NAME}[ \t]+)(?:{QUOTE})?({BARE}{{6,}})", 2, validators.is_assigned, VALUE, hint=OPTION
    ),
    Pattern(BY_NAME, rf"(?i)(--?{NAME}[ \t]+)({STRANGE})", 2, validators.is_strange, VALUE, hint=OPTION),
    Pattern(
        BY_NAME,
        rf"\b({FOR})(?:{QUOTE})?{GAP}[:=]{GAP}(?:{QUOTE})?([^\s\"'`\\]{{8,}})",
        2,
        validators.is_kept_for,
        VALUE,
        hint=rf"(?:{FOR})(?:{QUOTE})?{GAP}[:=]",
    ),
    Pattern(
        "random text",
        rf"(?i)\b(?:{NAMED})s?\b[^\n]{{0,24}}?[\s\"'`=:(]([A-Za-z0-9+/_=-]{{24,}})",
        1,
        validators.is_chance,
    ),
    Pattern(
        BY_NAME,
        rf"\b({KEYED})(?:{QUOTE})?{GAP}[:=]{GAP}(?:{QUOTE})?([^\s\"'\\]{{14,}})",
        2,
        validators.is_key,
        hint=rf"(?:KEY|SALT|PAT|PRIVATE|__COM)(?:{QUOTE})?{GAP}[:=]",
    ),
    Pattern("password", contexts.INSERTED, place=validators.find_inserted, hint=r"(?i)insert\s+into"),
    *(Pattern(BY_NAME, source, 1, validators.is_chosen, hint=hint) for hint, source in contexts.CHOSEN),
    *(Pattern(BY_NAME, source, 1, validators.is_odd_choice, hint=hint) for hint, source in contexts.ODD),
    *(Pattern("password", source, 1, validators.is_chosen, words=words) for words, source in contexts.COMMANDS),
)
