"""More than five hundred ids that somebody would rather not find in a path."""

from __future__ import annotations

import itertools

PIECES = (
    "", ".", "..", "...", "/", "//", "\\", "\\\\", "~", "-", "--", "-rf", "--run", "\0", "\n", "\r", "\t", " ", "%2e",
    "%00", "%2e%2e%2f", "..%c0%af", "$HOME", "$(id)", "`id`", ";id", "|id", "&id", ">f", "<f", "*", "?", "[a]",
    "{a,b}", "!", "#", "'", '"', "' OR 1=1 --", "'; DROP TABLE run; --", "<script>", "&lt;", "]]>", "{}", '{"a":1}',
    "[]", "null", "\x1b[2J", "\x1b]52;c;aGk=\x07", "\x7f", "\x85", "\u200b", "\u202e", "\u2028", "\ufeff", "\U000e0041",
    "\ud800", "\udcff",
)  # fmt: skip
TRAVERSALS = (
    "../etc/passwd", "../../etc/passwd", "/etc/passwd", "/", "/tmp/x", "./x", "x/../../y", "x/./y", "x//y", "x/",
    "..\\..\\x", "C:\\x", "C:x", "\\\\host\\share", "file:///etc/passwd", "/proc/self/mem", "/dev/null", "/dev/fd/0",
    "~root/x", "x/..", ".git/hooks/pre-commit", ".holdfast/id", "inbox/../id", "x\0/../y", "..;/x",
    "....//x", "%2e%2e/%2e%2e/x",
)  # fmt: skip
DEVICES = ("con", "prn", "aux", "nul", "com1", "com9", "lpt1", "lpt9", "clock$", "conin$")
LOOKALIKES = (
    "run", "Run", "RUN", "rUn", "rún", "ru\u0301n", "\uff52\uff55\uff4e", "\u0433un", "ru\u0578", "run\u200b",
    "\u200brun", "r\u00adun", "run\ufe0f", "\u017f",
    "s", "S", "K", "k", "\u212a", "ß", "ss", "SS", "ẞ", "\u0131", "i", "I", "İ", "ﬀ", "ff", "FF", "é", "e\u0301", "É",
    "Å", "\u212b", "A\u030a", "Ω", "\u2126", "ω", "ﬁ", "fi", "Fi", "²", "2", "٣", "3",
)  # fmt: skip
LENGTHS = (1, 2, 127, 128, 129, 254, 255, 256, 1000, 4095, 4096, 65_536, 1_000_000)


def _ids() -> list[str]:
    around = [before + "run-1" + after for before, after in itertools.product(PIECES[:40], PIECES[:12])]
    cased = ["".join(letters) for letters in itertools.product("aA", "bB", "cC", "dD", "eE")]
    devices = [form for name in DEVICES for form in (name, name.upper(), name + ".txt", name + " ", name + ".")]
    lengths = [letter * size for size in LENGTHS for letter in ("a", "A", "é")]
    hashed = ["x-" + "0" * 40, "X-" + "0" * 40, "x-", "x", "x-run-1"]
    listed = [*PIECES, *TRAVERSALS, *LOOKALIKES, *around, *cased, *devices, *lengths, *hashed]
    return list(dict.fromkeys(listed))


HOSTILE_IDS = _ids()
