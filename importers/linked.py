"""How the sentences of a turn hang together: one announces the next, asks to remember the one before, or goes on."""

ANNOUNCES = (
    r"\A(?:ok(?:ay)?[ ,]*|so[ ,]*|and[ ,]*)?(?:(?:a |one )?(?:new|another|one more|second|general|house|hard"
    r"|simple|ground) (?:house )?"
    r"(?:rule|convention|policy)|(?:let's make (?:it|this) a )rule|(?:please )?remember (?:this|the following)"
    r"|for (?:the future|later|next"
    r" time)|from now on|neue regel|nouvelle règle|nueva regla|nova regra|nuova regola|новое правило)\W*\Z"
)
"""A sentence that says that the next one is a rule."""

OWN_LISTS = (
    r"\b(?:(?:ground|house|my|our) (?:rules|conventions|preferences)|how (?:i|we) work|remember|from now on"
    r"|going forward|for (?:this|every)"
    r" (?:repo|project)|ab jetzt|merk\w*|désormais|a partir de|regole|правила|запомни)\b[^.?]*:\W*\Z"
)
"""A line that says that each item of the list below it is a rule of the person's own."""

RECALLS = (
    r"\A(?:so |and |please |pls )*(?:remember|note|memori[sz]e|save|store|keep) (?:that|this|it)(?: in mind"
    r"| down| somewhere)?(?:,? (?:please|pls|ok|for"
    r" (?:later|next time|the future|the next time|future \w+)|from now on|everywhere))*\W*\Z"
    r"|\A(?:don't|do not|never) forget (?:that|this|it)\W*\Z|\A(?:bitte )?merk dir das(?: bitte)?\W*\Z"
    r"|\A(?:souviens-t'en|retiens(?:-le| ça)"
    r"|recuérdalo|tenlo en cuenta|lembra disso|lembre-se disso|ricordalo|tienilo a mente|запомни это"
    r"|覚えておいて(?:ください|ね)?|记住(?:这一点|这个)?|请记住)"
    r"\W*\Z|\A(?:don't|do not|never) (?:mix|do|forget|confuse|break|make) .*\b(?:again|ever)\W*\Z|\A(?:that's"
    r"|this is|it's) (?:how (?:the|our|we)\b"
    r"|(?:a|the|our) (?:team|house|company|project|general) (?:rule|convention|standard|policy))\b.{0,40}\Z"
    r"|\A(?:always|forever|no exceptions|everywhere|every time|nie|immer|jamais|toujours|siempre|nunca|sempre"
    r"|mai|всегда|никогда)\W*\Z"
    r"|\A(?:this|that|it) (?:holds|applies|goes|counts|is) for (?:all|every|the whole|everything|future)\b.{0,40}\Z"
)
"""A sentence that asks to remember the one before it, or says that it holds widely."""

GOES_ON = (
    r"\A(?:anything else|everything else|plain \w+|either .* or|if (?:one|it|they|you) .*, (?:it|they|put|use"
    r"|ask)|(?:this |that |it )?(?:applies|holds|goes) (?:to|for)"
    r"|same (?:goes )?for|(?:don't|do not|never) \w+ (?:them|it|those)\b|only the \w+|wait until i|split"
    r"|[a-z]+s (?:are|go|live|get) \w+|they (?:are|go|live|get"
    r"|belong) \w+|\w+ only\W*\Z|(?:nie|niemals|never|always|jamais|nunca|mai)\W*\Z)"
)
"""Further beginnings of a sentence that goes on with the one before it."""
