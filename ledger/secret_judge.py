"""Judge whether what stands at a rule's value place is a secret: not a placeholder, a reference, code, or a word.

Each judgment has a name that the rule file uses. Words and patterns stand in
that file; here is only how they are weighed. One file of 500 lines, since
every judgment asks for the same looks of a text and `CHECKS` names them all.
Lean path: stdlib only.
"""

from collections.abc import Callable
from typing import NamedTuple

from ledger.secret_rules import loaded, pattern

COPULA_REACH = 24
"""Characters before a value in which `is`, `:` or a quotation mark says that it is one."""

FIELD_REACH = 60
"""Characters before a value in which another name may claim it."""

NAMES_REACH = 28
"""Characters of a value in which whoever read it has looked for another name."""

ODD_PAIRS = 4.6
"""Mean weight of a text's letter pairs below which they look drawn: 93 % of ten drawn letters, 0.4 % of words."""


class Value(NamedTuple):
    """What stands at a rule's value place, with what a judgment may ask for.

    `before` is the folded text before the name, `between` what led from the
    name to the value; `loud` says that the name is in capitals, as in `DB_PASSWORD`.
    """

    text: str
    before: str = ""
    between: str = ""
    quoted: bool = False
    loud: bool = False


def is_secret(check: str, value: Value, whole: str) -> bool:
    """Say whether a judgment takes a value and no documentation has published it."""
    if not CHECKS[check](value):
        return False
    published = loaded().published
    if len(whole) not in published:
        return True
    import hashlib  # paid only by texts with a candidate

    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest() not in published[len(whole)]


def is_named_value(check: str, value: Value) -> bool:
    """Judge the value of a name; one that holds a name itself is left to that name."""
    is_outer = len(value.text) > NAMES_REACH and pattern("nested").search(value.text, NAMES_REACH - 20)
    return not is_outer and is_secret(check, value, value.text)


def is_rest(text: str) -> bool:
    """Say whether the beginning of a line looks like the rest of a token that was wrapped there."""
    if len(text) < 4 or pattern("assigning").match(text):
        return False
    if text.isalpha():
        return len(text) >= 6 and (_is_scrambled(text) or _is_odd(text))
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text)) and not _is_wordy(text)


def is_drawn(text: str) -> bool:
    """Say whether a value may go on in the next line: long, and not of words."""
    return len(text) >= 14 and (_is_random(text, 14) or _is_scrambled(text))


# -- what a text looks like --------------------------------------------------------------------------------------------


def _parts(text: str) -> list[str]:
    return [part for part in pattern("joins").split(text.lower().strip("[](){}<>")) if part]


def _is_placeholder(text: str) -> bool:
    """Say whether a value only holds the place of a secret (`<token>`, `$VAR`, `your-key-here`, `****`)."""
    words = loaded().words["placeholder"]
    for part in _parts(text):
        if part not in words and not (part[-1].isdigit() and part[:-1] in words):
            return len(set(text)) <= 1 or pattern("placeholder").match(text) is not None
    return True


def _is_ignorable(text: str) -> bool:
    """Say whether a value is a placeholder, names where a secret is kept, or is code that reads one."""
    if _is_placeholder(text):
        return True
    if text[:1] == "/" and pattern("keyed_path").match(text) and not _is_wordy(text):
        return False
    return any(pattern(name).match(text) for name in ("reference", "code", "public"))


def _is_wordy(text: str) -> bool:
    """Say whether a text is made of words and short numbers."""
    return all(map(pattern("wordy").match, pattern("joins").split(text)))


def _is_numbered(text: str) -> bool:
    """Say whether a text is made of words and digests, as the key of a cache is: `linux-npm-9f86…`."""
    return all(_is_digest(part) or _is_wordy(part) for part in _parts(text))


def _is_random(text: str, shortest: int = 12) -> bool:
    """Say whether a text looks drawn at random rather than made of words."""
    if len(text) < shortest or " " in text or len(set(text)) < 6:
        return False
    if not text.isalnum() and pattern("symbol").search(text.rstrip("=")):
        return True
    return not _is_wordy(text) and any(map(str.isdigit, text)) and sum(map(str.isalpha, text)) > 1


def _is_scrambled(text: str, shortest: int = 10) -> bool:
    """Say whether letters alone look drawn at random: their case changes more often than in any name made of words."""
    if len(text) < shortest or not (text.isascii() and text.isalpha()):
        return False
    if pattern("camel").match(text) and not _is_odd(text):
        return False
    changes = sum(text[at].islower() != text[at - 1].islower() for at in range(1, len(text)))
    return changes > 0.4 * len(text) or (changes > 1 and pattern("gibberish").search(text) is not None)


def _is_lettered(text: str) -> bool:
    """Say whether letters alone, with at most `-` and `_` between them, are long enough for a key and look drawn."""
    text = text.rstrip("=").replace("/", "").replace("+", "") if text.endswith("=") else text
    letters = text.replace("-", "").replace("_", "")
    if len(letters) < 16 or not letters.isalpha() or len(set(letters.lower())) < 8:
        return False
    return _is_scrambled(letters) or (letters == text and _is_odd(letters))


def _is_odd(text: str, shortest: int = 8) -> bool:
    """Say whether letters follow each other as in no language: the mean weight of their pairs is low."""
    if len(text) < shortest or not (text.isascii() and text.isalpha()):
        return False
    low, pairs = text.lower(), loaded().pairs
    weights = (int(pairs[(ord(low[at - 1]) - 97) * 26 + ord(low[at]) - 97]) for at in range(1, len(low)))
    return sum(weights) < ODD_PAIRS * (len(text) - 1)


def _is_digest(text: str) -> bool:
    """Say whether a text has the shape of a digest or of an identifier."""
    return bool(pattern("digest").match(text) or pattern("identifier").match(text))


# -- judgments of values by their names --------------------------------------------------------------------------------


def _token(value: Value) -> bool:
    """Judge what follows a token's known beginning: anything but `xxxx` and `your_token_here`."""
    words = loaded().words["placeholder"]
    return not all(part in words or not part[len(part) > 5 :].strip("x0*") for part in _parts(value.text))


def _dense(value: Value) -> bool:
    """Judge what stands where a key is expected: drawn, and no digest."""
    if _is_lettered(value.text):
        return True
    return not _is_ignorable(value.text) and _is_random(value.text) and not _is_digest(value.text)


def _loud(value: Value) -> bool:
    return value.loud and _dense(value)


def _is_innocent(value: Value) -> bool:
    """Say whether a name is one of a key that opens nothing: `cache_key`, `next_token`, `PUBLIC_…`."""
    before = value.before.rstrip(" _-\"'")
    return (
        _longest_end(before, loaded().innocent) > _longest_end(before, loaded().strong)
        or value.before.endswith((":", "/"))
        or pattern("public_name").search(value.before) is not None
        or pattern("hashed").search(value.before) is not None
    )


def _longest_end(text: str, words: tuple[str, ...]) -> int:
    """Return the length of the longest of the words that a text ends with: `admin` is no `min`."""
    return max((len(word) for word in words if text.endswith(word)), default=0) if text.endswith(words) else 0


def _keyed(value: Value) -> bool:
    """Judge `key = value`: what stands before the name says whether a digest is a credential."""
    text, name = value.text, value.between.lower()
    is_secret_name = name.startswith(("secret", "pepper", "macaroon"))
    if (is_secret_name and value.before.endswith((":", "/"))) or (not is_secret_name and _is_innocent(value)):
        return False
    if pattern("hashed_name").search(value.before):
        return False
    if pattern("cell").search(value.between):
        return _beside(value)
    lettered = _is_lettered(text)
    drawn = lettered or (value.quoted and pattern("keyboard").match(text) is not None)
    if _is_placeholder(text) or (not drawn and _is_ignorable(text)):
        return False
    parent = "" if pattern("identifier").match(text) else "{[]:\n"
    before = value.before.rstrip(" _-.\"'" + parent)
    strong = before.endswith(loaded().strong) or is_secret_name
    strong = strong or pattern("own_header").search(value.before) is not None
    assigned = pattern("assigned").search(value.between) is not None
    if _is_digest(text):
        opens = is_secret_name or (name.startswith("token") and (assigned or not pattern("identifier").match(text)))
        return len(text) >= (16 if strong or is_secret_name else 24) and (
            strong or opens or (value.loud and assigned and bool(before))
        )
    if not (strong or lettered) and name.startswith("key") and _is_numbered(text):
        return False
    if lettered or text.isalpha():
        return lettered and (strong or assigned)
    return _is_random(text, 8 if strong else 16) and (strong or assigned or len(text) >= 20)


def _password(value: Value) -> bool:
    """Judge `password = value`; a bare word of letters is more often code than a password."""
    text = value.text
    if len(text) < (4 if value.quoted else 5) or _is_placeholder(text) or pattern("sealed").match(text):
        return False
    if text.isalpha():
        if value.quoted or (value.loud and len(text) >= 6):
            return True
        return _is_scrambled(text) or pattern("gibberish").search(text) is not None or _is_odd(text)
    if any(_is_scrambled(part, 8) for part in pattern("joins").split(text)):
        return True
    if _is_ignorable(text):
        return False
    if value.quoted:
        return " " not in text or "phrase" in value.between.lower()
    if text.isdigit():
        return value.loud or len(text) >= 6
    return bool(pattern("symbol").search(text) or not pattern("lookalike").match(text))


def _argument(value: Value) -> bool:
    """Judge the argument of a command that takes a password there."""
    text = value.text
    if text.startswith("-") or text.isdigit() or " " in text:
        return False
    if pattern("groups").match(text):
        return True
    if any(_is_scrambled(part, 8) or _is_odd(part) for part in pattern("joins").split(text)):
        return True
    return not _is_ignorable(text) or (value.quoted and text.isalpha() and not _is_placeholder(text))


def _option(value: Value) -> bool:
    """Judge what follows a name and a blank: the argument of an option, or a long digest, `api key 9f86…`."""
    text, is_key = value.text, value.between.lower().startswith("key")
    is_digest = pattern("long_digest").match(text) is not None
    if pattern("option").search(value.before):
        before = value.before.rstrip("-")
        if _is_innocent(value):
            return False
        is_plain = not is_key or value.before.endswith((" -", " --")) or before.endswith(loaded().strong)
        return (is_plain and (is_digest or _is_digest(text)) and len(text) >= 24) or _dense(value)
    if is_digest or pattern("identifier").match(text):
        return _keyed(value) or (value.loud and "," in value.between and len(text) >= 24)
    is_strong = value.before.rstrip(" _-\"'").endswith(loaded().strong)
    if "," in value.between:
        return _dense(value) and (value.loud or is_strong or len(text) >= 20)
    is_next = (is_strong or not is_key) and "\n" not in value.between and "," not in text and not _is_innocent(value)
    return is_next and (_marked(value) or (len(text) >= 16 and (_mixed(value) or _is_lettered(text)) and _dense(value)))


def _beside(value: Value) -> bool:
    """Judge what stands in the next cell, in brackets or alone in the next line: as after `=`, but only long values."""
    is_strong = value.before.rstrip(" _-.").endswith(loaded().strong) or value.between.lower().startswith("secret")
    if not is_strong or _is_innocent(value) or len(value.text) < 16:
        return False
    return _presented(value) or _dense(value)


def _option_password(value: Value) -> bool:
    if pattern("option").search(value.before):
        return _argument(value)
    text = value.text
    if pattern("long_digest").match(text):
        return not _is_innocent(value)
    if _is_scrambled(text):
        return True
    digits = sum(map(str.isdigit, text))
    return text.isascii() and text.isalnum() and len(text) >= 8 and 1 < digits < len(text) and not _is_plain(text)


def _is_plain(text: str) -> bool:
    """Say whether letters and digits are a word with a number, or what only looks drawn: `argon2id`, `2026q3`."""
    return _is_ignorable(text) or _is_wordy(text) or pattern("lookalike").match(text) is not None


def _session(value: Value) -> bool:
    """Judge a session's cookie; a digest is one only under the names that servers give: `JSESSIONID`."""
    is_served = pattern("served").search(value.before) is not None
    return _dense(value) or (
        is_served and len(value.text) >= 24 and pattern("long_digest").match(value.text) is not None
    )


def _header(value: Value) -> bool:
    text = value.text
    if _is_lettered(text):
        return True
    if len(text) < 8 or _is_ignorable(text):
        return False
    return any(map(str.isdigit, text)) or not _is_wordy(text)


def _cookie(value: Value) -> bool:
    name = pattern("cookie_name").search(value.between[-COPULA_REACH:])
    telling = name and pattern("session").search(name[0])
    if telling and _is_lettered(value.text):
        return True
    return not _is_ignorable(value.text) and _is_random(value.text, 8 if telling else 20)


def _url(value: Value) -> bool:
    """Judge the password of an address; the user's own name and placeholders are none."""
    user = pattern("user").search(value.between)
    return len(value.text) >= 3 and not (user and user[1] == value.text) and not _is_placeholder(value.text)


def _pair(value: Value) -> bool:
    """Judge the second half of `user:password`: no number, no name, not the user's own name."""
    return _password(value._replace(quoted=False)) and any(map(str.isdigit, value.text)) and not _is_wordy(value.text)


def _marked(value: Value) -> bool:
    """Judge what follows an account or a command of a router: only marks and digits within words make it a secret."""
    marked = pattern("strong_symbol").search(value.text)
    return marked is not None and " " not in value.text and not _is_ignorable(value.text) and _pair(value)


def _strong(value: Value) -> bool:
    """Judge what stands after ` / `, as in `admin / …`: only what has letters of both cases, digits and marks."""
    is_place = pattern("lookalike").match(value.text) is not None
    return len(value.text) >= 9 and not is_place and _mixed(value) and _marked(value)


def _drawn(value: Value) -> bool:
    """Judge the argument of a command that nobody knows: what is marked, or long and of mixed characters."""
    if _marked(value) or _is_lettered(value.text):
        return True
    return len(value.text) >= 14 and _mixed(value) and _argument(value) and _dense(value)


def _cell(value: Value) -> bool:
    """Judge a value of a row whose columns name a key or a password."""
    return pattern("long_digest").match(value.text) is not None or _drawn(value)


def _presented(value: Value) -> bool:
    """Judge what a command that publishes or logs in is given, or prints: drawn, a digest, or an identifier."""
    text = value.text
    return _cell(value) or pattern("identifier").match(text) is not None or (len(text) >= 24 and _is_shuffled(text))


def _phrase(value: Value) -> bool:
    """Judge a text in quotes that may hold blanks: not of words."""
    return any(map(str.isdigit, value.text)) and not _is_wordy(value.text) and not _is_placeholder(value.text)


# -- judgments of words of a sentence ----------------------------------------------------------------------------------


def _prose(value: Value) -> bool:
    """Judge a word of a sentence about a password; after `is` less strength is asked for."""
    text = value.text
    if pattern("field").search(value.between[-FIELD_REACH:]):  # the value of another name: `region=eu-1`, `"kind": "x"`
        return False
    if text.isalpha() and text.isascii():
        return _spoken(value)
    digit = any(map(str.isdigit, text))
    if len(text) < 6 or not any(map(str.isalpha, text)) or not (digit or pattern("inner_symbol").search(text)):
        return False
    if _is_ignorable(text) or pattern("lookalike").match(text) or _is_digest(text):
        return False
    if pattern("copula").search(value.between[-COPULA_REACH:]):
        return True
    if not digit or pattern("wordlike").match(text) or _is_wordy(text):
        return False
    return pattern("strong_symbol").search(text) is not None or _is_random(text, 10)


def _spoken(value: Value) -> bool:
    """Judge letters alone: drawn ones, quoted ones, and names that a sentence gives; `is wrong` is none."""
    text = value.text
    if _is_scrambled(text):
        return True
    joint = pattern("copula").search(value.between[-COPULA_REACH:])
    if not joint or len(text) < 6:
        return False
    words, low = loaded().words, text.lower()
    if low in words["state"] or low in words["code"] or _is_placeholder(text):
        return False
    if _is_odd(text, 7):
        return True
    is_quoted = pattern("opened").search(joint[0]) is not None
    if not is_quoted and joint[0].split()[:1] in (["on"], ["to"], ["of"]):  # `they pass on Windows`, `log in to GitHub`
        return False
    humps = [hump.lower() for hump in pattern("hump").findall(text)]
    if is_quoted or (len(humps) > 1 and text[0].isupper()):
        return not any(hump in words["code"] or hump in words["placeholder"] for hump in humps)
    if not text[0].isupper() or not text[1:].islower():
        return False
    return pattern("saying").search(joint[0]) is not None and not pattern("state").search(low)


def _loose(value: Value) -> bool:
    """Judge a word of a sentence about a token: only long ones of mixed characters are secrets."""
    text = value.text
    if len(text) < 20 or value.before.rstrip(" _-").endswith(loaded().innocent) or not _dense(value):
        return False
    if not pattern("opaque").match(text) or pattern("lookalike").match(text):
        return False
    if pattern("hash_scheme").search(value.between[-FIELD_REACH:]):
        return False
    if _is_numbered(text) and not _is_lettered(text):
        return False
    return _mixed(value) or _is_lettered(text) or (len(text) >= 24 and _is_shuffled(text))


def _is_shuffled(text: str) -> bool:
    """Say whether letters of one case and digits change places more often than in any name with a number."""
    return text.isalnum() and sum(text[at].isdigit() != text[at - 1].isdigit() for at in range(1, len(text))) > 5


def _given(value: Value) -> bool:
    """Judge what a sentence or a name gives as the secret itself: drawn, marked, or a digest."""
    return _marked(value) or _dense(value) or pattern("long_digest").match(value.text) is not None


def _introduced(value: Value) -> bool:
    """Judge what a sentence names afterwards, `… is the api key`: as after the name, when that opens something."""
    return value.before.rstrip(" _-").endswith(loaded().strong) and not _is_innocent(value) and _given(value)


def _seed(value: Value) -> bool:
    """Judge twelve or more words in a row: no sentence, which would say `the` or a word twice."""
    words = pattern("seed_word").findall(value.text)
    rare = {word for word in words if word not in loaded().words["common"]}
    return len(words) % 3 == 0 and len(rare) > 0.8 * len(words)


def _spoken_phrase(value: Value) -> bool:
    """Judge a quotation after `passphrase`: three words or more that make no sentence, or what is drawn."""
    words = value.text.lower().split()
    if len(words) < 3:
        return not _is_ignorable(value.text) and _prose(value._replace(between=": "))
    rules = loaded().words
    return all(map(str.isalnum, words)) and not any(
        word in rules[name] for word in words for name in ("common", "placeholder", "state")
    )


def _numbers(value: Value) -> bool:
    """Judge a row of bytes in a key file: up to 255 each, most of them different."""
    numbers = [int(number) for number in value.text.split(",")]
    return max(numbers) < 256 and len(set(numbers)) > len(numbers) // 2


def _code(value: Value) -> bool:
    """Judge one of several codes in a row: with a digit, or halves that are no words, `tawgj-ggqki`."""
    if any(map(str.isdigit, value.text)):
        return _token(value)
    return _is_odd(value.text.replace("-", "")) and not _is_placeholder(value.text)


def _keyish(value: Value) -> bool:
    """Judge a word soon after `private key`: a long digest, or drawn and long."""
    is_hex = len(value.text) >= 64 and pattern("long_digest").match(value.text) is not None
    return (is_hex or _loose(value)) and not pattern("key_id").search(value.between)


def _mixed(value: Value) -> bool:
    return all(any(map(kind, value.text)) for kind in (str.islower, str.isupper, str.isdigit))


CHECKS: dict[str, Callable[[Value], bool]] = {
    "token": _token,
    "dense": _dense,
    "loud": _loud,
    "keyed": _keyed,
    "password": _password,
    "argument": _argument,
    "option": _option,
    "option_password": _option_password,
    "header": _header,
    "cookie": _cookie,
    "url": _url,
    "pair": _pair,
    "marked": _marked,
    "session": _session,
    "strong": _strong,
    "drawn": _drawn,
    "given": _given,
    "introduced": _introduced,
    "cell": _cell,
    "presented": _presented,
    "phrase": _phrase,
    "prose": _prose,
    "loose": _loose,
    "seed": _seed,
    "spoken_phrase": _spoken_phrase,
    "code": _code,
    "numbers": _numbers,
    "keyish": _keyish,
    "mixed": _mixed,
}
"""Judgments by the names that the rule file uses."""
