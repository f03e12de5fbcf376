"""Public values that resemble secrets: publishable keys, and the public key of a Sentry DSN."""

from __future__ import annotations

import re
import sys

from holdfast.redaction.regex import Match

# PostHog's project key, Mapbox's public token, publishable keys of Stripe, Clerk, Supabase and others: all of them are
# served to browsers. `pk_` alone does not qualify: Klaviyo's private keys start with it.
PUBLIC = re.compile(
    rb"(?:phc_|pk\.eyJ|pk_(?:live|test)_|(?:live|test)_pub_|sb_publishable_|FLWPUBK(?:_TEST)?-|pk-lf-|pubkey-"
    rb"|(?:pub|sub)-c-|public-(?:sandbox|development|production)-)[A-Za-z0-9_.=-]{16,}"
)
DSN_KEY = re.compile(rb"[0-9a-f]{32}")
DSN_HOST = re.compile(rb"@[A-Za-z0-9.-]*sentry[A-Za-z0-9.-]*(?::[0-9]+)?(?:/[A-Za-z0-9_-]+)*/[0-9]+(?![A-Za-z0-9_/-])")


def is_public(text: bytes, start: int = 0, end: int = sys.maxsize) -> bool:
    return PUBLIC.fullmatch(text, start, end) is not None


def is_dsn_key(text: bytes, match: Match) -> bool:
    """True if the user part of a URL is the public key of a Sentry DSN, which browsers send."""
    start, end = match.span(1)
    return DSN_KEY.fullmatch(text, start, end) is not None and DSN_HOST.match(text, end) is not None
