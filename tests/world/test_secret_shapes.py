"""Secrets in the shapes that programs and people give them, and code that has such a shape and holds none."""

from __future__ import annotations

import pytest

from holdfast.redact import Redactor

pytestmark = pytest.mark.promise(26)

# Put together here, so that nobody who looks for secrets finds any in this file.
SECRET = "correct9" + "Horse"
redact = Redactor().clean


def hides(text: str, secret: str = SECRET) -> bool:
    """Whether it is hidden once and for all, with nothing of it left."""
    clean, counts = redact({"text": text})
    parts = [secret[at : at + 5] for at in range(len(secret) - 4)]
    return counts.total() == 1 and not any(part in clean["text"] for part in parts) and redact(clean) == (clean, {})


ALIGNED = [
    "Username:      admin\nPassword:      {}\n",
    'db_password         = "{}"',
    '\tUser:         "app",\n\tPassword:     "{}",',
    "password:\t\t\t\t{}",
    "X-Api-Key:        {}",
    "Authorization:     Bearer      {}",
    "bearer      {}",
    "tool --password      {} --now",
    "Cookie:      sid={}",
]


@pytest.mark.parametrize("line", ALIGNED)
def test_a_secret_is_found_however_far_its_column_stands_from_its_name(line: str) -> None:
    """More than three blanks are what `terraform fmt`, gofmt and `kubectl describe` print."""
    assert hides(line.format(SECRET))


SENT = [
    "Authorization: GenieKey {}",
    "Authorization: Splunk {}, and so on",
    "Authorization: JWT {}",
    "curl -H 'Authorization: Api-Key {}' https://example.org",
    "Authorization: SharedKey shop:{}=",
    "Authorization: NTLM {}==",
    "Authorization: AWS shop:{}=",
    'headers = {{"Authorization": "DeepL-Auth-Key {}:fx"}}',
    'req.Header.Set("Authorization", "Splunk {}")',
    'Authorization: Bearer "{}"',
    "(Authorization: Bearer ab&cd$ef{})",
]


@pytest.mark.parametrize("line", SENT)
def test_a_credential_is_found_behind_a_scheme_of_any_name(line: str) -> None:
    """The scheme was hidden, and the credential behind it stood there."""
    assert hides(line.format(2 * SECRET), 2 * SECRET)
