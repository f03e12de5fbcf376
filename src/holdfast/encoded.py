"""Words that are a text in another form, base64 or percent-encoded: what they look like, and the text in them."""

from __future__ import annotations

import binascii
from urllib.parse import unquote_to_bytes

# Base64 of ASCII: the first bit of each of three bytes is 0, so that of four characters three are of one half each.
BASE64 = r"(?:[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][\w+/-]){6,}[\w+/-]{0,3}={0,2}"
PERCENT = r"[^\s\"'<>`]*%[0-9A-Fa-f]{2}[^\s\"'<>`]*"


def from_base64(word: bytes) -> bytes | None:
    """The text in a word of base64; None where it is none."""
    bare = word.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
    try:
        plain = binascii.a2b_base64(bare[: len(bare) - (len(bare) % 4 == 1)] + b"=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return None
    return plain if plain.isascii() else None


def from_percent(word: bytes) -> bytes | None:
    plain = unquote_to_bytes(word)
    return plain if plain != word else None
