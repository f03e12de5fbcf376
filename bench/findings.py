"""Texts of a session of 60 turns: findings that the agent said at four of them, and everyday turns around those.

A finding is something that the agent learned and said, and that nobody recorded as a decision. These texts were written
before anything was tuned for them. A change of the brief must not change them.
"""

from __future__ import annotations

TURNS = 60
LONGEST = 120  # characters of a finding

# By turn: the prompt, the sentences of the answer around the findings, and the findings.
FINDINGS: dict[int, tuple[str, list[str], list[str]]] = {
    1: (
        "The checkout test is flaky on CI, green on my machine. Find out why before you change anything.",
        ["I read the test, the fixture and the last thirty CI logs.", "Nothing is changed so far."],
        [
            "The checkout test fails only when it runs after test_refunds.py, which leaves the clock frozen.",
            "`conftest.py` builds the database once per session, so rows of one test are visible to the next.",
            "CI runs with 4 workers and we run with 1; with `-n 4` it fails here 3 times out of 20.",
            "The payment stub answers after 200 ms, and the client gives up after 250 ms.",
            "Prices are floats in `cart.py` and decimals in `invoice.py`, hence the odd cent.",
            "The CI image has tzdata 2023c, where Greenland still changes its clocks.",
            "Nobody calls `retry_payment`; the retry that works is in the middleware.",
            "The flaky run in March was another fault: the disk of the runner was full.",
            "Redis db 0 is shared by the tests and the dev server, so a running server eats the test's jobs.",
            "The order of the webhooks is not guaranteed by the provider, their support confirmed it in ticket 48213.",
        ],
    ),
    5: (
        "Look at the import of the supplier files, it takes 40 minutes. Where does the time go?",
        ["I profiled one import of the largest supplier, 310,000 rows.", "Those are the main points."],
        [
            "81 % of the import is spent in `normalise_name`, which compiles its regex for every row.",
            "The supplier file is Latin-1 although its header says UTF-8; row 88,412 proves it.",
            "An index on `(supplier_id, sku)` exists in production but in no migration.",
            "COPY would take 50 s for the same rows; the ORM's bulk_create takes 11 minutes.",
            "Supplier 17 sends the same file twice a day, and the second one changes nothing.",
            "Rows without an EAN are dropped silently in `rows.py:212`; last night there were 1,904 of them.",
            "The import holds one transaction for the whole time, which is why the backups stall at three.",
            "Memory peaks at 3.1 GB since the whole file is read into a list first.",
            "Two suppliers use a comma as the decimal mark: 17 and 23.",
            "The nightly job starts it under nice 19, so on the busy host it gets a tenth of a core.",
        ],
    ),
    20: (
        "Can we move the sessions from Redis into Postgres? Check what depends on it.",
        ["I searched for every use of the session store.", "Tell me whether I shall write the migration."],
        [
            "The mobile app keeps its session for 90 days, the web for 14; both have the same key prefix.",
            "`SessionMiddleware` writes on each request, about 900 writes a second at noon.",
            "An unlogged table is fast enough: 1,400 writes a second on the staging machine.",
            "Log-out everywhere relies on SCAN over `sess:*`, and that takes 6 s already.",
            "Legal wants sessions erased within 24 hours of a deletion request; Redis has no such job.",
            "Pickled sessions of before 2.8 are still around; reading them needs the old `User` class.",
            "The admin panel reads Redis directly, past the session API, in `admin/online.py`.",
            "pgbouncer is in transaction mode, so advisory locks for sessions are out of the question.",
            "The rate limiter shares the Redis instance and must stay there.",
            "With a rolling deploy both stores have to be read for at least 14 days.",
        ],
    ),
    60: (
        "Why do the mails arrive twice since Monday?",
        ["I compared the worker logs of Sunday and Monday.", "I have changed nothing yet."],
        [
            "Since Monday two schedulers run: the old systemd timer on app-2 was never switched off.",
            "The outbox row is marked as sent after the SMTP call, so a timeout sends it again.",
            "Mails to outlook.com wait 65 s for the greylist, and our timeout is 60 s.",
            "The Message-ID contains the attempt's number, so mail programs cannot see that both are the same.",
            "`send_mail` swallows SMTPServerDisconnected and returns None, which counts as failure.",
            "Only mails with an attachment are affected; the others go through the new API.",
            "412 customers got something twice, 9 of them an invoice.",
            "The unique index on `outbox.dedup_key` is missing on production: the migration was faked.",
            "Bounces go to an address that nobody reads, ops@old-domain.example.",
            "The staging server cannot show it, since its mail goes to a file.",
        ],
    ),
}

# Everyday turns, in which nothing was found out that somebody needs later.
EVERYDAY: list[tuple[str, str]] = [
    ("ok, go on", "Done. All tests pass."),
    (
        "Rename the helper to parse_row, please",
        "I renamed the helper to `parse_row` and updated its three callers. Tests pass.",
    ),
    ("run the tests", "All 214 tests pass in 31 seconds."),
    (
        "Add a docstring to the public functions of cart.py",
        "I added docstrings to the five public functions. Nothing else changed.",
    ),
    ("commit that", "Committed as `cart: docstrings`. The worktree is clean."),
    (
        "thanks! now the same for invoice.py",
        "Done, `invoice.py` has docstrings too. Let me know if you want them longer.",
    ),
    ("the linter complains", "I sorted the imports and removed the unused one. The linter is quiet now."),
    (
        "make the error message friendlier",
        'The message now reads "We could not reach the shop, please try again". I updated the test that compares it.',
    ),
    (
        "go on",
        "I have finished the second part. Let me summarise what I did:\n\n- moved the constants to "
        "the top\n- split the long function\n- ran the formatter\n\nEverything is green.",
    ),
    (
        "Split views.py, it is too long",
        "I split `views.py` into `views/list.py`, `views/detail.py` and `views/edit.py`, with the "
        "old names imported in `views/__init__.py`. All tests pass.",
    ),
    ("yes", "Great, done. All tests pass."),
    ("Write a test for the empty cart", "I wrote `test_empty_cart_has_no_total`. It passes."),
    ("and one for a cart with a voucher", "Added `test_voucher_is_subtracted_once`, green as well."),
    (
        "what changed since yesterday?",
        "Three files changed since yesterday: the cart, its tests and the changelog. You can see "
        "them with `git diff HEAD~3`.",
    ),
    ("Update the changelog", "I added two lines to the changelog below Unreleased."),
    ("looks good", "Glad to hear it! Tell me what to do next."),
    (
        "Use pathlib in scripts/release.py",
        "I replaced os.path by pathlib in `scripts/release.py` and ran the script with --dry-run. "
        "Its output is the same as before.",
    ),
    ("hm, undo the last one", "I took the last change back. The file is as it was this morning."),
    ("Format everything", "I ran the formatter over the project, 11 files were reformatted."),
    (
        "Add type hints to rows.py",
        "I added type hints to `rows.py` and mypy is content. Along the way I renamed `d` to `row`.",
    ),
    (
        "Move the voucher logic into its own module",
        "I have moved the voucher logic into `vouchers.py`. First I looked at who uses it, then I created "
        "the module, moved "
        "the three functions and their tests, and fixed the imports in the cart, the invoice and the admin "
        "panel. After "
        "that I ran the whole test suite, the linter and the type checker. Everything passes.\n\nWhat I did:\n\n"
        "1. created `vouchers.py` with `find_voucher`, `apply_voucher` and `expire_vouchers`\n"
        "2. moved the tests to `tests/test_vouchers.py`\n"
        "3. updated seven imports\n\nWould you like me to commit this?",
    ),
    (
        "Make the product page responsive",
        "The product page is responsive now. I replaced the table by a grid, set the breakpoints at 480 and "
        "960 pixels as "
        "in the other pages, and made the images lazy. I checked it at four widths, and took screenshots before and "
        "after. The stylesheet became 40 lines shorter. I also removed two classes that nothing used any more.\n\n"
        "Let me know if you would like the same for the category page.",
    ),
    (
        "Review the pull request of the intern",
        "I read the pull request. Overall it looks good: the code is readable, the names fit, and there are "
        "tests for the "
        "two new functions. I left four comments, all of them small: a typo in a message, a variable that "
        "could be named "
        "better, a missing newline, and a test that could be split in two. None of them has to block the "
        "merge. Shall I "
        "approve it?",
    ),
    (
        "Add pagination to the order list",
        "I added pagination to the order list. It shows 50 orders a page with links to the next and the "
        "previous page, in "
        "the style of the other lists. I wrote three tests: the first page, the last page, and a page that "
        "is too high, "
        "which shows the last one. I also updated the template and the translation files for German and French. All "
        "tests pass, and the page looks fine in the browser.",
    ),
    (
        "Why is the build red?",
        "The build was red because a snapshot was out of date after the last change of the footer. I looked at the "
        "difference, it is only the year. I updated the snapshot and pushed it; the build is running now. I "
        "will have a "
        "look at it again when you ask me to.",
    ),
]


def turn(number: int) -> tuple[str, str, list[str]]:
    """The prompt and the answer of a turn, counted from 1, and the findings in it."""
    if number in FINDINGS:
        prompt, (before, after), found = FINDINGS[number]
        half = len(found) // 2
        bullets = "\n".join(f"- {each}" for each in found[half:])
        return prompt, f"{before} {' '.join(found[:half])}\n\nBesides:\n\n{bullets}\n\n{after}", found
    prompt, answer = EVERYDAY[number % len(EVERYDAY)]
    return prompt, answer, []


LAST = ("ok, leave it for today", "Done.")  # after all of them
