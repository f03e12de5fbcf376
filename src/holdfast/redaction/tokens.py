"""Formats of providers' tokens: a literal prefix, found by one automaton, and a tail that is matched where it ends.

A tail is compiled when its prefix is first seen. Counted repetitions of hundreds of formats in one automaton would
outgrow its memory, and the engine would fall back to a search that is a thousand times slower.
"""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.redaction.false_positives import DIGITS, HEX, LETTERS
from holdfast.redaction.regex import Regex, compiled

# Where a word may begin: a torn piece of JSON says `\n`, and a terminal is told its colours by a letter.
EDGE = r"(?:\b|\\[abefnrtv]|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\[[0-9;]*m)"
N, U, H, X = "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[a-f0-9]", "[a-fA-F0-9]"
B64, Z = "[A-Za-z0-9+/]", "[A-Za-z0-9_=-]"
UUID = f"{X}{{8}}-{X}{{4}}-{X}{{4}}-{X}{{4}}-{X}{{12}}"
SEGMENT = rf"{U}{{8,}}"

# prefixes, and the tail behind each of them
PREFIXED: tuple[tuple[str, str], ...] = (
    ("AKIA ASIA ABIA ACCA", r"[A-Z2-7]{16}\b"),
    ("LTAI AKLT", rf"{N}{{12,}}"),
    ("ghp_ gho_ ghu_ ghs_ ghr_", rf"{N}{{30,}}"),
    ("github_pat_", r"[A-Za-z0-9_]{22,}"),
    ("glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- glwt- GR1348941",
     rf"{U}{{20,}}(?:\.[a-z0-9.]{{7,14}})?"),
    ("_gitlab_session=", r"[0-9a-z]{32}"),
    ("xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- xoxe.xoxb- xoxe.xoxp-", r"[A-Za-z0-9-]{10,}"),
    ("xoxc- xoxd-", r"[A-Za-z0-9%-]{20,}"),
    ("sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ sk_org_live_ sk_org_test_", rf"{N}{{10,}}"),
    ("whsec_", r"[A-Za-z0-9+/=]{20,}"),
    ("AIza", rf"{U}{{35}}"), ("ya29.", rf"{U}{{20,}}"), ("GOCSPX-", rf"{U}{{28}}"), ("1//0", rf"{U}{{40,}}"),
    ("GOOG1E", r"[A-Z0-9]{50,}"), ("APA91b", rf"{U}{{100,}}"),
    ("npm_", rf"{N}{{36}}"), ("pypi-", rf"{U}{{50,}}"), ("rubygems_", rf"{H}{{48}}"), ("CLOJARS_", rf"{N}{{60}}"),

    ("packagist_uut_ packagist_ack_ packagist_out_", rf"{H}{{60,}}"),
    ("hf_ api_org_", rf"{N}{{30,}}"),
    ("dop_v1_ doo_v1_ dor_v1_", rf"{H}{{64}}"),
    ("SG.", r"[A-Za-z0-9_=.-]{60,}"),
    ("shpat_ shpca_ shppa_ shpss_ shptka_", rf"{X}{{32}}"),
    ("dapi", rf"{H}{{32}}(?:-[0-9])?\b"),
    ("hvs. hvb. hvr.", rf"{U}{{20,}}"),
    ("lin_api_ lin_oauth_", rf"{N}{{32,}}"),
    ("ATATT3 ATCTT3", rf"{Z}{{40,}}"), ("ATBB", rf"{N}{{32}}\b"),
    ("AGE-SECRET-KEY-1", r"[A-Z0-9]{58}"),
    ("dckr_pat_ dckr_oat_", rf"{U}{{20,}}"), ("SWMTKN-1-", r"[a-z0-9]{40,}-[a-z0-9]{20,}"),
    ("SWMKEY-1-", rf"{B64}{{40,}}"),
    ("gsk_ nvapi- csk- pplx- xai- tvly- esecret_ pcsk_ tgp_v1_", rf"{U}{{30,}}"),
    ("r8_ figd_", rf"{U}{{30,}}"), ("ntn_", rf"{N}{{40,}}"),
    ("PMAK-", rf"{X}{{24}}-{X}{{34}}"), ("PMAT-", r"[A-Z0-9]{26}\b"),
    ("NRAK- NRII- NRRA- NRIQ- NRSP-", rf"{U}{{20,}}"),
    ("sntrys_ sntryu_", r"[A-Za-z0-9+/=_-]{40,}"),
    ("glsa_ glc_", r"[A-Za-z0-9_=+/]{32,}"), ("eyJrIjoi", r"[A-Za-z0-9+/]{60,}={0,3}"),
    ("pul-", rf"{H}{{40}}"),
    ("pscale_tkn_ pscale_pw_ pscale_oauth_", r"[A-Za-z0-9_=.-]{30,}"),
    ("tskey-", r"[a-z]+-[A-Za-z0-9-]{20,}"),
    ("nfp_", rf"{N}{{36,}}"), ("sbp_", rf"{H}{{40}}"), ("sb_secret_", rf"{U}{{20,}}"),
    ("dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[A-Za-z0-9._-]{40,}"),
    ("sq0atp- sq0csp- sq0idp-", rf"{U}{{22,}}"), ("EAAA", rf"{U}{{22,}}"),
    ("EAAC EAAM EAAB EAAD EAAG EAAH EAAJ EAAL", rf"{N}{{80,}}"), ("EAACEdEose0cBA", rf"{N}{{20,}}"),
    ("bkua_", rf"{H}{{40}}"), ("bkaj_", rf"{U}{{40,}}"),
    ("HRKU-", rf"{U}{{36,}}"),
    ("fm1_ fm1a_ fm1r_ fm2_ fo1_", r"[A-Za-z0-9+/=_-]{40,}"),
    ("CCIPAT_ CCIPRJ_", r"\w{20,}_[a-f0-9]{40}"), ("CCDB1_", rf"{N}{{20,}}_{N}{{30,}}"),
    ("AKCp", rf"{N}{{60,}}"), ("cmVmd", rf"{N}{{59}}"),
    ("squ_ sqp_ sqa_", rf"{H}{{40}}"),
    ("sk.eyJ", rf"{U}{{20,}}\.{U}{{20,}}"),
    ("access_token$production$ access_token$sandbox$", rf"[a-z0-9]{{16}}\${H}{{32}}"),
    ("EZAK EZTK", rf"{N}{{54}}"),
    ("lsv2_pt_ lsv2_sk_", rf"{H}{{32}}_{H}{{10}}"),
    ("phx_ phc_ phs_", rf"{N}{{40,}}"),
    ("ops_eyJ", r"[A-Za-z0-9+/_=-]{100,}"), ("ABSK", r"[A-Za-z0-9+/=]{100,}"),
    ("bedrock-api-key-", r"[A-Za-z0-9+/=]{80,}"),
    ("xkeysib- xsmtpsib-", rf"{H}{{64}}-{N}{{16}}"),
    ("napi_", rf"{N}{{50,}}"),
    ("p8e-", rf"{N}{{32}}"), ("A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    ("AIK_CI_ AIK_RUNTIME_", rf"{N}{{50,}}"), ("AVNS_", rf"{U}{{16,}}"), ("amzn.mws.", UUID),
    ("apify_api_", rf"{N}{{30,}}"), ("xaat- xapt- sdk- waka_", UUID),
    ("bit_pat_ cnvca mdb_sa_sk_ wandb_v1_", rf"{U}{{30,}}"),
    ("gcntfy-", rf"[a-z0-9-]{{1,40}}{UUID}-{UUID}"),
    ("v1.0-", rf"{H}{{24}}-{H}{{146}}"), ("cfut_ cfat_ cfk_", rf"{N}{{40,}}"),
    ("CFPAT-", rf"{U}{{40,}}"), ("dnkey-", rf"{U}{{70,}}"), ("ddp_ ddw_ ddo_", rf"{N}{{36}}\b"),
    ("sl.", rf"{U}{{100,}}"), ("duffel_test_ duffel_live_", rf"{Z}{{40,}}"),
    ("dt0c01. dt0s01. dt0s02. dt0s03. dt0s06. dt0s08. dt0s09. dt0s16.", r"[A-Za-z0-9]{8,}\.[A-Za-z0-9]{60,}"),
    ("endr+", rf"{U}{{16}}"),
    ("FLWSECK_TEST- FLWSECK-", rf"{N}{{12,}}"), ("fio-u-", rf"{Z}{{60,}}"), ("na1.", rf"{N}{{80,}}"),
    ("pat. sat.", rf"{U}{{22}}\.{N}{{24}}\.{N}{{20}}"),
    ("hcaik_ hcamk_ hcxik_ hcxmk_ hcaic_ hcbik_", r"[a-z0-9]{40,}"),
    ("pat-na1- pat-eu1- pat-na2- pat-ap1-", UUID),
    ("ico- ics_", rf"{U}{{32,}}"), ("s-s4t2ud- s-s4t2af-", rf"{X}{{64}}"), ("ion_", r"[a-z0-9]{40,}"),
    ("sk-lf- pk-lf-secret-", UUID),
    ("pylf_v1_us_ pylf_v1_eu_", rf"{N}{{40,}}"), ("mlsn.", rf"{H}{{60,}}"),
    ("mka_", rf"{N}{{40,}}"),
    ("SSWS", rf"[ ]00{U}{{40}}"),
    ("api_live. api_live_us. api_live_eu. api_live_ca. api_sandbox. api_sandbox_us. api_sandbox_eu. api_sandbox_ca.",
     rf"{U}{{8,}}\.{U}{{30,}}"),
    ("sk-", rf"{U}{{20,}}"), ("sha256~", rf"{U}{{43}}"),
    ("pdl_live_apikey_ pdl_sdbx_apikey_", r"[A-Za-z0-9_]{40,}"), ("persona_production_ persona_sandbox_", UUID),
    ("pts_", r"[a-z0-9]{32}\b"), ("pina_", r"[A-Z0-9]{32,}"),
    ("access-sandbox- access-development- access-production-", UUID),
    ("polar_oat_ polar_pat_", rf"{N}{{30,}}"), ("pnu_ pnb_", rf"{N}{{36}}\b"), ("ramp_sec_", rf"{N}{{40,}}"),
    ("rdme_", r"[a-z0-9]{70}"), ("rpa_", rf"{N}{{40,}}"), ("rootly_", rf"{H}{{64}}"),
    ("salad_cloud_user_", rf"{N}{{30,}}"), ("samsara_api_", rf"{N}{{30}}"),
    ("SCW", r"[A-Z0-9]{17}\b"), ("tk-us- tk-eu-", rf"{U}{{40,}}"),
    ("sgp_", rf"(?:(?:{X}{{16}}|local)_)?{X}{{40}}\b|{N}{{80,}}"),
    ("sgd_ slk_", rf"{X}{{64}}"), ("sm_aat_ sm_pat_ sm_sat_", rf"{N}{{16}}\b"),
    ("shippo_live_ shippo_test_", rf"{X}{{40}}"), ("snyk_uat. snyk_sat.", rf"{X}{{8}}\.{U}{{40,}}"),
    ("secret-live- secret-test-", rf"{U}{{40,}}=?"),
    ("testsk_ livesk_", rf"{U}{{30,}}"), ("tss_", rf"{N}{{40,}}"),
    ("tr_prod_ tr_dev_ tr_stg_ tr_pat_", rf"{N}{{20,}}"), ("tfp_", r"[A-Za-z0-9_=.-]{50,}"),
    ("unkey_", rf"{N}{{20,}}"), ("ucat_", r"[A-Z0-9]{26,}"), ("vtwn_", rf"{N}{{24,}}"),
    ("vercel_blob_rw_", rf"{N}{{16}}_{N}{{20,}}"), ("vcp_ vci_ vca_ vcr_ vck_", rf"{N}{{50,}}"),
    ("wrkatok-", rf"{H}{{8}}-{N}{{60,}}"),
    ("t1.", rf"{Z}{{20,}}\.{Z}{{86,}}"), ("AQVN", rf"{U}{{35,}}"), ("YCA YCM YCN YCO YCP", rf"{U}{{36,38}}\b"),
    ("y0_ y1_ y2_ y3_", rf"{U}{{50,}}"), ("zpka_", r"[a-z0-9]{32}_[a-z0-9]{8}"), ("zpcs_", rf"{U}{{40,}}"),
    ("AQE", rf"{B64}{{60,}}={{0,2}}(?:\.{N}{{10,}}){{1,2}}"),
    ("AAAAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9%]{60,}"),
    ("eyJ", rf"{SEGMENT}\.eyJ{SEGMENT}\.(?:{SEGMENT})?|{U}{{16,}}(?:\.{U}{{8,}}){{4}}"),
)  # fmt: skip
# Prefixes that a name may begin with: a tail of letters and digits that chance has put together follows.
CHANCY = frozenset((
    "sk-", "sl.", "AVNS_", "na1.", "pts_", "ddp_", "ddo_", "ddw_", "vtwn_", "unkey_", "EAAA", "csk-", "glc_", "glsa_",
    "tfp_", "ico-", "ics_", "dnkey-", "fio-u-", "y0_", "y1_", "y2_", "y3_", "pina_", "YCA", "YCM", "YCN", "YCO", "YCP",
    "tr_dev_", "tr_prod_", "tr_stg_", "tr_pat_", "tss_", "cnvca", "bit_pat_", "LTAI", "AKLT", "sm_aat_", "sm_pat_",
    "sm_sat_", "endr+",
))  # fmt: skip
# Prefixes that are frequent in any text: looked for only in long words.
SHORT: tuple[tuple[str, str], ...] = (
    ("re_", rf"{N}{{8}}_{N}{{24}}\b"), ("cio", rf"{N}{{32}}\b"), ("oy2", r"[a-z0-9]{43}\b"),
    ("secret_ secret-", rf"{N}{{43}}\b"), ("pk_", rf"{H}{{34}}\b"), ("sk_", rf"{H}{{48}}\b|{UUID}"),
    ("key-", rf"{H}{{32}}\b"), ("api_", rf"{N}{{22}}\.{N}{{22}}"),
    ("live_", rf"[0-9]{{6,12}}_{N}{{30}}\b|{H}{{35}}\b"), ("test_", rf"{H}{{35}}\b"), ("s.", rf"{N}{{24}}\b"),
    ("SK", rf"{X}{{32}}\b"), ("4b1d", rf"{N}{{38}}\b"), ("rnd_", rf"{N}{{28,}}\b"), ("NF-", rf"{N}{{32}}\b"),
    ("API-", r"[A-Z0-9]{26}\b"), ("ak- as- fw_", rf"{N}{{22}}\b"), ("md-", rf"{U}{{22}}"), ("pa-", rf"{U}{{43}}"),
    ("b_", rf"{Z}{{44}}"), ("db-", rf"{N}{{29}}\b"), ("ey", rf"{U}{{17,}}\.ey{U}{{17,}}\.(?:{SEGMENT})?"),
    ("sc_ ext_ scauth_ authress_",
     rf"{N}{{5,30}}\.{N}{{4,6}}\.acc[_-][A-Za-z0-9-]{{10,32}}\.[A-Za-z0-9+/_=-]{{30,120}}"),
)  # fmt: skip
# Without a prefix: literals of which one stands in it, and the source.
SHAPES: tuple[tuple[str, str], ...] = (
    (".atlasv1.", rf"{EDGE}{N}{{14}}\.atlasv1\.{Z}{{60,}}"), ("-us", rf"{EDGE}[0-9a-f]{{32}}-us[0-9]{{1,2}}\b"),
    (":AA", rf"{EDGE}[0-9]{{8,10}}:AA{U}{{33}}"), ("_mmk", rf"{EDGE}{N}{{6}}_{N}{{29}}_mmk\b"),
    ("NRAL", rf"{EDGE}[0-9a-f]{{36}}FFFFNRAL\b"), ("AZDO", rf"{EDGE}{N}{{76}}AZDO{N}{{4}}\b"),
    ("AzSe", rf"{EDGE}{N}{{42}}AzSe{N}{{6}}\b"), ("pat", rf"{EDGE}pat{N}{{14}}\.[a-f0-9]{{64}}"),
    (":", rf"{EDGE}[0-9](?:/[0-9]{{16}}){{1,2}}:[0-9a-f]{{32}}\b"),
    ("| %7C", rf"{EDGE}[0-9]{{15,16}}(?:\||%7C){U}{{27,40}}"),
    ("-", rf"{EDGE}[0-9a-f]{{32}}-[0-9a-f]{{8}}-[0-9a-f]{{8}}\b"),
    (".", rf"{EDGE}[MNO]{U}{{23,27}}\.{U}{{6}}\.{U}{{27,}}"),
    ("Q~", r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    ("ASt ACDb AIoT AEh ARm AzFu",
     r"[A-Za-z0-9+/_-]{40,}(?:\+ASt|ACDb|AIoT|\+AEh|\+ARm|AzFu)[A-Za-z0-9+/_-]{6,10}={0,2}"),
)  # fmt: skip
ESCAPE = re.compile(rb"\\[abefnrtv]|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\[[0-9;]*m")
WORDLIKE, LIKE = LETTERS + DIGITS + b"_~+/=.%|:-", r"[A-Za-z0-9_~+/=.%|:-]"
SHORTEST = 24  # bytes of a token that is looked for in words
BEFORE = 8  # bytes of an escape, and one before it
ONE_KIND = re.compile(r"\[([^\[\]^]+)\]\{([0-9]+)(,?)\}(\\b)?")
RANGE = re.compile(r"([A-Za-z0-9])-([A-Za-z0-9])")
WORD = [bytes([byte]) for byte in LETTERS + DIGITS + b"_"]
LONGEST = 4096  # bytes in which a tail is looked for at first; one that fills them is followed to its end


class Prefixes:
    """Prefixes, one automaton that finds them, and the tail behind each."""

    def __init__(self, rows: tuple[tuple[str, str], ...]) -> None:
        self._tails: dict[bytes, str] = {}
        for prefixes, tail in rows:
            for prefix in map(str.encode, prefixes.split()):
                self._tails[prefix] = f"{self._tails[prefix]}|{tail}" if prefix in self._tails else tail
        names = sorted(self._tails, key=lambda name: (-len(name), name))
        escaped = ("".join(f"\\x{byte:02x}" for byte in name) for name in names)
        self._regex = compiled(rf"{EDGE}(?:{'|'.join(escaped)})", captures=False)
        self._shorter: dict[bytes, tuple[bytes, ...]] = {}  # of each prefix, itself first

    def find(self, data: bytes, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
        """The prefix of each token, where it begins, and where the token ends."""
        for match in self._regex.finditer(data, start, end):
            begin, behind = _word(data, *match.span())
            for name in self._names(data[begin:behind]):
                if (last := _end(data, begin + len(name), self._tails[name])) > 0:
                    yield name, begin, last
                    break

    def _names(self, name: bytes) -> tuple[bytes, ...]:
        """A prefix, and those with which it begins."""
        if (found := self._shorter.get(name)) is None:
            found = tuple(name[:size] for size in range(len(name), 1, -1) if name[:size] in self._tails)
            self._shorter[name] = found
        return found


def _word(data: bytes, start: int, end: int) -> tuple[int, int]:
    """What was found, without the escape before it: captures would take the engine a hundred times longer."""
    escape = ESCAPE.match(data, start, end)
    return (escape.end() if escape else start), end


def _end(data: bytes, begin: int, source: str) -> int:
    """Where a tail ends that begins here; -1 where none does."""
    if (run := _run(source)) is not None:
        return run.end(data, begin)
    tail, limit = _tail(source), min(len(data), begin + LONGEST)
    match = tail.match(data, begin, limit)
    if match is not None and match.span()[1] == limit:
        match = tail.match(data, begin, len(data))
    return -1 if match is None else match.span()[1]


class Run(NamedTuple):
    """A tail of characters of one kind: to count them takes no automaton."""

    kind: bytes
    least: int
    is_exact: bool  # no more of them belong to it
    is_word: bool  # none may follow

    def end(self, data: bytes, begin: int) -> int:
        number, size = 0, LONGEST
        while number == size - LONGEST and begin + number < len(data):
            piece = data[begin + number : begin + number + LONGEST]
            number += len(piece) - len(piece.lstrip(self.kind))
            size += LONGEST
        end = begin + (self.least if self.is_exact else number)
        is_cut = self.is_word and data[end : end + 1] in WORD and data[end - 1] in LETTERS + DIGITS + b"_"
        return -1 if number < self.least or is_cut else end


@functools.cache
def _run(source: str) -> Run | None:
    """A tail that is written as one class so many times; None for any other."""
    found = ONE_KIND.fullmatch(source)
    if found is None:
        return None
    letters = RANGE.sub(lambda ends: "".join(map(chr, range(ord(ends[1]), ord(ends[2]) + 1))), found[1])
    return Run(letters.replace("\\", "").encode(), int(found[2]), not found[3], bool(found[4]))


@functools.cache
def _tail(source: str) -> Regex:
    return compiled(f"({source})")  # with a group, the engine needs no automaton for a short text


@functools.cache
def _prefixed() -> Prefixes:
    return Prefixes(PREFIXED)


@functools.cache
def _short() -> Prefixes:
    return Prefixes(SHORT)


@functools.cache
def _shape(source: str) -> Regex:
    return compiled(source, captures=False)


@functools.cache
def _digits() -> Regex:
    """Of a word that is long enough, half of it with a digit."""
    return compiled(rf"[0-9]{LIKE}{{11,}}|{LIKE}{{12,}}[0-9]{LIKE}*", captures=False)


def find_tokens(data: bytes) -> Iterator[tuple[int, int]]:
    """Where tokens of providers stand."""
    for name, start, end in _prefixed().find(data, 0, len(data)):
        if name.decode() not in CHANCY or is_mixed(data[start + len(name) : end]):
            yield start, end
    words = LongWords(data)
    for _, start, end in _short().find(words.joined, 0, len(words.joined)):
        if is_mixed(words.joined[start:end]):
            yield words.place(start, end)
    for literals, source in SHAPES:
        if any(literal.encode() in words.joined for literal in literals.split()):
            for match in _shape(source).finditer(words.joined):
                yield words.place(*_word(words.joined, *match.span()))


class LongWords:
    """Words of a text that are long enough for a token and have a digit, as one text: they are a small part of it."""

    def __init__(self, data: bytes) -> None:
        self._starts: list[int] = []  # of each, there
        self._offsets: list[int] = []  # and here
        pieces, size = [], 0
        for start, end in _long_words(data):
            self._starts.append(start)
            self._offsets.append(size)
            pieces.append(data[start:end])
            size += end - start + 1
        self.joined = b"\n".join(pieces)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where it stands in the text that has this place in the joined words."""
        number = bisect.bisect_right(self._offsets, start) - 1
        shift = self._starts[number] - self._offsets[number]
        return start + shift, end + shift


def _long_words(data: bytes) -> Iterator[tuple[int, int]]:
    """Where words stand that are long enough for a token and have a digit, with the sign or escape before them."""
    last = 0
    for match in _digits().finditer(data):
        start, end = match.span()
        if start < last:
            continue
        before, behind = data[max(last, start - LONGEST) : start], data[end : end + LONGEST]
        start -= len(before) - len(before.rstrip(WORDLIKE))
        while len(rest := behind.lstrip(WORDLIKE)) == 0 < len(behind):
            end += len(behind)
            behind = data[end : end + LONGEST]
        last = end = end + len(behind) - len(rest)
        if end - start >= SHORTEST and data[start:end].strip(HEX):  # or it is a hash
            yield max(0, start - BEFORE), min(len(data), end + 1)


def is_mixed(word: bytes) -> bool:
    """Whether a word has letters and digits, as chance has them and names rarely."""
    return any(byte in DIGITS for byte in word) and any(byte in LETTERS for byte in word)
