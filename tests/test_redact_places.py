"""Where secrets stand that no name announces, and where names announce none: packed words, rows, operators, fields."""

import base64

import pytest

from ledger.redact import scrub

KEY = "q7Rt" + "Zw2kXbP9" + "mVn4LsD8" + "yHc3JfG6" + "aTe5"
UUID = "3f2a9c1e-" + "7b4d-4e8a-" + "9c6f-1d2e3f4a5b6c"
MARKED = "Otter#" + "willow62!fal"


def packed(text: str) -> str:
    """Return a text in base64."""
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("said", [f"DB_PASSWORD={KEY}\nDB_HOST=db\n", f"https://ci:{KEY}@git.acme.dev/web"])
def test_a_word_that_holds_a_secret_in_base64_is_replaced_whole(said: str) -> None:
    """Whoever reads the ledger can unpack it."""
    found = scrub(f"echo {packed(said)} | base64 -d > .env")

    assert found.text == f"echo [REDACTED:{found.kinds[0]}] | base64 -d > .env"


@pytest.mark.parametrize(
    "said", ['{"event": "deploy", "env": "prod", "ok": true}', "wörter und ein Satz, sonst nichts"]
)
def test_a_word_that_says_nothing_secret_in_base64_is_kept(said: str) -> None:
    """Most packed text is a payload."""
    text = f"body: {packed(said)}"

    assert scrub(text).text == text


def test_bytes_in_base64_are_kept() -> None:
    """A picture is no text, though it has the letters of one."""
    text = f"data:image/png;base64,{base64.b64encode(bytes(range(64, 160))).decode()}"

    assert scrub(text).text == text


@pytest.mark.parametrize("operator", ["=", ":=", "::=", ":::=", "?=", "??=", "+=", ".=", "=>", "->"])
def test_every_operator_that_gives_a_value_leads_to_one(operator: str) -> None:
    """Makefiles, PHP and Perl assign in their own ways."""
    assert scrub(f'ACME_TOKEN {operator} "{KEY}"').text == f'ACME_TOKEN {operator} "[REDACTED:credential]"'


@pytest.mark.parametrize("ending", ["Pw==", "sid=", "PsK=", "Key="])
def test_the_padding_of_a_value_does_not_make_its_end_a_name(ending: str) -> None:
    """One of fifty keys in base64 ends like `pw=`; it was taken for a name without a value."""
    value = KEY + KEY[:8] + ending

    assert KEY[:8] not in scrub(f"AccountKey={value};EndpointSuffix=core").text


@pytest.mark.parametrize("value", ["HcIU_tLtdTRECgJHmNi-MVCuMSyrRCQDeLVQmOz", "srsLNTOsotRmmYsgscxlhWQtGmwSQrMb"])
def test_a_key_that_drew_no_digit_is_a_key(value: str) -> None:
    """Three of a hundred keys of twenty letters and digits have no digit."""
    for lead in ("API_TOKEN=", "deploy --token ", "X-Api-Key: "):
        assert value[:8] not in scrub(lead + value).text


@pytest.mark.parametrize("lead", ["", "kutu: ", "| x | ", "(", '"', "用 "])
def test_a_word_that_mixes_cases_digits_and_marks_is_a_password_anywhere(lead: str) -> None:
    """No name is needed: 80 MB of documents and code hold no such word that is none."""
    assert MARKED not in scrub(f"{lead}{MARKED} ok").text


@pytest.mark.parametrize(
    "text",
    [
        "see README.md#setup-2 and Class#method-name2",
        "q=c%2B%2B+Faq+lite and Foo%20bar28%2Fbaz",
        "50%off, 10*x, a Foo_Bar2 and x86-64!",
        "ODBC+Driver+18+for+SQL+Server",
    ],
)
def test_words_with_marks_that_are_no_passwords_are_kept(text: str) -> None:
    """Anchors, encoded addresses and sums have marks too."""
    assert scrub(text).text == text


@pytest.mark.parametrize(
    "rows",
    [
        "| user | password |\n|---|---|\n| admin | {} |",
        "user,password,role\nsvc,{},admin",
        "name;api key;since\nci;{};2026",
    ],
)
def test_a_cell_under_a_telling_head_is_replaced(rows: str) -> None:
    """A table names its secrets once, above."""
    assert scrub(rows.format(KEY)).text == rows.format("[REDACTED:password]")


@pytest.mark.parametrize(
    "text",
    [
        '{"note": "password reset", "status": "pending", "label": "quarantine"}',
        '{"project": "ferrypass", "kind": "paraphrase", "category": "practice"}',
        "the tests pass on Windows and on GitHub; log in to CloudWatch first",
        "credit-specifications --instance-ids i-1234567890abcdef0",
    ],
)
def test_the_value_of_another_field_is_no_password(text: str) -> None:
    """A word about passwords says nothing about what the next field holds."""
    assert scrub(text).text == text


def test_a_digest_is_the_argument_of_a_token_option_and_not_of_a_page() -> None:
    """What the option is called decides, as with assignments."""
    assert scrub(f"consul acl read -token {UUID}").text == "consul acl read -token [REDACTED:credential]"
    assert UUID in scrub(f"aws dynamodb list-tables --starting-token {UUID}").text


@pytest.mark.parametrize(
    "value", ["ENC[AES256_GCM,data:Fu2OCg8InTYFJdqLJhtP,iv:KRZucy0=]", "$ANSIBLE_VAULT;1.1;AES256"]
)
def test_a_sealed_value_is_kept(value: str) -> None:
    """It opens nothing without another key, and says how it was sealed."""
    text = f"password: {value}"

    assert scrub(text).text == text
