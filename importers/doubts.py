"""Further reasons for which a sentence lays nothing down, beside those of `speech`.

What the product shall do, what others want, an idiom, what is only thought: each was taken for a rule in sessions of
a second author. All patterns are for lower case, with plain apostrophes and what stands in quotes taken out.
"""

_PRAISE = (
    r"great|wonderful|lovely|brilliant|fantastic|awesome|perfect|super|amazing|excellent|splendid|terrific|toll"
    r"|klasse|prima|wunderbar|großartig|herrlich|génial|bravo|parfait|magnifique|genial|estupendo|fantástico"
    r"|perfecto|ótimo|maravilha|fantastico|ottimo|perfetto|geweldig|prachtig|отлично|супер|прекрасно"
)
"""What an irony begins or ends with."""

REFUSALS = {
    "mocks": (
        rf"\A(?:(?:ah|oh|na|well|ok|and)\W+)?(?:{_PRAISE})\W+.*"
        r"\b(?:(?:from now on|going forward),? (?:so )?(?:we|it|everything|everybody|everyone|nobody)"
        r" (?:just|simply|apparently|obviously)|ab (?:jetzt|sofort) \w+ (?:wir|alle) (?:also|einfach|wohl|anscheinend)"
        r"|(?:à partir de \w+|désormais),? on \w+ (?:donc|apparemment|juste)"
        r"|a partir de \w+,? (?:pues|entonces|então)|d'ora in poi,? (?:dunque|quindi))\b"
        rf"|[,;–—-]\s*(?:how |so |just |na |wie )?(?:{_PRAISE})\W*\Z"
    ),
    "tasks": (
        r"\A(?:please |now |and |also |then )*(?:fix|debug|repair|rerun|re-run|run|skip|unskip|revert|restore|rename"
        r"|remove|delete|move|look at|port|split)"
        r" (?:the|that|this|my|our|your) (?:[\w-]+ ){1,4}(?:that|which|where) \w+s\b(?!.*[,;–—-] (?:always|never)\b)"
        r"|\b(?:after|before) (?:this|that)\W*\Z"
        r"|\A(?:as|als) (?:an? |ein\w* )?(?:[\w-]+ ){0,2}(?:users?|customers?|admins?|visitors?|buyers?|sellers?"
        r"|nutzer\w*|kund\w+|besucher\w*),? (?:i|ich|we|wir)\b|\Aen tant qu\S+ \w+,? j|\Acomo (?:usuari\w+|cliente),? "
    ),
    "specifies": (
        r"\bthe (?:[\w-]+ ){1,3}(?:should|must) (?:always|never) (?:show|display|hide|appear|stay|stick|render"
        r"|open|close"
        r"|look|fit|scroll|contain|start|end|be (?:visible|hidden|shown|enabled|disabled|open|on|at|sorted|there"
        r"|clickable|centered|the))\b"
        r"|(?<!we )(?<!you )should (?:always|never) (?!be \w+(?:ed|en)\b|go\b|happen\b)|\bmust always (?:include"
        r"|have|return|be visible)\b"
        r"|\b(?:tell|warn|remind|ask|inform|force|let|prevent) (?:the |a |an |our |all |new )?(?:users?"
        r"|customers?|people|them|him|her|team|clients?"
        r"|admins?|llm|model|bot|agent|visitors?|guests?|merchants?)\b"
        r"|\A(?:please |now |and |also )?(?:leave|include|insert|append|mention|say|state|extend|update|set"
        r"|configure|adjust|adapt|tweak|edit"
        r"|rewrite|rephrase|refactor|turn|replace|convert|implement|build|mock|put a)\b.*\b(?:so (?:that )?(?:it"
        r"|we|they|the)|that|which|saying"
        r"|says|where|to (?:always|never))\b"
        r"|\A(?:(?:and |also |please |then |so )*always|(?:and |also |then )+never) \w+ (?:\w+ )?(?:the|its"
        r"|their) \w+(?!.*\b(?:before|after|when|whenever|first|every|each|any"
        r"|all|here|repo|project|we|our|without|instead|not|never|unless|prod|production|main|master|yourself"
        r"|directly|until)\b)"
        r"|, (?:let|make|have) the \w+ \w+|, (?:fix|change|rename|update|remove|delete|move|convert|adjust"
        r"|correct|replace) (?:the|those"
        r"|these|that|them|it|all)\b"
        r"|\b(?:il|elle|ils|elles|ça) (?:ne )?(?:doit|doivent) (?:toujours|jamais)\b"
        r"|\b(?:always|never)(?:,| and| or| vs\.?) (?:always|never)\b|\A(?:explain|describe|compare|define|translate"
        r"|summari[sz]e|list|show me|find|count|look (?:for|at|up)|search|grep)\b"
        r"|\A(?:when|if|once|as soon as) (?:a|an|the|any) (?:[\w-]+ )?(?:user|customer|visitor|guest|admin"
        r"|merchant|client"
        r"|order|payment|request|buyer|seller|row|button|modal|dialog|page|form|field|item)s?\b"
    ),
    "mutters": (
        r"\b(?:now or|better late than|than) never\b|\b(?:always|never) (?!(?:\w+ss|focus|canvas|bus|alias"
        r"|https?|this|its|tests|tabs|types)\b)[a-z]{3,}s\b"
        r"|\b(?:wondering|whether|not sure if|should we|do we|do you think|shall we)\b|\b(?:back then"
        r"|in the past|previously|formerly|last (?:job|company"
        r"|project|year|time)|my (?:old|last|previous) (?:job|team|company)|früher|à l'époque|раньше)\b|昔は"
        r"|\b(?:wants?|wanted|expects?|insists?) (?:us|me|everyone|that we|everybody) to\b"
        r"|\A(?:zeig|such|find|liste|erklär|übersetz|montre|cherche|explique|trouve|traduis|muestra|busca"
        r"|explica|traduce|mostra|cerca|spiega|procura"
        r"|покажи|найди|объясни|переведи)\w*\b|\A(?:请)?(?:解释|翻译|查一下|找)"
        r"|\A(?:immer|nie) (?:diesel?be?\w*|derselbe|dasselbe)\b|\bвсегда одно\b|\bdit qu'|\bdisent qu'"
        r"|\A(?:in|for) [\w/.-]+\.[a-z]{1,4}\b"
    ),
    "outside": (
        r"\A(?:remember|don't forget) (?:the|my|your|an?|this) (?!\S+ (?:is|are|has|runs?"
        r"|uses?)\b)(?:[\w-]+ ?){1,3}\W*\Z|\bprefer (?:the|your|his|her) \w+(?: \w+)?\W*\Z"
        r"|\A(?:immer wenn|jedes mal,? wenn|every ?time|whenever|each time|chaque fois qu\w*"
        r"|cada vez que) (?:ich|i|je|j'\w+|yo|eu|it|he|she|er|es|sie)\b(?!.*\b(?:ask|say|tell)\b)"
        r"|\b(?:is|are|am) (?:always|never) (?:red|slow|late|broken|down|wrong|flaky|full|busy|ready|happy|sure"
        r"|easy|fun|the same)\b"
        r"|"
        r"\b(?:in|of|under|by) (?:\w+ ){0,2}law\b|\bgdpr (?:says|requires)|\b(?:nie|immer) (?:funktioniert"
        r"|klappt|geht|läuft|stimmt|passt|kommt)\b"
        r"|, (?:und |et |y |e |и |а )?(?:nicht|pas|no|não|non|не|niet) (?:dies\w*|das|die|den|der|deze|ce\w*"
        r"|celui\S*|es[ea]|est[ea]|ess[ea]|quell\w*"
        r"|quest\w*|эт\w+|тот|ту|la otra|l'autre)\W*\Z"
    ),
    "weighs": (
        r"\A(?:i guess|i think|i suppose|i'm not sure|not sure|in my opinion|imo|feels like|seems|it seems|looks like"
        r"|could be|ich glaube|ich denke|je pense|je crois|creo que|acho que|credo che|думаю|кажется|我觉得|多分)\b"
        r"(?!.*\bfrom now on\b)|\bi (?:think|guess|suppose|believe)\W*\Z|\b(?:is|are) like (?:my|an?|the)\b"
    ),
}
"""Further reasons for which a sentence lays nothing down: what the product shall do, and what is only thought."""

ONLY_SPECIFIED = "specifies"
"""The one of them that does not hold against what asks to be remembered, or says since when it holds."""

TOLD_BY = r"https?://|\bsays\s*:"
"""What leads over to words of somebody else that go on behind a semicolon."""

TAGS = (
    r",\s*(?:tá|ok(?:ay)?|ja|d'accord|vale|va bene|ладно|хорошо|please|pls|yeah|deal|alles klar|verstanden"
    r"|entendido|compris|capito)\s*"
    r"[?]+\W*\Z"
)
"""A question at the end of what is none."""

POLITE = (
    r"\A(?:could|can) you (?:please )?"
    r"(?!(?:show|tell|explain|check|see|list|find|remember|remind|also show)\b)(?=[a-z])([^?]*)\?\W*\Z"
)
"""An order in the form of a question, when it says that it means to last."""
