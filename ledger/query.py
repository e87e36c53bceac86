"""Turn text into what the words index holds, and a question into what it is asked.

Pure functions: no database, no clock. Both sides cut text the same way, because
the index's tokenizer alone finds no part of a Chinese, Japanese or Korean run and
no word inside `camelCase`. Any text is legal in a question: only runs of letters
and digits leave this module, so nothing a person types is read as FTS5 syntax.
Lean path: stdlib only, patterns compiled on first use.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

TEXT_CHARS = 20_000
"""Characters of a question that are read; the longest prompt of the development set has 2,500."""

TERMS_MAX = 64
"""Terms of a question that are kept, first come first; more is a pasted log, not a question."""

WORD_CHARS = 64
"""Longest run of letters and digits that counts as a word; longer ones are keys and encoded data."""

PARTS_MAX = 6
"""Most parts of a name such as `src/billing/rounding.py` that are looked for as one phrase."""

_FILLER = """
a about above actually after again against ago all almost already also although always am among an and another any
anybody anyone anything anyway are aren around as ask at away back basically be because been before being below
between both but by came can cannot cause come could couldn did didn do does doesn doing don done down each either
else enough etc even ever every everyone everything exactly few fine first for from further gave get gets getting give
given goes going gone good got great guess had hadn happen happened happens has hasn have haven having he hello help
her here hers hey hi him his how however i idea if im in instead into is isn it its itself ive just keep kind kindly
knew know last least less let lets like little ll look looking looks lot made makes making many may maybe me mean
might mine more most much must my myself need needed needs neither never no nobody none nor not nothing now of off oh
ok okay on once one only or other others otherwise our ours out over own per perhaps please possible possibly probably
question quite rather re really right said same saw say says see seem seems seen shall she should shouldn since so
some somebody someone something sometimes somewhere soon sorry still such sure take taken tell than thank thanks that
the their theirs them then there therefore these they thing things think this those though through thus till to today
together told too took toward towards tried try trying under unless until up upon us usually ve very want wanted wants
was wasn way we well went were weren what whatever when where whether which while who whole whom whose why will with
within without won wonder would wouldn yeah yes yesterday yet you your yours yourself www
aber alle allem allen aller alles als auch auf aus bei beim bin bis bist bitte bleibt da dabei damit dann daran darauf
das dass dein deine dem den denn der des dessen dich dies diese diesem diesen dieser dieses dir doch dort du durch ein
eine einem einen einer eines einfach er es euch fur ganz gar gegen geht gern gibt habe haben hast hat hatte hatten
hier hin ich ihm ihn ihnen ihr ihre ihrem ihren immer ins ist ja jede jeder jedes jetzt kann kannst kein keine keinen
konnen konnte lassen mach machen macht mein meine meinem mich mir mit mochte muss mussen nach nein nicht nichts noch
nun nur ob oder ohne schon sehr sei sein seine seit sich sie sind soll sollen sollte sollten sondern sonst um und uns
unser unsere unter viel vom von vor waren warum weil welche welchem welchen welcher welches wenn wer werde werden wie
wieder wieso wir wird wo wohl wollen worden wurde wurden zu zum zur zwischen
afin alors apres assez au aucun aussi autre aux avant avec avoir avons c ca car ce cela ces cet cette ceux chaque chez
comme comment d dans de deja depuis donc dont elle elles en encore entre est et etait etant ete etre fait faire faut
il ils j je jusque l la le les leur leurs lui m ma mais mes moi moins mon n ne ni non nos notre nous ont ou par parce
pas pendant peu peut peux plus pour pourquoi pouvez pouvons qu quand que quel quelle quelles quels quelque qui quoi s
sa sans se si sinon soit son sont sous sur t ta tant te tes toi ton toujours tous tout toute toutes tres tu un une
veut veux voici voila vos votre vous y al
algo alguna alguno ante antes aqui asi aun aunque bien cada como con contra cual cuales cuando cuanto cuya cuyo del
desde despues donde e el ella ellas ellos era eran esa esas ese eso esos esta estaba estamos estan estar este esto
estos estoy fue fueron gracias haber habia hace hacer hacemos han hasta hay haya hola las lo los mas mi mis misma
mismo mucho muy nada nosotros nuestra nuestro nunca o os otra otro para pero poco podemos por porque puede puedo pues
quien quiero segun sido siempre sin sobre solo somos soy su sus tambien tampoco tanto tenemos tener tengo tiene tienen
toda todas todavia todos tras tus una unas uno unos usted va vamos vez voy ya yo
ainda agora ao aos ate coisa com dela dele depois ela elas ele eles em entao essa esse estao estava estou faz fazer
fica foi foram isso isto lhe melhor mesmo meu minha muito na nao nas nem nossa nosso numa obrigado onde pela pelo pode
posso qual quando quem queria quero sao sem sempre seu seus sua suas tambem tem temos tenho ter tinha tudo uma umas
voce voces vou
а бы был была были было быть в вам вас ведь весь во вот все всё всего всех вы где да даже для до его ее её если есть
еще ещё ж же за зачем и из или им их к как какая какие какой ко когда которая которые который кто ли либо меня мне
может можно мой мы на над надо нам нас наш не него нее нет ни них но ну нужно о об один он она они оно от очень по под
пожалуйста после потом потому почему при про с сейчас со спасибо так также такой там твой те тебя тем то тогда того
тоже только том ты у уже хочу чего чем что чтобы эта эти это этого этом этот я
什么 怎么 么样 为什 如何 可以 一个 这个 那个 这样 那样 我们 你们 他们 没有 不是 还是 就是 但是 因为 所以 如果 现在
然后 已经 需要 应该 能不 不能 是不 我的 你的 的是 请帮 帮我 一下 这里 那里 哪里 哪个 谢谢 好的
습니 니다 합니 입니 하는 에서 으로 까지 부터 어떻 떻게 그리 하고 하면 해서 해야 하지 있는 있어 있나 없는 어요 나요
세요 주세 해주 가요 인가 무엇 어디 누구 왜요 이것 그것 우리 저는 제가 것은 것을 지만 는데 려면 되나 하나 되는 된다
한다 이다
"""
"""Function words and small talk of English, German, French, Spanish, Portuguese, Russian, Chinese and Korean, without
accents, without words that name things developers use (`go`, `make`, `next`); hiragana is told by its script."""

_NAMING = {
    "practice": "practice practices rule rules convention conventions",
    "bug-fix": "bug bugs fix fixes error errors issue issues",
    "tool-pref": "tool tools preference preferences prefer use used",
    "pattern": "pattern patterns",
    "workflow": "workflow workflows process processes step steps",
    "env": "env environment environments setup",
}
"""Words that only name a category."""

_QUOTES = "\"'`()[]«»“”„‘’"

_filler: frozenset[str] | None = None
_patterns: dict[str, re.Pattern[str]] = {}

_CJK = (
    r"\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u318f"
    r"\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Characters of scripts written without spaces, or with endings glued on: Han, kana, Hangul, Bopomofo."""

_SOURCES = {
    "cjk": f"[{_CJK}]+",
    "hiragana": r"[\u3041-\u309f\u30fc]+",
    "hump": r"[A-Z](?:(?<=[a-z][A-Z])|[A-Z][a-z]{2})",
    "case": "[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+",
    "hyphen": "(?<![A-Za-z0-9-])([A-Za-z]{1,20})-([A-Za-z]{1,20})(?![A-Za-z0-9-])",
    "name": r"[^\W_]+(?:[_\-./:@#+]{1,3}[^\W_]+)*",
    "run": "[A-Za-z0-9]+",
    "word": r"[^\W_]+",
    "value": (
        r"(?P<path>(?:~|\.{1,2})?(?:/[\w.+@-]+)+/?|(?<![\w.+@-])[\w+@-][\w.+@-]*(?:/[\w.+@-]+)+)"
        r"|(?P<flag>(?<![\w-])--?[A-Za-z][\w-]*)"
        r"|(?P<version>(?<![\w.])v?\d+(?:\.\d+)+(?:[\w.-]*\w)?)"
        r"|(?P<number>(?<![\w.])\d+(?![\w]))"
    ),
}


class Query(NamedTuple):
    """What a question asks for; nothing in it is FTS5 syntax.

    `terms` are words, and names of several parts as one text with spaces between
    the parts (`statement_cache_size` gives `statement cache size` and its three
    words). `filler` are words that say nothing by themselves; they are looked for
    only when `terms` is empty.
    """

    terms: tuple[str, ...]
    filler: tuple[str, ...]


def pattern(name: str) -> re.Pattern[str]:
    """Return the compiled pattern of that name; compiling all of them at import would cost every start 3 ms."""
    found = _patterns.get(name)
    if found is None:
        found = _patterns[name] = re.compile(_SOURCES[name])
    return found


SHORT_TERMS = 6
"""Terms up to which a question's single digits tell: in longer texts they are list numbers and counts, and cost
a hundredth of recall@5 on the development set."""


def indexed(text: str) -> str:
    """Return the form of `text` that the words index holds; about 10 µs for 600 ASCII characters.

    Runs of Chinese, Japanese and Korean become pairs of characters, then the last
    character alone, so that every single character begins a word. The parts of
    camelCase names, and `reindex` for `re-index`, are appended.
    """
    if not text.isascii():
        text = pattern("cjk").sub(_paired, _composed(text))
    extra = [" ".join(pattern("case").findall(name)) for name in _camel_names(text)]
    if "-" in text:
        extra += [first + second for first, second in pattern("hyphen").findall(text)]
    return "\n".join([text, *dict.fromkeys(extra)]) if extra else text


def build(text: str, category: str | None = None) -> Query:
    """Return what `text` asks for: terms in the order they were typed, without repeats.

    With `category` as a filter, words that only name it are filler ("which tools
    do we use" among the tool-prefs). Never raises; text that holds no letter and no
    digit gives an empty query.
    """
    naming = _NAMING.get(category or "", "").split()
    text = text[:TEXT_CHARS]
    if not text.isascii():
        text = _composed(text)
    terms: dict[str, None] = {}
    filler: dict[str, None] = {}
    for found in pattern("name").finditer(text):
        for term in _terms_of(found.group()):
            (filler if term in naming or is_filler(term) else terms).setdefault(term)
        if len(terms) >= TERMS_MAX:
            break
    if 0 < len(terms) <= SHORT_TERMS:  # "step 7" is not step 6
        terms.update(dict.fromkeys(name for name in pattern("name").findall(text) if len(name) == 1 and name.isdigit()))
    return Query(tuple(terms)[:TERMS_MAX], tuple(filler)[:TERMS_MAX])


def telling(text: str) -> frozenset[str]:
    """Return the words of a text that say something by themselves, lower-cased; a quarter of the time of `build`."""
    return frozenset(word for word in pattern("word").findall(indexed(text).lower()) if not is_filler(word))


def match(terms: Sequence[str]) -> str:
    """Return a legal FTS5 expression that finds any of `terms`, each as a phrase; '""' when there are none.

    A single Chinese, Japanese or Korean character finds every pair it begins.
    """
    return " OR ".join(_quoted(term) for term in terms) or '""'


def is_filler(term: str) -> bool:
    """Return whether `term` says nothing by itself: a function word, one letter or digit, hiragana."""
    global _filler
    if _filler is None:
        _filler = frozenset(_FILLER.split())
    if term in _filler or (" " in term and all(is_filler(part) for part in term.split(" "))):
        return True
    if term.isascii():
        return len(term) < 2
    return folded(term) in _filler or pattern("hiragana").fullmatch(term) is not None


def folded(word: str) -> str:
    """Return `word` without accents, as the index's tokenizer folds it."""
    if word.isascii():
        return word
    import unicodedata

    plain = unicodedata.normalize("NFD", word)
    return "".join(char for char in plain if not unicodedata.combining(char))


def spelled_otherwise(terms: Sequence[str], text: str) -> float:
    """Return the share of `terms` that `text` holds with other accents only: the index folds `résumé` to `resume`."""
    if not terms or (text.isascii() and all(term.isascii() for term in terms)):
        return 0.0
    words = set(pattern("word").findall(_composed(text).lower()))
    others = [term for term in terms if " " not in term and term not in words]
    if text.isascii():
        others = [term for term in others if not term.isascii()]
    if not others:
        return 0.0
    plain = words if text.isascii() else set(map(folded, words))
    return sum(folded(term) in plain for term in others) / len(terms)


def subject(title: str | None) -> str:
    """Return a title without case, spacing, quotes and closing punctuation: what two titles are compared by.

    Other signs stay: `C++` is not `C#`. Empty for a title of signs that all go; it is nobody's subject.
    """
    words = (word.strip(_QUOTES).rstrip(".,;:!?").strip(_QUOTES) for word in _composed(title or "").casefold().split())
    return " ".join(filter(None, words))


def identifiers(text: str) -> frozenset[str]:
    """Return the names in `text` that no prose holds: with a digit, a joint or inner capitals, lower-cased."""
    names = pattern("name").findall(text)
    return frozenset(name.lower() for name in names if _is_identifier(name))


def values(text: str) -> dict[str, frozenset[str]]:
    """Return what a fact may turn on: the paths, flags, versions and numbers of `text`, by kind."""
    found: dict[str, set[str]] = {}
    for hit in pattern("value").finditer(text):
        found.setdefault(hit.lastgroup or "", set()).add(hit.group().rstrip("."))
    return {kind: frozenset(texts) for kind, texts in found.items()}


def _composed(text: str) -> str:
    """Return `text` in one spelling: composed, full-width letters narrowed, half-width kana widened."""
    import unicodedata

    return unicodedata.normalize("NFKC", text)


def _paired(run: re.Match[str]) -> str:
    """Return a run of characters as pairs and the last one, set off by spaces."""
    chars = run.group()
    return f" {' '.join([*_pairs(chars), chars[-1]])} " if len(chars) > 1 else f" {chars} "


def _pairs(chars: str) -> list[str]:
    """Return the overlapping pairs of `chars`; one character stands alone."""
    return [chars[at : at + 2] for at in range(len(chars) - 1)] or [chars]


def _terms_of(name: str) -> list[str]:
    """Return what one name of a question is looked for as: whole first, then its parts."""
    parts = pattern("word").findall(name)
    if len(parts) == 1 and name.isascii() and pattern("hump").search(name) is None:
        return [name.lower()] if len(name) <= WORD_CHARS else []
    terms: list[str] = []
    split: list[str] = []
    for part in parts:
        split += _case_parts(part) if part.isascii() else [part]
    split = [part.lower() for part in split]
    if 1 < len(split) <= PARTS_MAX and name.isascii():
        terms.append(" ".join(split))
        if pattern("hyphen").fullmatch(name) and not is_filler(terms[0]):
            terms.append("".join(split))
    for part in [*(part.lower() for part in parts), *split]:
        terms += _words_of(part)
    return list(dict.fromkeys(terms))


def _words_of(part: str) -> list[str]:
    """Return the words of one run of letters and digits, pairs where it is Chinese, Japanese or Korean."""
    if part.isascii():
        return [part] if len(part) <= WORD_CHARS else []
    words: list[str] = []
    end = 0
    for run in pattern("cjk").finditer(part):
        words += [part[end : run.start()], *_pairs(run.group())]
        end = run.end()
    return [word for word in [*words, part[end:]] if 0 < len(word) <= WORD_CHARS]


def _camel_names(text: str) -> list[str]:
    """Return the runs of letters and digits in `text` that have inner capitals."""
    names: list[str] = []
    end = 0
    for hump in pattern("hump").finditer(text):
        if hump.start() >= end:
            start = hump.start()
            while start > end and text[start - 1].isascii() and text[start - 1].isalnum():
                start -= 1
            run = pattern("run").match(text, start)
            end = run.end() if run else hump.end()
            names.append(text[start:end])
    return names


def _case_parts(name: str) -> list[str]:
    """Return the parts of a camelCase name, in order; the name itself when it has none."""
    return pattern("case").findall(name) if pattern("hump").search(name) else [name]


def _quoted(term: str) -> str:
    """Return one term as FTS5 takes it literally, whatever it holds."""
    return '"' + term.replace('"', " ").replace("\0", " ") + '"' + (" *" if _is_lone(term) else "")


def _is_lone(term: str) -> bool:
    """Return whether `term` is a single character of a script that is indexed in pairs."""
    return len(term) == 1 and not term.isascii() and pattern("cjk").fullmatch(term) is not None


def _is_identifier(name: str) -> bool:
    """Return whether `name` has a digit, a joint other than one hyphen, or inner capitals."""
    if not any(char.isalpha() for char in name):
        return False
    inner = name.replace("-", "", 1)
    return not inner.isalpha() or pattern("hump").search(name) is not None
