"""How people lay down what holds: patterns in ten languages, and those by which a sentence is none of that.

A sentence counts when its form is that of a rule (it asks to be remembered,
begins with "from now on", orders with "always" or "never", says what "we" do,
or puts one thing in the place of another) and nothing in it says otherwise: a
question, one occasion, what somebody else says, what might be, an irony, a
complaint, a tale. Forms, never words of a trade. All patterns are for lower
case, with plain apostrophes and what stands in quotes taken out. A long module, because it is one table.
"""

import re

_C = r"(?:\A|[,;–—]\s*|\s-\s|\b(?:and|but|so|also|und|et|y|e|en|и|,)\s+)(?:please |bitte |por favor,? |per favore,? )?"
"""Where a clause begins."""

_REPO = r"(?:repo(?:sitory)?|project|code ?base|monorepo|package|workspace)"
_NOT_RULE = (
    r"(?!(?:mind|again|seen|heard|knew|got|happened|found|had|been|saw|thought|understood|worked|built|ran|sent"
    r"|wrote|broke|came|went|felt|met|meant|did|was|were|nice"
    r"|good|great|fun|funny|a|an|the same|like|on|sure|said|told|know|before|ending|fails?|breaks?|works?|returns?"
    r"|that|this|the|there|\w{4,}(?<!e)ing|\w{3,}(?<!emb)(?<!ne)(?<!fe)(?<!se)(?<!spe)(?<!exce)(?<!proce)(?<!sh)ed)\b)"
)
"""What follows `always` and `never` in a tale or a remark."""

_PAST = (
    r"(?!(?:\w+ )?(?:had|were|was|did|got|found|wanted|thought|knew|saw|used to|made|came|went|took|have|need|see|get"
    r"|built|sent|wrote|ran|broke|held|kept|spent|left|lost|felt|meant|began|chose|understood|end up|keep \w+ing"
    r"|run into|forget|struggle|lose|hit|seem|wonder|happen"
    r"|said|know|understand|care|think|\w{2,}(?<!emb)(?<!ne)(?<!fe)(?<!se)(?<!spe)(?<!exce)(?<!proce)ed)\b)"
)
_INSTEAD = (
    r"(?:, (?:and )?not|\bnot with|\band not|\binstead of|\brather than|\bover|, never|\bnever|\bnot)\b"
    r" (?!that|this|it\b)\S"
)
_ORDERS = (
    r"(?:(?:use|prefer|import|install|write|log|store|stick (?:to|with)|stay with|go with|pick|choose|commit|push"
    r"|merge|tag"
    r"|release|document)(?! (?:the|an?|this|that|it|these|those|my|your)\b)|run|test|build|deploy|format|profile|lint)"
)

RULES = {
    "remembers": (
        r"\b(?:things?|something|worth|point|good) (?:to )?(?:remember|keep in mind|note)(?:ing)?\b.{0,20}:"
        r"|\A(?:lesson learned"
        r"|(?:fyi )?for (?:the future|your notes|next time|later)|write this down|(?:add|put|save) (?:this "
        r"|it )?(?:to|in|into)"
        r" (?:your |the )?(?:memory|notes)|que quede claro|que fique claro|sia chiaro|pour (?:la suite|plus tard)"
        r"|para (?:el futuro|o futuro|depois)|per il futuro|voor later)\b"
        r"|\A(?:(?:remember|keep in mind|bear in mind|make a note|note to self|note for later|for the record"
        r"|for (?:future|later) reference)\b(?! (?:when|what|where|how|who|why|me|him|her|the (?:time|talk|day"
        r"|discussion|meeting)|to)\b)"
        r"|(?:remember|don't forget|do not forget) to\b.*\b(?:always|every|each|whenever|when|before|after|if)\b"
        r"|(?:don't|do not|never) forget(?: that|:|,)? (?!to\b)"
        r"|(?:bitte )?(?:merk(?:e|t)?\b(?: (?:dir|euch|es dir))?|denk(?:e|t)? (?:bitte )?(?:dran|daran)"
        r"|vergiss (?:bitte )?nicht|(?:bitte )?merken\b|behalte? im (?:kopf|hinterkopf)|notiere? dir|zur erinnerung"
        r"|für später)"
        r"|(?:souviens-toi|rappelle-toi|retiens|n'oublie (?:pas|jamais)|notez? bien|note (?:bien )?que"
        r"|gardez? (?:bien )?(?:en tête|à l'esprit)|mémorise|pour mémoire)\b"
        r"|(?:recuerda|recuerde|acuérdate|ten(?:ga)? (?:en cuenta|presente)|no (?:te )?olvides|toma nota|anota"
        r"|apunta)\b"
        r"|(?:lembr[ae]r?(?:-se|-te)?|tenha em mente|tem em conta|não (?:se |te )?esque[çc](?:a|as|e)|anot[ae])\b"
        r"|(?:ricorda(?:ti)?|tieni (?:presente|a mente|conto)|non (?:ti )?(?:dimenticare|scordare)|annota"
        r"|prendi nota|segnati)\b"
        r"|(?:onthoud|vergeet niet|denk eraan|houd? (?:er )?rekening mee|houd? in gedachten|noteer)\b"
        r"|(?:запомни|запомните|помни|помните|имей(?:те)? в виду|учти(?:те)?|не забудь(?:те)?,? что"
        r"|не забывай(?:те)?,? что|на будущее)\b)"
        r"|下次(?:记得|要|用|别)|\A(?:请|請)?(?:一定要?)?(?:记住|記住|记着|记得|别忘了?|不要忘记)|覚えて(?:おいて"
        r"|いて|て|ね)"
        r"|覚えと(?:いて|け)"
        r"|忘れないで|メモして(?:おいて)?"
    ),
    "reminds": (
        r"[,;–—-]\s*(?:(?:so |and |please )*(?:remember|note) (?:that|this|it)|keep (?:that|this|it) in mind"
        r"|(?:don't|do not|never) forget (?:that|this|it)|merk dir das|bitte merken|denk dran|souviens-t'en|retiens-le"
        r"|tenlo en cuenta|recuérdalo|lembre disso|ricordalo|tienilo presente|onthoud dat|запомни(?:те)?(?: это)?)\W*\Z"
    ),
    "from_now": (
        r"\b(?:from (?:now|here|today) on(?:wards?)?(?: out)?|going forward|moving forward|in future|as of (?:now"
        r"|today)"
        r"|starting (?:now|today)|henceforth|from this point on|for all future \w+"
        r"|ab (?:jetzt|sofort|heute|nun)|von (?:jetzt|nun|heute) an|künftig|in zukunft|zukünftig|fortan"
        r"|désormais|dorénavant|à partir (?:de maintenant|d'aujourd'hui)|à l'avenir|dès maintenant"
        r"|a partir de (?:ahora|agora|hoy|hoje)|de (?:ahora|agora|hoy|hoje) en? ?(?:adelante|em diante|m diante)"
        r"|desde ahora|de agora em diante|daqui (?:pra|para a?) ?frente|doravante"
        r"|d'ora in (?:poi|avanti)|da (?:ora|adesso|oggi) in (?:poi|avanti)"
        r"|vanaf (?:nu|vandaag)|voortaan|in het vervolg"
        r"|(?:the )?next time(?! (?:i|we)\b)|(?:das )?nächstes? mal|la prochaine fois|la próxima vez|da próxima vez"
        r"|la prossima volta|(?:de )?volgende keer|в следующий раз"
        r"|с этого (?:момента|дня)|отныне|впредь|с сегодняшнего дня|в дальнейшем|на будущее)\b"
        r"(?!,? (?:i'll|i'm|i (?:am|will|have|want|trust|guess|do|use|only|just|can)|he|she|they|ich|je|yo|eu|io|ik"
        r"|я)\b)(?!.*\b(?:might|maybe|could|would|perhaps)\b)"
        r"|\A(?:今後|これから|以後|次から|次回から)(?:は|、|も)?|(?:\A|[，,]|我们|咱们)(?:以后|以後|今后"
        r"|从现在(?:开始|起)"
        r"|从今(?:天|往|以)?(?:后|起|开始)|往后)"
    ),
    "always": (
        rf"{_C}(?:always|never(?:,? ever)?|don't ever|do not ever) {_NOT_RULE}(?!(?:show|display|hide|render"
        rf"|redirect)\b)"
        r"[a-z][\w-]* \S"
        rf"|{_C}(?:don't|do not) (?!.*\b(?:this|that|it|these|those)\b.*\b(?:yet|now)\b)\w+ .*\b(?:ever|by hand"
        rf"|manually"
        r"|directly|without (?:asking|review|approval|permission|a (?:ticket|test|review))|anywhere|in production"
        r"|(?:on|to|into) (?:main|master|prod))\b"
        r"|\b(?:under no circumstances|at all times|without exception|no exceptions|in every case"
        r"|as a (?:general )?rule"
        r"|grundsätzlich|prinzipiell|ohne ausnahme|sans exception|sin excepción|sem exceção|senza eccezioni"
        r"|zonder uitzondering|без исключений)\b"
        r"|(?<!\bit )(?<!\bthis )(?<!\bthat )\b(?:is|are) (?:strictly )?(?:forbidden|banned|off[- ]limits|mandatory"
        r"|deprecated[,;]"
        r".*\buse|verboten|interdit\w*|prohibid\w*|proibid\w*|vietat\w*|verboden)\b|\b(?:запрещен\w*|запрещено"
        r"|нельзя)\b"
        r"|\b(?:ist|sind|est|sont|es|está|están|é|são|è|sono|zijn) (?:\w+ )?(?:verboten|pflicht|interdit\w*"
        r"|obligatoire\w*"
        r"|prohibid\w*|obligatori\w*|proibid\w*|obrigatóri\w*|vietat\w*|verboden|verplicht)\b"
        r"|\byou (?:must not|mustn't|may not) \w+ \S|\bplus jamais\b|\bбольше не \w+ \S"
        r"|\bkein\w* .*\b(?:in|im|für) (?:den|der|dem|das|alle\w*|unser\w*) "
        r"|\b(?:nobody|no one) (?:should|may|must|is allowed)\b"
        r"|\b(?:every|each|all|any) (?:[\w-]+ ){1,3}(?:needs?(?! (?:about |around |~)?\d)|must|has to|have to"
        r"|requires?|goes? (?:in|to|through"
        r"|under))\b"
        r"|\b(?:have to|has to|must|need to|should|make sure|run|update|regenerate|bump) .*\b(?:after|before|for|on"
        r"|with|in)"
        r" (?:every|each|any) \w+"
        r"|\b(?:bei uns|chez nous|por aquí|aquí|aqui|da noi|qui|bij ons|у нас)\b.*\b(?:immer|nie(?:mals)?|kein\w*"
        r"|toujours"
        r"|jamais|siempre|nunca|sempre|mai|altijd|nooit|geen|всегда|никогда)\b"
        r"|\bne (?:faut|doit|doivent|peut|peuvent) (?:jamais|pas)\b"
        r"|, (?:nie(?:mals)?|jamais|nunca|mai|nooit|никогда) (?:in|im|mit|über|auf|direkt|en|dans|avec|par|sur|con"
        r"|por|desde"
        r"|no|na|em|com|su|da|met|op|via|в|на|с|через) "
        r"|\w+ (?:всегда|никогда не) \w+(?:ем|им|ём)\b|\bkein\w* \w+ mehr\b"
        r"|(?<!まだ)(?:しない|触らない|使わない|入れない)で(?:ください|ね)?[。！]?\Z|ようにして(?:ください"
        r"|ね)?[。！]?\Z"
        r"|(?:してはいけない|しちゃ(?:ダメ|だめ)|使わないこと)|(?:不要|别)再"
        r"|(?<!\bthis )(?<!\bthat )(?<!\bit )\b(?:must|should|shall|may|can|has to|have to|needs? to|are to|is to)"
        r" (?:always|never|not ever) \w+"
        r"|, never (?:(?:in|from|as|into|on|with|by|via|through|to|at|over) \w|\w+ly\b)"
        rf"|{_C}(?:nie(?:mals)?|immer|auf keinen fall)"
        r"(?! (?:schön|wieder|noch|das|so|dasselbe|ge\w+(?:t|en)|im|in|mehr)\b)\s\w+ \S"
        r"|\A(?:bitte )?(?!(?:das|es|der|die|er|sie|ich|du|ihr|hier|so|jetzt|dies\w*|klappt|geht|läuft|ist|sind|war|hat"
        r"|we|it|this|that|wir|man)\b)\w{3,} (?:bitte )?(?:nie(?:mals)?|immer|keinesfalls|nooit|altijd) \w+"
        r"|\b(?:darf|dürfen|soll|sollen|muss|müssen|mag|moet|moeten) (?:\S+ ){0,4}(?:nie(?:mals)?|immer|nooit|altijd)\b"
        r"|\bwerden (?:\S+ ){0,3}nie(?:mals)?\b"
        rf"|{_C}(?:ne |n')?(?:jamais|toujours) (?!vu\b|eu\b|compris|aussi|la même|le même|en)\w+ \S|{_C}ne (?:jamais"
        rf"|\w+ jamais) \w+"
        r"|\A(?!(?:ça|ce|c'est|il|elle|je|tu|est|pas)\b)\w+(?:e|ez|s) (?:toujours|jamais) \w+|\An['e] ?\w+ (?:jamais"
        r"|pas)"
        r" .*\bdans (?:ce|notre)\b|\b(?:doit|doivent|faut) (?:\w+ ){0,3}(?:toujours|jamais)\b"
        rf"|{_C}(?:nunca|jamás|jamais|siempre|sempre) (?!me\b|te\b|nos\b|mi\b|ti\b|ci\b|falla|falha|igual|lo mismo"
        rf"|o mesmo|tarda|es\b|é\b|così"
        rf"|uguale|la"
        r" stessa|foi|fue|\w+(?:ando|endo|indo)\b|pasa|funciona|pens\w+|imagin\w+|hab[ií]a\w*|tinha\w*|tive\b|vi\b"
        r"|visto|he\b|ha\b)\w+ \S"
        r"|\A(?!(?:esto|eso|isto|isso|questo|il|el|o|a|la|lo|ele|ela)\b)\w+ (?:siempre|sempre) \w+ \S"
        r"|\Anon (?!\w+a mai\b|\w+e mai\b|\w+o mai\b)\w+ mai \S|\Anon \w+(?:are|ere|ire) mai \S|\A(?:mai|nooit"
        r"|altijd) (?!visto\b|capito\b|avuto\b"
        r"|di nuovo\b|weer\b|più\b"
        r"|ge\w+(?:t|d|en)\b|gedacht|pens\w+)\w+ \S"
        rf"|{_C}(?:никогда не|всегда|ни в коем случае не|ни за что не) (?!\w+(?:л|ла|ло|ли|ает|яет|ит|ся|лся)\b)\w+ \S"
        r"|絶対に.*(?:ない(?:で|こと|でください)?|禁止|だめ|ダメ)|(?:必ず|常に).*(?:して|こと|ください|する)[。！]?\Z"
        r"|(?:しないこと|すること|禁止)[。！]?\Z"
        r"|(?:千万|绝对?|切)(?:别|不要|不能|不可|不许|勿)|永远(?:不要|别)|(?:必须|务必|一律|严禁|禁止|不允许"
        r"|不准)(?!吗)"
    ),
    "we": (
        rf"\bwe (?:(?:always|never|only|no longer) {_PAST}\w+|(?:do not|don't|won't) (?:ever )?(?:do|use|allow"
        rf"|commit|push"
        r"|merge|deploy|write|call|import|mock|put|name|add|touch|edit|support|ship|log|store|rebase|squash|cache"
        r"|throw|return|mutate|share|catch|inline|release|accept|want any)\b"
        rf"|(?:use|prefer|run|deploy|write|log|name|store|keep|build|test|format) .*(?:{_INSTEAD}"
        rf"|\bhere\b|\beverywhere\b|\b(?:in|for) (?:this|our|the|all) {_REPO}s?\b)|(?:stick|stay) (?:to|with) "
        rf"|avoid \w"
        r"|(?:mark|annotate|prefix|format|lint|style|test|build|deploy|bundle|log|version|tag|release|package"
        r"|document|mock|store|sign"
        r"|install"
        r"|manage|pin"
        r"|write|name|ship|generate) (?:[\w-]+ ){0,3}(?:with|via|through|by|using|to|in) \w)"
        r"|\blet's (?:always|never) \w|\bwe (?:call|spell|name) (?:it|this|them) \w"
        r"|\bwe(?:'re| are|'ve| have)? (?:on [\w. ]+ now\b|not using|stopped using|moved (?:off|to|from|away)"
        r"|switched (?:to|from)|migrated (?:to|from|off)|dropped|replaced|standardi[sz]ed on|got rid of)"
        r"(?!.*\b(?:fail\w*|slow\w*|broke\w*|errors?|since|yesterday|last (?:week|month|year))\b)"
        r"|\b(?:wir sind auf|on est passés? à|nous sommes passés à|nos pasamos a|hemos migrado a|migramos (?:para|pra)"
        r"|siamo passati a|we zijn overgestapt op|мы перешли на|ya no usamos|não usamos mais|non usiamo più) \S"
        r"|\bthe (?:rule|convention|policy|standard)(?: here| for [\w -]{2,30}?| in (?:this|our) [\w-]+)?(?: is\b|\s*:)"
        r"|\bthe (?:right|correct|proper|official) (?:way|command|place|tool|port|url|name)\b.*\bis\b"
        r"|\b(?:our|house|team|project) (?:convention|rule|policy|standard|style|practice|guideline)s?\b[^?]{0,30}"
        r"(?:\b(?:is|are)\b|:)|\A(?:house |team |project )?(?:rule|policy|convention|regel|règle|regla|regra|regola)"
        r"\s*:"
        r"|\b(?:wir|man) (?!(?:hatten|haben|waren|sind|mussten|müssen|wollten|konnten|können|wollen|brauchen)\b)\w+"
        r" (?:\S+ ){0,5}(?:nie(?:mals)?|immer|nicht mehr|kein\w*|nur)\b"
        r"|\b(?:wij|we) (?!(?:hadden|hebben|waren|zijn|moesten|wilden|konden)\b)\w+ (?:\S+ ){0,4}(?:nooit|altijd"
        r"|niet meer|geen|alleen)\b"
        r"|\b(?:on|nous) (?:n'(?!a |avait |avons |est |était |arrive )|ne (?!sait|peut|voit|comprend|savons"
        r"|pouvons))\w+"
        r" (?:jamais|plus|pas|que)\b|\b(?:on|nous) (?!a |avons )\w+ toujours\b"
        r"|\b(?:nunca|siempre|sempre|jamás|jamais|só|solo|ya no|já não)"
        r" (?!hemos|habíamos|tuvimos|supimos|vimos|pudimos|tenemos|tivemos|temos|podemos)\w+(?:amos|emos|imos)\b"
        r"|\b(?:a gente|nós|nosotros) (?:nunca|sempre|siempre|não|no|só|solo) (?!\w+(?:eu|ou|iu|ia|ava)\b)\w+"
        r"|\bnon (?!abbiamo|siamo|possiamo|sappiamo|riusciamo)\w+iamo (?:mai|più)\b|\b\w+iamo (?:sempre|solo)\b"
        r"|\bмы (?:никогда не|всегда|больше не|только|не) \w+(?:ем|им|ём)(?:ся)?\b"
        r"|うち(?:では|は).*(?:使|する|しない)|(?:我们|咱们)(?:从来?不|永远不|绝不|一律|只|都|总是|统一|不再|不)"
        r"(?!知道|能|会|明白|需要|了解|是)"
    ),
    "here": (
        r"\A(?:please )?(?:don't|do not|no|use|prefer|avoid|keep|put|name|write|run|stick|only|leave|document|test"
        r"|sort)\b"
        rf".*\b(?:in|for|on|across|throughout|inside|anywhere in) (?:this|our|the (?:whole|entire)) {_REPO}\b"
        rf"|\b(?:in|for) (?:this|our) {_REPO}\b.*\b(?:always|never|only|don't|do not|must|we (?!have|had|need|see"
        rf"|get))\b"
        r"|\bin (?:diesem|unserem) (?:repo\w*|projekt|code\w*)\b.*\b(?:bitte|kein\w*|nie(?:mals)?|nur|immer|wir)\b"
        r"|\bdans (?:ce|notre) (?:dépôt|projet|repo|code)\b.*\b(?:jamais|toujours|on|uniquement|pas)\b"
        r"|\b(?:nunca|jamás|no uses|siempre|solo|não use|sempre)\b.*\b(?:en este|neste) (?:repo\w*|proyecto|projeto"
        r"|código)\b"
        r"|\b(?:en este|neste|in questo|in dit|in deze) (?:repo\w*|proyecto|projeto|progetto|project|código|codice)\b"
        r".*\b(?:a gente|nós|\w+mos|\w+iamo|we|wij|nunca|siempre|sempre|solo|só|mai|nooit|altijd|geen|no \w+mos|não)\b"
        r"|\b(?:mai|nooit|altijd|geen)\b.*\b(?:in questo|in dit|in deze) (?:repo\w*|progetto|project|codice|code\w*)\b"
        r"|\b(?:в этом|в нашем|у нас в) (?:репозитории|проекте|репо|коде)\b.*\b(?:не|никогда|всегда|только)\b"
        r"|(?:この|うちの)(?:リポジトリ|プロジェクト|コード)(?:では|で|は).*(?:ない|使|して|する|こと|禁止)"
        r"|(?:这个|本|我们的)(?:仓库|项目|代码库)(?:里|中|内)?.*(?:不要|别|必须|只|都|统一|不用)"
    ),
    "instead": (
        r"\A[a-z]+ .*\bwith .*,? (?:not|never) with \w|\A(?!(?:it|this|that|they|there)\b)(?!.*\b(?:fail\w*|break\w*"
        r"|crash\w*|errors?|works?|happens?|shows?|bugs?|problems?|issues?|cause|culprit|i think|probably|seems?|looks"
        r"|returns?|was"
        r"|were|got|slow\w*|hangs?)\b).*, not (?:in|on|from|with|by|via|under|as|at|to|into|through|next to) \w"
        r"|\A[`\w.+/-]+, not [`\w.+/-]+\W*\Z"
        r"|\Ainstead of \w.*, (?:please )?(?:use|run|call|write|put|import|do|go|prefer|return|raise|throw)\b \S"
        r"|\Ano (?!(?:tests?|changes?|code|explanations?|comments?|hurry|rush|need|problems?|questions?|details|more"
        r"|markdown)\b)"
        r"[\w-]+\b.*\bplease\b|\bwe(?:'ve| have)? (?:decided|agreed) (?:to|that|on|against) \w"
        r"|, never [a-z]*[_\d./][\w./-]*\W*\Z|\A(?:don't|do not) use (?!(?:the|that|this|it|an?|my|your|any)\b)\w"
        r"|\A(?:não use|no uses|non usare|n'utilise(?:z)? pas|(?:nutze?|verwende?) (?:bitte )?(?:nicht|kein\w*)"
        r"|gebruik (?:geen|niet)|не используй(?:те)?) (?!(?:ça|ce|isso|esto|questo|das|dat|это)\b)\w"
        r"|\A(?:no|nein|non|não|nee|нет|nope),? (?:not|nicht|pas|não|niet|не|no) \S+.*\b(?:we|wir|on|usamos|usiamo"
        r"|мы)\b"
        r"|\A(?:please,? )?no (?!(?:errors?|tests?|changes?|one|idea|luck|problems?|need|way"
        r"|worries)\b)[\w-]+s\b.*\b(?:in|on)"
        r" (?:commit\w*|code|docs?|tests?|messages?|comments?|file ?names?|this|our)\b"
        r"|(?<!\bit )(?<!\bthis )(?<!\bthat )\bbelongs? (?:in|under|into) \w"
        rf"|\A(?:(?:on|for|in|with|inside|under) (?!(?:this|that"
        rf"|it)\b)[\w\s/.-]{{2,40}}?,? )(?:please )?use \w.*{_INSTEAD}"
        rf"|\A(?:please )?(?!use (?:a|an|the|this|that|these|those|my|your|it)\b){_ORDERS}\b(?! (?:it|this|that)\b)"
        rf".*{_INSTEAD}"
        rf"|\Ano\b.*\b(?:we|use|run|it's|that's|they're|is|are)\b .*{_INSTEAD}|\Ano\b.*\bwe (?:use|have|run)\b \S"
        r"|\Ano\b.*\b(?:don't|do not|never) (?:use|run|call|import|install|edit|touch|commit|push) \w+.*"
        r"\b(?:use|we use|here)\b"
        r"|\b(?:i|we) (?:always |really |much |strongly |generally )*prefer"
        r" (?!option|the (?:first|second|third|last|other|former|latter)|that\b|this\b|it\b|yours?\b|a different)\w"
        r"|\b(?:ich bevorzuge|je préfère|prefiero|prefiro|preferisco|ik heb liever|я предпочитаю) \S"
        r"|\A(?:arrête de|deja de|para de|smetti di|stop met|hör auf|прекрати|перестань|хватит|évite d|evita |evite "
        r"|vermijd "
        r"|избегай|vermeide)"
        r"|\bno (?:uses|uséis|use|hagas|pongas|subas|metas|ejecutes) .*\b(?:usamos|mejor|siempre|usa)\b"
        r"|\bне используй(?:те)? \S+.*(?:\bу нас\b|\bиспользуем\b|—|вместо)"
        r"|\bi (?:always|never) (?:want|like|use|prefer)\b"
        r"|\bi (?:already |just )?(?:told|said|mentioned)\b.*\b(?:never|always|not|don't|only|must)\b"
        r"|\A(?:please )?stop (?!(?:running|working|looking|waiting|doing (?:it|this|that)|\w+ing (?:it|this|that"
        r"|now))\b)"
        r"\w+ing \S"
        r"|\b(?:nimm|nutze?|verwende?|benutze?|schreibe?|starte?|wir (?:nehmen|nutzen|verwenden|benutzen))\b"
        r" .*\b(?:statt|anstatt|anstelle|nicht|und nicht)\b \w|\Anein\b.*\bnicht \w+.*\bwir (?:nehmen|nutzen"
        r"|verwenden)\b"
        r"|\b(?:utilisez?|prends|prenez|préfère|lance|mets|on utilise|nous utilisons)\b .*(?:au lieu d|plutôt qu|, pas"
        r"|\bet pas|\bet non)"
        r"|\b(?:usa|usar|usamos|use|utiliza|utilice|utilizamos|utilize|prefiere|prefiero|prefira|prefiro|ejecuta"
        r"|rode)\b"
        r" .*(?:\ben vez de\b|\ben lugar de\b|\bem vez de\b|\bao invés de\b|\bno lugar de\b|, no |\by no\b|, não "
        r"|\be não\b)"
        r"|\b(?:usa|usiamo|utilizza|preferisco|preferisci|lancia)\b .*(?:\binvece (?:di|che)\b|\bal posto di\b|, non "
        r"|\be non\b|\banziché\b)"
        r"|\b(?:gebruik|gebruiken|neem|pak)\b .*(?:\bin plaats van\b|, niet |\ben niet\b|\bipv\b)"
        r"|\b(?:используй|используйте|используем|бери|берём|применяй|применяем|запускай|ставь|пиши)\b"
        r" .*(?:\bвместо\b|, а не |, не |\bно не\b)"
        r"|我(?:更)?喜欢用|(?:换成|迁移到)了?\s?\w+.*(?:不要|别|不再)|(?:やめて|移行した)"
        r"|(?:ではなく|じゃなく|でなく|の代わりに).*(?:使|に(?:する|して)|で(?:書|お願い))"
        r"|(?:用|使用|改用).*(?:不要用|不用|别用|而不是|不是)|(?:不要用|别用|不用).*(?:改用|用|使用)"
    ),
    "whenever": (
        r"\A(?:whenever|every ?time|each time|any ?time|when) (?:you|we) (?!are (?:done|finished|ready)|'re|finish|fix"
        r"|get (?:to|back)|have time)(?:(?!\b(?:this|that|it|these)\b)[^,])+, (?:please |always |also )?"
        r"(?!(?:it|this|that|the|i|we|he|she|they|there|my|our|a|an|nothing|everything|you|let me|tell me|what|is"
        r"|are)\b)"
        r"[a-z]+ \S"
        r"|\A(?:immer wenn|jedes mal,? wenn|sobald) (?:du|wir|man) .*, |\A(?:chaque fois que|à chaque fois que"
        r"|cada vez que"
        r"|toda vez que|ogni volta che|telkens als|каждый раз,? когда) .*, "
    ),
}
"""Families of forms that lay something down; a sentence needs one of them."""

ENGLISH = frozenset(["the", "and", "it", "to", "this", "that", "you", "my", "with", "are", "for"])
"""Two of these in plain ASCII, and a sentence is English: of most prompts that spares most of the patterns."""

_SIGNS = {
    "remembers": """remember remembering mind note noting record reference forget lesson later future notes time write
    memory save put add""",
    "reminds": "remember note mind forget",
    "from_now": "now today forward henceforth point future time here",
    "always": """always never ever hand manually directly without anywhere production main master prod circumstances
    times exceptions exception case rule deprecated forbidden banned limits allowed mandatory required nobody one every
    each all any must not may mustn't""",
    "we": "we we're we've our house team project rule policy convention standard right correct proper official",
    "here": "repo repository project codebase base monorepo package workspace here",
    "instead": """not over instead rather never always belong belongs prefer stop no decided agreed told said mentioned
    don't""",
    "whenever": "whenever when time every each any everytime",
}
SIGNS = {name: frozenset(words.split()) for name, words in _SIGNS.items()}
"""Words without which an English sentence has no form of a family."""

REFUSALS = {
    "asks": (
        r"[?？]\s*\W*\Z|\A(?:¿|(?:how|what|why|who|which|where|whose)\b|(?:when|if) (?:do|does|did|is|are|will|should"
        r"|can)\b"
        r"|(?:should|can|could|would|will|does|did|is|are|am|was|were|has|may|must|shall|do (?!not\b)|have (?:you|we|i"
        r"|they))\b|(?:any|anything|remind me)\b|do you remember|wieso|warum|weshalb|wie|was|wer|wann|wo|welche\w*"
        r"|müssen wir|sollen wir|ist|sind|können|kann|pourquoi|comment|quand|qui|est-ce|faut-il|por qu[eé]|cómo|cuándo"
        r"|quién|será que|como|quando|perché|come|chi|waarom|hoe|wanneer|wat|wie|почему|как|когда|зачем|кто|что"
        r"|разве)\b"
        r"|\b(?:right|correct|no|ok|or not|stimmt das|gilt das(?: noch)?|oder)\?|\bли\b|吗|为什么|怎么|是不是|有没有"
        r"|能不能"
        r"|什么|なぜ|どうして|どうやって|ですか|ますか|のか[。]?\Z|か[。]?\Z"
    ),
    "once": (
        r"\b(?:for now|this time|for (?:this|the next) (?:run|time|test|one|pr|branch|commit|task|session|build|demo"
        r"|deploy\w*|release|step|file)|just (?:this )?once|just for|only for (?:this|now|today)"
        r"|(?<!starting )(?<!as of )"
        r"(?<!from )today|tonight|this (?:once|week|morning|afternoon|evening)|temporarily|for the (?:moment|demo"
        r"|time being)|right now|until (?:i|we|tomorrow|monday|tuesday|wednesday|thursday|friday|later|then|next"
        r"|further)"
        r"|(?:in|for|to|on|with|from|of) (?:that|this|these|those) (?!repo|project|code|monorepo|package|workspace|team"
        r"|machine|org|company|service|app|product|system|house|point|day|on\b)\w+|in this (?:pr|commit|branch|run"
        r"|session|chat|conversation"
        r"|turn|diff|function|file)|yet\W*\Z|at the moment"
        r"|as an experiment|just to see|for fun|for testing|tomorrow|morgen(?!s)|demain|mañana|amanhã|domani|завтра"
        r"|for a (?:minute|moment|second|while)|no wait|when (?:you're|you are|it's|that's) (?:done|finished|ready)"
        r"|diesmal|dieses mal|für diese[nrs]? (?:lauf|test|moment|commit|mal|fall)|(?<!ab )heute|vorerst|erst ?mal"
        r"|gerade"
        r"|im moment|momentan|nur kurz"
        r"|cette fois|juste pour|aujourd'hui|pour (?:l'instant|le moment)|temporairement"
        r"|esta vez|s[oó]lo (?:para|por|esta)|por ahora|(?<!partir de )hoy|de momento|por el momento"
        r"|d?[ed]sta vez|só (?:para|desta|dessa|hoje|agora)|por enquanto|por ora|(?<!partir de )hoje"
        r"|questa volta|solo per|per (?:ora|adesso|il momento)|(?<!da )oggi"
        r"|deze keer|dit keer|alleen voor (?:deze|nu)|voor nu|(?<!vanaf )vandaag|(?:doe|kijk|laat|wacht|gewoon|nog|maar|dit|dat|het) even|even (?:snel|kijken|testen|wachten)"
        r"|для этого (?:запуска|раза|теста)|в этот раз|сейчас|пока(?! не)|сегодня|временно|один раз)\b"
        r"|今回|明日|明天|一時的|とりあえず|今だけ|今日|这次|这一次|这回|今天(?!起|开始)|暂时|临时|先用"
    ),
    "supposes": (
        r"\A(?:so )?say,? (?:from|that|we|all|every)\b|\b(?:if you ask me|what if|suppos\w+|imagine|let's say|say we"
        r"|hypothetical\w*|assum(?:e|ing)\b|in theory|as if|if only"
        r"|i wish"
        r"|if (?:we|i|you|one|they|it|he|she) (?:always|never|had|were|was|used|did|could|would|\w{3,}ed)\b"
        r"|would(?:n't)? (?:it|we|you|i|be|hurt|have)\b|we could|maybe|perhaps|i wonder"
        r"|stell(?:t)? (?:dir|euch) vor|angenommen|würden?|hätten?|wäre\w*|vielleicht"
        r"|imagine[zr]?\b|imagina|suppos(?:ons|e)|peut-être|si on (?:\w+ait)|supong\w+|quizás?|talvez|suponha\w*"
        r"|immagina|supponi\w*|forse|stel je voor|stel dat|misschien"
        r"|если бы|представь\w*|допустим|предположим|может быть|наверное)\b|もし|としたら|仮に|如果我们|假如|假设"
        r"|要是我们|也许"
    ),
    "reports": (
        r"\b(?!(?:i|we)\b)[\w'-]+ (?:always |also |still )?(?:says?|said|claims?|claimed|insists?|insisted|thinks?"
        r"|suggests?"
        r"|suggested|recommends?|recommended|wrote|writes|states?|stated|mentioned|warns?|warned|told (?:me|us)"
        r"|tells (?:me|us)"
        r"|complains?|asked (?:me|us|to))\b|\baccording to\b|\bapparently\b|\bsupposedly\b|\bi (?:read|heard"
        r"|remember)\b|\bas per\b"
        r"|\b(?:laut|angeblich|sagt|sagte|meint|meinte|behauptet|schreibt|steht im|selon|d'après|prétend\w*|dit que"
        r"|disent que|según|dicen? que|dijo|segundo o|diz(?:em)? que|disse|secondo|dicono|dice che|volgens|zegt|zei"
        r"|говорит|говорят|сказал\w*|пишут|пишет|согласно|утверждает|по словам)\b"
        r"|によると|と言って|って言って|らしい|据说|文档(?:里|中|上)?说|根据|他说|她说|同事说|上说|听说"
    ),
    "orders": (
        r"\A(?:please )?(?:add|implement|create|write|check|verify|document|explain|change|build|generate|give|show)\b"
        r"(?!.*\b(?:from now on|whenever|every ?time)\b).*\b(?:that|which|saying|says|where|rule|rules"
        r"|to (?:make sure|check|ensure|verify|see|prove))\b"
        r"|\A(?:bitte )?(?:schreib|erstell|füg|prüf|implementier)\w*\b.*\b(?:dass|damit|wonach)\b"
        r"|\A(?:ajoute|écris|crée|vérifie|implémente)\w*\b.*\bqu[e']|\A(?:añade|escribe|crea|comprueba"
        r"|implementa)\b.*\bque\b"
        r"|\A(?:adiciona|escreva|cria|crie|verifica|implementa)\b.*\bque\b|\A(?:aggiungi|scrivi|crea"
        r"|controlla)\b.*\bche\b"
        r"|\A(?:voeg|schrijf|maak|controleer)\b.*\bdat\b|\A(?:добавь|напиши|создай|проверь)\b.*\bчто\b"
    ),
    "jests": (
        r"\A(?:ah|oh)\W+(?:yes|sure|right|of course)\b.*\b(?:always|never)\b|\A(?:oh|yeah|well|ah|and|na|ja|ach"
        r"|ok)?\W{0,3}(?:sure|wow|great|fantastic|wonderful|lovely|brilliant"
        r"|awesome|perfect"
        r"|super|amazing|classic|nice|excellent|splendid|terrific|i (?:just |simply |really )?(?:love|adore)|because"
        r"|of course"
        r"|yeah right|congratulations|thanks|toll|klasse|prima|wunderbar|großartig|klar|natürlich|herrlich|génial"
        r"|bravo|parfait"
        r"|formidable|magnifique|bien sûr|qué bien|genial|estupendo|fantástico|claro|perfecto|qué bonito|que ótimo"
        r"|ótimo|que"
        r" beleza|legal|maravilha|che bello|fantastico|ottimo|perfetto|certo|geweldig|fijn|lekker|tuurlijk|prachtig"
        r"|отлично"
        r"|супер|прекрасно|замечательно|класс|ну да|конечно)\b(?!.{0,12}\b(?:from now on|going forward|remember"
        r"|ab jetzt"
        r"|à partir|désormais|a partir|d'ora|vanaf nu|впредь|с этого)).*(?:\b(?:always|never|again|another"
        r"|everything|immer"
        r"|nie|wieder|schon wieder|toujours|jamais|encore|siempre|nunca|otra vez|sempre|de novo|mai|ancora|altijd"
        r"|nooit|weer"
        r"|всегда|никогда|опять|снова)\b)"
        r"|what could (?:possibly )?go wrong|worked (?:out )?so well|\blol\b|\blmao\b|\bhaha|(?<!\w)/s\b|🙄|😂|🤡|😅"
        r"|\bas always\b|\bas usual\b|wie immer|comme (?:toujours|d'habitude)|como siempre|como sempre|come sempre"
        r"|как всегда"
        r"|真棒|太好了|又来|さすが|最高だ"
    ),
    "tells": (
        r"\b(?:you(?! (?:must|should|have to|need to|may|are to) )|he|she|they|it|this|that|which|everything"
        r"|everybody|nobody|who) (?:\w+ )?(?:always|never)\b"
        r"(?!.*[,;] (?:always|never|please|so|use|don't))|\bused to\b|\bi (?:can |could |just |have |will "
        r"|would )?(?:always|never) (?!want|like|use|prefer)\w+"
        r"|\b(?:should|must) (?:never|always) (?:have|be (?:null|none|nil|undefined|empty|true|false|zero|called"
        r"|there|set))\b"
        r"|\b(?:it|this|that) (?:\w+ )?should (?:never|always)\b|\b(?:i|we) remember\b|\bfrom now on i\b"
        r"|\bthe (?:other|second|first|third|last|same|wrong|right) (?:one|file|variant|option|branch|version)\b"
        r"|\A(?!.*\b(?:always|never)\b).*\bthere\W*\Z|\A(?:please )?use .* in [\w/.-]+\.[a-z]{1,4}\W*\Z"
        r"|\bi (?:still |always )?(?:have to|need to|must)\b"
        r"|\bi meant?\b|\bnever mind\b|\bsaid never\b"
        r"|\b(?:das|es|er|sie|du) (?:\w+ )?(?:ja )?(?:immer|nie)\b|\b(?:ça|il|elle|tu|ce) (?:ne )?(?!faut"
        r"|doit)\w+ (?:toujours"
        r"|jamais)\b"
        r"|\b(?:esto|eso|isto|isso|questo) (?:siempre|nunca|sempre|non)\b|\b(?:это|он|она|оно|ты) (?:всегда|никогда)\b"
    ),
}
"""Reasons for which a sentence lays nothing down, whatever its form."""

OPENINGS = (
    r"\A(?:(?:ok(?:ay)?|and|but|so|also|please|pls|btw|by the way|hey|hi|hello|well|yes|yep|right|good(?: catch"
    r"| point| job)?"
    r"|thanks|thank you|alright|one more thing|ah|oh|hm+|actually|claude|then|now|listen|look|ach ja|und|aber|bitte"
    r"|übrigens"
    r"|achtung|ja|gut|et|mais|au fait|oui|bon|y|pero|por cierto|sí|bueno|vale|e|mas|aliás|sim|bom|ma|comunque|sì"
    r"|bene|en"
    r"|maar|trouwens|goed|и|но|кстати|да|хорошо|так|и ещё)\b[\s,.:!–—-]+)+"
)
"""What people begin with before they come to the point; `no` is left, for it says that something was wrong."""

DOCUMENTS = (
    r"\A(?:you(?:'re| are| will be) (?:an?|the|now|my)\b|act as\b|your (?:task|job|role|goal) is\b"
    r"|i want you to act\b|du bist ein"
    r"|tu es une?\b"
    r"|eres una?\b|você é uma?\b|sei un[oa']?\b|je bent een\b|ты\s*(?:—|-|опытн\w+|эксперт)|你是一|あなたは)"
)
"""How instructions for a model begin, which people paste."""

PAYLOADS = (
    r"\Abelow\b|\bwhat (?:\w+ ){1,3}(?:sent|wrote|said|posted|got)\b|\b(?:this|these|the following|below|attached"
    r"|here's|here is|here are|got this|got these|see)\b.{0,40}"
    r"\b(?:logs?|traces?|output|errors?|messages?|e?-?mails?|tickets?|issues?|texts?|diffs?|snippets?|threads?|docs?"
    r"|pages?"
    r"|paragraphs?|comments?|reviews?|specs?|instructions|prompts?|rules|notes|letter|slack|from)\b|\bbelow\W*\Z"
    r"|\b(?:folgende\w*|dies\w*|hier)\b.{0,30}\b(?:log|mail|ticket|text|fehler|ausgabe|meldung)\b"
    r"|\b(?:voici|ce|cette)\b.{0,30}\b(?:journal|mail|courriel|ticket|texte|erreur|message)\b"
    r"|\b(?:este|esta|esto)\b.{0,30}\b(?:log|correo|ticket|texto|error|mensaje|erro|mensagem|e-mail)\b"
    r"|\b(?:вот|этот|это)\b.{0,30}\b(?:лог|письмо|тикет|текст|сообщение)\b"
)
"""A line that leads over to something pasted below it."""

LABELS = (
    r"\A(?:title|description|steps|steps to reproduce|expected|actual|notes?|assignee|acceptance criteria|priority"
    r"|status"
    r"|summary|labels?|subject|from|to|cc|date|sent|reporter|environment|severity|context|background|betreff|von|an"
    r"|objet"
    r"|asunto|assunto|oggetto|onderwerp|тема|от|кому)\s*:|\A(?-i:[A-Z][A-Z0-9]+-\d+)\b|\A#{1,6} \S"
    r"|\A(?:dear|hi|hello|hey|hallo|liebe[rs]?|sehr geehrte\w*|bonjour|cher|chère|hola|estimad\w+|olá|prezad\w+|caro"
    r"|cara"
    r"|gentile|beste|geachte|привет|здравствуйте|уважаем\w+)\b[^.!?:]{0,40},?\Z"
    r"|\A\W?pasted\b|\A[\w. @-]{1,30},?\s[\[(]?\d{1,2}[:.]\d\d(?::\d\d)?(?: ?[ap]m)?[\])]?:?\Z"
    r"|\A(?:as an? \w+ i want|given .* when|diff --git|---\s*\Z|-{3,} ?(?:forwarded|original))"
)
"""A line with which a ticket, a letter or a document begins."""

LISTS = (
    r"\b(?:rules?|conventions?|things? to remember|remember|from now on|going forward|for this (?:repo|project)"
    r"|(?:two|three|four|some|a few|couple of) (?:things|rules|notes|conventions)|how (?:i|we) work|my preferences|regeln|merk\w*|ab jetzt|règles"
    r"|désormais"
    r"|reglas|a partir de|regras|regole|regels|правила|запомни)\b[^.?]*:\W*\Z"
)
"""A line that says that the list below it is a person's own."""

LEADS = (
    r"\A\W*(?:(?:but )?seriously(?: though)?|in general|generally|one (?:more )?(?:request|note|remark)|quick (?:note|one|reminder)"
    r"|(?:friendly )?reminder|small (?:thing|note)|correction|clarification|(?:just )?to (?:be clear|clarify)|again|pro tip|last"
    r" thing|lastly|general (?:note|remark)|preference|my preference|no(?:pe)?|note|nb|n\.b\.|ps|p\.s\.|reminder|important|also|btw|fyi|hint|tip|one more(?: thing)?|and"
    r"|attention"
    r"|achtung|wichtig|hinweis|nein|übrigens|important|attention|non|importante|atención|ojo|atenção|attenzione|let op"
    r"|belangrijk|важно|внимание|нет|注意|重要|另外)\W*\Z"
)
"""What may stand before a colon without anybody being quoted."""

GOES_ON = (
    r"\A(?:this|the|our) (?:repo\w*|project|team|code ?base) (?:uses|is on|runs|has)\b|\A(?:(?:and )?(?:we|i|always"
    r"|instead|it's|that's|so)\b,? (?:always |only )?(?:use|run|prefer|go|have)|use|run"
    r"|instead|that's what|it is what|wir|nimm|nutze?|verwende|stattdessen|on utilise|utilise|usamos|usa|usiamo|gebruik"
    r"|используй|мы используем|我们用|用|代わりに)\b"
)
"""How a sentence begins that says what to do instead of what the one before it forbids."""

_patterns: dict[str, re.Pattern[str]] = {}


def found(name: str, source: str, text: str) -> bool:
    """Tell whether a pattern, made on first use, is in a text."""
    if name not in _patterns:
        _patterns[name] = re.compile(source, re.IGNORECASE)
    return _patterns[name].search(text) is not None
