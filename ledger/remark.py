"""Tell remarks from questions: a go-ahead, thanks, a report that something went well.

None of them asks, so nothing is looked for; but a yes or a no may stand before
an error code, and then the code is the subject. Nothing here depends on case.
Lean path: stdlib only, patterns compiled on first use.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from ledger import query

TERMS_MAX = 4
"""Terms that may stand behind a yes or a no that a mark ends, and still be part of it."""

_W = r"(?<![^\W_])"
_E = r"(?![^\W_])"

_SOURCES = {
    "agrees": (
        r"\A\W*(?:(?:yes|yep|yeah|yup|sure|ok(?:ay)?|fine|great|perfect|thanks?|thx|thank you|good|nice|cool"
        r"|right|correct|exactly|no|nope|nah|hm+|a+h+|ha|super|awesome|excellent|go(?: ahead)?|continue"
        r"|interesting|proceed|done|stop|wait|again|next|(?:looks|sounds) (?:good|right)|lgtm"
        r"|same (?:thing|for|here|again)|ditto|likewise"
        r"|ja|jo|genau|nein|gut|danke|weiter|passt|prima|nei|nej|takk|tack|oui|non|merci|d'accord|parfait|sí|si|vale"
        r"|gracias|perfecto|de acuerdo|dale|sim|não|obrigad[oa]|pode|да|нет|хорошо|отлично|супер|спасибо|давай|ладно"
        r"|(?:好|对|行|可以|谢谢|是)[的了吧啊呀呢你您啦]?|不[是用要]?|没问题|はい|いいえ|うん|なるほど"
        r"|了解(?:です|しました)?|ありがとう(?:ございます)?|お願い(?:します)?"
        r"|네+|예|아니[요오]?|좋(?:아요?|습니다|네요)|응|감사(?:합니다|해요)?|고맙습니다|고마워요?|그래요?)"
        r"(?![^\W_])\s*)+(?P<stop>[^\w\s'\"`/({\[<+]|\Z)?"
    ),
    "news": (
        rf"{_W}(?:(?:everything|all|it|they)(?:['’]s| is| are| looks?)?(?: now| all)? (?:green|fine|good|well"
        rf"|ok(?:ay)?|pass(?:ing|ed|es)?|done|clean)|went (?:fine|well|through|smoothly|ok(?:ay)?|great)"
        rf"|(?:is|are) (?:now |all |back )*(?:up(?= again| now| and running|\W*\Z)|green|done|merged|live|online"
        rf"|deployed|fixed|solved|sorted)"
        rf"|(?:works?|working) (?:now|again|fine|well|great|perfectly)|(?:runs?|running) (?:now|fine|well|great)"
        rf"|(?:tests?|checks?|suite|build|pipeline|ci) (?:all |now )?(?:pass(?:es|ed)?|succeeded)"
        rf"|(?:no|zero|without|keine?|sin|sans|sem|без) (?:more )?(?:errors?|failures?|warnings?|fehler|errores"
        rf"|erreurs?|erros|ошибок)"
        rf"|call(?:ing)? it a (?:day|night)|closing (?:it|this|the (?:ticket|issue|task|pr))"
        rf"|that(?:['’]s| was) (?:it|all)|(?:closing|done|finished|off|enough|it|all|do) for (?:today|now)"
        rf"|good ?night|bye|see you"
        rf"|(?:looks?|reads?|sounds?) (?:good|great|fine|nice|better|healthy|clean)|(?:i['’]m|i am) (?:off|out|done)"
        rf"|(?:it|that|this) (?:works|worked|fixed it|did it|helped)(?=\W*\Z)"
        rf"|alles (?:ist )?(?:grün|gut|fertig|erledigt|durch)|hat geklappt|feierabend|bis morgen"
        rf"|(?:läuft|geht|funktioniert|klappt)(?: (?:wieder|jetzt|nun|gut)|(?=\W*\Z))"
        rf"|ist (?:jetzt |nun )?(?:durch|fertig|grün|online|gemergt|erledigt)"
        rf"|tout (?:est |se )?(?:vert|bon|passe|marche|ok)"
        rf"|(?:marche|fonctionne)(?: (?:bien|maintenant|de nouveau)|(?=\W*\Z))"
        rf"|c['’]est (?:bon|fini|réglé|en ligne|terminé)|s['’]est bien passée?|à demain|bonne (?:soirée|nuit)|sera tout"
        rf"|todo (?:está )?(?:verde|bien|listo|ok)|ya (?:funciona|está|pasan?)|sali[oó] bien|hasta mañana"
        rf"|tudo (?:está |ficou )?(?:verde|certo|bem|ok|pronto)|já (?:funciona|está)|deu certo|até amanhã"
        rf"|вс[её] (?:зел[её]ное|хорошо|работает|готово|прошло|ок)|до завтра|на сегодня вс[её]"
        rf"|(?:заработал|прошл|починил|исправил|задеплоил|смержил)[аои]?){_E}"
        r"|(?:好|搞定|通过|上线|合并|完成|修好|解决)了(?![之以]?后)|没问题|明天见"
        r"|(?:直り|通り|うまくいき|終わり|完了し|でき|助かり|動き|デプロイし|マージし)ました(?!が|けど|のに)"
        r"|問題な[しい]|お疲れ"
        r"|(?:됐|통과했|고쳤|끝났|배포했|머지했|해결됐|해결했)(?!는데|지만|더니)\w*|잘 (?:돼|됩|되)\w*"
        r"|(?:내일|나중에) (?:봐|뵐|볼)\w*|수고"
    ),
    "did": (
        r"\A(?:(?:i|we)(?:['’]ve| have)? |just )*(?:pushed|merged|deployed|committed|released|shipped|finished|fixed"
        r"|solved|closed|published|tagged|approved)(?![^\W_])"
    ),
    "denies": (
        rf"{_W}(?:not|nothing|never|nobody|none|hardly|only|if|when|once|until|unless|because|after|nicht\w*|kein\w*"
        rf"|nie|wenn|falls|sobald|rien|jamais|ne|pas|quand|nunca|nada|no|não|cuando|quando|не|ничего|если|когда){_E}"
        r"|n['’]t|[没不]|如果|ない|안 |못"
    ),
    "part": (
        rf"[,.;!:\n，。、！；]|{_W}(?:and|but|however|although|yet|aber|und|mais|et|pero|y|mas|e|но|и){_E}"
        r"|但是?|可是|하지만|(?:したが|ですが|けど)"
    ),
    "exact": r"\d{3,}|[^\W\d_]\d|\d[^\W\d_]{0,3}[_\-./:@#+][^\W_]|[a-z][A-Z][a-z]|\w[_/@#+]\w|\w\.[a-z]\w",
}
_patterns: dict[str, re.Pattern[str]] = {}

_CHAT = frozenset(
    """
both commit commits continue diff done edit file files first second third last left one part
push rest rerun run runs same
ship step stop undo revert redo wait go merge option perfect agree convinced simpler better sounds reasonable put back
forget just changed change next proceed meant mean again all six two three four five way before nope
yep lgtm approve approved
cool nice correct confirm accepted accept apply applied start begin hold pause cancel skip keep show write ask answer
weiter genau leerzeile ende zeige mach fertig vent litt nei nej takk seguir muda nome давай так покажи да нет suite vas
sigue adelante hazlo listo parfait vas-y ergens ja nein danke gut
""".split()  # noqa: SIM905
)
"""Words of go-aheads and remarks: alone they name no subject."""

_HELP = frozenset(
    """
pls plz fix solve resolve help error errors exception problem issue bug fail fails failing failed broken wrong debug
explain check trace traceback stack log logs output message line code below above work works working cause fehler
problema erreur erro ошибка 修复 解决 报错 错误
""".split()  # noqa: SIM905
)
"""Words that ask for help with what was pasted or said before, and name no subject either."""

_CUES = frozenset(
    """
green fine good well ok okay pass passing passed passes succeeded done clean smoothly great up merged live online
deployed fixed solved sorted works work working runs run running no zero without kein keine sin sans sem call calling
closing it all today now night goodnight bye see looks look reads read sounds sound off out worked did helped
pushed committed released shipped finished closed published tagged approved
alles geklappt feierabend morgen läuft geht funktioniert klappt ist tout marche fonctionne bon fini réglé ligne terminé
bien demain soirée nuit todo ya mañana tudo já deu amanhã
""".split()  # noqa: SIM905
)
"""Good news in Latin letters holds one of these words; without any, its pattern need not be compiled (2 ms)."""


def may_name(term: str) -> bool:
    """Return whether a term may name a subject; "2" in "go with 2" names none."""
    return term not in _CHAT and (len(term) > 2 or not term.isdigit())


def names_subject(terms: Iterable[str]) -> bool:
    """Return whether any term belongs neither to a go-ahead nor to asking for help."""
    return any(may_name(term) and term not in _HELP for term in terms)


def names_exactly(text: str) -> bool:
    """Return whether a text holds an identifier, a number of three digits and more, or capitals amid small letters."""
    if _pattern("exact").search(text):
        return True
    return not text.isupper() and any(len(word) > 2 and word.isupper() and word.isascii() for word in text.split())


def acknowledges(text: str, terms: list[str]) -> bool:
    """Return whether a text says yes, no, thanks or wait, and no more behind it than a few `terms` that name nothing.

    A mark or the end must follow, or a function word and one term: "no space left" declines nothing.
    """
    if len(terms) > TERMS_MAX or names_exactly(text):
        return False
    found = _pattern("agrees").match(text.lower())
    if found is None or found["stop"] is not None:
        return found is not None
    return (
        query.is_filler(text[found.end() :].partition(" ")[0].strip(",.;:!").lower()) and sum(map(may_name, terms)) < 2
    )


def is_good_news(text: str, fails: Callable[[str], bool]) -> bool:
    """Return whether all that a text says is that something went well or is over.

    What somebody did ("I pushed the commit") is news only beside such a part: it may be the trouble itself.
    """
    if text.isascii() and _CUES.isdisjoint(query.pattern("word").findall(text.lower())):
        return False
    went_well = did = False
    for part in _parts(text):
        rest, found = _pattern("news").subn(" ", part)
        if fails(rest) or (found and _pattern("denies").search(rest)):
            return False
        if found:
            went_well = True
        elif _pattern("did").match(part):
            did = did or any(map(may_name, query.build(_pattern("did").sub(" ", part)).terms))
        elif not _says_nothing(part):
            return False
    return went_well or not did


def _parts(text: str) -> Iterator[str]:
    """Yield what a text says between its marks and conjunctions, in small letters."""
    return (part.strip() for part in _pattern("part").split(text.lower()) if part.strip())


def _says_nothing(part: str) -> bool:
    """Return whether a part is a yes, a no or thanks alone, or has no word that names a subject."""
    said = _pattern("agrees").match(part)
    return (said is not None and said.end() == len(part)) or not any(map(may_name, query.build(part).terms))


def _pattern(name: str) -> re.Pattern[str]:
    found = _patterns.get(name)
    if found is None:
        found = _patterns[name] = re.compile(_SOURCES[name])
    return found
