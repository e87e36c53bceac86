"""Further forms in which people lay down what holds, found in sessions of a second author.

Where `speech` looks for the words of a rule (always, never, we, from now on), these are forms that do without them: a
fact with what follows from it, a kind of thing and where it belongs, a case and what is to be done in it, how a person
wants to be answered, what is settled. Each asks for two signs at least, for one alone is in every task.
All patterns are for lower case, with plain apostrophes and what stands in quotes taken out.
"""

_KIND = (
    r"(?!(?:it|this|that|these|those|they|there|he|she|you|i|we|what|which|who|here|the (?:first|second|third|last|next"
    r"|other|same|new|old)|yes|always|has|does|was|(?:the )?(?:bug|problem|error|issue|cause|culprit|fix|reason|crash|failure)\b|users|customers|people|admins|visitors|guests|members|clients)\b)"
    r"(?:all |our |every |any |each |new |the )?[\w./-]+(?: [\w./-]+){0,3}?"
)
"""What a rule is about: a kind of thing, neither what was just spoken of nor people who use the product."""

_WIDE = (
    r"(?:everywhere|throughout|across the (?:\w+ )?\w+|all over|(?:in|for) (?:this|our|the (?:whole|entire)) (?:repo\w*"
    r"|project|code ?base|monorepo|app|service|team|company|org\w*|stack|product)|(?:in|around) here|for everything"
    r"(?: else)?|in (?:code|prod|production|ci) (?:as well|and)|company-?wide|no matter what|by default)\b"
)
"""That it holds widely."""

_REPO = r"(?:repo(?:sitory)?|project|code ?base|monorepo|package|workspace)"

_BARE = r"(?!(?:the|this|that|these|those|it|them|him|her|my|me|us|so|to|be|worry|bother|think|forget|know|see)\b)"
"""An object that is none in particular follows."""

_DO = (
    r"(?:use|run|call|write|keep|put|go|stick|prefer|avoid|ask|tell|check|test|pin|commit|push|merge|deploy|log|open"
    r"|file|ping|update|add|bump|rerun|regenerate|wait|leave|stop|name|sign|tag|wrap|import|pass|read|set|build|format"
    r"|talk|answer|assume|plan|expect|treat|look|mention|document)"
)

_NOT = r"(?:don't(?: ever)?|do not(?: ever)?|never|no need to|you (?:can't|cannot|must not|mustn't|shouldn't))"

_WORK = (
    r"(?:tests?|specs?|builds?|pipelines?|migrations?|commits?|prs?|pull requests?|merge requests?|branch(?:es)?"
    r"|dependenc(?:y|ies)|releases?|linters?|types?|hooks?|cis?|jobs?|deploys?|deployments?|reviews?|schemas?|apis?"
    r"|endpoints?|flags?|docs?|scripts?)"
)
"""What the work itself is made of, as against what the product does."""

_PLURAL = (
    r"(?!(?:users|customers|people|admins|visitors|guests|members|clients|always|this|its|yes|does|was|has|thanks)\b)"
    r"[a-z][\w/.-]*s(?: and [\w/-]+| [\w/-]+s| (?:that|which|in|for|on|of|from) [^,;]{2,40})?"
)
"""A kind of thing, named without an article."""

RULES = {
    "minds": (
        rf"\A(?:for|in) (?:this|our) {_REPO}\s*:\s|\A(?:one|another|(?:a )?(?:new|simple|general|house|hard)) (?:\w+ )?rule\b[^:]{{0,25}}:\s"
        r"|\A(?:my|our|the team's) rules?\s*:\s"
        r"|\b(?:stays?|will stay|remains?) (?:that|this) way\b|\bwon't (?:ever )?change\b"
        r"|\bi (?:don't|do not|never) want to (?:see|have|hear|find|read) .*\b(?:again|any ?more|ever)\b"
        r"|\b(?:we|the team|our team|everyone)(?: have| has| all|'ve)? (?:decided|agreed|settled)(?: \w+)?\s*:"
        r"|"
        r"\A[^:,]{0,30}\bfor (?:later|next time|the future|future \w+)\s*[:,]\s"
        r"|\blet's make (?:it|this|that) a (?:rule|habit|convention)\b|\A(?:new|another|one more|second|hard|simple) (?:house )?"
        r"(?:rule|convention)\s*[:,–—-]|[,.;–—-] (?:please )?make (?:that|this|it) a (?:habit|rule)\W*\Z"
        r"|[,;–—-] (?:that's|that is|it's|this is) (?:the (?:rule|convention|policy|standard|deal|law)|how we (?:do|work|roll)"
        r"|our (?:rule|convention|policy|standard))\b|\A(?:put|save|store|write|add|keep) (?:this|that|it) (?:in|to|into|down in)"
        r" (?:your |the )?(?:memory|notes|claude\.md)\b"
        r"|\b(?:every|each) (?:single )?time\W*\Z(?<!\?)|\botherwise (?:i|we) (?:won't|will not|reject|close|don't)\b"
        r"|\bi mean (?:that|this|it) for (?:all|every)\b"
        r"|"
        r"[,;.–—-]\s*(?:so |and |please )*(?:(?:remember|note) (?:that|this|it)|keep (?:that|this|it) in mind"
        r"|bear (?:that|this|it) in mind|(?:don't|do not|never) forget (?:that|this|it))\b"
        r"(?:,? (?:please|pls|for|when|whenever|before|next|in future|going forward|everywhere|from)\b.{0,60})?\W*\Z"
        r"|\A(?:for|in) (?:all )?(?:future|later|coming|next) (?:sessions?|chats?|conversations?|runs|work|tasks|prs"
        r"|changes)\b[,:]"
        r"|\b(?:you should|good to|you need to|you have to) know\b.{0,40}[:,]|\A(?:a |one )?(?:general )?rule of thumb\b"
        r"|\b(?:keep(?:s)? forgetting|how (?:often|many times)|(?:as|like) i (?:said|told you)|i(?:'ve| have) told you"
        r"|as (?:always|discussed|agreed))\b.{0,30}: "
        r"|\b(?:and )?(?:that's|this is|that is|it's) (?:not (?:going to|gonna) change|final|settled|non-?negotiable|here to"
        r" stay|not up for (?:debate|discussion)|set in stone|by design and stays)\b|[.,;] (?:period|full stop|end of"
        r" story|no discussion)\W*\Z"
        r"|\A(?:good, |ok(?:ay)?, |then )?(?:decided|settled|agreed|decision)\s*(?::\s|[,–—-]\s*\w+ \w+ \w)"
        r"|\bput (?:that|this|it) (?:in|into) (?:your )?(?:memory|notes|claude\.md)\b"
    ),
    "facts": (
        r"\A(?:quick |friendly |just a |as a )?reminder\b[:, ]\s*(?!(?:to self )?(?:of|for|about|to)\b)\w+ \w+|"
        r"\A(?:btw|by the way|fyi|just so you know|so you know|for your information|heads up|mind you|careful|be careful"
        r"|n\.?b\.?|important|warning|watch out|note|be aware|beware|mind)\b(?: that)?[\s,:–—-]+(?!(?:i|he|she|it|they|there|this|that|these|those|you|we"
        r" (?:had|were|are|have|need))\b)(?!.*\b(?:now|again|still|yet|just|fail\w*|broke\w*|red|down|slow|was|were|did|got|seems"
        r"|looks)\b)(?:(?:the|our|my|all) )?[\w/.-]+(?: [\w/.-]+){0,3}? (?:is|are|go|goes|run|runs|live|lives|come|comes|has|have"
        r"|uses?|must|expects?|needs?|takes?|returns?|belongs?|sits?|only) \S+ \S"
    ),
    "follows": (
        r"\A(?!(?:it|this|that|the (?:test|build|page))\b).*\b(?:only|can't|cannot|doesn't|don't|won't|every|each|all|never|always|restricted|limited)\b.*,? so"
        r" (?:[a-z-]+s|nothing|nobody|no one|everything) (?:has to|have to|may|must|can only|can't|cannot|needs? to)\b"
        rf"|\A(?:our|my|the) [\w-]+(?: [\w-]+)? (?:don't|doesn't|can't|cannot|has no|have no) [^,;]+[,;] (?:so )?(?:please )?{_NOT} {_BARE}\w+ {_BARE}\w"
        r"|"
        r"\A(?:i'm|i am) (?:on|using) \w.*, so .*\b(?:won't|can't|don't|doesn't|cannot|never|only)\b"
        r"|\b(?:only|restricted|limited|supports?|expensive|shared)\b.*, so (?:the|our|we|you|all|they) .*\b(?:has to|have to|must|needs? to"
        r"|can't|cannot|can only)\b"
        r"|\A(?:please )?(?:don't|do not|never) \w+ .*[,;–—-] ?we(?: already)? have (?!to\b).*\bfor (?:that|this|it|those)\b"
        r"|\b(?:don't|do not|never) (?!.*\b(?:this|that|it)\b)\w+ .*\bwithout (?!me\b)\w"
        r"|\byou (?:didn't|did not|haven't) (?:write|create|add|touch|change|make|written|created|changed)\b(?<!why you didn't)"
        r"|\A(?:please )?leave (?:my|our|all) .* alone\b|"
        rf"\A(?=.*\b(?:our|we|we're|i'm|my|is|are|has|have|runs?|uses?|only|lives?|can't|cannot|don't|doesn't)\b)"
        rf"(?!(?:it|this|that|these|those|there|they|if|then)\b)[^,;]{{8,}}[,;:–—]\s*(?:so|therefore|hence|that's why|which means)"
        rf",? (?:please |always |better )?(?:(?:{_NOT}|no more) {_BARE}\w+ (?:me )?{_BARE}\w"
        rf"|no (?!(?:need|problem|worries|idea|rush|hurry|luck|wonder|change)\b)[\w-]+|{_DO} {_BARE}(?!in\b|on\b)\w)"
        rf"|\A(?:our|my|the) [\w-]+(?: [\w-]+)? (?:don't|doesn't|do not|does not|can't|cannot|has no|have no)"
        rf" [^,;]+[,;] (?:so )?(?:please )?{_DO} {_BARE}\w"
        rf"|\A(?:please )?(?:{_NOT}) (?:touch|edit|change|modify|delete|rename|move|format|reformat|import|commit|remove)"
        r" (?:anything|any|files?|stuff|code|things) (?:in|under|inside|below|from|outside|of|that)\b"
        rf"|\A(?:please )?{_NOT} {_BARE}\w+ {_BARE}[^,;]+[,;–—(] ?(?:that|it|they|those|we|the|this|because|since|as|otherwise"
        r"|else|use|the)\b.*\b(?:overwritten|generated|regenerated|breaks?|because|since|otherwise|instead|managed|owned"
        r"|belongs?|shared|depends?|needs?|use)\b"
    ),
    "kinds": (
        rf"\Ano,? {_PLURAL} (?:need|are|go|have|start|use|must|should) \S|\A{_PLURAL} (?:is|are|means?|gets?) (?!.*\b(?:red|slow|late|broken|down|wrong)\b).*, always"
        r"(?:,.*)?\W*\Z|\A[\w-]+(?: [\w-]+)? only[,.;–—-] ?(?:please|no|don't|never)\b|\b(?:is|are) (?:read[- ]only|off[- ]limits|taboo) for you\b"
        r"|\A(?:please )?treat (?:everything|anything|all|every|any) .*\bas \w|\b(?:nothing|nobody|no one) else (?:should|may|must|is allowed|gets to)\b"
        rf"|\Ait's (?!(?:a mess|broken|slow|weird|new|missing|not|used)\b)[^,]{{1,30}} (?:in|for|across) (?:this|our|the whole) {_REPO}\b"
        r"|\Awe (?:target|support|require|follow) (?!(?:it|this|that|the|them|a|an)\b)[\w.]|\Awe (?!(?:have|had|were|are|need|see|get|got)\b)\w+ .* only\W*\Z"
        r"|\A(?:please )?keep (?!(?:it|this|that|the|going|them|my|your)\b)[\w -]+ (?:thin|small|short|simple|flat|pure|dumb|stateless|private|sorted|in sync"
        r"|self-contained)\b|\A(?:please )?keep (?!(?:it|this|that|them)\b).*\b(?:backwards? compatible|compatible with|in sync with|alphabetical\w*)\b"
        r"|"
        rf"\A{_PLURAL} always (?:with|in|via|through|under|on|as|from|by) \w|\A{_PLURAL} should \w+ .*, (?:don't|do not|never) \w"
        rf"|\A{_PLURAL} get \w+ed, (?:not|never) \w|\A{_PLURAL} .*\bgo (?:in|into|to|through) .*, we (?:don't|never|do not) \w"
        r"|\b(?:is|are) how we (?:do|work|write|test|deploy|name|build)\b"
        r"|\A(?:please )?(?:use|prefer) (?!(?:an?|the|this|that|my|your|it)\b).* (?:in|for|on) (?:all|any|every) \w"
        r"|\A(?:over )?here,? we (?!(?:are|have|go|need|see|can|could|got|were|had)\b)\w+ \S"
        r"|\Afor (?:anything|everything|all|any|every) [^,]*, (?:please |always |we )?(?:use|go|call|prefer|write|don't|do|ask)\b"
        r"|\Ayou can (?:always |safely )?assume (?!(?:that )?(?:it|this|that)\b)\w+ \S"
        r"|\A(?!(?:the|it|this|that|he|she|they|there|my|i|you|your)\b)\w+(?: \w+)? (?:is|are) always (?!(?:slow|late|red|broken|down|wrong|empty|null"
        r"|flaky|busy|full|the same|a|an|so|there|on|nice|good|great|fun|hard|easy|like|right|welcome)\b)\w"
        r"|\Ano\b.*\b(?:don't|do not|never) (?:reach for|go for|bring in|pull in|introduce|add) (?!(?:this|that|it|the)\b)\w"
        r"|"
        rf"\A(?:this|our|the) {_REPO} (?:uses|targets|requires|follows|supports only|only supports|is (?:written in|managed with"
        r"|built with|a monorepo|pinned to)|runs on|expects) \S"
        rf"|\A(?:please )?(?:always )?(?:prefer|favou?r|default to|opt for|avoid) (?!(?:the|this|that|these|those|it|option|him|her|my|what)\b)"
        rf"\w|\Awe use (?!(?:it|this|that|the|them|these|a|an)\b)[\w@/.-]+ (?:for|as) \w"
        rf"|\A{_PLURAL} (?:only |always )?(?:live|belong|go|sit|stay) (?:only )?(?:in|into|under|next to|beside|at|on|with|inside|to) "
        r"(?!(?:the wrong|nowhere|sleep|prod\b.*\bwrong))\S"
        rf"|\A{_PLURAL} are (?!(?:slow|broken|red|green|fine|ok|good|bad|wrong|missing|flaky)\b).*,? (?:not|never) (?!(?:sure|bad)\b)\w"
        rf"|\b(?:the way|how) we (?:do|write|name|deploy|test|structure|organi[sz]e|version|release)\b.{{0,30}}(?: is\b|:)"
        r"|\bsource of truth\b|\b(?:is|are) (?:legacy|deprecated|dead|obsolete|frozen)[,;:–—-] ?(?:so )?(?:please )?(?:don't|do not|use|never|no)\b"
        r"|\b(?:it's|it is|they're|is|are) (?:called|named|spelled|spelt|written|pronounced) .*,? not \S"
        rf"|\Ain (?:this|our) {_REPO},? (?!(?:can|do|does|is there|are there|please|find|rename|where|what)\b)\w.*\b(?:is|are|lives?|goes?|go"
        r"|uses?|follow|runs?)\b (?!(?:slow|broken|failing)\b)"
        r"|\A(?:please )?(?:make sure|be sure|ensure|see to it)\b.*\b(?:before|after|when(?:ever)?|each time|every time) (?:you |we )?(?:commit|push"
        r"|merg|releas|deploy|finish|chang|add|touch|open|creat|tell|say)\w*"
        r"|"
        rf"\A{_KIND} (?:always |only |should |must |has to |have to )?(?:go(?:es)?|lives?|comes?|happens?|belongs?|stays?|runs?"
        rf"|gets?|is|are) (?:only |always |solely |exclusively )?(?:\w+ )?(?:in|into|inside|on|at|for|through|via|from|by|with|under|to|as)\b"
        rf".*(?:,|;| and| but) (?:not|never|don't|do not|you (?:must not|mustn't|shouldn't|can't)|nowhere|nobody|locally"
        r"|everywhere|nothing|no)\b"
        rf"|\A{_KIND} (?:must|have to|has to|needs? to|(?:is|are) (?:to|supposed to)|should|ought to) .*\b{_WIDE}"
        rf"|\A{_KIND} (?:must|may|can) (?:not|never|only) \w+ .*\b(?:each|other|any|every|through|via|without|outside|from"
        r"|inside|directly|by|on|in)\b"
        rf"|\A{_KIND} (?:is|are|use|uses|get|gets|take|takes|return|returns|follow|follows|start|starts|end|ends|have|has)"
        rf" .*\b{_WIDE}"
        rf"|\A{_PLURAL} (?:may not|must not|mustn't|are not to) \w+ \S"
        rf"|\A{_PLURAL} (?:must|have to|need to|are to) (?:go|come|live|stay|pass|be \w+ed) (?:\w+ )?(?:through|before|via|in|under|into"
        r"|from)\b"
        rf"|\A{_PLURAL} always (?:get|go|come|live|use|belong|return|start|end|need|are \w+ed) \S"
        rf"|\A{_PLURAL} .*\b(?:come|go|live|belong|are|stay)\b .* only\W*\Z"
        rf"|\A{_PLURAL} (?:that|which|are|once) .*\bare (?:frozen|off[- ]limits|sacred|untouchable|immutable|append-only)\b"
        r"|\beverything (?:goes|lives|belongs|runs) (?:in|into|to|through|under|on|via) \w"
        r"|\bwe (?:don't|do not|no longer) (?:have|do|run|support|ship|maintain|need) .*\b(?:any ?more|any longer)\b"
        r"|\b(?:isn't|is not|aren't) (?:optional|negotiable|up for debate)\b"
        r"|\A(?:for|in) [\w ]{2,30}?,? (?:it's|it is|we have|we go with|that's) .*(?:,| and|;) (?:not|never) \w"
        r"|\A(?:please )?(?:use|write|keep|prefer|put|no|avoid) .*\b(?:in|for|from) (?:all )?(?:(?:commit|pr|branch|test|file|function"
        r"|variable|class|component|log|error|issue|code) )(?:subjects|messages|names|titles|descriptions|comments|bodies)\b"
        r"|\A(?:the|our) (?:word|term|name|spelling|wording|prefix|suffix|unit|currency|format|language|default|branch"
        r"|naming|casing)(?: [\w ]{1,30})? (?:is|are) .*,? (?:not|never) \S"
        rf"|\A(?:please )?(?:use|write|keep|follow|prefer|name|add|sign|prefix)\b .*\b(?:for|in|on|to|with|of) (?:every|each|all|any)"
        rf" (?:[\w-]+ )?{_WORK}\b"
        rf"|\A(?:please )?(?:use|prefer|follow|keep) {_BARE}\w.*\b{_WIDE}"
        r"|\Ano more (?!(?:errors?|tests?|questions?|time|than)\b)[\w\s'-]+[,;–—-] ?(?:please )?\w+ .*|\A(?:please )?no more"
        r" (?!(?:errors?|questions?|time|than|changes)\b)[\w -]+(?:, please| please|here|anymore)"
        r"|\bwhat we (?:really |actually |usually |normally |always |all )*do (?:here )?is\b"
        r"|\bwe (?:usually|normally|generally|typically|strictly|deliberately|intentionally|consistently) (?!\w+ed\b)\w+ \S"
        r"|\bwe (?:gave up on|said goodbye to|are done with|banned|retired|settled on|agreed on|committed to|are moving to)"
        r" (?!(?:that|this|it|him|her)\b)\w"
    ),
    "cases": (
        r"\A(?:if|when(?:ever)?) (?:you|we|i) (?:ever )?(?:see|hit|get|run into|encounter) .*\bagain,"
        rf"|\A(?:if|when(?:ever)?) (?:something|anything) [^,]+, (?:please |always |first )?{_DO} \S"
        r"|"
        r"\A(?:when(?:ever)?|if|after|before) (?:adding|changing|touching|creating|writing|renaming|removing|upgrading|bumping|editing|deploying"
        r"|releasing|merging|committing|deleting|introducing|reviewing|refactoring|opening) (?!(?:this|that|it|these|those)\b)[^,]*, (?:please |always"
        r" |also )*(?!(?:it|this|that|the|i|we|he|she|they|there)\b)[a-z]+ \S"
        r"|\w (?:whenever|every time|each time|any ?time) you (?!.*\b(?:this|that|it)\b)\w+ \S"
        r"|\byou should (?!.*\b(?:this|that|it|have|be able)\b)\w+ .*\b(?:before|after|whenever|every|each)\b|"
        rf"\A(?:when(?:ever)?|if|any ?time|every ?time|each time|once|as soon as) (?:a|an|any|some|you|your|we) (?:[\w-]+ )?"
        rf"(?:{_WORK}|(?:add|touch|change|write|create|rename|remove|delete|edit|bump|need|see|hit|open|make|introduce"
        r"|upgrade|move|fix)\b (?:a|an|any|something|anything|new|files?|code|types?|one of|stuff)\b)"
        rf".* (?:also |always |please |then |first )*(?:{_DO}|{_NOT})\b \S"
        r"|\A(?:before|after) (?:you |we )?(?:commit|push|merg|deploy|releas|add|chang|edit|touch|creat|open|mak|delet|renam|"
        rf"upgrad)\w*(?! (?:this|that|it|these)\b)[^,]*, (?:please |always |also )*{_DO}\b \S"
        r"|\A(?:if|when(?:ever)?) (?:you're|you are|in doubt|unsure|something(?:'s| is)|anything(?:'s| is)) (?:ever )?(?:not sure"
        r"|unsure|in doubt|unclear|missing|ambiguous|stuck|about to|\w*)\b.*,? (?:please |always |just )?(?:ask|stop|tell me|check|say so"
        r"|leave|don't|come back)\b|\Awhen in doubt\b"
        r"|\bi want (?:to (?:see|know|review|approve|read)|you to ask)\b.*\bbefore you\b"
        r"|\A(?:please )?(?:always )?(?:ask|check with|tell|warn|ping) me (?:first )?(?:before|when(?:ever)?|if) (?:you|a|an"
        r"|something|anything|doing|adding|changing|deleting)"
        r"|\b(?:frag|fragt) (?:mich )?(?:bitte )?(?:immer|vorher|erst|zuerst|nach,? bevor|, bevor)\b"
        r"|\bdemande[- ](?:moi|nous) (?:toujours|d'abord|avant)\b|\b(?:pregúntame|consúltame|avísame) (?:siempre|antes)\b"
        r"|\b(?:me pergunt[ae]|pergunt[ae]-me|me avis[ae]) (?:sempre|antes)\b|\b(?:chiedimi|avvisami) (?:sempre|prima)\b"
        r"|\bvraag (?:me|mij) (?:altijd|eerst)\b|\b(?:сначала|всегда) спрашивай|\bспрашивай (?:меня )?(?:перед|прежде|если)"
        r"|前に(?:必ず|は|一度|まず)?.*(?:聞いて|確認して|相談して)|(?:之前|前)(?:都|要|请|必须|一定)?(?:先|要先)?(?:问我|问一下|跟我|和我)"
        r"|每次.*(?:都|要|必须|先|记得)|(?:するとき|する際|たび|場合)(?:は|に|には)?.*(?:して(?:ください|ね)|すること)"
        r"|(?:する|した)(?:前|後)(?:に|は|には).*(?:実行|更新|確認|追加)して"
    ),
    "manners": (
        r"\Ayou (?:don't|do not) (?:have|need) to (?:explain|tell|show|repeat|summari[sz]e|ask|comment|justify|apologi[sz]e)\b|\Aonly tell me \w"
        r"|\Ai (?:use|work with|write|read|run|develop on) [^,]+, (?:not|never) \w|\Ai \w+, i (?:don't|never|do not) \w+|\b(?:drives?|driving) me (?:nuts|crazy|mad|insane)\b"
        r"|\b(?:annoys?|bothers?) me (?:when|if|that you)\b|"
        r"\A(?:please |and )?(?:don't|do not|never|no)\b.*\b(?:unless|until) (?:i|we) (?:explicitly |specifically )?(?:ask|say|tell|told|said"
        r"|approve|request|confirm|give)\b|\b(?:only|never) \w+ .*\b(?:when|if|after|once|unless) i (?:explicitly |specifically )?(?:ask|say"
        r"|tell|approve|confirm)\b|\A(?:please )?(?:don't|do not|never) \w+ .*\b(?:unless|without) (?:explicitly|really|absolutely|strictly"
        r"|being asked|my)\b"
        r"|\A(?:please )?(?:don't|do not|never) (?:start|run|commit|push|deploy|restart|publish|merge|install) .*\byourself\b|\bi(?:'ll|'d rather)?"
        r" (?:always )?(?:run|do|start|commit|push|handle|deploy|merge) .*\bmyself\b"
        r"|\bi(?:'ve| have)? (?:already |just )?(?:told|asked) you (?:\w+ )?(?:not to|to (?:always|never|stop))\b"
        r"|\A(?:please )?(?:don't|do not|no need to|you (?:don't|do not) (?:need|have) to|stop) ask(?:ing)? (?:me )?(?:for (?:permission|confirmation)"
        r"|before|whether|if|every|each)\b"
        r"|\A(?:please )?(?:don't|do not) (?:apologi[sz]e|thank|praise|flatter|summari[sz]e|repeat|over-?explain|over-?engineer)\b(?!.*\b(?:this|that"
        r"|it)\b)|"
        r"\A(?:please |pls )?(?:answer|reply|respond|talk|speak|write) (?:to me |me )?(?:only |always )?(?:in (?:english"
        r"|german|french|spanish|portuguese|italian|dutch|polish|japanese|chinese|russian|short|plain|bullet\w*|prose)"
        r"|short\w*|briefly|concisely|without|less)\b"
        r"|\A(?:please |pls )?(?:keep|make) (?:your |the |all )?(?:answers|replies|responses|explanations|messages|summaries"
        r"|commits|commit messages|prs|diffs) (?:\w+ )?(?:short|brief|concise|small|to|under|in|plain|focused|below|minimal)"
        r"|\bi (?:don't|do not|really don't) (?:like|want|need|appreciate) (?:it when you|you to|you \w+ing|your|emojis?"
        r"|summar\w+|long|any)\b|\bi (?:hate|dislike|can't stand) (?:it when|\w+ing|\w+s in)\b"
        r"|\bi(?:'d| would) (?:rather|like|prefer) you (?:always|never|didn't|don't|to always|not)\b"
        r"|\b(?:call|address) me \w+|\A(?:please |pls )?(?:no|skip the|drop the|spare me the) (?:emojis?|summar\w+|bullet"
        r"|apolog\w+|flattery|praise|recaps?|small talk)\b"
        r"|\b(?:antworte|antworten sie|schreib|sprich)\b (?:mir )?(?:bitte )?(?:immer |nur )?(?:auf (?:deutsch|englisch)|kurz"
        r"|knapp|ohne)\b|\bréponds(?:-moi)? (?:toujours |uniquement )?(?:en|sans|plus)\b|\b(?:responde|contéstame"
        r"|respóndeme|contesta)\b (?:siempre |solo )?(?:en|sin|corto)\b|\bresponda?(?:-me)? (?:sempre |só )?(?:em|sem)\b"
        r"|\brispond(?:i|imi) (?:sempre |solo )?(?:in|senza)\b|\bотвечай (?:мне )?(?:всегда |только )?(?:на|по|кратко"
        r"|коротко|без)|(?:日本語|英語)で(?:答|返|書|お願い)|(?:用|请用)(?:中文|英文)(?:回答|回复|写)"
    ),
    "abroad": (
        r"[,:] (?:also )?\w+ (?:statt|anstatt) \w+\W*\Z|\bon (?!a\b|avait\b|est\b)\w+ .*, (?:et )?(?:pas|jamais) (?:avec|dans|en|sur|de|par|via) \w|\blos? hago yo\b"
        r"|\A(?:en este (?:repo\w*|proyecto)|neste (?:repo\w*|projeto)|in questo (?:repo\w*|progetto)|in (?:diesem|unserem) (?:repo\w*|projekt)"
        r"|dans ce (?:dépôt|projet|repo)),? (?:todo|tudo|tutto|alles|tout)\b|"
        r"\bwir (?!(?:haben|sind|können|wissen|müssen|wollen|kommen|brauchen|waren|hatten)\b)\w+en nicht (?:gegen|in|mit|auf|über|direkt|im|an) \w"
        r"|\b(?:nehmen|nutzen|verwenden|benutzen|schreiben) wir .*\b(?:statt|anstatt|anstelle|nicht)\b|\w (?:immer|nie) (?:mit|über|per|via|auf) \w.*,"
        r" (?:das )?gilt\b"
        r"|\A(?:dans (?:ce|notre) (?:dépôt|projet|repo)|en este (?:repo\w*|proyecto)|neste (?:repo\w*|projeto)|in questo (?:repo\w*|progetto)"
        r"|in (?:diesem|unserem) (?:repo\w*|projekt)|в (?:этом|нашем) (?:репо\w*|проекте)),? .*\b(?:sont|est|vont|s'écri\w+|on|es|son|está|están|van|é"
        r"|são|vão|ficam|sono|è|vanno|ist|sind|liegen|liegt|heißen|gehören|лежат|пишем|идут)\b|"
        r"\A(?!.*\b(?:haben|sind|waren|können|müssen|wollen|werden|kommen|hatten|konnten|brauchen) wir\b).*\b\w+en wir (?:\S+ ){0,3}"
        r"(?:nie(?:mals)?|immer|nicht|nur|kein\w*|von hand|grundsätzlich)\b"
        r"|[,;–-] (?:also |bitte |dann )?(?:nimm|nutze?|verwende?|schreibe?|starte?|mach|leg|frag) (?:bitte )?(?:immer|nie)\b"
        r"|\A(?:vor|nach) (?:jede[mr]|dem|einem) (?!(?:nächsten|letzten)\b)\w+ (?:bitte |immer )?(?:die |den |das |alle )?\w+"
        r"|\A(?!(?:ça|il|elle)\b).*\bpas de \w+ (?:ici|dans ce|dans le|chez nous)\b"
        r"|\b(?:bei uns|chez nous|da noi|у нас),? (?!.*\b(?:geht|klappt|funktioniert|läuft|marche|fonctionne|funziona|работает)\b)"
        r".*\b(?:ne \w+ pas|n'\w+ pas|nicht|non|не)\b"
        r"|\A(?:antes de) .*\b(?:ejecuta|corre|pasa|lanza|revisa|actualiza|haz|rode|roda|executa|execute|atualiza|rodar)\b"
        r"|\Aavant (?:de|chaque|tout\w*) .*\b(?:lance|exécute|vérifie|mets|pense|relis)\w*\b|\Aprima di .*\b(?:esegui|lancia"
        r"|aggiorna|controlla|chiedi)\b|\Aперед (?!(?:этим|тем)\b).*\b(?:запускай|проверяй|обновляй|прогоняй|делай|спрашивай)"
        r"|\A\S+ (?:\S+ )?всегда \w+(?:й|йте|и|ите)\b|"
        r"\A(?!(?:das|es|er|sie|hier|dies\w*|der (?:fehler|bug|grund)|das problem|die ursache)\b)\w.*\b(?:ist|sind|steht"
        r"|stehen|liegt|liegen|heißt|heißen|läuft|laufen|gehört|gehören|kommt|kommen|gehen|geht|wird|werden)\b"
        r"(?!.*\b(?:fehler|bug|problem|ursache|kaputt)\b).*,? (?:und )?nicht (?:in|im|auf|über|mit|als|bei|unter|aus|ins|an"
        r"|von|per|direkt) \w"
        r"|\bwir \w+(?:en|n)\b.*\b(?:grundsätzlich|generell|ausschließlich|durchgehend|überall|prinzipiell|nur noch)\b"
        r"|\A(?:bitte )?kein\w* \w+ (?:in|im|mehr|ohne|auf)\b|\A\w+ (?:bitte )?nur noch (?:mit|über|per|auf|in|via) \w"
        r"|\A(?:alle|jede[rsn]?) (?:[\w-]+ ){1,4}(?:muss|müssen|braucht|brauchen|gehört|gehören|bekommt|bekommen|läuft"
        r"|laufen|geht|gehen)\b|\bwir haben (?:uns )?(?:entschieden|beschlossen|geeinigt|abgemacht|vereinbart)\b"
        r"|\bdas bleibt (?:auch )?so\b|\bbevor du (?!das|es|den|die)\w+.*, (?:bitte |immer )?(?:frag|führ|lass|mach|prüf)"
        r"|\A(?!(?:ça|ce|c'est|il|elle|le (?:bug|problème)|l'erreur)\b)\w.*\b(?:est|sont|se trouvent?|passent?|vont|va"
        r"|s'appellent?|restent?)\b(?!.*\b(?:bug|problème|erreur)\b).*, (?:et )?(?:pas|jamais|non) (?:dans|en|sur|par|à|au"
        r"|via|avec|du|de|des) "
        r"|\bon (?:passe|utilise|met|écrit|fait|garde|range|déploie|teste|nomme) .*\b(?:partout|uniquement|par défaut|sans"
        r" exception)\b|\A(?:évitez?|merci d'éviter) (?:de |d'|les |le |la )(?!\b(?:ça|cela)\b)"
        r"|\A(?:toute?s?|chaque|tous) (?:[\w'-]+ ){1,4}(?:doit|doivent|passe|passent|a besoin|va|vont)\b|\bon a (?:décidé"
        r"|convenu|choisi) (?:de|d'|que)|\bil faut (?!que)\w+ .*\b(?:avant (?:de|chaque|tout)|après chaque|à chaque|pour"
        r" chaque|dans chaque)\b|\bpense(?:z)? (?:bien )?à \w+ .*\b(?:à chaque|avant|chaque fois|quand|dès)\b"
        r"|\A(?:el|la|los|las|todos?|todas?|cada)? ?(?:[\w-]+ ){1,4}(?:va|van|están?|viven?|se guardan?|se llaman?|son|es)\b"
        r"(?!.*\b(?:error|fallo|problema|bug)\b).*, (?:y )?no (?:en|con|por|desde|a|de|como) "
        r"|\A(?:todos?|todas?|cada) (?:[\w-]+ ){1,4}(?:debe|deben|tienen? que|va|van|necesitan?|pasan?|llevan?)\b"
        r"|\b(?:hemos |habíamos )?(?:decidido|acordado|acordamos|quedamos en|decidimos)\b (?:que|en|usar|no)\b"
        r"|\bhay que \w+ .*\b(?:antes de|cada vez|en cada|para cada|después de cada)\b|\bno (?:toques|edites|modifiques"
        r"|borres|subas|metas|commitees) (?!(?:eso|esto|ese|este|esa|esta|ahora|lo)\b).*\b(?:sin|a mano|directamente"
        r"|nunca|porque|se genera\w*)\b"
        r"|\A(?:todo|toda|todos|todas|cada) (?:[\w-]+ ){1,4}(?:precisam?|devem?|tem que|têm que|vai|vão|passam?)\b"
        r"|\b(?:combinamos|decidimos|ficou decidido|a gente decidiu)\b (?:que|de|usar|não)\b|\bnão (?:mexa|mexe|edite|edita"
        r"|altere|altera|suba|sobe) .*\b(?:sem|na mão|direto|diretamente|porque|gerad\w+)\b"
        r"|\A(?:os|as|o|a) (?:[\w-]+ ){1,4}(?:ficam?|vão|vai|são|está|estão|é)\b(?!.*\b(?:erro|bug|problema)\b).*, (?:e )?não"
        r" (?:em|no|na|com|por|do|da|de) "
        r"|\A(?:ogni|tutti|tutte) (?:[\w-]+ ){1,4}(?:deve|devono|va|vanno|passano?|ha bisogno)\b|\babbiamo (?:deciso"
        r"|concordato|stabilito)\b|\bbisogna \w+ .*\b(?:prima di|ogni|dopo ogni)\b|\A(?:i|gli|le|il|la|lo) (?:[\w-]+ ){1,4}"
        r"(?:vanno|va|stanno|sta|sono|è|passano)\b(?!.*\b(?:errore|bug|problema)\b).*, (?:e )?non (?:in|nel|nella|con|da|a|su"
        r"|al|sul|come) "
        r"|\bу нас (?:принято|заведено|правило|договор\w+)|\bмы (?:договорились|решили)\b|\A(?:все|кажд\w+) (?:\S+ ){1,4}"
        r"(?:должн\w+|нужно|надо|обязан\w+|идут|проходят|лежат)\b|\bтолько через \w|\bне (?:трогай|правь|меняй|редактируй"
        r"|коммить|пушь) .*\b(?:вручную|руками|напрямую|без|генерир\w+|никогда)\b|\A(?!(?:это|он|она|оно|ошибка"
        r"|проблема|баг)\b)\S+ .*\b(?:лежат|лежит|хранятся|хранится|называется|живёт|находятся|находится|идут|идёт)\b.*, а не "
        r"|(?:所有|全部|任何)(?!人).*(?:都|必须|要|不要|不得|不能)(?!吗)|统一(?:用|使用|放|返回|采用|由)|提交(?:之)?前.*(?:要|先|必须)"
        r"|(?:すべて|全て|全部).*(?:してください|統一|すること|こと[。]?\Z)|(?:に|で)統一|(?:ルール|決まり|方針|規約)(?:です|だ|になって)"
        r"|(?:直接|手で|勝手に).*(?:しないで|編集しない|変更しない|触らない)"
    ),
}
"""Families of forms, beside those of `speech`."""

_SIGNS = {
    "facts": """aware beware btw careful fyi heads important information know mind n nb note reminder warning watch way""",
    "minds": """add again agreed anymore bear change coming convention deal debate decided decision discussed discussion
    each ever every final forget forgetting future habit how keep know later law mean memory my negotiable
    next note notes often otherwise our period policy put remains remember rule rules said save settled
    standard stay stays stone stop store story team time times told want way won't write""",
    "follows": """all alone can't cannot didn't do does doesn't don't each every has have haven't hence leave limited means
    never no not only restricted so therefore why without won't""",
    "kinds": """across all always any anything are aren't assume avoid belong called can dead default deprecated do don't
    each else ensure every everything everywhere favor favour follow for frozen get go has have here how
    immutable in is isn't it's keep legacy live locally may more must named need needs never no nobody not
    nothing nowhere obsolete off only opt ought our over prefer require sacred should sit source spelled
    spelt stay support supposed sure target this throughout treat untouchable use uses way we written""",
    "cases": """adding after again anything before bumping changing committing creating deleting deploying doubt editing
    everytime if introducing me merging once opening refactoring releasing removing renaming reviewing should
    something soon time touching upgrading when whenever writing""",
    "manners": """address annoys answer answers apologise apologize appreciate ask asked asking bothers call commits diffs
    dislike drive drives drop explanations flatter hate i if like messages myself need no once overengineer
    overexplain praise prefer prs rather repeat replies reply respond responses skip spare speak stand
    summaries summarise summarize talk tell thank told unless until want without write you yourself""",
    "abroad": """""",
}
SIGNS = {name: frozenset(words.split()) for name, words in _SIGNS.items()}
"""Words without which an English sentence has no form of a family; `abroad` has no English ones."""

REFUSALS = {
    "specifies": (
        r"\bthe (?:[\w-]+ ){1,3}(?:should|must) (?:always|never) (?:show|display|hide|appear|stay|stick|render|open|close"
        r"|look|fit|scroll|contain|start|end|be (?:visible|hidden|shown|enabled|disabled|open|on|at|sorted|there"
        r"|clickable|centered|the))\b"
        r"|(?<!we )(?<!you )should (?:always|never) (?!be \w+(?:ed|en)\b|go\b|happen\b)|\bmust always (?:include|have|return|be visible)\b"
        r"|\b(?:tell|warn|remind|ask|inform|force|let|prevent) (?:the |a |an |our |all |new )?(?:users?|customers?|people|them|him|her|team|clients?"
        r"|admins?|llm|model|bot|agent|visitors?|guests?|merchants?)\b"
        r"|\A(?:please |now |and |also )?(?:leave|include|insert|append|mention|say|state|extend|update|set|configure|adjust|adapt|tweak|edit"
        r"|rewrite|rephrase|refactor|turn|replace|convert|implement|build|mock|put a)\b.*\b(?:so (?:that )?(?:it|we|they|the)|that|which|saying"
        r"|says|where|to (?:always|never))\b"
        r"|\A(?:(?:and |also |please |then |so )*always|(?:and |also |then )+never) \w+ (?:\w+ )?(?:the|its|their) \w+(?!.*\b(?:before|after|when|whenever|first|every|each|any"
        r"|all|here|repo|project|we|our|without|instead|not|never|unless|prod|production|main|master|yourself|directly|until)\b)"
        r"|, (?:let|make|have) the \w+ \w+|, (?:fix|change|rename|update|remove|delete|move|convert|adjust|correct|replace) (?:the|those"
        r"|these|that|them|it|all)\b"
        r"|\b(?:il|elle|ils|elles|ça) (?:ne )?(?:doit|doivent) (?:toujours|jamais)\b"
        r"|\b(?:always|never)(?:,| and| or| vs\.?) (?:always|never)\b|\A(?:explain|describe|compare|define|translate"
        r"|summari[sz]e|list|show me|find|count|look (?:for|at|up)|search|grep)\b"
        r"|\A(?:when|if|once|as soon as) (?:a|an|the|any) (?:[\w-]+ )?(?:user|customer|visitor|guest|admin|merchant|client"
        r"|order|payment|request|buyer|seller|row|button|modal|dialog|page|form|field|item)s?\b"
    ),
    "mutters": (
        r"\b(?:now or|better late than|than) never\b|\b(?:always|never) (?!(?:\w+ss|focus|canvas|bus|alias|https?|this|its|tests|tabs|types)\b)[a-z]{3,}s\b"
        r"|\b(?:wondering|whether|not sure if|should we|do we|do you think|shall we)\b|\b(?:back then|in the past|previously|formerly|last (?:job|company"
        r"|project|year|time)|my (?:old|last|previous) (?:job|team|company)|früher|à l'époque|раньше)\b|昔は"
        r"|\b(?:wants?|wanted|expects?|insists?) (?:us|me|everyone|that we|everybody) to\b"
        r"|\A(?:zeig|such|find|liste|erklär|übersetz|montre|cherche|explique|trouve|traduis|muestra|busca|explica|traduce|mostra|cerca|spiega|procura"
        r"|покажи|найди|объясни|переведи)\w*\b|\A(?:请)?(?:解释|翻译|查一下|找)"
        r"|\A(?:immer|nie) (?:diesel?be?\w*|derselbe|dasselbe)\b|\bвсегда одно\b|\bdit qu'|\bdisent qu'"
        r"|\A(?:in|for) [\w/.-]+\.[a-z]{1,4}\b"
    ),
    "outside": (
        r"\A(?:remember|don't forget) (?:the|my|your|an?|this) (?!\S+ (?:is|are|has|runs?|uses?)\b)(?:[\w-]+ ?){1,3}\W*\Z|\bprefer (?:the|your|his|her) \w+(?: \w+)?\W*\Z"
        r"|\A(?:immer wenn|jedes mal,? wenn|every ?time|whenever|each time|chaque fois qu\w*|cada vez que) (?:ich|i|je|j'\w+|yo|eu|it|he|she|er|es|sie)\b(?!.*\b(?:ask|say|tell)\b)"
        r"|\b(?:is|are|am) (?:always|never) (?:red|slow|late|broken|down|wrong|flaky|full|busy|ready|happy|sure|easy|fun|the same)\b"
        r"|"
        r"\b(?:in|of|under|by) (?:\w+ ){0,2}law\b|\bgdpr (?:says|requires)|\b(?:nie|immer) (?:funktioniert|klappt|geht|läuft|stimmt|passt|kommt)\b"
        r"|, (?:und |et |y |e |и |а )?(?:nicht|pas|no|não|non|не|niet) (?:dies\w*|das|die|den|der|deze|ce\w*|celui\S*|es[ea]|est[ea]|ess[ea]|quell\w*"
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

SURE = ("remembers", "reminds", "from_now", "minds")
"""Families that say themselves that they mean to last."""

ANNOUNCES = (
    r"\A(?:ok(?:ay)?[ ,]*|so[ ,]*|and[ ,]*)?(?:(?:a |one )?(?:new|another|one more|second|general|house|hard|simple|ground) (?:house )?"
    r"(?:rule|convention|policy)|(?:let's make (?:it|this) a )rule|(?:please )?remember (?:this|the following)|for (?:the future|later|next"
    r" time)|from now on|neue regel|nouvelle règle|nueva regla|nova regra|nuova regola|новое правило)\W*\Z"
)
"""A sentence that says that the next one is a rule."""

OWN_LISTS = (
    r"\b(?:(?:ground|house|my|our) (?:rules|conventions|preferences)|how (?:i|we) work|remember|from now on|going forward|for (?:this|every)"
    r" (?:repo|project)|ab jetzt|merk\w*|désormais|a partir de|regole|правила|запомни)\b[^.?]*:\W*\Z"
)
"""A line that says that each item of the list below it is a rule of the person's own."""

TAGS = (
    r",\s*(?:tá|ok(?:ay)?|ja|d'accord|vale|va bene|ладно|хорошо|please|pls|yeah|deal|alles klar|verstanden|entendido|compris|capito)\s*"
    r"[?]+\W*\Z"
)
"""A question at the end of what is none."""

POLITE = (
    r"\A(?:could|can) you (?:please )?(?!(?:show|tell|explain|check|see|list|find|remember|remind|also show)\b)(?=[a-z])([^?]*)\?\W*\Z"
)
"""An order in the form of a question, when it says that it means to last."""

TAILS = ("reminds", "minds")
"""Those of them that may stand behind a whole sentence, whatever leads over to it."""

RECALLS = (
    r"\A(?:so |and |please |pls )*(?:remember|note|memori[sz]e|save|store|keep) (?:that|this|it)(?: in mind| down| somewhere)?(?:,? (?:please|pls|ok|for"
    r" (?:later|next time|the future|the next time|future \w+)|from now on|everywhere))*\W*\Z"
    r"|\A(?:don't|do not|never) forget (?:that|this|it)\W*\Z|\A(?:bitte )?merk dir das(?: bitte)?\W*\Z|\A(?:souviens-t'en|retiens(?:-le| ça)"
    r"|recuérdalo|tenlo en cuenta|lembra disso|lembre-se disso|ricordalo|tienilo a mente|запомни это|覚えておいて(?:ください|ね)?|记住(?:这一点|这个)?|请记住)"
    r"\W*\Z|\A(?:don't|do not|never) (?:mix|do|forget|confuse|break|make) .*\b(?:again|ever)\W*\Z|\A(?:that's|this is|it's) (?:how (?:the|our|we)\b"
    r"|(?:a|the|our) (?:team|house|company|project|general) (?:rule|convention|standard|policy))\b.{0,40}\Z"
    r"|\A(?:always|forever|no exceptions|everywhere|every time|nie|immer|jamais|toujours|siempre|nunca|sempre|mai|всегда|никогда)\W*\Z"
    r"|\A(?:this|that|it) (?:holds|applies|goes|counts|is) for (?:all|every|the whole|everything|future)\b.{0,40}\Z"
)
"""A sentence that asks to remember the one before it, or says that it holds widely."""

GOES_ON = (
    r"\A(?:anything else|everything else|plain \w+|either .* or|if (?:one|it|they|you) .*, (?:it|they|put|use|ask)|(?:this |that |it )?(?:applies|holds|goes) (?:to|for)"
    r"|same (?:goes )?for|(?:don't|do not|never) \w+ (?:them|it|those)\b|only the \w+|wait until i|split|[a-z]+s (?:are|go|live|get) \w+|they (?:are|go|live|get"
    r"|belong) \w+|\w+ only\W*\Z|(?:nie|niemals|never|always|jamais|nunca|mai)\W*\Z)"
)
"""Further beginnings of a sentence that goes on with the one before it."""

TOLD_BY = r"https?://|\bsays\s*:"
"""What leads over to words of somebody else that go on behind a semicolon."""
