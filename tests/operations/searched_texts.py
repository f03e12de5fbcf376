"""Work of some weeks, what a person asks about it later, and the event that answers. Written before the ranking."""

from __future__ import annotations

from typing import NamedTuple


class Told(NamedTuple):
    day: int  # since the first one
    kind: str
    text: str
    because: str = ""


class Question(NamedTuple):
    typed: str
    kind: str
    answer: str  # a piece of the text of the event that answers


SAID, ASKED, DECIDED, NOTED, DID = "turn.ended", "prompt.given", "decision.made", "note.added", "action.taken"

WORK: dict[str, list[Told]] = {
    "Make payments survive timeouts": [
        Told(0, ASKED, "The payment tests fail now and then in CI, please find out why and fix it"),
        Told(0, DID, "Ran pytest tests/pay -x"),
        Told(0, SAID, "The flaky test is caused by the clock: test_refund compares timestamps across midnight UTC."),
        Told(1, ASKED, "Make the client retry when the bank does not answer"),
        Told(1, DECIDED, "Retry with exponential backoff and jitter", "the bank sheds load in bursts"),
        Told(1, DID, "Edited src/pay/client.py: retry loop"),
        Told(1, DID, "Edited tests/pay/test_client.py: retry after a timeout"),
        Told(
            1, SAID,
            "Done. The client now retries five times. While testing I found that the sandbox of the bank answers with"
            " 429 and a Retry-After header in seconds, not in milliseconds as its documentation claims.",
        ),
        Told(2, ASKED, "Why is the checkout page slow since Monday?"),
        Told(
            2, SAID,
            "The slowdown comes from an N+1 query in the cart serializer: each line item loads its product"
            " separately. 120 queries for a cart of 40 items. Prefetching brings it down to three.",
        ),
        Told(2, DECIDED, "Use an idempotency key per order, not per request", "a retried request must not pay twice"),
        Told(3, NOTED, "Ask Ada before touching pay(): she owns the settlement job"),
        Told(3, DID, "Ran git push origin payments"),
    ],
    "Move the search service to PostgreSQL": [
        Told(5, ASKED, "Compare Elasticsearch with the full-text search of PostgreSQL for our 2 million products"),
        Told(
            5, SAID,
            "PostgreSQL is good enough here: with a GIN index the p95 is 38 ms for two million rows, against 21 ms for"
            " Elasticsearch, and we save the second cluster. Fuzzy matching needs pg_trgm.",
        ),
        Told(5, DECIDED, "Drop Elasticsearch and search in PostgreSQL", "one cluster less to run"),
        Told(6, ASKED, "Write the migration that adds the tsvector column, without locking the table"),
        Told(6, DID, "Edited migrations/0042_products_tsvector.sql"),
        Told(
            6, SAID,
            "The migration adds the column without a default, fills it in batches of 5,000 rows and builds the index"
            " concurrently, so the table is never locked for longer than a second.",
        ),
        Told(7, DECIDED, "Keep the old search endpoint until March", "two partners still call v1"),
        Told(7, ASKED, "The German products are not found when somebody types an umlaut as two letters"),
        Told(8, SAID, "I normalise ae, oe and ue to the umlaut with unaccent and a custom dictionary called de_shop."),
        Told(8, DID, "Ran psql -f bench/products.sql"),
    ],
    "Upgrade the frontend to React 19": [
        Told(12, ASKED, "Upgrade React to version 19 and fix what breaks"),
        Told(12, DID, "Edited package.json, package-lock.json"),
        Told(
            13, SAID,
            "React 19 removed defaultProps for function components, which broke 14 of our components. I replaced them"
            " with default parameters. The date picker library does not support it yet and is pinned to a fork.",
        ),
        Told(13, DECIDED, "Pin the date picker to our fork", "upstream has no release for React 19"),
        Told(14, ASKED, "Do not use the new compiler yet, I do not trust it in production"),
        Told(14, DECIDED, "No React compiler before the summer"),
        Told(15, ASKED, "The dark mode flickers when the page loads"),
        Told(
            15, SAID,
            "The flicker is gone: the theme is now read by an inline script before the first paint, from a cookie"
            " instead of localStorage.",
        ),
        Told(15, DID, "Edited web/theme.ts: cookie"),
    ],
    "Harden the login": [
        Told(18, ASKED, "Review the login for security problems, but change nothing"),
        Told(
            18, SAID,
            "I found three problems. First, session cookies lack SameSite. Second, the password reset token never"
            " expires. Third, usernames can be enumerated, because the response is 80 ms slower for existing ones.",
        ),
        Told(19, ASKED, "Fix the expiry of the reset token first, thirty minutes are enough"),
        Told(19, DECIDED, "Hash passwords with argon2id instead of bcrypt", "bcrypt cuts at 72 bytes"),
        Told(19, DID, "Edited src/auth/tokens.py"),
        Told(20, DECIDED, "Sessions live in Redis with a TTL of 12 hours", "logging out everywhere must be instant"),
        Told(20, NOTED, "The penetration test is in the week of 14 April"),
        Told(21, ASKED, "Rate limit the login by account and not by IP address, offices share one"),
        Told(
            21, SAID,
            "Login attempts are limited to ten in five minutes for each account, with a Lua"
            " script in Redis.",
        ),
    ],
    "Cut the cloud bill": [
        Told(25, ASKED, "Where does the money go? Look at the billing export of last month"),
        Told(
            25, SAID,
            "Two thirds of the bill are cross-zone traffic: the log shipper in zone a sends everything to the collector"
            " in zone b, 41 TB a month.",
        ),
        Told(26, DECIDED, "Run one log collector in each zone", "cross-zone traffic costs more than the machines"),
        Told(26, DECIDED, "Move nightly batch jobs to spot instances", "they can be restarted at any time"),
        Told(27, ASKED, "Delete snapshots older than 90 days but keep those tagged legal-hold"),
        Told(27, DID, "Ran aws ec2 describe-snapshots"),
        Told(
            27, SAID,
            "1,204 snapshots were deleted; 37 with the tag legal-hold stay. That saves about"
            " 310 dollars a month.",
        ),
        Told(28, ASKED, "Write down the deployment procedure for the on-call engineers as a runbook"),
        Told(
            28, SAID,
            "The runbook is docs/runbook.md. Rolling back takes one command, but the feature"
            " flags must be reset by hand.",
        ),
        Told(28, DECIDED, "Deploy only with a green canary for 15 minutes"),
    ],
}  # fmt: skip

QUESTIONS = [
    # said
    Question("why was the refund test flaky", SAID, "across midnight UTC"),
    Question("retry-after seconds or milliseconds", SAID, "not in milliseconds"),
    Question("n+1 query cart", SAID, "an N+1 query"),
    Question("p95 gin index elasticsearch", SAID, "38 ms for two million rows"),
    Question("which dictionary for the umlaut", SAID, "de_shop"),
    Question("defaultProps", SAID, "broke 14 of our components"),
    Question("cause of the dark mode flicker", SAID, "before the first paint"),
    Question("security problems found in login", SAID, "I found three problems"),
    Question("cross-zone traffic terabytes a month", SAID, "41 TB a month"),
    Question("what must be reset by hand when rolling back", SAID, "feature flags"),
    # asked
    Question("bank does not answer", ASKED, "when the bank does not answer"),
    Question("checkout slow monday", ASKED, "slow since Monday"),
    Question("did I ask to compare elasticsearch with postgresql", ASKED, "Compare Elasticsearch"),
    Question("tsvector column without locking", ASKED, "Write the migration"),
    Question("umlaut two letters", ASKED, "an umlaut as two letters"),
    Question("do not trust the compiler", ASKED, "I do not trust it"),
    Question("reset token thirty minutes", ASKED, "thirty minutes are enough"),
    Question("rate limit per account because offices share an ip", ASKED, "offices share one"),
    Question("snapshots older than ninety days legal-hold", ASKED, "older than 90 days"),
    Question("runbook for on-call", ASKED, "as a runbook"),
    # decided
    Question("where did we decide about the backoff", DECIDED, "exponential backoff"),
    Question("idempotency key", DECIDED, "per order, not per request"),
    Question("decision to drop elasticsearch", DECIDED, "Drop Elasticsearch"),
    Question("how long do we keep the old endpoint", DECIDED, "until March"),
    Question("date picker fork", DECIDED, "Pin the date picker"),
    Question("why argon2 and not bcrypt", DECIDED, "argon2id"),
    Question("where do sessions live", DECIDED, "live in Redis"),
    Question("log collector zone", DECIDED, "one log collector in each zone"),
    Question("spot instances", DECIDED, "nightly batch jobs"),
    Question("canary minutes before a deploy", DECIDED, "green canary"),
]
