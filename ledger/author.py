"""Tell who wrote a prompt: a person, or the client or another program in a person's place.

A machine is told by its frame, how its text begins or the shape of the whole,
and never by a phrase within a person's sentence. What the client itself writes
is told by its opening alone; a notice of any other program is a machine's only
when nobody speaks in it: no question, no first person, nothing asked for.
Pure functions, total: any text may be a prompt.
Lean path: stdlib only, patterns compiled on first use.
"""

import re

TEXT_CHARS = 12_000
"""Characters of a prompt that are read; what is longer was pasted."""

OPENINGS = (
    "This session is being continued from a previous conversation", "Base directory for this skill: ",
    "# AGENTS.md instructions", "# CLAUDE.md instructions", "# MCP Server Instructions", "Caveat: The messages below",
    "Please continue the conversation from where we left", "Your task list is empty",
    "Your todo list has changed", "Your todo list is currently empty",
)  # fmt: skip
"""How the client begins what it writes in a person's place."""

HOOKS = ("feedback:", "success:", "additional context:")
"""What the client says of a hook, after its name: `Stop hook feedback:`."""

MARKS = frozenset("[【:#!<\"'`«“‘(/-0123456789")
"""A notice names its sender or its object by one of these; most prompts cost no pattern."""

SIGNS = (
    "automat", "automát", "reply", "answer", "respond", "action is", "receiv", "you get this",
    "antworten", "répondre", "автомат", "отвечайте", "自动", "自動", "回复", "返信", "자동",
)  # fmt: skip
"""A text without any of these is not signed by a machine."""

CONTEXT = ("system", "ide", "environment", "user", "recalled")
"""Beginnings of the names of blocks that stand beside a person's words and report nothing."""

_SENTENCE = r"(?:\A|[.!;\n※。！，]|, (?=[^.\n]{0,40}\bthis\b))[\s_*]{0,8}"
_ENDS = r"\s{0,8}(?:[.!,;\n。！]|\Z)"

_NAMES = (
    r"(?:(?:local-)?command|bash|task|tool|hook|agent|session|background|teammate|turn|persisted|recalled|system|ide"
    r"|environment)[-_][\w-]+|user-prompt-submit-hook|user_(?:instructions|info|rules)"
)

_SOURCES = {
    "block": rf"<({_NAMES})(?:\s[^<>]*)?>|\[Request interrupted by user[^\]\n]*\]",
    "notice": (
        r"[\s*_#>]{0,8}(?:\W\s{1,3})?(?:"
        r"[\[【][^\]】\n]{0,30}?(?:\bbot|\bci|[Aa]utomated|otification|\b[Aa]lert|\bRESOLVED|\bFIRING\b[:\d]*|\bcron"
        r"|机器人|自动\w*|自動\w*|通知|자동\w*|알림)[\]】]|[\w.-]+\[bot\]"
        r"|(?:(?:From|To|Cc|Reply-To|Date|Sent|Subject|Von|An|Betreff|Datum): [^\n]+\n){2,}"
        r"|Unknown (?:slash command|skill): |Subject: [^\n]+(?:\n\s*\n|\s*\Z)"
        r"|(?:[A-Z\[][\w.\]-]*,? ){1,3}(?:[Aa]lerts?|[Mm]onitor|[Bb]ot|[Nn]otification|[Ii]ncident|[Dd]igest"
        r"|[Rr]eminder|[Ss]cheduler|[Ww]atchdog)(?: [\w-]+){0,2}: "
        r"|(?:[A-Z][\w.-]+(?: [A-Z][\w.-]+){0,2}: \w+ |(?:Build|Deploy(?:ment)?|Pipeline|Cron(?: ?[Jj]ob)?|Job|Workflow"
        r"|Run|Checks?|Backup|Release|Preview|Task|(?:The b|B)ackground \w+|Scheduled \w+|Nightly \w+|Pull request"
        r"|Merge request|Container|Сборка|Sicherung|Testlauf|构建|部署|流水线|(?:定时)?任务|ビルド|デプロイ"
        r"|バックアップ|빌드|배포|백업)"
        r"\s?(?=[#!<\"'`«“‘(]|[\w./-]*\d|\w+[-/]\w))"
        r"(?:[^\n.?]|[.?](?=\S)){0,60}?(?:\b(?:passed|failed|succeeded|finished|completed|ended|exited|processed"
        r"|ready|resolved|triggered|opened|closed|merged|deployed|started|queued|timed out|cancell?ed|recovered"
        r"|exceeded|stopped|published|applied|expired"
        r"|erfolgreich|fehlgeschlagen|abgeschlossen|réussie?|échoué|terminée?|falló|completad[oa]|concluíd[oa]|falhou"
        r"|завершен\w*|успешно|прошла|упала)\b|成功|失败|失敗|完成|完了|성공|실패|완료))"
    ),
    "signed": (
        rf"{_SENTENCE}(?:"
        rf"(?:please )?do not (?:reply|answer|respond)(?: to)?(?: this (?:message|e?-?mail|address))?{_ENDS}"
        r"|this is an automat\w+ (?:message|e?-?mail|notification|reminder|report|response)\b"
        r"|this (?:message|e?-?mail|notification|reminder|report) (?:was|is|has been) (?:\w+ )?(?:automat\w+|generated)"
        rf"(?: \w+)?{_ENDS}"
        rf"|no action is (?:needed|required){_ENDS}"
        r"|you (?:are receiving|receive|received|get) this\b[^.\n]{0,30}\b(?:because|as|since)\b"
        r"|diese (?:nachricht|e?-?mail) wurde automatisch|bitte (?:antworten sie )?nicht auf diese"
        r"|ce (?:message|courriel|mail) (?:a été|est) (?:généré|envoyé) auto|merci de ne pas répondre"
        r"|este (?:mensaje|correo)[^.\n]{0,30}autom[aá]tic|no responda a este"
        r"|esta mensagem foi (?:gerada|enviada) auto|não responda a est"
        r"|это автоматическ\w+ (?:сообщение|уведомление|письмо)|не отвечайте на это"
        r"|[此本该這](?:消息|邮件|通知|信息)[^。\n]{0,8}自动|请勿(?:直接)?回复[。！\s]*(?:\Z|\n)"
        r"|(?:この|本|此の)(?:メッセージ|メール|通知)[^。\n]{0,10}(?:自動|返信)"
        r"|[이본] ?(?:메시지|메일|알림)[^.\n]{0,10}자동)"
    ),
    "speaks": (
        r"[?？](?![^\s\"')\]。!?*_])"
        r"|(?<![^\s(\"'])(?:i|i['’]\w+|we|we['’]\w+|me|my|our|pls|ich|wir|mir|mein\w*|unser\w*|je|j['’]\w+|nous|notre"
        r"|yo"
        r"|nuestr\w+|eu|meu|minha|nosso|я|мы|мне|нам|наш\w*)(?=[\s,.!]|\Z)"
        r"|(?:\A|[.!;:,)>\n–—-]\s*)(?:and |so |please |pls |bitte )*(?:"
        r"(?:how|why|which|who|can you|could you|is there|do we|should|what(?: is| does| do|'s)?|where(?: is| do)?"
        r"|wie|was|warum|wieso|comment|pourquoi|cómo|qué|como|как|почему|что)\s"
        r"|(?:fix|explain|summari[sz]e|translate|investigate|debug|find|look|tell|help|write|make|add|draft|solve"
        r"|analy[sz]e)"
        r" (?:it|this|that|these|them|the|an?|me|us|why|out|into|at|with|for)\b"
        r"|(?:check|see) (?:why|if|whether|what|how)\b"
        r"|(?:behebe|erklär\w*|schau|mach|hilf|übersetz\w*|corrige|explique|arregla|explica|ayuda|conserta|исправь"
        r"|объясни"
        r"|почини|посмотри|помоги|переведи)\b)"
        r"|我|咱|怎么|如何|为什么|帮|看一下|看看|修一下|吗"
        r"|どう|なぜ|直して|教えて|見て|ですか|ますか|어떻게|왜|고쳐|봐 ?줘|알려|우리|나요|까요"
    ),
}
_patterns: dict[str, re.Pattern[str]] = {}


def typed(text: str) -> str | None:
    """Return what a person typed: the text without what a client put around it; None when a machine wrote it.

    Of a text at most `TEXT_CHARS` are looked at and returned.
    """
    if _is_document(text):
        return None
    text = text[:TEXT_CHARS]
    rest, reports = _unwrapped(text) if "<" in text or "[Req" in text else (text, False)
    if (text.strip() and not rest.strip()) or _is_client(rest):
        return None
    return None if (reports or _is_notice(rest)) and not _speaks(rest) else rest


def _unwrapped(text: str) -> tuple[str, bool]:
    """Return a text without the client's blocks, and whether it began with one that reports.

    A block of context stands beside a person's words; one whose lines open a text and are never closed is all of it.
    """
    kept: list[str] = []
    end = 0
    reports = False
    for block in _pattern("block").finditer(text):
        if block.start() < end:
            continue
        name = block.group(1)
        closed = text.find(f"</{name}>", block.end()) if name else block.end()
        is_first = not "".join(kept).strip() and not text[end : block.start()].strip()
        if closed < 0 and not (is_first and text.startswith("\n", block.end())):
            continue
        reports = reports or (is_first and name is not None and not name.startswith(CONTEXT))
        kept.append(text[end : block.start()])
        end = len(text) if closed < 0 else closed + len(f"</{name}>" if name else "")
    return "\n".join([*kept, text[end:]]).strip(), reports


def _is_client(text: str) -> bool:
    """Return whether a text begins as the client does."""
    head = text.lstrip()[:120]
    hook, _, said = head.partition(" hook ")
    if head.startswith(OPENINGS) or (" " not in hook and said.startswith(HOOKS)):
        return True
    return head.startswith("Another ") and " sent " in head and "message: " in head


def _is_document(text: str) -> bool:
    """Return whether the whole text is one JSON object, or a list that begins with one or with a text."""
    text = text.strip()
    return text[:1] in ("{", "[") and text[-1:] in ("}", "]") and text[1:].lstrip(" \n\r\t{")[:1] == '"'


def _is_notice(text: str) -> bool:
    """Return whether a text begins as a notice does, or is signed by a machine."""
    text = text.lstrip()
    head = text[:200]
    is_small = head[:1].islower() and "[bot]" not in head  # no notice begins with a small letter but a bot's
    if not is_small and not MARKS.isdisjoint(head) and _pattern("notice").match(text) is not None:
        return True
    low = text.lower()
    return any(sign in low for sign in SIGNS) and _pattern("signed").search(low) is not None


def _speaks(text: str) -> bool:
    """Return whether a person speaks in a text."""
    return _pattern("speaks").search(text.lower()) is not None


def _pattern(name: str) -> re.Pattern[str]:
    found = _patterns.get(name)
    if found is None:
        found = _patterns[name] = re.compile(_SOURCES[name])
    return found
