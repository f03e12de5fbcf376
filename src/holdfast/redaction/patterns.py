"""What secrets look like: the patterns, all of them linear. Whether what they find is one, `judging` says.

Each pattern names its kind and which of its groups is hidden. They run over bytes, so that any text will do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

from holdfast.redaction import judging
from holdfast.redaction.linear import Match, Regex, compiled
from holdfast.redaction.secretive import FOR, NAMED, TAIL

TOKENS = (
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b", r"LTAI[A-Za-z0-9]{12,}", r"gh[pousr]_[A-Za-z0-9]{30,}",
    r"github_pat_[A-Za-z0-9_]{22,}", r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[A-Za-z0-9_-]{20,}",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}", r"xapp-[A-Za-z0-9-]{10,}", r"sk-[A-Za-z0-9_-]{20,}",
    r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,}", r"whsec_[A-Za-z0-9+/=]{20,}", r"AIza[0-9A-Za-z_-]{35}",
    r"ya29\.[0-9A-Za-z_-]{20,}", r"GOCSPX-[A-Za-z0-9_-]{28}", r"npm_[A-Za-z0-9]{36}", r"pypi-[A-Za-z0-9_-]{50,}",
    r"hf_[A-Za-z0-9]{30,}", r"do[opr]_v1_[a-f0-9]{64}", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}", r"dapi[a-f0-9]{32}", r"hv[sbr]\.[A-Za-z0-9_-]{20,}",
    r"lin_api_[A-Za-z0-9]{32,}", r"ATATT3[A-Za-z0-9_=-]{40,}", r"AGE-SECRET-KEY-1[A-Z0-9]{58}",
    r"dckr_pat_[A-Za-z0-9_-]{20,}", r"gsk_[A-Za-z0-9]{40,}", r"xai-[A-Za-z0-9]{60,}", r"pplx-[A-Za-z0-9]{40,}",
    r"r8_[A-Za-z0-9]{30,}", r"ntn_[A-Za-z0-9]{40,}", r"secret_[A-Za-z0-9]{43}\b", r"figd_[A-Za-z0-9_-]{35,}",
    r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", r"NRAK-[A-Z0-9]{27}", r"sntr[ys]s_[A-Za-z0-9+/=_-]{40,}",
    r"gl(?:sa|c)_[A-Za-z0-9_=+/]{32,}", r"pul-[a-f0-9]{40}", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}",
    r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{30,}", r"tskey-[a-z]+-[A-Za-z0-9-]{20,}", r"nfp_[A-Za-z0-9]{36,}",
    r"sbp_[a-f0-9]{40}", r"sb_secret_[A-Za-z0-9_-]{20,}", r"rubygems_[a-f0-9]{48}",
    r"dp\.(?:pt|st|ct)\.[A-Za-z0-9.]{40,}", r"SK[0-9a-f]{32}\b", r"[0-9a-f]{32}-us[0-9]{1,2}\b",
    r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}", r"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}",
    r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}", r"bkua_[a-f0-9]{40}",
    r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    r"eyJ[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]{8,}){4}",
    r"xox[cd]-[A-Za-z0-9%-]{20,}", r"sk_org_(?:live|test)_[A-Za-z0-9]{10,}", r"sk_[a-f0-9]{48}\b",
    r"HRKU-[A-Za-z0-9_-]{36,}", r"f(?:m[12]|o1)_[A-Za-z0-9+/=_-]{40,}", r"CCI(?:PAT|PRJ)_\w{20,}_[a-f0-9]{40}",
    r"ATBB[A-Za-z0-9]{32}\b", r"ATCTT3[A-Za-z0-9_=-]{40,}", r"AKCp[A-Za-z0-9]{60,}", r"sq[aup]_[a-f0-9]{40}",
    r"sk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}", r"EAACEdEose0cBA[A-Za-z0-9]{20,}", r"EAAA[A-Za-z0-9_-]{60}\b",
    r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}", r"EZ[AT]K[A-Za-z0-9]{54}",
    r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}", r"tvly-[A-Za-z0-9-]{30,}", r"ph[cx]_[A-Za-z0-9]{40,}",
    r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}\b", r"ops_eyJ[A-Za-z0-9_=-]{100,}", r"ABSK[A-Za-z0-9+/=]{100,}",
    r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}", r"napi_[A-Za-z0-9]{50,}", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}",
    r"1//0[A-Za-z0-9_-]{40,}", r"key-[a-f0-9]{32}\b", r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}",
)  # fmt: skip
QUOTE = r"\\*[\"']"
# What a word may begin after: a torn piece of JSON says `\n`, and a terminal is told its colours by a letter.
EDGE = r"(?:\b|\\[abefnrtv]|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\[[0-9;]*m)"
GAP = r"[ \t]*"  # as wide as who aligns the values of a column makes it
SCHEMES = r"(?:bearer|basic|token|negotiate|apikey|ssws|bot|key)[ \t]+"
SIGNED = r"(?:digest|hawk|oauth|aws4-hmac-sha256|signature)[ \t]+"


class Found(NamedTuple):
    """Where a secret stands in a text, in bytes."""

    start: int
    end: int
    kind: str


class Pattern(NamedTuple):
    kind: str
    source: str
    group: int = 0
    is_one: Callable[[bytes, Match], bool] = lambda text, match: True
    end: Callable[[bytes, Match], int] | None = None  # of what is hidden, where the group does not say it

    def find(self, text: bytes, match: Match) -> Found:
        start, end = match.span(self.group)
        return Found(start, self.end(text, match) if self.end else end, self.kind)


# A key may be torn, and its lines may have numbers or marks before them. A mere word of one is followed by other text.
KEY = r"(?:-{4,5} ?BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-Lines: [0-9]+)"
KEY_ENDS = r"-{4,6} ?END [A-Z0-9 ]+-{4,5}"
CODE = r"[A-Za-z0-9+/=]"
BETWEEN = r"(?:\\+[nrt]|[^A-Za-z0-9+/=]){1,14}(?:[0-9]{1,6}[^A-Za-z0-9+/=]{1,4})?"
KEY_LINE = rf"\W{{0,14}}(?:[0-9]{{1,6}}\W{{1,4}})?(?:{CODE}*|[A-Z][A-Za-z-]+: .*|{KEY_ENDS})\W{{0,4}}"
LAST = rf"(?:{BETWEEN}{CODE}{{1,9}})?"
NAME = rf"[A-Za-z0-9_.-]*(?:{NAMED}){TAIL}"
MARKS = r"\[redacted [a-z ]+\]"
TYPED = r"(?:[^\s\"'\\\[]|\[[^\s\"'\\r])[^\s\"'\\]{2,}"  # no mark: the next round finds what stands after that
CURL = rf"{EDGE}curl\b(?:[^\n]|\\\n)*?\s"
# Its options and addresses alone: in prose, `-a` after the word belongs to another command.
HTTPIE = rf"{EDGE}https?[ ]+(?:(?:[A-Z]+|[^\s\"'\\]*[./:=-](?:{MARKS}|[^\s\"'\\]*))[ ]+)*?"
TO = rf"[ =]{{0,2}}(?:{QUOTE})?"  # of an option, to its value
BARE = r"[^\s\"'`,;&<>(){}\[\]$\\]"
SIGN = r"[,;&<>(){}\[\]$]"
PHRASED = rf"((?:{NAMED}){TAIL})(?:{QUOTE})?{GAP}[:=]{GAP}"
MONGO = r"mongo(?:sh|dump|restore|export|import)"  # to run a server of that name has a `-p`, too: its port
MYSQL = r"(?:mysql(?:dump|admin|import|check|show|slap|binlog|pump|sh)?|mariadb(?:-[a-z]+)?)"
SQL = r"(?:identified\s+(?:with\s+\S+\s+)?by|(?:with|login|encrypted|(?:user|role)\s+\S+)\s+password)"
AUTHORIZED = rf"(?i){EDGE}(?:proxy-)?authorization(?:{QUOTE})?{GAP}[:=,]{GAP}(?:{QUOTE})?"
SENT = r"[^\s\"'`\\,;()<>{}\[\]][^\s\"'`\\]"  # what begins with a bracket is yet to be filled in
DOOR = r"x-(?:api-key|auth-token|gitlab-token|access-token|csrf-token|vault-token|auth-key)"
HOOKS = r"hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks|[a-z0-9-]+\.webhook\.office\.com"
PATTERNS = (
    Pattern("private key", rf"{KEY}(?:[^-]|-{{1,4}}[^-])*?{KEY_ENDS}"),
    Pattern(
        "private key", rf"{KEY}(?:{BETWEEN}[A-Z][A-Za-z-]+: [^\n\\]{{0,100}}){{0,4}}(?:{BETWEEN}{CODE}{{10,}})+{LAST}"
    ),
    Pattern("private key", rf"{KEY}[\s\"',\\]*(?:\z|\x00)"),
    Pattern("token", rf"{EDGE}({'|'.join(TOKENS)})", 1, judging.has_digit),
    Pattern("address", rf"https://(?:{HOOKS})/([A-Za-z0-9/_@-]{{20,}})", 1),
    Pattern("address", r"\b[A-Za-z][A-Za-z0-9+.-]+://[^\s/:@\"'<>`\\]*:([^\s/\"'<>`\\]+)@", 1, judging.is_password),
    Pattern("address", r"\b[A-Za-z][A-Za-z0-9+.-]+://([A-Za-z0-9_.~-]{16,})@", 1, judging.is_mixed),
    Pattern("address", r"[?&](?:sig|signature|X-Amz-Signature|X-Goog-Signature)=([A-Za-z0-9%+/_=-]{20,})", 1),
    Pattern(
        "header", rf"{AUTHORIZED}{SCHEMES}(?:{QUOTE})?({SENT}{{7,}})", 1, judging.is_authorized, judging.end_of_word
    ),
    Pattern(
        "header", rf"{AUTHORIZED}[A-Za-z][A-Za-z0-9_-]*[ \t]+({SENT}{{15,}})", 1, judging.is_signed, judging.end_of_word
    ),
    Pattern("header", rf"{AUTHORIZED}([A-Za-z0-9._~+/=:-]{{8,}})", 1, judging.is_unschemed, judging.end_of_word),
    Pattern("header", rf"{AUTHORIZED}{SIGNED}([^\n'\\]{{12,}})", 1),
    Pattern(
        "header",
        rf"(?i){EDGE}{DOOR}(?:{QUOTE})?{GAP}[:=,]{GAP}(?:{QUOTE})?([A-Za-z0-9._~+/=-]{{8,}})",
        1,
        judging.is_sent,
        judging.end_of_word,
    ),
    Pattern(
        "header", rf"(?i){EDGE}cookie(?:{QUOTE})?{GAP}:{GAP}(?:{QUOTE})?([A-Za-z0-9_.-]+=[^\s\"'\\][^\n\"'\\]{{7,}})", 1
    ),
    Pattern("header", rf"(?i){EDGE}bearer[ \t]+([A-Za-z0-9._~+/=-]{{12,}})", 1, judging.is_sent, judging.end_of_word),
    Pattern("header", rf"{CURL}(?:-[a-zA-Z]*[uU]|--user|--proxy-user){TO}[^\s:\"'\\]+:({TYPED})", 1),
    Pattern("header", rf"{CURL}(?:-[a-zA-Z]*b|--cookie){TO}([A-Za-z0-9_.-]+=[^\n\"'\\]{{8,}}){QUOTE}", 1),
    Pattern("assignment", rf"\b{MYSQL}\s(?:[^\n]*?\s)?-p(?:{QUOTE})?([^\s\"'\\]{{4,}})", 1),
    Pattern("header", rf"{HTTPIE}(?:-a|--auth){TO}[^\s:\"'\\]+:({TYPED})", 1, judging.is_typed),
    Pattern(
        "assignment",
        rf"\b(?:sshpass|(?:docker|podman)[ ]login|{MONGO})\b[^\n]*?\s-p{TO}([^\s\"'\\]{{4,}})",
        1,
        judging.is_sent,
    ),
    Pattern("assignment", rf"-pass(?:in|out)?[ ]{{1,3}}(?:{QUOTE})?pass:([^\s\"'\\]{{4,}})", 1, judging.is_typed),
    Pattern("assignment", rf"(?i)\b{SQL}\s+{QUOTE}([^\"'\\\n]{{4,100}}){QUOTE}", 1, judging.is_typed),
    Pattern("assignment", rf"\bredis-cli\b[^\n]*?\s-a{TO}([^\s\"'\\]{{4,}})", 1, judging.is_sent),
    Pattern("assignment", r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+([^\s\\]{4,})", 1),
    Pattern(
        "assignment",
        rf"(?i)(\b(?:set[ ]-[a-z]+|setenv|config(?:ure)?[ ]set|(?-i:ENV))[ ]+{NAME}[ ]+)(?:{QUOTE})?({BARE}{{6,}})",
        2,
        judging.is_assigned,
    ),
    Pattern("assignment", rf"(?i)[_\"']auth(?:{QUOTE})?{GAP}[:=]{GAP}(?:{QUOTE})?({CODE}{{12,}})", 1, judging.is_login),
    Pattern("assignment", rf"(?i)<{NAME}>([^<>\s]{{6,}})</", 1, judging.is_sent),
    Pattern(
        "assignment", rf"(?i)(?:name|key)={QUOTE}{NAME}{QUOTE}\s+value={QUOTE}([^\s\"'\\]{{6,}})", 1, judging.is_sent
    ),
    Pattern(
        "assignment",
        rf"(?i)(?:name|key):{GAP}(?:{QUOTE})?{NAME}(?:{QUOTE})?(?:\s|\\n)+value:{GAP}(?:{QUOTE})?([^\s\"'\\]{{6,}})",
        1,
        judging.is_sent,
    ),
    Pattern("assignment", rf"(?i){NAME}:[ ][|>][+-]?(?:\s|\\n)+([^\s\"'\\]{{6,}})", 1, judging.is_sent),
    Pattern(
        "assignment",
        rf"(?im)^{GAP}(?:export )?(?-i:[A-Z])[A-Z0-9_]*?(?:{NAMED}){TAIL}=([^\s\"'`]{{6,}})",
        1,
        judging.is_set,
    ),
    Pattern(
        "assignment",
        rf"(?i)({NAME}(?:{QUOTE})?(?:{GAP}(?:=>|:=|=|:|,)|\]{GAP}=){GAP}{QUOTE})((?:[^\s\"'\\]|\\[/u0-9]){{6,}})",
        2,
        judging.is_assigned,
    ),
    Pattern(
        "assignment",
        rf"(?i)({NAME}(?:{QUOTE})?{GAP}(?:=>|:=|=|:){GAP})(\$?{BARE}{{6,}})",
        2,
        judging.is_assigned,
        judging.end_of_value,
    ),
    Pattern(
        "assignment", rf"(?i)(--?{NAME}[ \t]+)(?:{QUOTE})?({BARE}{{6,}})", 2, judging.is_assigned, judging.end_of_value
    ),
    Pattern(
        "assignment",
        rf"(?i)({NAME}(?:(?:{QUOTE})?{GAP}(?:=>|:=|=|:){GAP}|[ \t]+))(\$?{BARE}{{1,5}}{SIGN}[^\s\"'`])",
        2,
        judging.is_strange,
        judging.end_of_value,
    ),
    Pattern("assignment", rf"(?i){PHRASED}'((?:[^'\\\n]|\\.){{8,}})'", 2, judging.is_phrase),
    Pattern("assignment", rf"(?i){PHRASED}\"((?:[^\"\\\n]|\\.){{8,}})\"", 2, judging.is_phrase),
    Pattern(
        "assignment",
        rf"\b({FOR})(?:{QUOTE})?{GAP}[:=]{GAP}(?:{QUOTE})?([^\s\"'`\\]{{8,}})",
        2,
        judging.is_kept_for,
        judging.end_of_value,
    ),
    Pattern(
        "random text", rf"(?i)\b(?:{NAMED})s?\b[^\n]{{0,24}}?[\s\"'`=:(]([A-Za-z0-9+/_=-]{{24,}})", 1, judging.is_chance
    ),
)


@functools.cache
def patterns() -> list[tuple[Pattern, Regex]]:
    """All of them, ready."""
    return [(pattern, compiled(pattern.source)) for pattern in PATTERNS]
