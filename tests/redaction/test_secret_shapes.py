"""Secrets in the shapes that programs and people give them, and code that has such a shape and holds none."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.redaction.environment import find_known
from holdfast.redaction.redactor import Redactor

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


LINES = [
    "db_password: {}\n",
    "shop.password={}",
    "  - DB_PASSWORD={}\n",
    "docker run -e DB_PASSWORD={} shop",
    "DB_PASSWORD={}",
]
LINES += ["tool --password {} --now", 'password = "{}"', "API_TOKEN: '{}'"]
SIGNED = [
    "Tr0ub&4dor3xyz",
    "Tr0ub4dor&3xyz",
    "ab$cd9efghijk",
    "Tr0ub4dor$3xyz",
    "*Tr0ub4dor3",
    "%Tr0ub4dor3",
    "Tr0ub4d,or3xyz",
]
SIGNED += ["Tr0ub4dor;3xyz", "Tr0ub4d(or3xyz", "Tr0ub4dor\\3xyz", "Tr0ub4dor>3xyz"]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("secret", SIGNED)
def test_a_password_is_found_to_its_end_whatever_signs_it_holds(line: str, secret: str) -> None:
    assert hides(line.format(secret), secret)


AT_THE_END = ["Tr0u;b4dor3xyz", "ab(cd9efghijk", "abcdefgh(12345", "abcdefgh<12345", "ab,cd9efghijk", "API)key9key"]


@pytest.mark.parametrize("secret", AT_THE_END)
def test_what_code_would_not_end_a_line_with_is_a_password(secret: str) -> None:
    assert hides(f"db_password: {secret}\nuser: shop", secret)


PHRASES = ['API_KEY="{} {}"', "TOKEN='{} {}'", 'password="{}\\"{}"', 'DB_PASSWORD="{}\\n{}"', 'password: "[{}{}"']
PHRASES += ["password = '<{}{}'", '"password": "{}\\\\{}"']


@pytest.mark.parametrize("line", PHRASES)
def test_a_secret_in_quotes_may_hold_blanks_escapes_and_brackets(line: str) -> None:
    parts = "Tr0u" + "b4dor", "4dor3" + "xyz"
    assert hides(line.format(*parts), parts[0])
    assert hides(line.format(*parts), parts[1])


# What is hidden of a line, and what else stands in it
BESIDE = [
    ("https://example.org/?access_token={}&page=2", "&page=2"),
    ("Server=db;Password={};Database=shop", ";Database=shop"),
    ("connect(user=a,password={},host=b)", ",host=b)"),
    ("<p>password={}</p>", "</p>"),
    ("(see password={}), and go on", "), and go on"),
    ("password: {}; user: b", "; user: b"),
    ("`password={}` is it", "` is it"),
]


@pytest.mark.parametrize(("line", "kept"), BESIDE)
def test_what_stands_behind_a_password_stays(line: str, kept: str) -> None:
    assert hides(line.format(SECRET))
    assert redact(line.format(SECRET))[0].endswith(kept)


CODE = [
    "password=get_password()", "token: Token[str]", "password: Optional[str] = None", "token = parser.peek2()[1]",
    "login(password=form.password,token=args.token2)", "f(tokens=3200).agent", "token: Vec<Token2>,",
    "token = foo2(bar,",
    "password: <your-password-1>", 'password: "<the password 1>"', "password: {{ .Values.password1 }}",
    "password: {password1}", "token: %(token_1)s", "password: ********", "PASSWORD=%PASSWORD_1%",
    'token: "{{ the token 1 }}"', "password=ab$PASSWORD_1", "token=user${ID_1}", "secret: a.b2[c3]",
    "tokens: list[dict[str,int64]]", "token: &Token2,", "API_TOKEN=read_token(path_2)",
]  # fmt: skip


@pytest.mark.parametrize("line", CODE)
def test_code_and_what_is_yet_to_be_filled_in_are_no_passwords(line: str) -> None:
    for shape in ("{}", "so\n    {}\nit is", "+ {}"):
        said = shape.replace("{}", line)
        assert redact({"text": said}) == ({"text": said}, {})


@pytest.mark.parametrize("secret", ["$tr0ng!Pass9", "$tr0ngPass9", "[Br4cket9x", "{Brace9xyz", "%9dkX72mLq"])
def test_the_password_of_an_address_may_begin_with_any_sign(secret: str) -> None:
    assert hides(f"postgres://shop:{secret}@db.example.org/shop", secret)


@pytest.mark.parametrize(
    "name", ["$DB_PASS", "${DB_PASS_1}", "$(cat a)", "{password}", "[password]", "<password>", "$dbPassword", "$1"]
)
def test_the_variable_in_an_address_is_no_password(name: str) -> None:
    said = f"postgres://shop:{name}@db.example.org/shop"
    assert redact(said) == (said, {})


ARGUMENTS = [
    ["mysql", "--password", "{}"],
    ["-y", "server", "--api-key", "{}"],
    ["tool", "--password", "{} and so on"],
    ["curl", "-u", "admin:{}", "https://example.org"],
    ["/usr/bin/mysql", "-uroot", "-p{}"],
    ["sshpass", "-p", "{}", "ssh", "example.org"],
    ["docker", "login", "-u", "shop", "-p", "{}"],
]


@pytest.mark.parametrize("words", ARGUMENTS, ids=" ".join)
@pytest.mark.parametrize("shape", [lambda words: words, lambda words: {"argv": words}, json.dumps])
def test_a_command_line_as_a_list_is_read_as_a_line(words: list[str], shape: Callable[[list[str]], object]) -> None:
    clean, counts = redact(shape([word.format(SECRET) for word in words]))
    assert SECRET[:5] not in json.dumps(clean)
    assert words[0] in json.dumps(clean)
    assert counts.total() == 1
    assert redact(clean) == (clean, {})


NO_ARGUMENTS: list[object] = [
    ["tool", "--token", "--password", "--secret-name"],
    ["tool", "--password", "the password of the shop"],
    ["-    token", "+    token2 = parser.peek2()"],
    ["ls", "-l", "docs/secrets1.md"],
    {"password": {"type": "string", "description": "At least 8 characters", "minLength": 8}},
    {"secrets": {"name": "shop-secret1", "version": "v1.2.3-beta1"}},
    {"tokens": {"input": 12345, "model": "the first of 2 models"}},
]


@pytest.mark.parametrize("value", NO_ARGUMENTS, ids=json.dumps)
def test_a_list_of_options_or_lines_and_a_schema_stay_as_they_are(value: object) -> None:
    assert redact(value) == (value, {})


@pytest.mark.parametrize(
    "value", [{"password": {"value": SECRET}}, {"secrets": {"db": SECRET}}, {"tokens": {"ci": SECRET}}]
)
def test_what_stands_one_by_one_below_a_secretive_name_is_hidden(value: object) -> None:
    clean, counts = redact(value)
    assert SECRET not in json.dumps(clean)
    assert counts.total() == 1


NAMES = ["DB_PASSWORD_PROD", "JWT_SECRET_OLD", "NPM_TOKEN_RO", "API_KEY_OPENAI", "TOKEN_GITHUB", "db_password_v2"]
OTHER_NAMES = [
    "TOKEN_LIMIT",
    "SECRET_NAME",
    "PASSWORD_MIN_LENGTH",
    "int_of",
    "TOKEN_EXPIRES_IN_DAYS",
    "API_KEY_HEADER",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_promises_a_secret_though_it_says_where_or_for_what(name: str, tmp_path: Path) -> None:
    for line in (f"{name}={SECRET}", f'  {name}: "{SECRET}"', f"docker run -e {name}={SECRET} shop"):
        assert hides(line)
    assert redact({name: SECRET})[1].total() == 1
    assert SECRET not in redact({name: SECRET})[0][name]
    assert find_known({name: SECRET}, tmp_path) == {SECRET}


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_what_is_told_of_a_secret_is_none(name: str, tmp_path: Path) -> None:
    value = {"text": f"{name}={SECRET}", name: SECRET}
    assert redact(value) == (value, {})
    assert find_known({name: SECRET}, tmp_path) == set()


ORDINARY = [
    'fetch(u, {credentials: "include"})', "fetch(u, { credentials: 'same-origin' })", "Unexpected token: 'export'",
    "def f(authorization: Optional[str] = Header(None)):", "authorization: Annotated[str, Header()]",
    "const authorization = req.headers.authorization", "headers: { Authorization: authHeader }",
    "axios.create({ headers: { Authorization: getToken() } })", 'authorization = request.headers.get("authorization")',
    "const authorization: AuthState = useAuth()", "Authorization: role-based access control",
    "authorization: AuthConfig;", "Authorization: see https://example.org/docs/v2/authorization",
]  # fmt: skip


@pytest.mark.parametrize("line", ORDINARY)
def test_ordinary_code_that_speaks_of_credentials_stays_as_it_is(line: str) -> None:
    assert redact({"text": line}) == ({"text": line}, {})


KNOWN = "tQ7/hW+9kZ" + "&pl<'=="
SIGNS = {"&": "\\u0026", "<": "\\u003c", "'": "\\u0027", "=": "\\u003d", "+": "\\u002B"}
WRITTEN = {
    "Go": ("&<", "time=1 body={}"),
    "Gson": ("&<='", "INFO {}"),
    "two lines of Go": ("&<", '{"a":1}\n{}'),
    "JSON in JSON": ("&<", json.dumps("INFO {}")[1:-1]),
}


@pytest.mark.parametrize(("signs", "line"), WRITTEN.values(), ids=WRITTEN)
def test_a_known_value_is_found_as_any_encoder_of_json_writes_it(signs: str, line: str) -> None:
    written = "".join(SIGNS[sign] if sign in signs else sign for sign in KNOWN)
    for form in (written, written.replace("&", "\\u0026"), KNOWN.replace("/", "\\/"), html.escape(KNOWN)):
        clean, counts = Redactor([KNOWN]).clean(line.replace("{}", f'{{"k":"{form}"}}'))
        assert "hW+9kZ" not in clean
        assert counts == {"known value": 1}


@pytest.mark.parametrize("before", range(40, 60))
@pytest.mark.parametrize("size", [64, 76])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\\n", "\n    "])
def test_a_secret_that_goes_on_over_the_end_of_a_line_of_base64_is_found(before: int, size: int, end: str) -> None:
    word = base64.b64encode(f"{'a' * before}{KNOWN}{'b' * 70}".encode()).decode()
    lines = [word[at : at + size] for at in range(0, len(word), size)]
    clean, counts = Redactor([KNOWN]).clean(f"It is:{end}{end.join(lines)}{end}and goes on")
    assert counts.total() == 1
    assert [line for line in lines if line in clean] != lines
    assert clean.startswith("It is:")
    assert clean.endswith("and goes on")


CHANCE = "q7Xm" + "ZpR2vLkT9sWb" + "YcE4nHgJ"
LETTERED = "xdMbyGgBf" + "BjiDICcSbOX"  # chance leaves digits out, too


@pytest.mark.defect("Values of `HASH_SALT` and of most `…_PAT` variables were stored as they are", promise=26)
@pytest.mark.parametrize("name", ["HASH_SALT", "PASSWORD_SALT", "GITHUB_PAT", "CI_PAT", "ALGOLIA_ADMIN_KEY"])
@pytest.mark.parametrize("line", ["{}={}", 'export {}="{}"', "{}: {}", '"{}": "{}",', "docker run -e {}={} shop"])
@pytest.mark.parametrize("secret", [CHANCE, LETTERED])
def test_salts_keys_and_personal_tokens_are_found_by_the_name_of_their_variable(
    name: str, line: str, secret: str
) -> None:
    assert hides(line.format(name, secret), secret)
    assert redact({name: secret})[1].total() == 1


@pytest.mark.defect("A password of letters alone was stored where YAML sets it without quotes", promise=26)
def test_letters_that_chance_has_mixed_are_a_password_and_a_name_is_none() -> None:
    assert hides(f"POSTGRES_PASSWORD: {LETTERED}\n", LETTERED)
    for name in ("passwordFromEnvironment", "dbPasswordByIdOrUrl", "DefaultPasswordEncoder"):
        assert redact(f"password: {name}") == (f"password: {name}", {})


MAPBOX = "pk.eyJ1Ijoic2hvcCIsImEiOiJjbDk5" + "In0.q7XmZpR2vLkT9sWbYcE4nH"
POSTHOG = "phc_" + 2 * CHANCE
KEY_OF_DSN = "0f4a1c3e5b7d9f0a" + "1b2c3d4e5f607182"
OPEN = [
    f"NEXT_PUBLIC_POSTHOG_KEY={POSTHOG}",
    f"posthog.init('{POSTHOG}', {{}})",
    f"the token was {POSTHOG}",
    f"NEXT_PUBLIC_MAPBOX_TOKEN={MAPBOX}",
    f"MAPBOX_TOKEN: {MAPBOX}",
    f"mapboxgl.accessToken = '{MAPBOX}';",
    f"https://api.mapbox.com/styles/v1?access_token={MAPBOX}&fresh=true",
    f"SENTRY_DSN=https://{KEY_OF_DSN}@o12.ingest.us.sentry.io/345",
    f'Sentry.init({{ dsn: "https://{KEY_OF_DSN}@sentry.example.org/3" }});',
]


@pytest.mark.defect("Keys that every browser loads, of PostHog, Mapbox and Sentry, were hidden")
@pytest.mark.parametrize("line", OPEN)
def test_what_every_browser_loads_stays(line: str, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"MAPBOX_TOKEN={MAPBOX}\nPOSTHOG_API_KEY={POSTHOG}\n")
    assert find_known({"MAPBOX_TOKEN": MAPBOX}, tmp_path) == frozenset()
    for value in (line, {"text": line}, {"mapbox_token": MAPBOX, "posthogApiKey": POSTHOG}):
        assert redact(value) == (value, {})


@pytest.mark.parametrize(
    "line",
    [
        f"https://{KEY_OF_DSN}:{{}}@o12.ingest.sentry.io/345",
        f"git clone https://{CHANCE}{{}}@sentry.example.org/team/3.git",
    ],
)
def test_the_private_key_of_a_dsn_and_the_token_of_another_address_are_hidden(line: str) -> None:
    assert hides(line.format(SECRET), SECRET)


NEIGHBOURS = [
    '("input_tokens", "cache_creation_input_tokens")',
    '{"tokens": usage.tokens, "window": window}',
    'KINDS = ("password", "token", "credential")',
    '["username", "password", "passwordConfirm"]',
    "fields = ['api_key', 'api_secret', 'rate_limit_1m']",
    'allowedHeaders: ["Authorization", "Content-Type"]',
    "['x-api-key', 'x-auth-token', 'accept-language']",
    "Buffer.from(password, 'base64url')",
    'assert words == ("querytokens", "unicode61")',
    '\\"max_tokens\\", \\"temperature_2\\"',
    "log.info('token', 'creating')",
    'ACCESS_TOKEN = "access-token"',
    "STRING_TOKENS = /^[\\u0009\\u0020]+$/",
]


@pytest.mark.defect("The text behind a word like `tokens` in a list was hidden")
@pytest.mark.parametrize("line", NEIGHBOURS)
def test_the_next_text_of_a_list_stays(line: str) -> None:
    assert redact(line) == (line, {})


ARGUED = [
    'properties.setProperty("db.password", "{}")',
    'headers.set("x-api-key", "{}")',
    '["password", "{}"]',
    "['--password', '{}']",
]


@pytest.mark.parametrize("line", ARGUED)
def test_the_value_behind_a_comma_is_hidden(line: str) -> None:
    assert hides(line.format(SECRET), SECRET)


def test_a_text_that_no_name_would_be_is_hidden_wherever_it_stands_in_a_list() -> None:
    for line in ('["user", "password", "{}", 3]', '\\"password\\", \\"{}\\"'):
        assert hides(line.format(CHANCE), CHANCE)
