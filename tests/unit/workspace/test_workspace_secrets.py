"""Masking of secrets."""

from __future__ import annotations

import base64

import pytest

from app.engine.workspace.secrets import KeyBlocks, mask, spans

# Joined here, so that no scanner takes them for real ones.
SECRETS = [
    ("API key", "sk-" + "proj-abcDEF0123456789abcDEF0123456789"),
    ("API key", "sk-" + "ant-api03-Zz9_abc-DEF0123456789"),
    ("API key", "AIza" + "SyA1234567890abcdefghijklmnopqrstuv"),
    *(("API key", f"{one}abcDEF0123456789") for one in ("rk_live_", "sk_test_")),
    *(("token", f"gh{one}_" + "abcDEF0123456789abcDEF0123456789abcd") for one in "pousr"),
    *(("token", f"{one}abcDEF0123456789") for one in ("hf_", "npm_", "glpat-")),
    ("token", "github_pat_" + "11ABCDEFG0123456789_abcdefghij"),
    ("token", "xoxb-" + "1234567890-abcdefghij"),
    *(("access key", f"{one}ABCDEFGH12345678") for one in ("AKIA", "ASIA")),
    ("token", "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0.abcDEF123_-xyz"),
]
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0123\nabcd+/==\n-----END RSA PRIVATE KEY-----"
)
CONTROLS = [
    "9fceb02d0ae598e95dc970b74767f19372d61af8",
    "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 40).decode(),
    "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    '"signature": "' + base64.b64encode(bytes(range(255, 0, -1))).decode() + '"',
    "pip install sk-learn, sk-learn-contrib and sk-image-processing-tools",
    "https://example.org/a:b@c and mail me@example.org at 10:30",
    "bearer of good news; Bearer tokens are explained in chapter twelve",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "数据库的密码放在钥匙串里",
]


@pytest.mark.parametrize(("kind", "secret"), SECRETS)
@pytest.mark.parametrize("frame", ["{}", "key={}", '"{}"', "密钥是{}。", "- `{}`\n- next"])
def test_a_secret_is_masked_and_the_mask_is_seen(kind: str, secret: str, frame: str) -> None:
    found = mask(frame.format(secret))
    assert found.text == frame.format(f"[masked: {kind}]")
    assert found.kinds == (kind,)
    assert mask(found.text) == type(found)(found.text)


def test_a_key_block_goes_whole_also_when_it_is_cut() -> None:
    assert mask(f"before\n{PEM}\nafter").text == "before\n[masked: private key]\nafter"
    cut = PEM[: PEM.index("abcd") + 3]
    assert "MIIE" not in mask(f"before\n{cut}").text
    assert mask(f"before\n{cut}").text.startswith("before\n[masked: private key]")


def test_prose_after_an_open_key_block_stays() -> None:
    text = mask("-----BEGIN RSA PRIVATE KEY-----\n" + "MIIE" * 16 + "\nafter it\n- a note\n").text
    assert text == "[masked: private key]after it\n- a note\n"
    escaped = (
        '{"k": "-----BEGIN PRIVATE KEY-----\\nMIIEvQ0123456789abc\\n-----END PRIVATE KEY-----\\n"}'
    )
    assert mask(escaped).text == '{"k": "[masked: private key]\\n"}'


@pytest.mark.parametrize("word", ["Bearer", "bearer", "BEARER"])
def test_what_a_bearer_bears_goes(word: str) -> None:
    assert mask(f"Authorization: {word} abcDEF0123456789abcDEF").text.endswith(": [masked: token]")


def test_the_password_of_an_address_goes_and_the_rest_stays() -> None:
    found = mask("psql postgres://ines:hunter2!@db.example.org:5432/main")
    assert found.text == "psql postgres://ines:[masked: password]@db.example.org:5432/main"
    assert mask(found.text).kinds == ()


@pytest.mark.parametrize("text", CONTROLS)
def test_what_only_looks_random_is_left(text: str) -> None:
    assert mask(text).text == text
    assert mask(f"- {text}\n").kinds == ()


@pytest.mark.parametrize("secret", [secret for _, secret in SECRETS] + [PEM])
def test_where_a_secret_stands_is_known(secret: str) -> None:
    text = f"before {secret} after {secret}"
    at = text.rindex(secret)
    assert spans(text) == [(7, 7 + len(secret)), (at, at + len(secret))]


def test_secrets_inside_one_another_are_one_place() -> None:
    inner = SECRETS[0][1]
    text = f"see https://ines:{inner}@example.org"
    assert spans(text) == [(4, text.index("@"))]


@pytest.mark.parametrize("text", CONTROLS)
def test_other_text_is_no_such_place(text: str) -> None:
    assert spans(text) == []


def covered(*lines: str) -> list[bool]:
    blocks = KeyBlocks()
    return [blocks.covers(line) for line in lines]


def test_the_lines_of_a_key_block_are_known_one_by_one() -> None:
    assert covered("a", *PEM.split("\n"), "b") == [False, False, True, True, True, False]
    headers = PEM.replace("MIIE", "Proc-Type: 4,ENCRYPTED\n\nMIIE").split("\n")
    assert covered(*headers, "b") == [False, True, True, True, True, True, False]
    assert covered("it is \"" + PEM.split("\n")[0], "  MIIE", "- a note", "MIIE") == [
        False, True, False, False,
    ]  # fmt: skip
    assert covered(PEM.replace("\n", "\\n"), "MIIE") == [False, False], "closed on its own line"
    assert covered("-----BEGIN CERTIFICATE-----", "MIIB") == [False, False]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "-----BEGIN RSA PRIVATE KEY-----\n",
        "sk-",
        "a.",
        "eyJabc.",
        "bearer ",
        "x://",
        "A: b\n",
    ],
)
def test_masking_a_long_text_takes_no_time(unit: str) -> None:
    text = unit * (500_000 // len(unit))
    assert mask(text).kinds in ((), ("private key",) * (500_000 // len(unit)))
