"""A corpus of secrets and of what only looks like one, made from a seed: nobody's real secret is in it.

Every secret is put together here, so that nobody who looks for secrets finds any in this file.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import uuid
from collections.abc import Callable, Iterator

LETTERS = string.ascii_letters + string.digits
URLISH = LETTERS + "-_"
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + "234567"

Chance = random.Random


def some(chance: Chance, letters: str, number: int) -> str:
    return "".join(chance.choices(letters, k=number))


# provider: how its tokens are made
PROVIDERS: dict[str, Callable[[Chance], str]] = {
    "aws": lambda chance: "AKIA" + some(chance, UPPER, 16),
    "github": lambda chance: chance.choice(["ghp_", "gho_", "ghs_"]) + some(chance, LETTERS, 36),
    "github, fine": lambda chance: "github_pat_" + some(chance, LETTERS, 22) + "_" + some(chance, LETTERS, 59),
    "gitlab": lambda chance: "glpat-" + some(chance, URLISH, 20),
    "slack": lambda chance: "xoxb-" + some(chance, string.digits, 12) + "-" + some(chance, LETTERS, 24),
    "openai": lambda chance: "sk-proj-" + some(chance, URLISH, 64),
    "anthropic": lambda chance: "sk-ant-api03-" + some(chance, URLISH, 93),
    "stripe": lambda chance: "sk_live_" + some(chance, LETTERS, 24),
    "google": lambda chance: "AIza" + some(chance, URLISH, 35),
    "google, oauth": lambda chance: "ya29." + some(chance, URLISH, 80),
    "npm": lambda chance: "npm_" + some(chance, LETTERS, 36),
    "pypi": lambda chance: "pypi-AgEIcHlwaS5vcmc" + some(chance, URLISH, 150),
    "hugging face": lambda chance: "hf_" + some(chance, LETTERS, 34),
    "digital ocean": lambda chance: "dop_v1_" + some(chance, HEX, 64),
    "sendgrid": lambda chance: "SG." + some(chance, URLISH, 22) + "." + some(chance, URLISH, 43),
    "shopify": lambda chance: "shpat_" + some(chance, HEX, 32),
    "databricks": lambda chance: "dapi" + some(chance, HEX, 32),
    "vault": lambda chance: "hvs." + some(chance, URLISH, 90),
    "linear": lambda chance: "lin_api_" + some(chance, LETTERS, 40),
    "docker": lambda chance: "dckr_pat_" + some(chance, URLISH, 27),
    "groq": lambda chance: "gsk_" + some(chance, LETTERS, 52),
    "telegram": lambda chance: some(chance, string.digits, 10) + ":AA" + some(chance, URLISH, 33),
    "supabase": lambda chance: "sbp_" + some(chance, HEX, 40),
    "jwt": lambda chance: ".".join(_part(chance, name) for name in ("alg", "sub")) + "." + some(chance, URLISH, 43),
}  # fmt: skip


def _part(chance: Chance, name: str) -> str:
    data = json.dumps({name: some(chance, LETTERS, 16)}).replace(" ", "").encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def header(chance: Chance) -> tuple[str, str]:
    """A line with a credential in it, and the credential."""
    kind, secret = chance.randrange(6), some(chance, LETTERS, chance.randrange(16, 64))
    basic = base64.b64encode(f"{some(chance, LETTERS, 6)}:{secret}".encode()).decode()
    return [
        (f"Authorization: Bearer {secret}", secret),
        (f"authorization: Basic {basic}", basic.rstrip("=")),
        (f"curl -H 'Authorization: token {secret}' https://example.org/v1", secret),
        (f"X-Api-Key: {secret}", secret),
        (f"Proxy-Authorization: Bearer {secret}", secret),
        (f"curl -u robot:{secret} https://example.org", secret),
    ][kind]


def address(chance: Chance) -> tuple[str, str]:
    kind, secret = chance.randrange(6), some(chance, LETTERS + "!*~._-", chance.randrange(8, 30))
    host = f"{some(chance, string.ascii_lowercase, 6)}.example.org"
    return [
        (f"postgresql://shop:{secret}@{host}:5432/shop?sslmode=require", secret),
        (f"redis://:{secret}@{host}:6379/0", secret),
        (f"https://oauth2:{secret}@{host}/team/shop.git", secret),
        (f"mongodb+srv://root:{secret}@{host}/?retryWrites=true", secret),
        (f"amqp://guest:{secret}@{host}/%2f", secret),
        (f"git remote add x https://{some(chance, LETTERS, 5)}:{secret}@{host}/x", secret),
    ][kind]


def private_key(chance: Chance) -> tuple[str, str]:
    kind = chance.choice(["RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED ", "DSA "])
    lines = [some(chance, LETTERS + "+/", 64) for _ in range(chance.randrange(3, 30))]
    body = "\n".join(lines)
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----", lines[0]


# how a transcript shows a text
SHAPES: dict[str, Callable[[str], object]] = {
    "plain": lambda text: f"It said:\n{text}\nand went on.",
    "JSON-escaped": lambda text: json.dumps({"stdout": f"line\n{text}\n", "code": 0}),
    "JSON in JSON": lambda text: json.dumps({"result": json.dumps({"out": [text, "x"]})}),
    "shell": lambda text: {"command": f"cd /srv && echo {text} | tee log"},
    "tool result": lambda text: [{"type": "tool_result", "content": [{"type": "text", "text": f"> {text}\n"}]}],
}


def lock_files(chance: Chance) -> Iterator[str]:
    """What npm, poetry, cargo, go and yarn write: names, versions and hashes."""
    for _ in range(60):
        name, version = some(chance, string.ascii_lowercase, 9), f"{chance.randrange(9)}.{chance.randrange(30)}.1"
        digest = hashlib.sha512(chance.randbytes(8)).digest()
        short = hashlib.sha256(digest).hexdigest()
        full = base64.b64encode(digest).decode()
        yield f'"node_modules/{name}": {{\n  "version": "{version}",\n  "integrity": "sha512-{full}",\n'
        yield f'[[package]]\nname = "{name}"\nfiles = [\n    {{file = "{name}.whl", hash = "sha256:{short}"}},\n]\n'
        yield f'[[package]]\nname = "{name}"\nversion = "{version}"\nchecksum = "{short}"\n'
        yield f"example.org/{name} v{version} h1:{base64.b64encode(digest[:32]).decode()}\n"
        yield f'"{name}@^{version}":\n  resolved "https://r.example.org/{name}.tgz#{short[:40]}"\n'
        yield f"  integrity sha512-{full}\n"


def code(chance: Chance) -> Iterator[str]:
    """Lines that name a secret and hold none: numbers, types, attributes and files."""
    for _ in range(50):
        name = chance.choice(["token", "password", "private_key", "api_key", "secret", "accessToken"])
        word = some(chance, string.ascii_lowercase, chance.randrange(4, 9))
        used, most = chance.randrange(10**5, 10**7), chance.randrange(10**5, 10**7)
        yield f"MAX_TOKENS = {most:_}\ntokens: {used}/{most}\nTokens: {used / 1000:.1f}k/{most // 1000}k\n"
        yield f"total_tokens: {chance.choice(['uint64', 'float32', 'Int32Array', 'bytes32', 'uint8_t'])}\n"
        yield f"{name}: {chance.choice(['string|null', 'str|None', 'Uint8Array|undefined'])};\n"
        yield f"{name}2 = {word}.{name}1\nself.{name} = self.{word}.{name}_2\n"
        yield f"{name} = {word}/ssl/{word}.pem\n{name}: src/{word}/{name}.ts\n"


def ids(chance: Chance) -> Iterator[str]:
    """Ids, hashes and paths, each of which must stay whole."""
    for _ in range(200):
        yield str(uuid.UUID(bytes=chance.randbytes(16), version=4))
        yield hashlib.sha1(chance.randbytes(8)).hexdigest()
        yield hashlib.sha256(chance.randbytes(8)).hexdigest()
        yield f"toolu_01{some(chance, LETTERS, 22)}"
        yield f"msg_01{some(chance, LETTERS, 22)}"
        yield f"run-{some(chance, string.ascii_lowercase + string.digits, 10)}"
        yield f"/home/{some(chance, HEX, 6)}/src/{some(chance, LETTERS, 20)}/{some(chance, HEX, 7)}.py"
        yield f"claude-session-20260102-030405-{some(chance, string.ascii_lowercase, 6)}"
        yield f"sha256:{hashlib.sha256(chance.randbytes(8)).hexdigest()}"


def git_log(chance: Chance) -> str:
    lines = []
    for number in range(100):
        commit = hashlib.sha1(chance.randbytes(8)).hexdigest()
        lines += [f"commit {commit}", f"Author: A U Thor <author{number}@example.org>", "Date: Fri Jan 2 03:04:05 2026"]
        lines += ["", f"    Let the token of step {number} be read once ({commit[:7]})", ""]
        lines += [f"index {commit[:10]}..{commit[10:20]} 100644", f"--- a/src/auth/token_{number}.py"]
    return "\n".join(lines)
