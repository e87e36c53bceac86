"""Read a prompt: what is only pasted into it, and the clauses that ask for something.

People type long text with logs, diffs, mails and code in it. A prompt is cut into
clauses; pasted lines are left out, the lines of them that name an error stay. A
clause says by its form whether it asks, points at something on the screen, or
wants a text turned into another. Form decides, in several languages; how long
a prompt is never does. Who wrote it `author` tells, and `remark` what asks nothing.
Pure functions, total: any text may be a prompt.
Lean path: stdlib only, patterns compiled on first use.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ledger import author, query, remark

PROMPT_CHARS = author.TEXT_CHARS
"""Characters of a prompt that are read."""

CLAUSES_MAX = 24
"""Clauses that are looked for; the longest answerable prompt of the development set has 21."""

ERRORS_MAX = 4
"""Lines of pasted logs that name an error and are kept."""

GO_AHEAD_CLAUSES = 3
"""Most clauses of a go-ahead that is known by its first word."""

CLAUSE_CHARS = 400
SENTENCE_CHARS = 110
"""Longer sentences are cut at commas, into parts of at least `PART_CHARS`."""

PART_CHARS = 45

_W = r"(?<![^\W_])"
_E = r"(?![^\W_])"

_SOURCES = {
    "fence": r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)",
    "diff": r"(?m)^(?:diff --git |@@ .*@@)",
    "changed": r"(?m)^[-+ ].*$",
    "url": r"\b[a-z][a-z0-9+.-]{1,10}://[^\s<>\"')\]]+",
    "stamp": (
        r"\s*[\[(]?(?:\d{4}[-/]\d\d[-/]\d\d[T ]|\d\d/\d\d/\d\d \d\d:|\d\d:\d\d:\d\d|\d{5,}\.\d+"
        r"|[A-Z][a-z]{2} [ \d]?\d \d\d:)"
    ),
    "paste": (
        r"\s*(?:at [\w$.<>/]+[ (]|File \"|\.\.\. \d+ more|diff --git |index [0-9a-f]{6,}|@@ |\+\+\+ |--- |["
        r"|+>$%#]\s|[-+]\s{2,}"
        r"|[=_\-*]{5,}|\d+ \| |\|\s|-->|[\w./~-]+\.\w{1,5}:\d+|[0-9a-f]{7,40} \w|[\w-]+@[\w-]+[:~]|\w+=\S+$"
        r"|\"use |import |from \w+ import )"
        r"|.*(?:[;{}]|=>|\),?)\s*$|.*\S(?: {3,}|\t)\S.*(?: {2,}|\t)\S|(?:[^;\n]*;){3,}|(?:[^,\n ]*,){4,}"
    ),
    "error": (
        r"(?i:\b\w*(?:error|exception|fatal|panic(?:ked)?|denied|refused|timed? ?out|cannot|can't|could not"
        r"|failed|undefined"
        r"|not found|deadlock|invalid|violat\w+|mismatch|expected)\b)"
    ),
    "frame": r"\s*(?:at |\+|-)",
    "item": r"\s*(?:[-*•]|\(?\w{1,2}[.)]|#\d+|\d\d:\d\d)\s+",
    "end": r"(?<=[.!?;])[\"')\]]*\s+|(?<=[\u3002\uff01\uff1f\uff1b])|\s[–—-]\s|\n+",
    "comma": r"(?<=,)\s+|(?<=[\uff0c\u3001])",
    "asks": (
        r"[?\uff1f]"
        rf"|{_W}(?:how|what|which|where|when|who|whom|why|should|may|can|could|must|do|does|is|are"
        rf"|any)\s+(?:i|we|it|there|is|are|"
        rf"do|does|the|to|a|an|our|us|my|one|you|somebody|objection\w*)?{_E}"
        rf"|{_W}(?:wie|was|welche\w*|wo|wann|wer|warum|darf|muss|soll|kann|comment|quel\w*|où|pourquoi|quand"
        rf"|qui|cómo|qué|cuál"
        rf"|dónde|cuándo|como|qual|onde|quando|porque|как|где|что|какой|какую|почему|когда|кто|можно){_E}"
        r"|怎么|如何|吗|哪|什么|多少|是否|ですか|ますか|なぜ|どう|どこ|どの|나요|까요|가요|습니까|어떻게|어떤|어디"
        r"|언제|왜|했지"
    ),
    "asks_plainly": r"[?\uff1f]\s*$",
    "wants": (
        rf"{_W}(?:(?:can|may|should|must|shall|could|do|did) (?:i|we)|how (?:do|should|can|to)|where (?:do"
        rf"|should|can|to)|which|when (?:do|should|can)"
        rf"|is it|am i|are we|what (?:may|should|do|can|must) (?:i|we)"
        rf"|(?:darf|muss|soll|kann|wo|wie) (?:ich|wir|man)|(?:puedo|debo|podemos|debemos|posso|devo|podemos"
        rf"|puis-je|dois-je|peut-on|on peut|doit-on|можно|нужно)){_E}"
        r"|해도 되|해야 하|할까요|될까요|어디|てもいい|べき|ましょうか|可以吗|能不能|要不要|应该"
    ),
    "points": (
        rf"{_W}(?:this|that|these|those|the (?:other|same|first|second|third|last|left|right|block|above"
        rf"|following)|below|above"
        rf"|dies\w*|jene\w*|hier|ci-dessous|celui|cette|ceux|esto|esta|este|eso|isto|isso|essa|это|эт[оуаи]\w*|так){_E}"
        r"|这(?:段|个|里|行)|那(?:个|段)|この|その|ここ|これ|이 (?:함수|문구|코드|파일|줄|변수|부분)|아래"
    ),
    "turns": (
        rf"{_W}(?:translat\w+|summari[sz]e\w*|rephras\w+|reword\w*|rewrit\w+|proofread\w*|convert\w*"
        rf"|reformat\w*|turn (?:this|the|these|it|them)"
        rf"|sound (?:less|more|like)|shorten|rename|draw|explain|extract|sort|group|split|draft|changelog|docstring"
        rf"|make (?:a|me|this|these|it)|write (?:me )?(?:a|an|the)|list (?:who|all|the|them)|what(?:'s| is"
        rf"| does| do)? (?:the )?(?:type|mean|third|first|this|that)"
        rf"|übersetz\w*|umformulier\w*|fass\w*|tradui\w+|résum\w+|reformul\w+|traduc\w+|resum\w+"
        rf"|tradu[zç]\w*|перевед\w+|перепиш\w+|сократи\w*){_E}"
        r"|翻译|总结|改写|翻訳|要約|直して|번역|요약|주석"
    ),
    "fails": (
        r"(?i:\b(?:errors?|exceptions?|fatal|panic\w*|denied|refus\w+|timed? ?outs?|cannot|can'?t|could ?n[o']t"
        r"|fail(?!over)\w*|undefined|not (?:found|work\w*|allowed|visible)|deadlock\w*|invalid|violat\w+|mismatch\w*"
        r"|does ?n[o']?t|won'?t|isn'?t|aren'?t|did ?n'?t|broken|breaks?|broke|crash\w*|hangs?|hung|stuck|wrong"
        r"|weird\w*|missing|dies"
        r"|died|dead|stops?|stopped|slow\w*|red|leak\w*|duplicat\w+|twice|reject\w*|complain\w*|garbled|flak\w+"
        r"|disappear\w*|vanish\w*|lost|loses|too (?:high|low|long|many|late|slow|big)|nothing happens|ignored?|blank"
        r"|empty|off by|corrupt\w*|freez\w+|frozen|killed|unable|bug|fehl\w+|geht nicht|kaputt|falsch|bricht|hängt"
        r"|abgestürzt|erreur"
        r"|échou\w*|marche (?:pas|plus)|cassé\w*|plant\w+|falla\w*|fallo|no funciona|roto|erro|falha\w*"
        r"|não (?:funciona|abre)|quebr\w+|ошибк\w+|не работает|пада\w+|слома\w+|врёт|завис\w*)(?![^\W_]))"
        r"|报错|错误|失败|不了|没反应|崩溃|卡(?:住|死|在)|出错|乱码|超时|エラー|失敗|落ち|動か|できない|壊れ|おかしい"
        r"|化け"
        r"|오류|에러|실패|안 (?:돼|되|나)|깨[져지]|죽"
    ),
    "leaves": (
        rf"\A\W*(?:ok(?:ay)?[ ,]+)?(?:leave (?:that|it)|other topic|unrelated|different (?:thing|topic"
        rf"|question)|new topic|before that|never ?mind|park (?:this|that)"
        rf"|put (?:that|it) on ice|forget (?:that|it|the)|by the way|anderes thema|autre (?:sujet|chose)"
        rf"|otra cosa|outra coisa|другое|другая тема|换个话题|別件|다른){_E}|先放一放|放一边|先不管|さておき|置いといて"
    ),
    "refers": (
        rf"{_W}(?:it|its|there|them|they|that|this|one|he|she|those|these|myself|so|then|also|too"
        rf"|es|dort|damit|dafür|das|le|la|les|y|en|ça|eso|allí|lo|isso|lá|ele|это|его|туда|там){_E}"
        r"|[那它这]|それ|そこ|これ|その|この|あれ|그거|그걸|거기|이거|이걸|이게|그게"
        rf"|{_W}(?:c[oó]mo|como) [^\W\d_]+[aei]r-?l[oae]s?{_E}"
    ),
    "bare": (
        rf"\A\W{{0,3}}(?:(?:and|so|ok|und|et|y|e|а|и){_E}\W{{0,3}})?(?:how(?: to)?|why|wie|warum|wieso|comment"
        rf"|pourquoi|cómo|por qué|como|por que|как|почему){_E}(?:\W{{1,3}}[^\W\d_]+)?\W{{0,3}}\Z"
        r"|\A\W{0,3}(?:那么?|所以|具体|应?该|要|でも|では|じゃあ|그럼|그러면){0,2}\W{0,3}"
        r"(?:怎么|如何|为什么|为啥|咋|どう|なぜ|なんで|어떻게|왜)\s?\w{0,9}\W{0,3}\Z"
    ),
    "edits": (
        rf"{_W}(?:renam\w+|reword\w*|rephras\w+|translat\w+|reformat\w*|proofread|shorten|docstrings?|typos?"
        rf"|(?:um)?benenn\w*|übersetz\w*|renomm\w+|tradui\w+|renombr\w+|traduc\w+|renome\w+|tradu[zç]\w*|переимен\w+"
        rf"|перевед\w+){_E}|改名|重命名|翻译|リネーム|翻訳|번역"
    ),
}
_patterns: dict[str, re.Pattern[str]] = {}


class Clause(NamedTuple):
    """One thing a prompt says, with what its form tells."""

    text: str
    terms: tuple[str, ...]
    asks: bool
    points: bool
    turns: bool
    fails: bool
    pasted: bool


class Prompt(NamedTuple):
    """A prompt that was read. `silence` is 'trivial' or 'machine' where nothing is asked, None otherwise.

    `wants` says that it asks what one may, should or has to do; `refers` that it
    speaks of what was said before; `leaves` that it turns away from it.
    """

    clauses: tuple[Clause, ...]
    silence: str | None
    wants: bool
    refers: bool
    leaves: bool
    turns: bool


def read(text: str, category: str | None = None) -> Prompt:
    """Return what a prompt says."""
    typed = author.typed(text)
    if typed is None:
        return Prompt((), "machine", wants=False, refers=False, leaves=False, turns=False)
    clauses = tuple(_clauses(typed, category))
    told = [clause for clause in clauses if _informative(clause)]
    wants = any(_found("wants", clause.text.lower()) for clause in clauses)
    silence = None if told or wants else "trivial"
    if told and not wants and _says_no_more(typed, clauses, told):
        silence = "trivial"
    low = typed.lower()
    head = clauses[0] if clauses else None
    return Prompt(
        clauses,
        silence,
        wants,
        _refers(low, clauses),
        _found("leaves", low),
        head is not None and head.turns,
    )


def is_subject(text: str) -> bool:
    """Return whether a prompt may be what later ones refer to: a person's, and it names something itself."""
    asked = read(text)
    if asked.silence is not None or _found("bare", text[:PROMPT_CHARS].lower()):
        return False
    return remark.names_subject(term for clause in asked.clauses for term in clause.terms)


def _says_no_more(text: str, clauses: tuple[Clause, ...], told: list[Clause]) -> bool:
    """Return whether a prompt only agrees, declines or thanks, or only tells that something went well or is over."""
    if any(clause.asks or clause.pasted for clause in clauses):
        return False
    terms = [term for clause in told for term in clause.terms]
    fails = any(clause.fails for clause in clauses)
    if not fails and len(clauses) <= GO_AHEAD_CLAUSES and remark.acknowledges(text, terms):
        return True
    return not any(clause.turns for clause in clauses) and remark.is_good_news(text, _fails)


def _refers(low: str, clauses: tuple[Clause, ...]) -> bool:
    """Return whether a prompt speaks of what was said before: by a pronoun, or by a question without an object.

    Work on a name or a text ("rename it to foo") carries its own subject.
    """
    asks = any(clause.asks for clause in clauses)
    if not (_found("refers", low) or (asks and _found("bare", low))):
        return False
    return asks or any(clause.fails for clause in clauses) or not _found("edits", low)


def _clauses(text: str, category: str | None) -> Iterator[Clause]:
    """Yield the clauses of a text: prose first, then what its pasted lines name."""
    prose, errors = condensed(text)
    prose = _without_payload(prose)
    made = 0
    for pasted, source in ((False, prose), (True, "\n".join(errors))):
        for part in _parts(source):
            terms = query.build(part, category).terms
            if not terms and not pasted and made:
                continue
            low = part.lower()
            yield Clause(
                part, terms, _found("asks", low), _found("points", low), _found("turns", low),
                _found("fails", low), pasted,
            )  # fmt: skip
            made += 1
            if made == CLAUSES_MAX:
                return


def condensed(text: str) -> tuple[str, list[str]]:
    """Return a text without what was pasted into it, and the pasted lines that name an error.

    Where the rest names nothing ("what is this?"), every line of a fenced block that names an error counts, else
    those that hold an identifier: the block is the subject then.
    """
    errors: list[str] = []
    lines = text.splitlines()
    if len(lines) > 1:
        fenced = "\n".join(_pattern("fence").findall(text)).splitlines()
        text = _pattern("fence").sub("\n", text)
        if _found("diff", text):
            text = _pattern("changed").sub("", text)
        kept = [line for line in text.splitlines() if not is_pasted(line)]
        pasted = [line for line in text.splitlines() if is_pasted(line)]
        is_bare = not any(
            remark.names_subject(query.build(line).terms) or _found("edits", line.lower()) for line in kept
        )
        pasted = [*(line for line in fenced if is_bare or is_pasted(line)), *pasted]
        errors = [_bare(line) for line in pasted if _found("error", line) and _pattern("frame").match(line) is None]
        if is_bare and not errors:
            errors = [_bare(line) for line in fenced if remark.names_exactly(line)]
        text = "\n".join(kept) if any(line.strip() for line in kept) else "" if errors and fenced else lines[0]
    return _pattern("url").sub(_named, text), list(dict.fromkeys(errors))[:ERRORS_MAX]


def _without_payload(prose: str) -> str:
    """Return prose without the text that its first paragraph wants turned into another; what asks or lists stays."""
    head, gap, rest = prose.lstrip().partition("\n\n")
    if not gap or not any(_found("turns", part.lower()) for part in list(_parts(head))[:2]):
        return prose
    kept = [line for line in rest.splitlines() if _pattern("item").match(line) or _found("asks_plainly", line)]
    return "\n".join([head, *kept])


def is_pasted(line: str) -> bool:
    """Return whether a line of several was pasted: of a log, a trace, a diff, a table, or code."""
    if not line.strip() or _pattern("item").match(line):
        return False
    if _pattern("stamp").match(line) or _pattern("paste").match(line):
        return not (line.startswith("> ") and line.count(" ") > 4)
    letters = sum(char.isalpha() or char == " " for char in line)
    return letters < 0.72 * len(line)


def _bare(line: str) -> str:
    """Return a line of a log without its time and the caller's place."""
    return re.sub(r"^\W*[\d\W]*(?:UTC|Z)?\W*", "", line)[:CLAUSE_CHARS]


def _named(url: re.Match[str]) -> str:
    """Return what an address names: the last word of its path."""
    return url.group().split("://", 1)[1].split("?")[0].rstrip("/").rsplit("/", 1)[-1]


def _parts(text: str) -> Iterator[str]:
    """Yield the clauses of a text, none of them blank; long sentences are cut at commas."""
    for sentence in _split("end", text):
        if len(sentence) <= SENTENCE_CHARS:
            yield sentence
            continue
        held = ""
        for part in _split("comma", sentence):
            held = f"{held} {part}" if held else part
            if len(held) >= PART_CHARS:
                yield held[:CLAUSE_CHARS]
                held = ""
        if held:
            yield held[:CLAUSE_CHARS]


def _split(mark: str, text: str) -> Iterator[str]:
    """Yield what lies between the marks, without what is blank."""
    start = 0
    for end in _pattern(mark).finditer(text):
        if text[start : end.end()].strip():
            yield text[start : end.end()].strip()
        start = end.end()
    if text[start:].strip():
        yield text[start:].strip()


def _informative(clause: Clause) -> bool:
    return any(remark.may_name(term) for term in clause.terms)


def _fails(text: str) -> bool:
    return _found("fails", text)


def _found(name: str, text: str) -> bool:
    return _pattern(name).search(text) is not None


def _pattern(name: str) -> re.Pattern[str]:
    found = _patterns.get(name)
    if found is None:
        found = _patterns[name] = re.compile(_SOURCES[name], re.DOTALL if name == "fence" else re.NOFLAG)
    return found
