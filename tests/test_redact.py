"""Secrets leave a text before it is written anywhere; what only looks like one stays.

No text here is a secret: each is put together at run time from a seeded
generator, so that neither this file nor its history holds a token.
"""

import json
import random
import string
import sys
import unicodedata
from collections.abc import Iterator
from re import _parser as sre_parse  # type: ignore[attr-defined]
from typing import Any

import pytest
from growth import grows_in_line
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import redact, secret_rules
from ledger.model import schema_path
from ledger.redact import scrub

DICE = random.Random(20261130)
LETTERS = string.ascii_letters + string.digits
URLSAFE = LETTERS + "-_"
LOWER_HEX = "0123456789abcdef"


def drawn(size: int, alphabet: str = LETTERS) -> str:
    """Return random text that holds a digit, a capital and a small letter where the alphabet has them."""
    while True:
        text = "".join(DICE.choice(alphabet) for _ in range(size))
        kinds = (str.isdigit, str.isupper, str.islower)
        if all(any(map(kind, text)) or not any(map(kind, alphabet)) for kind in kinds):
            return text


def password() -> str:
    """Return a password as people make them: letters, a sign, letters and digits."""
    return drawn(5, string.ascii_letters) + DICE.choice("!%*+") + drawn(6)


def key_lines(count: int, join: str = "\n") -> str:
    """Return lines as they stand in a key file."""
    return join.join(drawn(64, LETTERS + "+/") for _ in range(count))


def armoured(label: str, body: str, join: str = "\n") -> str:
    """Return `body` between the two lines of a key file."""
    dashes = "-" * 5
    return f"{dashes}BEGIN {label}{dashes}{join}{body}{join}{dashes}END {label}{dashes}"


PRIVATE = "PRIVATE " + "KEY"


def cases() -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, what stands before, the secret, what stands after."""
    yield "aws-access-key-id", "signed with ", "AK" + "IA" + drawn(16, string.ascii_uppercase + "234567"), " in eu-1"
    yield "credential", "AWS_SECRET_ACCESS_KEY=", drawn(40, LETTERS + "+/"), "\nAWS_REGION=eu-1"
    for start in ("p", "o", "u", "s", "r"):
        yield "github-token", "token ", f"gh{start}" + "_" + drawn(36), " expired"
    yield "github-token", "GH=", "github" + "_pat_" + drawn(22) + "_" + drawn(59), "\n"
    yield "gitlab-token", "header ", "gl" + "pat-" + drawn(20, URLSAFE), " was refused"
    yield "slack-token", "bot ", "xo" + "xb-" + drawn(12, string.digits) + "-" + drawn(24), " posts"
    yield "slack-webhook", "https://hooks.slack.com/services/", f"T{drawn(8)}/B{drawn(8)}/{drawn(24)}", " rings"
    yield "discord-webhook", "https://discord.com/api/webhooks/", f"{'1' * 18}/{drawn(60)}", " rings"
    yield "stripe-key", "charge with ", "sk" + "_live_" + drawn(24), " only"
    yield "webhook-secret", "endpoint has ", "wh" + "sec_" + drawn(32), " set"
    yield "anthropic-key", "client(", "sk" + "-ant-api03-" + drawn(80, LETTERS + "-"), ")"
    yield "openai-key", "used ", "sk" + "-proj-" + drawn(60), " today"
    yield "google-api-key", "maps?key=", "AI" + "za" + drawn(35), "&libraries=places"
    yield "google-oauth", "got ", "ya" + "29." + drawn(60), " back"
    yield "npm-token", "publish with ", "np" + "m_" + drawn(36), " please"
    yield "pypi-token", "upload -p ", "py" + "pi-AgEIcHlwaS5vcmc" + drawn(80, URLSAFE), " dist/*"
    yield "huggingface-token", "pulled by ", "h" + "f_" + drawn(34), " ok"
    yield "sendgrid-key", "mail by ", "S" + "G." + drawn(22) + "." + drawn(43), " ok"
    yield "twilio-key", "call by ", "S" + "K" + drawn(32, LOWER_HEX), " ok"
    yield "mailgun-key", "mail by ", "ke" + "y-" + drawn(32, LOWER_HEX), " ok"
    yield "telegram-token", "bot ", "123456789" + ":AA" + drawn(33), " ok"
    yield "azure-secret", "app has ", drawn(3) + "8Q" + "~" + drawn(34), " set"
    yield "jwt", "sent ", ".".join(("ey" + "J" + drawn(20), "ey" + "J" + drawn(40), drawn(43))), " twice"
    yield "private-key", "holds\n", armoured("RSA " + PRIVATE, key_lines(3)), "\nand more"
    yield "private-key", "> ", armoured("EC " + PRIVATE, key_lines(2, "\n> "), "\n> "), "\n> bye"
    yield "private-key", "    ", armoured("OPENSSH " + PRIVATE, key_lines(2, "\n    "), "\n    "), "\n    x"
    yield "private-key", 'KEY="', armoured(PRIVATE, key_lines(2, "\\n"), "\\n"), '"'
    yield "private-key", "cut off: ", armoured(PRIVATE, key_lines(2)).rpartition("\n")[0], "\n[...]"
    yield "private-key", "rest of it:\n", key_lines(2) + "\n" + "-" * 5 + f"END {PRIVATE}" + "-" * 5, "\n"
    yield "private-key", "client-key-data: ", "LS0tLS1CRUdJTiB" + "SU0Eg" + drawn(90), "\n"
    yield "url-password", "postgresql://app:", password(), "@db:5432/shop"
    yield "url-password", "redis://:", drawn(20), "@cache:6379/0"
    yield "url-password", "clone https://ci:", drawn(24), "@git.example.org/x.git"
    yield "authorization", "Authorization: Bearer ", drawn(40), "\nAccept: */*"
    yield "authorization", "Authorization: Basic ", drawn(20) + "==", "\nHost: x"
    yield "authorization", "curl -H 'Authorization: Token ", drawn(40, LOWER_HEX), "' https://x"
    yield "cookie", "Cookie: theme=dark; sessionid=", drawn(32), "; lang=de"
    yield "cookie", "PHPSESSID=", drawn(26), " was reused"
    yield "password", "DB_PASSWORD=", password(), "\nDB_HOST=db"
    yield "password", '{"user": "app", "password": "', password(), '"}'
    yield "password", '{\\"password\\": \\"', password(), '\\"}'
    yield "password", "db:\n  password: ", password(), "\n  host: db"
    yield "password", "[db]\npassword = '", password(), "'  # toml"
    yield "password", '{"password": "', password() + '\\"' + password(), '"}'
    yield "password", 'password="', password(), "\nthe quote is never closed"
    yield "password", "DB_PASSWORD=", drawn(6, string.digits), "\n"
    yield "password", 'passphrase: "', " ".join(("brass", "otter", "violet", "ninety7")), '"'
    yield "credential", "APP_KEY=", "base64:" + drawn(43) + "=", "\n"
    yield "password", "<password>", password(), "</password>"
    yield "password", "- name: DB_PASSWORD\n  value: ", password(), "\n"
    yield "password", "Server=db;User ID=sa;Password=", password(), ";Encrypt=yes"
    yield "password", "run --password ", password(), " --force"
    yield "password", "mysql -uroot -p", password(), " shop"
    yield "password", "docker login -u ci -p ", drawn(24), " registry.example.org"
    yield "password", "curl -u admin:", password(), " https://x"
    yield "password", "sshpass -p '", password(), "' ssh x"
    yield "password", "IDENTIFIED BY '", password(), "';"
    yield "password", "machine x login deploy password ", drawn(18), "\n"
    yield "password", "echo '", drawn(20), "' | docker login --password-stdin x"
    yield "credential", "HEROKU_API_KEY=", "-".join(drawn(size, LOWER_HEX) for size in (8, 4, 4, 4, 12)), "\n"
    yield "credential", "X-API-Key: ", drawn(40), "\n"
    yield "credential", "tool --api-key ", drawn(32), " run"
    yield "credential", "AccountKey=", drawn(86) + "==", ";EndpointSuffix=x"
    yield "credential", "encryption key is ", drawn(64, LOWER_HEX), " for now"
    yield "presigned-signature", "https://x/y?X-Amz-Signature=", drawn(64, LOWER_HEX), "&z=1"
    yield "presigned-signature", "https://x/y?se=1&sig=", drawn(43) + "%3D", "&z=1"
    yield "password-hash", "root:", "$6" + "$" + drawn(8) + "$" + drawn(86), ":19700:0:"
    yield "otp-seed", "otpauth://totp/x?secret=", drawn(32, string.ascii_uppercase + "234567"), "&issuer=x"
    yield "vendor-token", "vault: ", "hv" + "s." + drawn(90), " ok"
    yield "vendor-token", "issue tracker: ", "lin" + "_api_" + drawn(40), " ok"
    yield "seed-phrase", "recovery phrase: ", "able acid also apex arch army atom aunt axis baby back ball", "."
    yield "password", "the admin password is ", password(), " on staging"
    yield "password", "Das Passwort lautet ", password(), ", Benutzer admin"
    yield "password", "le mot de passe est ", password(), " (recette)"
    yield "password", "la contraseña es ", password(), " ahora"
    yield "password", "пароль от базы: ", password(), " и всё"
    yield "password", "数据库密码是 ", password(), "，用户 root"
    yield "password", "パスワードは ", password(), " です"
    yield "password", "비밀번호는 ", password(), " 입니다"
    yield "password", "login is admin / ", password(), " until SSO works"


CASES = list(cases())
CASE_IDS = [f"{number}-{case[0]}" for number, case in enumerate(CASES)]

LOOK_ALIKES = [
    "bisect says " + drawn(40, LOWER_HEX) + " broke it",
    "sha256:" + drawn(64, LOWER_HEX) + " is the image",
    "integrity sha512-" + drawn(86) + "==",
    "primary key 0f8fad5b-d9cb-469f-a165-70867728950e was reused",
    "continuation token: 0f8fad5b-d9cb-469f-a165-70867728950e",
    "cache_key = '" + drawn(40, LOWER_HEX) + "'",
    "next_page_token: " + drawn(30),
    "public key: " + drawn(43) + "=",
    "pk" + "_live_" + drawn(24) + " is publishable",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + drawn(43) + " me@host",
    armoured("CERTIFICATE", key_lines(2)),
    armoured("PUBLIC KEY", key_lines(2)),
    "look for '" + "-" * 5 + "BEGIN " + PRIVATE + "-" * 5 + "' in the pre-commit hook",
    "password: ${DB_PASSWORD}",
    "password: $DB_PASSWORD",
    "password: '{{ vault_db_password }}'",
    "token: <paste it here>",
    "secret: ********",
    "API_KEY=YOUR_API_KEY",
    "POSTGRES_PASSWORD=changeme",
    "password=xxxxxxxx",
    "curl -H 'Authorization: Bearer $TOKEN' https://x",
    "postgres://postgres:postgres@localhost/x",
    "postgres://user:password@host:5432/db",
    "https://registry.example.org:443/@types/node",
    "op://Engineering/prod-db/password",
    "password = os.environ['DB_PASSWORD']",
    "interface Login { password: string }",
    "token = response.json()['access_token']",
    "hmac.compare_digest(expected_token, supplied_token)",
    "docker run -p 8080:80 -u 1000:1000 nginx",
    "docker login -u ci -p 5432 is a mix-up with the port",
    "the password field guest_lan2 is for visitors",
    "mkdir -p build/Release2 and ssh -p 2222 host",
    "passwords are hashed with argon2id, see OPS-1923",
    "the password is base64-encoded before it is sent",
    "max_tokens=4096 and 875,553 tokens in all",
    "AKIA[0-9A-Z]{16} is the shape of an access key id",
    "Das Passwort muss 12 Zeichen haben",
    "密码长度至少12位",
]

PUBLISHED = [
    "AKIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
    "sk" + "_test_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
]


@pytest.mark.parametrize(("kind", "before", "secret", "after"), CASES, ids=CASE_IDS)
def test_a_secret_is_replaced_and_the_text_around_it_stays(kind: str, before: str, secret: str, after: str) -> None:
    """The answer is the text with exactly the secret's span replaced by its kind."""
    scrubbed = scrub(before + secret + after)

    assert scrubbed.text == f"{before}[REDACTED:{kind}]{after}"
    assert scrubbed.kinds == (kind,)


@pytest.mark.parametrize("text", LOOK_ALIKES, ids=range(len(LOOK_ALIKES)))
def test_what_only_looks_like_a_secret_is_kept(text: str) -> None:
    """Hashes, placeholders, references, public keys and code are the useful part of a note."""
    assert scrub(text) == (text, ())


@pytest.mark.parametrize("text", PUBLISHED, ids=range(len(PUBLISHED)))
def test_a_key_from_published_documentation_is_kept(text: str) -> None:
    """The allowlist holds exact strings, not everything that contains EXAMPLE."""
    assert scrub(f"docs show {text} as sample").kinds == ()


def test_a_key_that_only_contains_example_is_replaced() -> None:
    """A real key can hold any letters."""
    key = "AK" + "IA" + drawn(9, string.ascii_uppercase + "234567") + "EXAMPLE"

    assert scrub(f"key {key}").kinds == ("aws-access-key-id",)


def test_kinds_follow_the_place_of_the_secrets_and_repeat() -> None:
    """A caller can say what was taken out, in reading order."""
    one, two = "np" + "m_" + drawn(36), "gh" + "p_" + drawn(36)

    scrubbed = scrub(f"A={two};B={one};C={two}")

    assert scrubbed.kinds == ("github-token", "npm-token", "github-token")


def test_a_csv_row_loses_both_halves_of_a_key_pair() -> None:
    """A secret without a name beside it is found by its access key id."""
    pair = "AK" + "IA" + drawn(16, string.ascii_uppercase + "234567"), drawn(40, LETTERS + "+/")

    scrubbed = scrub("name,id,secret\nci," + ",".join(pair))

    assert scrubbed.text == "name,id,secret\nci,[REDACTED:aws-access-key-id],[REDACTED:aws-secret]"


@pytest.mark.parametrize("splitter", ["\u200b", "\u00ad", '" + "', "' . '", "\\\n"], ids=repr)
def test_a_split_token_is_replaced_whole(splitter: str) -> None:
    """Invisible characters, string concatenation and a continued line do not hide a token."""
    token = "gh" + "p_" + drawn(36)

    scrubbed = scrub(f"x = {token[:20]}{splitter}{token[20:]} end")

    assert scrubbed.text == "x = [REDACTED:github-token] end"


def test_a_value_longer_than_what_is_judged_is_replaced_to_its_end() -> None:
    """No tail of a long session token is left."""
    scrubbed = scrub(f"AWS_SESSION_TOKEN={drawn(1500)} next")

    assert scrubbed.text == "AWS_SESSION_TOKEN=[REDACTED:credential] next"


def test_a_mark_inside_a_value_does_not_protect_the_rest() -> None:
    """Someone who writes a mark into a secret cannot keep the secret."""
    left, right = password(), password()

    scrubbed = scrub(f"password={left}[REDACTED:jwt]{right}\npassword={left}[REDACTED:jwt]\npassword={right}")

    mark = "[REDACTED:password]"
    assert scrubbed.text == f"password={mark}[REDACTED:jwt]{mark}\npassword={mark}[REDACTED:jwt]\npassword={mark}"
    assert scrubbed.kinds == ("password",) * 4


def test_a_text_that_never_settles_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the last allowed scan everything from the first find on is replaced."""
    monkeypatch.setattr(redact, "ROUNDS", 0)

    scrubbed = scrub("before npm" + "_" + drawn(36) + " after")

    assert scrubbed == ("before [REDACTED:npm-token]", ("npm-token",))


def test_letters_that_grow_when_folded_do_not_shift_a_span() -> None:
    """`İ` becomes two characters in lower case; spans are those of the text."""
    scrubbed = scrub("İİİ Password=" + password() + " İ")

    assert scrubbed.text == "İİİ Password=[REDACTED:password] İ"


def test_a_missing_rule_file_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without rules nothing may be stored, so nothing is answered."""
    monkeypatch.setattr(secret_rules, "_rules", None)
    monkeypatch.setattr(secret_rules, "schema_path", lambda name: name + ".missing")

    with pytest.raises(FileNotFoundError):
        scrub("text")


def test_the_version_is_that_of_the_rule_file() -> None:
    """Whoever stores the version can scan again when it grows."""
    assert RULES["version"] == redact.RULES_VERSION


def test_an_unknown_name_of_the_module_is_an_attribute_error() -> None:
    """Reading the version lazily does not invent other names."""
    with pytest.raises(AttributeError):
        redact.__getattr__("RULES")


PIECES = st.one_of(
    st.text(max_size=12),
    st.sampled_from([before + secret + after for _, before, secret, after in CASES]),
    st.sampled_from([secret for _, _, secret, _ in CASES]),
    st.sampled_from(["password=", "token: ", "Cookie: ", "[REDACTED:jwt]", "\u200b", '" + "', "\\\n"]),
    st.sampled_from(["://u:", "@h", "\n", "-", "_", "=", ".", ":", "/"]),
)


@given(st.lists(PIECES, max_size=6).map("".join))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_scrubbing_is_total_deterministic_and_idempotent(text: str) -> None:
    """Any text has one answer, and that answer is left as it is."""
    once = scrub(text)

    assert scrub(text) == once
    assert scrub(once.text) == (once.text, ())


with open(schema_path("secrets.v1.json"), encoding="utf-8") as _file:
    RULES: dict[str, Any] = json.load(_file)

SECTIONS = ("prefixes", "shapes", "contexts", "commands")
ROWS = [(section, row) for section in SECTIONS for row in RULES[section]]
ROW_IDS = [f"{number}-{row['kind']}" for number, (_, row) in enumerate(ROWS)]


def only(section: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return the rule file with one rule."""
    return RULES | {name: [row] if name == section else [] for name in SECTIONS}


@pytest.mark.parametrize(("section", "row"), ROWS, ids=ROW_IDS)
def test_time_grows_with_the_length_of_a_hostile_text(
    section: str, row: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice the text takes about twice the time: no rule is quadratic in its own hint."""
    monkeypatch.setattr(secret_rules, "_rules", secret_rules.arranged(only(section, row)))
    hint = (row.get("hints") or row["starts"])[0]
    unit = hint + random.Random(hint).choice(["", "=", "a", "A1", " "])
    text = unit * (200_000 // len(unit))

    assert grows_in_line(scrub, text[:100_000], text, 0.1)


@pytest.mark.parametrize(
    "before",
    ["machine x.example login bob password ", "mysql -u root -p", "redis-cli -a ", "sshpass -p ", "password: "],
)
def test_a_password_of_letters_alone_is_masked_where_only_a_password_can_stand(before: str) -> None:
    """Letters whose case changes as no name's does: no digit or symbol is needed to tell."""
    secret = "xQ" + "wZrTq" + "LmNbVk" + "XyPd"

    assert secret not in scrub(before + secret).text
    assert scrub(before + "retryTimeoutMillis").text == before + "retryTimeoutMillis"


@pytest.mark.parametrize("row", [row for _, row in ROWS], ids=ROW_IDS)
def test_no_repeat_without_an_end_stands_in_another_repeat(row: dict[str, Any]) -> None:
    """What makes a pattern take exponential time cannot be written into a rule."""
    sources = [row.get("pattern") or row["body"], row.get("value") or ""]

    assert not any(_nests(sre_parse.parse(secret_rules._filled(RULES, source))) for source in sources)


def _nests(parsed: Any, inside: bool = False) -> bool:
    """Tell whether an endless repeat stands inside a repeat."""
    for name, held in parsed:
        if name in (sre_parse.MAX_REPEAT, sre_parse.MIN_REPEAT):
            _, most, what = held
            if (inside and most is sre_parse.MAXREPEAT) or _nests(what, inside or most > 1):
                return True
        elif any(_nests(part, inside) for part in _parts(held)):
            return True
    return False


def _parts(given: Any) -> list[Any]:
    if isinstance(given, sre_parse.SubPattern):
        return [given]
    return [part for one in given for part in _parts(one)] if isinstance(given, (list, tuple)) else []


@pytest.mark.parametrize(("section", "row"), ROWS, ids=ROW_IDS)
def test_twice_the_hostile_text_takes_twice_the_steps(
    section: str, row: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in calls, which no busy machine changes: accepted values, refused ones, names without values."""
    monkeypatch.setattr(secret_rules, "_rules", secret_rules.arranged(only(section, row)))
    start = (row.get("after") or [""])[0] + (row.get("hints") or row["starts"])[-1]
    for end in ("", "=", "9fA!x@qqqq ", "=otter!Raven22 x\n", " A1b2C3d4e5F6g7H8i9J0\n"):
        unit = start + end

        one, two = calls(unit * (6_000 // len(unit))), calls(unit * (12_000 // len(unit)))

        assert two < 2.5 * one + 400, unit


def calls(text: str) -> int:
    """Return how many calls one scrub makes, of Python's functions and of those written in C."""
    count = 0

    def counted(_frame: Any, event: str, _arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        scrub(text)
    finally:
        sys.setprofile(None)
    return count


def test_more_secrets_than_anybody_notes_are_replaced_with_their_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that is nothing but secrets is one secret: work on it has an end."""
    monkeypatch.setattr(redact, "MOST_SPANS", 3)

    scrubbed = scrub("".join(f"password={password()}\n" for _ in range(5)))

    assert scrubbed == ("[REDACTED:password]", ("password",))


@pytest.mark.parametrize("before", ["contraseña: ", "비밀번호는 ", "パスワード: ", "şifre: ", "mật khẩu: "])
def test_a_decomposed_text_loses_what_a_composed_one_loses(before: str) -> None:
    """NFD is the same text to a reader, and its characters keep their places."""
    secret = password()
    text = f"é {before}{secret} é"

    scrubbed = scrub(unicodedata.normalize("NFD", text)).text

    assert scrubbed == unicodedata.normalize("NFD", text.replace(secret, "[REDACTED:password]"))


@pytest.mark.parametrize("case", CASES, ids=CASE_IDS)
def test_line_ends_of_windows_change_nothing(case: tuple[str, str, str, str]) -> None:
    """CR LF around and inside a secret is read as LF, and stays where nothing was replaced."""
    kind, before, secret, after = (part.replace("\n", "\r\n") for part in case)

    assert scrub(before + secret + after) == (f"{before}[REDACTED:{kind}]{after}", (kind,))


def test_full_width_letters_are_letters() -> None:
    """What a reader takes for a password is one, however wide it is written."""
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in "Otter" + drawn(9))

    assert scrub(f"ｐａｓｓｗｏｒｄ＝{wide} ok").text == "ｐａｓｓｗｏｒｄ＝[REDACTED:password] ok"
