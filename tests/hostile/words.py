"""Words that somebody might choose to do harm with: ids, and texts that a terminal would act upon."""

from __future__ import annotations

from itertools import product

# Words that need no quotes, a space between two.
TARGETS = "etc/passwd .git/config .git/hooks/pre-commit home/user/.ssh/authorized_keys proc/self/environ"
STEPS = "../ ..\\ ..%2f %2e%2e/ %252e%252e%252f ..%c0%af ....// ..;/ .../ ./../"
PATHS = ". .. ... / // ./ ../ ~ ~root ~/.ssh a/../.. inbox/.. run-/../x"
PLACES = "/dev/null /dev/stdin /dev/tty /proc/self/mem /tmp file:/// //server/share/ C:\\ \\\\?\\C:\\"
OPTIONS = "- -- --- -rf -f -h --help --version --json --yes --run --run=x --all -q --take-over -n --no-such-option"
LETTERS = "\U0001d4fb\U0001d4fe \ufb00 \u0130 \u00df \u017f \u212a \u212b \u00e9 e\u0301 日本 🙈 👩\u200d💻"
NUMBERS = "0 00 -1 +1 1.0 1e5 0x1 0b1 1_0 99999 999999 \u0663 ² Ⅷ ½ NaN inf -inf 1,0"
MARKS = (
    "\u200b\u200c\u200d\u200e\u200f\u202a\u202d\u202e\u2060\u2066\u2069\u061c\ufeff\u00ad\u0301\u180e"
    "\u2028\u2029\u3164\U000e0041"
)


def hostile_ids(real: str) -> list[str]:
    """Ids that name nothing, or that try to; `real` is the id of a run, which some of them imitate."""
    found = [
        *_traversals(),
        *_absolutes(),
        *_controls(real),
        *_options(),
        *_lookalikes(real),
        *_lengths(),
        *_windows(),
        *_languages(real),
        *_numbers(),
        *_surrogates(real),
    ]
    return [word for word in dict.fromkeys(found) if word != real]


def possible_in_arguments(words: list[str]) -> list[str]:
    """Those that a command can be given at all: bytes that are no text come in as low surrogates, others never do."""
    return [word for word in words if not any(_never_comes(letter) for letter in word)]


def _never_comes(letter: str) -> bool:
    return "\ud800" <= letter < "\udc80" or "\udcff" < letter <= "\udfff"


def _traversals() -> list[str]:
    found = product(STEPS.split(), (1, 3, 12), TARGETS.split())
    return [*(step * depth + target for step, depth, target in found), *PATHS.split()]


def _absolutes() -> list[str]:
    return ["/" + target for target in TARGETS.split()] + PLACES.split()


def _controls(real: str) -> list[str]:
    letters = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))]
    return [*letters, *(f"{real}{letter}" for letter in letters), *(f"{letter}{real}" for letter in letters)]


def _options() -> list[str]:
    return [*OPTIONS.split(), "-\x00", "--\n", "\u2014help", "-rf /", "@file", "+x"]


def _lookalikes(real: str) -> list[str]:
    swaps = {"r": "\u0433", "u": "\u03c5", "n": "\u0578", "-": "\u2010", "q": "\u051b"}
    found = [real.replace(letter, other) for letter, other in swaps.items()]
    found += [f"{real}{mark}" for mark in MARKS] + [f"{mark}{real}" for mark in MARKS]
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in real)
    return [*found, wide, wide[:4], wide[:1] + "un-", *LETTERS.split()]


def _lengths() -> list[str]:
    sizes = (0, 1, 13, 127, 128, 129, 255, 256, 1024, 4096, 65_536, 131_071, 1_000_000)
    return [*("z" * size for size in sizes), "é" * 100_000, "\n" * 10_000, "../" * 100_000, "%" * 10_000]


def _windows() -> list[str]:
    names = ["CON", "PRN", "AUX", "NUL", *(f"COM{n}" for n in range(10)), *(f"LPT{n}" for n in range(10))]
    others = ["aux.", "nul ", "con:", "a:b", "a::$DATA", "desktop.ini", "x.", "x "]
    return [*names, *(f"{name}.txt" for name in names[:6]), *others]


# One a line, because a space or a quote may be the point of it.
LANGUAGES = r"""
'
"
`
;
\
%
_
%%
____
' OR '1'='1
'; DROP TABLE run; --
1 UNION SELECT id FROM run
x' ESCAPE '
%' ESCAPE '\
run-%
run_%
*
run-*
"*"
NEAR(a b)
a AND b
<script>alert(1)</script>
<img src=x onerror=alert(1)>
&lt;
&#x3c;
]]>
<!--
javascript:alert(1)
{}
[]
null
true
{"id":1}
"id"
\u0000
\x00
\\
\"
{{7*7}}
${7*7}
#{7*7}
<%= 7*7 %>
$(touch owned)
`touch owned`
; touch owned
| touch owned
&& touch owned
> owned
< /etc/passwd
$HOME
${IFS}
!!
!x
?
[a-z]
{a,b}
~+
a b
#
#1
a#b
%s
%n
%d%d%d
{0}
{0.__class__}
%(x)s
${jndi:ldap://x}
() { :; }; touch owned
= 1+1
@SUM(1)
__proto__
constructor
../../__init__
__import__('os')
(?:a+)+$
^
$
.*
a{9999}
key = 1
[table]
"""


def _languages(real: str) -> list[str]:
    odd = [f"{real}'--", f'{real}" OR 1=1 --', " a", "a ", "\ta", "\ufffd", "\ufffe", "\uffff", "\U0010ffff"]
    return LANGUAGES.strip("\n").split("\n") + odd


def _numbers() -> list[str]:
    return [*NUMBERS.split(), "9" * 19, "9" * 20, "9" * 5000, "1 "]


def _surrogates(real: str) -> list[str]:
    alone = ["\ud800", "\udfff", "\udc80", "\udcff", "\ud83d\udc00", "\udc00\ud83d", "a\udcc3\udca9"]
    return [*alone, f"{real}\udcff", f"\udc80{real}"]


# What a terminal would do with these: set the clipboard, hide a link, change the title, clear, reset, answer back,
# move the cursor, swap screens, ring, overwrite, print backwards, show nothing.
ACTING = [
    "\x1b]52;c;cHduZWQ=\x07",
    "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "\x1b]0;title\x07",
    "\x1b]2;title\x1b\\",
    "\x1b]1337;File=:x\x07",
    "\x1b[2J\x1b[H",
    "\x1b[1A\x1b[2K",
    "\x1b[?1049h",
    "\x1b[31mred\x1b[0m",
    "\x1b[6n",
    "\x1b[c",
    "\x1bc",
    "\x1bP$q\x1b\\",
    "\x1b_x\x1b\\",
    "\x1b",
    "\x1b\x1b[",
    "\x9b2J",
    "\x9d52;c;x\x9c",
    "\x90q\x9c",
    "\x85next",
    "\x07",
    "\x08\x08\x08",
    "over\rwritten",
    "\x0b\x0c",
    "\x7f",
    "\x0e",
    "\x00nul",
    "\u202eevil\u202c",
    "\u2066x\u2069",
    "\u200fx",
    "\u061cx",
    "a\u200bb",
    "a\u2060b",
    "\ufeffx",
    "\U000e0041\U000e0042",
    "\u2028x\u2029",
    "\ud800",
]
