"""What is known to be a secret is taken out, wherever it stands; what is not stays as it is."""

from __future__ import annotations

import base64
import itertools
import json
import tracemalloc
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from holdfast.redaction import environment, prefilter
from holdfast.redaction.environment import MOST_FILES, MOST_VALUES, find_known
from holdfast.redaction.patterns import PATTERNS, Pattern
from holdfast.redaction.redactor import Redactor
from holdfast.redaction.regex import compiled
from tests.hostile import formats

# Put together here, so that nobody who looks for secrets finds any in this file.
TOKENS = {
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "github": "ghp_" + "a1B2" * 9,
    "github, fine": "github_pat_" + "11ABCDEFG0" * 3,
    "gitlab": "glpat-" + "x9" * 12,
    "slack": "xoxb-" + "123456789012-abcdefABCDEF",
    "openai": "sk-" + "proj-" + "Ab3" * 12,
    "anthropic": "sk-ant-" + "api03-" + "Zz9_" * 8,
    "stripe": "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "google": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "npm": "npm_" + "q" * 36,
    "pypi": "pypi-" + "AgEIcHlwaS5vcmc" * 5,
    "hugging face": "hf_" + "Qw12" * 9,
    "jwt": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "vault": "hvs." + "CAESI" * 6,
    "azure": "a1b8Q~" + "Ab3_" * 8 + "xy",
    "slack, browser": "xoxc-" + "123456789012-abcdefABCDEF",
    "heroku": "HRKU-" + "AbC1" * 12,
    "fly": "fm2_" + "lJPE" * 20,
    "circle": "CCIPAT_" + "Ab3" * 7 + "x_" + "0a" * 20,
    "bitbucket": "ATBB" + "Ab3d" * 8,
    "artifactory": "AKCp" + "Ab3d" * 17,
    "sonar": "squ_" + "0a" * 20,
    "mapbox": "sk.eyJ" + "Ab3d" * 8 + "." + "Ab3d" * 6,
    "langsmith": "lsv2_pt_" + "0a" * 16 + "_" + "0a" * 5,
    "tavily": "tvly-" + "Ab3d" * 8,
    "posthog": "phx_" + "Ab3d" * 11,
    "resend": "re_" + "Ab3d" * 2 + "_" + "Ab3d" * 6,
    "bedrock": "ABSK" + "Ab3d" * 30,
    "brevo": "xkeysib-" + "0a" * 32 + "-" + "Ab3d" * 4,
    "neon": "napi_" + "ab3d" * 15,
    "airtable": "pat" + "Ab3d5fG" * 2 + "." + "0a" * 32,
    "google, refresh": "1//0" + "Ab3d-" * 12,
    "mailgun": "key-" + "0a" * 16,
    "elevenlabs": "sk_" + "0a" * 24,
    "jwe": "eyJhbGciOiJSU0EtT0FFUCJ9" + ".Ab3dEf6hIj" * 4,
}
redact = Redactor().clean
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow" + "IBAAKCAQEA\n" * 20 + "-----END RSA PRIVATE KEY-----"


@pytest.mark.promise(26)
@pytest.mark.parametrize("pattern", PATTERNS, ids=range(len(PATTERNS)))
def test_what_looks_first_lets_a_pattern_see_all_that_it_finds(pattern: Pattern) -> None:
    """Signs, hints and words say where a pattern is run: none of them may pass over a line that it would find."""
    texts = [text for text, _ in SECRETS] + [leak.line for leak in formats.leaks()] + [KEY, *CODE, *PLAIN]
    for text in texts:
        data = text.encode()
        for match in compiled(pattern.source).finditer(data):
            start, end = match.span()
            found = itertools.chain(prefilter.gated(data), prefilter.hinted(data))
            seen = [match.span() for one, match in found if one is pattern]
            assert (start, end) in seen or not pattern.is_one(data, match), text


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
@pytest.mark.parametrize("shape", ["{}", "export X={}", '{{"a": "{}"}}', "curl -H 'x: {}' https://a.b", "see {}."])
def test_the_token_of_a_provider_is_found_in_every_shape(token: str, shape: str) -> None:
    clean, counts = redact({"text": [shape.format(token)]})
    assert token not in json.dumps(clean)
    assert counts.total() >= 1


SECRETS = [
    ("Authorization: Bearer abcdefghijklmnop", "abcdefghijklmnop"),
    ('"authorization": "Basic dXNlcjpwYXNzd29yZA=="', "dXNlcjpwYXNzd29yZA"),
    ("curl -H 'X-Api-Key: 0123456789abcdef'", "0123456789abcdef"),
    ("postgres://shop:hunter2@db/shop", "hunter2"),
    ("redis://:hunter2@cache:6379/0", "hunter2"),
    ("https://oauth2:s3cr3t@example.org/a.git", "s3cr3t"),
    ("https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXX", "XXXXXXXXXXXX"),
    (f"before {KEY} after", "MIIEow"),
    ("deploy --db-password hunter22x now", "hunter22x"),
    ("the token we got was (aB3dE5gH7jK9mN1pQ3sT5vW7xY9z)", "aB3dE5gH7jK9mN1pQ3sT5vW7xY9z"),
    (KEY[: KEY.index("-----END")], "MIIEow"),
    ("DB_PASSWORD=correcthorse", "correcthorse"),
    ("password: 'correct1horse'", "correct1horse"),
    ('client_secret = "correct-horse"', "correct-horse"),
    ("host=db user=a password=correcthorse dbname=b", "correcthorse"),
    ('{\\"api_key\\": \\"correct-horse\\"}', "correct-horse"),
    ('export DB_PASSWORD="correct horse battery 9"', "horse battery"),
    ('DB_PASSWORD="it\'s-correct-9"', "correct-9"),
    ("DB_PASSWORD=c@rr$ct,horse(9)", "horse"),
    ("export SMTP_PASS='correct-horse'", "correct-horse"),
    ("so {'password':'c\\/rrect9horse'} it is", "rrect9horse"),
    ("set -gx DB_PASSWORD correct9horse", "correct9horse"),
    ("setenv DB_PASSWORD correct9horse", "correct9horse"),
    ("password: |\n  correct9horse\n", "correct9horse"),
    ("- name: DB_PASSWORD\n  value: correct9horse\n", "correct9horse"),
    ('{"name": "DB_PASSWORD", "value": "correct9horse"}', "correct9horse"),
    ("<server><password>correct9horse</password></server>", "correct9horse"),
    ('<add key="Password" value="correct9horse"/>', "correct9horse"),
    ("machine example.org\n  login ada\n  password correct9horse\n", "correct9horse"),
    ("curl -sSuada:correct9horse https://example.org", "correct9horse"),
    ("curl https://example.org \\\n  -u ada:correct9horse", "correct9horse"),
    ("curl --proxy-user 'ada:correct9horse' https://example.org", "correct9horse"),
    ("curl -b 'session=correct9horse' https://example.org", "correct9horse"),
    ("mysql -u root -p'correct9horse' shop", "correct9horse"),
    ("sshpass -p 'correct9horse' ssh example.org", "correct9horse"),
    ("docker login -u ada -p correct9horse example.org", "correct9horse"),
    ("redis-cli -a correct9horse ping", "correct9horse"),
    ("//example.org/:_auth=YWRhOmNvcnJlY3Q5aG9yc2U=", "YWRhOmNvcnJlY3Q5aG9yc2U"),
    ('{"auths": {"x": {"auth": "YWRhOmNvcnJlY3Q5aG9yc2U="}}}', "YWRhOmNvcnJlY3Q5aG9yc2U"),
    ("postgres://shop:correct@9horse@db/shop", "9horse"),
    ("https://0123456789abcdef0123@example.org/a.git", "0123456789abcdef"),
    *[(line.format("correct9horse"), "correct9horse") for line in (
        "CREATE USER shop IDENTIFIED BY '{}';",
        "ALTER USER shop IDENTIFIED WITH caching_sha2_password BY '{}';",
        "ALTER USER shop WITH PASSWORD '{}';",
        "CREATE ROLE shop LOGIN PASSWORD '{}';",
        "ALTER ROLE shop PASSWORD '{}';",
        "os.environ['API_TOKEN'] = '{}'",
        'process.env["API_TOKEN"]="{}"',
        "aws configure set aws_secret_access_key {}",
        "aws configure set profile.shop.aws_secret_access_key {}",
        "FROM python\nENV DB_PASSWORD {}\nRUN make",
        "openssl rsa -in key.pem -passin pass:{} -out plain.pem",
        "openssl enc -aes256 -pass 'pass:{}' -in a",
        "ansible_ssh_pass={}",
        "ansible_become_pass: {}",
        "db_pass: {}",
        "smtpPass = '{}'",
        "http -a ada:{} https://example.org",
        "http --auth=ada:{} example.org/v1",
        "https GET example.org/v1 -a ada:{}",
        "mongosh -u root -p {} shop",
        "mongodump -p={} shop",
        "mariadb-dump -uroot -p{} shop",
        "mysqlimport -p{} shop orders.txt",
    )],
]  # fmt: skip


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_what_says_of_itself_that_it_is_a_secret_is_found(text: str, secret: str) -> None:
    clean, counts = redact(text)
    assert secret not in clean
    assert counts.total() == 1
    assert "[redacted " in clean


# One line, its secrets, and what else must stay
SEVERAL = [
    ("mysqldump -uroot -pOldPass123 db | mysql -uroot -pNewPass456 db", ["OldPass123", "NewPass456"], " db | mysql "),
    ("mysql -uroot -pOldPass123 db && find . -print", ["OldPass123"], " db && find . -print"),
    ("mysql -uroot -pS3c=retPass db", ["S3c", "retPass"], " db"),
    ("mariadb -p'[correct9horse' db", ["correct9horse"], " db"),
    ("curl -u a:pw1secret --proxy-user b:pw2secret http://x", ["pw1secret", "pw2secret"], " http://x"),
    ("curl -U b:pw2secret -u a:[pw1secret http://x", ["pw1secret", "pw2secret"], " http://x"),
    ("curl -u a:pw1secret http://x; curl -u b:pw2secret http://y", ["pw1secret", "pw2secret"], " http://x; curl "),
    ("curl -b 'a=pw1secret' -b 'b=pw2secret' http://x", ["pw1secret", "pw2secret"], " http://x"),
    ("http -a ada:pw1secret --auth=b:pw2secret example.org", ["pw1secret", "pw2secret"], " example.org"),
    ("sshpass -p pw1s=cret9 ssh -p 2222 a 'sshpass -p =pw2secret ssh b'", ["cret9", "pw2secret"], " ssh -p 2222 a "),
    ("redis-cli -a pw1secret== get a | redis-cli -a pw2=secret set a", ["pw1secret", "==", "secret set"], " get a | "),
    ("mongodump -p=pw1s=cret | mongorestore -p pw2secret", ["cret |", "pw2secret"], " | mongorestore "),
    ("docker login -p pw1secret a && docker login -p pw2secret b", ["pw1secret", "pw2secret"], " a && docker login "),
]


@pytest.mark.promise(26)
@pytest.mark.parametrize(("text", "hidden", "kept"), SEVERAL)
def test_all_passwords_of_a_command_line_are_found_and_nothing_else(text: str, hidden: list[str], kept: str) -> None:
    clean, _ = redact(text)
    assert [secret for secret in hidden if secret in clean] == []
    assert kept in clean
    assert redact(clean) == (clean, {})


HEADERS = [
    {"Authorization": "Basic dXNlcjpodW50ZXIyMg=="},
    {"authorization": "Xk9vQ2mLp7Rt4Wz8"},
    {"Proxy-Authorization": ["Negotiate Xk9vQ2mLp7Rt4Wz8"]},
    {"HTTP_AUTHORIZATION": "Digest username=ada, response=6629fae49393a05397450978507c4ef1"},
    {"Cookie": "sid=Xk9vQ2mLp7Rt4Wz8"},
    {"cookie": ["sid=Xk9vQ2mLp7Rt4Wz8"]},
    {"set-cookie": ["sid=Xk9vQ2mLp7Rt4Wz8; Path=/"]},
    {"X-Api-Key": ["Xk9vQ2mLp7Rt4Wz8"]},
    {"name": "Authorization", "value": "Basic dXNlcjpodW50ZXIyMg=="},
    ["Authorization", "Basic dXNlcjpodW50ZXIyMg=="],
    ["X-Api-Key", "Xk9vQ2mLp7Rt4Wz8"],
    ["Set-Cookie", "sid=Xk9vQ2mLp7Rt4Wz8"],
    {"password": ["Xk9vQ2mLp7!"]},
    {"password": [["Xk9vQ2mLp7!"]]},
    ["accept", "text/html", "authorization", "Basic dXNlcjpodW50ZXIyMg=="],
]
SAID = ["dXNlcjpodW50ZXIyMg", "Xk9vQ2mLp7", "6629fae49393a05397450978507c4ef1"]


@pytest.mark.promise(26)
@pytest.mark.parametrize("shape", [lambda it: it, lambda it: {"headers": it}, lambda it: [it], json.dumps])
@pytest.mark.parametrize("headers", HEADERS, ids=json.dumps)
def test_headers_and_lists_are_known_by_their_names_in_decoded_json(headers: Any, shape: Any) -> None:
    """Only a line of text was one of headers; what a tool had decoded already passed."""
    clean, counts = redact(shape(headers))
    assert [word for word in SAID if word in json.dumps(clean)] == []
    assert counts.total() == 1
    assert redact(clean) == (clean, {})


SLASHED = "/JalrXUtnFEMIK7MDENG" + "bPxRfiCYEXAMPLEKEY1a"
STRANGE = [SLASHED, SLASHED[:20] + "/b/" + SLASHED[23:], "$up3rS3cret!", "$2b$12$Xk9vQ2mLp7Rt4Wz8", "/k3J!9x%Qz#"]


@pytest.mark.promise(26)
@pytest.mark.parametrize("secret", STRANGE)
def test_a_secret_may_begin_as_a_path_or_a_variable_does(tmp_path: Path, secret: str) -> None:
    """Every sixty-fourth word of base64 begins with a slash."""
    lines = [f"DB_SECRET={secret}", f'secret = "{secret}"', f"export DB_SECRET='{secret}'"]
    for text in lines:
        assert secret not in redact(text)[0]
    assert redact({"secret": secret}) == ({"secret": "[redacted secret]"}, {"secret": 1})
    assert find_known({"SHOP_SECRET": secret}, tmp_path) == {secret}


@pytest.mark.promise(26)
@pytest.mark.parametrize("secret", [SLASHED, "$up3rS3cret!"])
def test_a_secret_without_quotes_may_begin_as_a_path_or_a_variable_does(secret: str) -> None:
    assert redact(f"db_password = {secret} # mine")[0] == "db_password = [redacted password] # mine"


BEGINNING = [
    ("DB_PASSWORD=ab$cd&ef(12z{}", "ab$cd&ef"),
    ("DB_PASSWORD=a[b,%!!>$${}", "a[b,%!!>"),  # only where a line begins is it no code
    ("machine example{}.org login ada password correct9horse", "correct9horse"),
    ("It is lost, {}: -----BEGIN RSA PRIVATE KEY-----", "BEGIN RSA"),
]


@pytest.mark.promise(26)
@pytest.mark.parametrize(("text", "secret"), BEGINNING)
def test_a_secret_is_found_in_each_of_many_texts_as_in_one(text: str, secret: str) -> None:
    """All were looked at as one line: where one ended, no other began, and what passed so was never looked at again."""
    for number in range(40):  # each time others come first
        clean, counts = Redactor().clean([f"the text {number}, with", text.format(number), "the last of them"])
        assert secret not in str(clean)
        assert counts.total() == 1


@pytest.mark.promise(26)
@pytest.mark.parametrize("own", [r"^EMP-\d{6}$", r"\AEMP-\d{6}\z", r"^EMP-\d{6}", r"EMP-\d{6}$"])
@pytest.mark.parametrize("text", ["EMP-123456", "EMP%2D123456", '["EMP-123456"]'])
def test_a_pattern_of_the_users_may_say_where_a_text_begins_and_ends(own: str, text: str) -> None:
    for number in range(20):
        clean, counts = Redactor(own=[own]).clean([f"the text {number}, with", text, "the last of them"])
        assert text not in clean
        assert counts == {"own pattern": 1}


EDGES = {
    "lines of JSON": lambda secret: json.dumps({"out": f"it says\n{secret}\n"}) + "\n" + json.dumps({"code": 0}),
    "torn JSON": lambda secret: json.dumps({"out": f"it says\t{secret}\n"})[:-1],
    "a literal": lambda secret: repr([f"it says\n{secret}"]),
    "a colour": lambda secret: f"\x1b[1;32m{secret}\x1b[0m",
    "a colour, written out": lambda secret: f"\\u001b[32m{secret}\\u001b[0m",
    "a code": lambda secret: f"\\u0022{secret}\\u0022",
}


@pytest.mark.promise(26)
@pytest.mark.parametrize("edge", EDGES.values(), ids=EDGES)
@pytest.mark.parametrize(
    "secret", [*TOKENS.values(), "Authorization: Basic dXNlcjpwYXNz", "Cookie: session=0123456789"]
)
def test_a_letter_that_belongs_to_an_escape_hides_no_beginning(secret: str, edge: Any) -> None:
    """`\\n` before a token was read as the letter n, and so was the end of a colour."""
    clean, counts = redact({"text": edge(secret)})
    assert secret.split(" ")[-1] not in clean["text"]
    assert counts.total() == 1


LINES = KEY.split("\n")
KEYS = {
    "of Windows": "\r\n".join(LINES),
    "with numbers": "\n".join(f"{number:6}\t{line}" for number, line in enumerate(LINES, 1)),
    "of a tool": "\n".join(f"{number:6}→{line}" for number, line in enumerate(LINES[:9], 1)),
    "added": "\n".join(f"+{line}" for line in LINES),
    "taken away": "\n".join(f"-{line}" for line in LINES),
    "on one line": "\\n".join(LINES),
    "on one line, torn": "\\\\n".join(LINES[:9]),
    "with headers, torn": "\n".join(
        [LINES[0], "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,AB12", "", *LINES[1:9]]
    ),
    "after the word of one": "It begins with -----BEGIN PRIVATE KEY-----, then:\n" + KEY,
    "in a list": json.dumps([{"lines": [f"+{line}" for line in LINES]}]),
    "of PuTTY": "\n".join(["PuTTY-User-Key-File-3: ssh-rsa", "Private-Lines: 20", *LINES[1:-1], "Private-MAC: 0"]),
    "of SSH2": KEY.replace("-----", "----").replace("BEGIN RSA", " BEGIN SSH2 ENCRYPTED").replace("KEY-", "KEY -"),
}


@pytest.mark.promise(26)
@pytest.mark.parametrize("text", KEYS.values(), ids=KEYS)
def test_a_private_key_is_found_in_every_shape(text: str) -> None:
    clean, counts = redact({"text": text, "list": text.split("\n")})
    assert "IBAAKCAQEA" not in str(clean)
    assert set(counts) == {"private key"}


@pytest.mark.promise(26)
def test_whoever_speaks_of_a_private_key_is_heard_to_the_end() -> None:
    """All that came after the word, to the end of the text, was hidden with it."""
    said = "if text.startswith('-----BEGIN RSA PRIVATE KEY-----'):\n    return read_the_rest_of(text)\n" * 20
    assert redact({"said": said, "list": ["-----BEGIN PRIVATE KEY-----, or so", "and what follows"]})[1] == {}


PLAIN = [
    "The token: something that you send along",
    "used 128000 tokens: 86000 of them in the context",
    "context_tokens: 123456789",
    "api_key = os.environ['API_KEY']",
    "token=get_token(request)",
    "password = settings.database.password",
    "API_TOKEN=read_token(path)",
    '{"name": "token", "value": 7, "text": "The value of it"}',
    "<token>identifier</token>",
    "https://somebody.with.a.long.name@example.org/a.git",
    "docker run -p 127.0.0.1:8080:80 shop",
    "MY_TOKEN=$OTHER_TOKEN",
    "commit 45132020f2bf0c8a097cca87459aa7adc443687b",
    "session 9f1c2d3e-4b5a-6789-abcd-ef0123456789",
    "https://github.com/fractary/core/pull/17#discussion_r1",
    "git@github.com:fractary/core.git",
    "src/holdfast/stores/sqlite_view.py:120",
    "cp-7kzjpfgwag run-4x9k2m7pq3 ses-0123456789",
    "TOKEN_PASSWORD=$HOME/.token",
    "password = $config->password1",
    'password: "${DB_PASSWORD_2}"',
    'TOKEN="$(cat token_2.txt)"',
    "SSH_SECRET=/home/dev/.ssh/id_ed25519",
    "private_key: /etc/ssl/private/Shop2024-Server.pem",
    '"token": "/oauth2/token?grant_type=client_credentials"',
    "secret: /run/secrets/7f3aXk9vQ2mLp7Rt4Wz8",
    "first_pass: Filter22",
    "render_pass = shadow_map_2",
    "compass: N42E17",
    "The password is identified by its name",
    "IDENTIFIED BY '$PASSWORD'",
    "openssl rsa -passin pass:$PASSWORD",
    "openssl rsa -passin env:PASSWORD_2",
    "ENV API_TOKEN is-required-here",
    "ENV TOKEN_FILE /run/secrets/token",
    "http -a ada https://example.org:8080",
    "https://example.org/a-b -a c:defgh",
    "mongosh --port 27017",
    "docker run --name mongo -p 27017:27017 mongo:8",
    "It is served over http, so rsync -a example.org:data/shop does",
    "ALTER USER shop WITH PASSWORD '<password>'",
    "x['token'] == 'something-else'",
]
CODE = [
    "MAX_TOKENS = 200_000",
    "MAX_TOKENS=1_000_000",
    "tokens: 123456/200000",
    "Tokens: 45.2k/200k",
    "tokens: ~1.25M/2M, or 62.5%",
    "tokens: 1234.567",
    "total_tokens: uint64",
    "privateKey: Uint8Array",
    "token: Uint8Array|null;",
    "secret: bytes32",
    "token: string|null;",
    "token: str|None = None",
    "password2 = form.password1",
    "self.token = self.config.token2",
    "login(password=form.password1, token=args.token_2)",
    "ssl_private_key = conf/ssl/key.pem",
    "SSL_PRIVATE_KEY=conf/ssl/key.pem",
    "private_key: certs/server.pem",
    'private_key = "certs/server-2.p12"',
    "secret: src/auth/secret.ts",
    "token: src/authTokens/TokenStore2.tsx",
]
VALUES: list[Any] = [
    {"Authorization": "Bearer ${GITHUB_TOKEN}"},
    {"Authorization": "Bearer <your token 1>"},
    {"cookie": "^0.17.1 || >=1"},
    {"tough-cookie": ">=4.1.3 <5"},
    {"password": "/run/secrets/db_password"},
    {"password": "$DB_PASSWORD_2"},
    {"password": ["The password must have at least 8 characters."]},
    {"secrets": ["DB_PASSWORD", "API_TOKEN"]},
    {"tokens": ["tokenization", "beginning", "something-else"]},
    ["Authorization", "Content-Type", "X-Api-Key", "X-Requested-With"],
    ["authorization", "What a user may do"],
    ["cookie", "express-session@1.17.3"],
    ["token", "toolu_0123456789"],
    {"tokens": "45.2k/200k", "max_tokens": "1_000_000"},
    {"private_key": "certs/server.pem"},
]


# Passwords that are nearly what stands above
NEARLY = [
    ("password = 200_000x", "200_000x"),
    ("db_password: 12.34-56/78", "34-56/78"),
    ("password: uint6412", "uint6412"),
    ("secret = pa|ss|w0rd", "pa|ss|w0rd"),
    ("host=db password=correct|horse", "correct|horse"),
    ("token: form.Xk9vQ2mLp7", "form.Xk9vQ2mLp7"),
    ("API_TOKEN=form.password1", "form.password1"),
    ("secret: aB3/xY9.zQ", "aB3/xY9.zQ"),
    ("secret: Xk9vQ2mLp7Rt4Wz8/hello.pem", "Xk9vQ2mLp7Rt4Wz8"),
    ("secret: correct/horse+9.pem", "horse+9.pem"),
    ("secret = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "K7MDENG"),
]


@pytest.mark.promise(26)
@pytest.mark.parametrize(("text", "secret"), NEARLY)
def test_a_secret_that_resembles_code_is_found(text: str, secret: str) -> None:
    clean, counts = redact(text)
    assert secret not in clean
    assert counts.total() == 1


@pytest.mark.promise(26)
@pytest.mark.parametrize("text", CODE)
def test_numbers_types_attributes_and_files_are_no_secrets(text: str) -> None:
    for shape in ("{}", "so\n    {}\nit is", "+ {}", '{{"line": "{}"}}'):
        said = shape.format(text)
        assert redact({"text": said}) == ({"text": said}, {})


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_none_stays_as_it_is(text: str) -> None:
    assert redact({"text": text}) == ({"text": text}, {})


@pytest.mark.parametrize("value", VALUES, ids=json.dumps)
def test_what_only_has_the_name_of_a_secret_beside_it_stays_as_it_is(value: Any) -> None:
    assert redact({"body": value}) == ({"body": value}, {})


def test_a_member_is_known_by_its_name_and_only_its_text_goes() -> None:
    value = {"password": "correct horse", "token": 7, "key": "toolu_0123456789", "deep": [{"apiKey": "correct horse"}]}
    clean, counts = redact(value)
    assert (clean["password"], clean["deep"][0]["apiKey"]) == ("[redacted password]", "[redacted key]")
    assert (clean["token"], clean["key"], counts) == (7, "toolu_0123456789", {"password": 1, "key": 1})


MARKS = [
    ("postgres://admin:hunter2x9@db/shop", "postgres://admin:[redacted password]@db/shop"),
    (
        "https://hooks.slack.com/services/T0123456789/B0123456789/abcdef",
        "https://hooks.slack.com/services/[redacted webhook]",
    ),
    ("DB_PASSWORD=hunter2x9", "DB_PASSWORD=[redacted password]"),
    ("deploy_token: hunter2x9", "deploy_token: [redacted token]"),
    ('api_key = "hunter2x9"', 'api_key = "[redacted key]"'),
    ("JWT_SECRET=hunter2x9", "JWT_SECRET=[redacted secret]"),
    ("Authorization: Bearer abcdef0123456789", "Authorization: Bearer [redacted credential]"),
    ("Cookie: sid=abcdef0123456789", "Cookie: [redacted cookie]"),
    ("mysql -uroot -phunter2x9 shop", "mysql -uroot -p[redacted password] shop"),
    ("curl -u ada:hunter2x9 https://a.b", "curl -u ada:[redacted password] https://a.b"),
]


@pytest.mark.defect("The mark in place of a password in an address said that an address was hidden")
@pytest.mark.parametrize(("text", "clean"), MARKS)
def test_a_mark_names_what_was_hidden(text: str, clean: str) -> None:
    assert redact(text)[0] == clean


def test_what_stands_in_a_tuple_is_looked_at_too() -> None:
    assert redact({"files": (TOKENS["github"],)})[0] == {"files": ["[redacted token]"]}


def test_names_of_any_length_do_not_pile_up_in_memory() -> None:
    """Each of four thousand was remembered with the answer, and a name may have megabytes."""
    redactor = Redactor()
    tracemalloc.start()
    for number in range(30):
        redactor.clean({f"{number} {'.' * (1 << 20)}": "a value that is long enough"})
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 12 << 20


def test_a_name_that_is_a_secret_goes_too() -> None:
    clean, _ = redact({TOKENS["github"]: 1})
    assert list(clean) == ["[redacted token]"]


FORMS: list[Any] = [
    lambda secret: secret,
    lambda secret: base64.b64encode(secret.encode()).decode(),
    lambda secret: quote(secret, safe=""),
    lambda secret: json.dumps({"a": secret}),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("home", ["environment", ".env", ".env.local"])
def test_the_values_of_this_environment_are_found_in_every_form(tmp_path: Path, home: str, form: Any) -> None:
    secret = 'pass "word"/öst 1'
    environ = {"SHOP_PASSWORD": secret, "HOME": "/home/dev"} if home == "environment" else {}
    if home != "environment":
        (tmp_path / home).write_text(f"# mine\nPORT=8080\nexport SHOP_PASSWORD='{secret}'\n")
    clean, counts = Redactor(find_known(environ, tmp_path)).clean({"said": f"it is {form(secret)}, in /home/dev"})
    assert form(secret).strip("=") not in json.dumps(clean, ensure_ascii=False)
    assert "/home/dev" in clean["said"]
    assert counts == {"known value": 1}


LINES_OF_ENV = [
    ("A_SECRET=correct-horse-7 # of the shop", "correct-horse-7"),
    ("A_SECRET='correct horse #7' # of the shop", "correct horse #7"),
    ('export A_SECRET="correct horse 7"\t# of the shop', "correct horse 7"),
    ('A_SECRET="correct \\"horse\\" 7"', 'correct "horse" 7'),
    ("A_SECRET=correct-horse-7\r", "correct-horse-7"),
    ("SHOP_URL=postgres://ada:correct%2Fhorse%3A7@db/shop", "correct/horse:7"),
]


@pytest.mark.promise(26)
@pytest.mark.parametrize(("line", "secret"), LINES_OF_ENV)
def test_a_line_of_an_env_file_is_read_as_programs_do(tmp_path: Path, line: str, secret: str) -> None:
    (tmp_path / ".env").write_bytes(f"{line}\n".encode())
    assert Redactor(find_known({}, tmp_path)).text(f"it is {secret} so") == "it is [redacted known value] so"


@pytest.mark.promise(26)
@pytest.mark.parametrize(
    "line",
    [
        "STRIPE=Qm7xV2kLp9RtZ4wNc8Yb", "SENDGRID_KEY=9f8a7s6df98as7d6f98a7sdf", "AUTH_SALT='k3;w!p0-zq8(r5:t2v'",
        "APP_KEY=base64:8PrWl3kQ0vZ5yJ7tB2nH4mX6cD9fG1sA3uE5iO7pR0k=", "MAPS=AbQ2xYz90kLmPq37RsTu",
    ],
)  # fmt: skip
def test_a_value_of_an_env_file_is_known_by_itself_though_its_name_promises_nothing(tmp_path: Path, line: str) -> None:
    name, _, value = line.replace("'", "").partition("=")
    (tmp_path / ".env").write_text(f"{line}\n")
    assert Redactor(find_known({}, tmp_path)).text(f"it is {value} so") == "it is [redacted known value] so"
    assert find_known({name: value}, tmp_path / "none") == set()


@pytest.mark.promise(26)
def test_what_else_stands_in_an_env_file_is_no_known_value(tmp_path: Path) -> None:
    values = [
        "3000", "production", "https://Shop24.example.org/API/v2", "Europe/Berlin", "postgres://db:5432/Shop_2024",
        "0123456789abcdef0123456789abcdef01234567", "6f1c2d3e-4a5b-4c6d-8e7f-90a1b2c3d4e5", "My Shop 2024 of Berlin",
        "ghcr.io/Org/Shop:1.22.3-RC1", "--max-old-space-size=4096", "/srv/Shop2024/Xk9vQ2mLp7Rt4Wz8", "eu-central-1",
        "2024-01-02T10:11:12Z", "products_by_region", "us-east-1_Products2024", "ada@shop.example.org",
    ]  # fmt: skip
    values += [
        "feature/JIRA-1234-add-login", "MyCompany-Uploads-2024", "Qwen2.5-Coder-32B-Instruct", "products_by_region_v2",
        "com.example.shop24.MainApp12", "ShopIntegrationTests2024", "arn:aws:iam::123456789012:role/DeployRole",
        "-XX:MaxMetaspaceSize=512M", "created_at_2024_desc", "id_ed25519_deploy_prod", "uploads/2024/monthly-reports",
    ]  # fmt: skip
    lines = [f"PLAIN_{n}={value}\nPLAIN_{n}B='{value}'\nSORT_{n}_KEY={value}\n" for n, value in enumerate(values)]
    lines += ["AGE_PUBLIC_KEY=age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p\n"]
    (tmp_path / ".env").write_text("".join(lines))
    assert find_known({}, tmp_path) == set()


@pytest.mark.promise(18, 19)
def test_of_a_file_so_many_values_are_judged_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All were: twenty files of a megabyte, which a repository can bring, held every command up for half a minute."""
    judged: list[str] = []
    monkeypatch.setattr(environment, "is_odd", lambda part: judged.append(part))
    (tmp_path / ".env").write_text("".join(f"N{n}=Ab{n}cdEFgh{n:010}\n" for n in range(5_000)))
    find_known({}, tmp_path)
    assert 0 < len(judged) <= MOST_VALUES


@pytest.mark.promise(26)
def test_a_file_pushes_out_no_value_of_the_environment_or_of_another_file(tmp_path: Path) -> None:
    """A cloned repository brings an example with as many long values as there is room for."""
    many = "".join(f"A_{number}_SECRET={number:x<80}\n" for number in range(MOST_VALUES + 100))
    for number in range(MOST_FILES + 5):
        (tmp_path / f".env.{number:02}").write_text(many.replace("x", chr(97 + number)))
    theirs = {".env": "correct-horse-7", ".env.local": "correct-horse-8", ".env.05": "correct-horse-9"}
    for name, secret in theirs.items():
        (tmp_path / name).write_text(f"SHOP_PASSWORD={secret}\n")
    environ = {f"SHOP_{number}_PASSWORD": f"battery-{number}" for number in range(MOST_VALUES + 100)}
    found = find_known(environ, tmp_path)
    assert {*environ.values(), *theirs.values()} <= found
    assert len(found) <= len(environ) + MOST_VALUES


def test_place_is_no_secret_though_its_name_promises_one(tmp_path: Path) -> None:
    environ = {
        "PWD": "/home/dev/shop",
        "CREDENTIALS": "~/secrets.json",
        "TOKEN": "./token.txt",
        "PASSWORD": "12345678901",
        "OLDPWD": "/srv/Shop2024/Xk9vQ2mLp7Rt4Wz8",
        "SHOP_SECRET": "/key_2.pem",
    }
    assert find_known(environ, tmp_path) == set()


NO_VALUES = [
    "accessToken", "change_me", "CHANGE-ME", "ChangeMe", "Passwort", "CHANGEME", "********", "xxxxxxxxxxxxxxxx",
    "${DB_PASSWORD}", "$GH_TOKEN_CI", "$(cat token_2)", "$HOME/.token", "<your token 1>", "{{ token_1 }}",
    "[a token 1]", "certs/server.pem", "1_000_000",
]  # fmt: skip
REAL_VALUES = [
    "*Abc123!", "%9dkX72mLq", "<Abc123!", "[x]Abc123!", "{Abc123}!", "XkQvLmRt", "aXkqvLmR", "change_m3", "$ecretPass9",
    "correctHorseBattery", "correct-horse-battery", "__________x", "********1",
]  # fmt: skip


@pytest.mark.promise(26)
@pytest.mark.parametrize("value", NO_VALUES)
@pytest.mark.parametrize("home", ["environment", ".env.example"])
def test_a_name_or_what_is_yet_to_be_filled_in_is_no_known_value(tmp_path: Path, home: str, value: str) -> None:
    """An example of a project hid them in all that was said: `const [redacted known value] = …`."""
    (tmp_path / ".env.example").write_text(f"TOKEN_KEY='{value}'\n" if home != "environment" else "")
    known = find_known({"TOKEN_KEY": value} if home == "environment" else {}, tmp_path)
    said = f"const {value} is what it says"
    assert Redactor(known).text(said) == said


@pytest.mark.promise(26)
@pytest.mark.parametrize("value", REAL_VALUES)
def test_a_known_value_may_begin_as_what_is_yet_to_be_filled_in_does(tmp_path: Path, value: str) -> None:
    (tmp_path / ".env").write_text(f"TOKEN_KEY='{value}'\n")
    assert value in find_known({}, tmp_path)
    assert find_known({"TOKEN_KEY": value}, tmp_path / "none") == {value}


def test_without_secrets_nothing_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / ".env").symlink_to("/etc/passwd")
    (tmp_path / ".env.raw").write_bytes(b"A_TOKEN=\xff\xfe\xff\xfe\xff\xfe\xff\xfe")
    assert find_known({"TOKEN": "short", "PATH": "/usr/bin:/bin"}, tmp_path) == set()
