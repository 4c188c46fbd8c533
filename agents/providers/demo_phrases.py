"""The phrases that the demo model knows, as tables of regular expressions: alternatives are set apart by " | "."""

# Words before the request proper.
LEAD = r"""
    hi | hello | hey | ok | okay | so | also | and | now | well | please | pls | scrubjay
    hallo | bitte | und | bonjour | salut | s['’]il te pla[iî]t | s['’]il vous pla[iî]t | hola | por favor
    ciao | per favore | olá | oi | alsjeblieft | proszę | merhaba | пожалуйста | привет | будь ласка
    你好 | 您好 | こんにちは | 안녕하세요 | 안녕
"""
# Words after it.
TRAIL = r"""
    please | pls | bitte | s['’]il te pla[iî]t | s['’]il vous pla[iî]t | por favor | per favore | пожалуйста
"""

# "Remember" before the fact, by language: what asks for it, and what may join it to the fact.
REMEMBER: tuple[tuple[str, str], ...] = (
    (
        r"""/?(?:(?:can|could|will|would) you (?:please )?|i(?:'d| would)? (?:want|like) you to |you (?:should|must) )?
        (?:please )?(?:remember|memori[sz]e|note(?: down)?|(?:write|jot) (?:this |it )?down|(?:keep|bear) in mind
        |(?:make|take) a note|(?:don['’]?t|do not|never) forget|(?:save|store)(?= (?:this|that|the following)\b))
        (?:,? please)?(?: for (?:me|later))?(?: (?:of )?(?:this|that|the following)(?= *[:\n-]))?""",
        r"that | to | this\s*:",
    ),
    (
        r"""(?:kannst|könntest|würdest) du dir (?:bitte )?(?:merken|notieren)|merke? (?:dir|euch)|merken sie sich
        |notiere?(?: dir)?|notieren sie(?: sich)?|schreibe?(?: dir)? auf|erinnere? dich(?: daran)?|behalte?(?: im kopf)?
        |vergiss (?:bitte )?nicht|vergessen sie nicht|denke? dr?ara?n|speichere?""",
        r"(?:(?:bitte|mal)\s*)*[,:]?\s*da(?:ss|ß) | (?:(?:bitte|mal)\s*)+[,:]?",
    ),
    (
        r"""(?:peux|pourrais)[- ]tu (?:te souvenir|retenir|noter)|souviens[- ]toi|souvenez[- ]vous|rappelle[- ]toi
        |rappelez[- ]vous|retiens|retenez|n['’]oublie[sz]? pas|mémorise[sz]?|note[sz]?|enregistre[sz]?
        |garde[sz]? en mémoire""",
        r"(?:bien )?(?:que |qu['’]|de |d['’])",
    ),
    (
        r"""(?:puedes|podrías) (?:recordar|anotar|apuntar)|recuerd[ae]|recordá|acu[ée]rda(?:te|se)|no (?:te )?olvides
        |no (?:se )?olvide|anot[ae]|apunt[ae]|memoriza|guarda|ten en cuenta|toma nota""",
        r"(?:de )?que | de",
    ),
    (
        r"""(?:puoi|potresti) ricordare|ricorda(?:ti)?|si ricordi|non dimenticare|annota|memorizza|tieni a mente
        |prendi nota|segna(?:ti)?""",
        r"(?:di )?che | di",
    ),
    (r"lembr[ea](?:-se|-te)?|não (?:se |te )?esque[çc]as?|anot[ae]|memoriz[ae]|guarde", r"(?:de )?que | de"),
    (r"onthoud|vergeet niet|noteer|schrijf op|kom ihåg|glöm inte|anteckna|husk|glem ikke", r"dat | att | at"),
    (r"zapamiętaj|pamiętaj|zapisz|nie zapomnij|zapamatuj si|pamatuj si|nezapomeň|poznamenej si", r"że | o"),
    (
        r"""запомни(?:те)?|не забудь(?:те)?|не забывай|помни(?:те)?|запиши(?:те)?|учти|имей в виду|запам['’ʼ]ятай
        |пам['’ʼ]ятай""",
        r"(?:пожалуйста|будь ласка)[,:]?(?: что| що)? | что | що",
    ),
    (r"unutma|hatırla|not al|aklında tut", r"ki"),
    (r"تذكري?|احفظي?|لا تنسى?|سجلي?", r"أن | ان"),
    (r"याद (?:रखो|रखना|रखिए|रखें)", r"कि"),
)
# The same in scripts that set no blanks between words.
REMEMBER_UNSPACED = r"""
    (?:请|請|麻烦你|麻煩你)?你?(?:帮我|幫我|给我|給我|替我)?(?:记住|記住|记下来|記下來|记下|記下|记一下|記一下|牢记)[，,：:、\s]*
    (?:请|請|你)*(?:记录一下?|記錄一下?|别忘了|別忘了|不要忘记|不要忘記|记得|記得)[，,：:、\s]*
    (?:覚えておいて|覚えて|記憶して|メモして|メモ|忘れないで)(?:ください|下さい|くれ|ね)*[：:、。,\s]+
    (?:기억해|메모해)\s*(?:줘|주세요|둬)?[:,]\s*
"""
# "Remember that" after the fact.
REMEMBER_AFTER = r"""
    [\s,.;:!–—-]+(?:so |and )?(?:please )?(?:remember|memori[sz]e|don['’]?t forget|note) (?:that|this|it)
    [\s,.;:!–—-]+(?:bitte )?(?:merke? dir das|vergiss das nicht)(?: bitte)?
    (?:という)?(?:ことを|のを|と|って|を|、|。|：|:)?\s*(?:覚えて|おぼえて|記憶して|メモして)(?:おいて)?(?:ください|くれ|ね|よ)*
    (?:다?는 것을|다?는 걸|이라고|라고|을|를|,|:)?\s*(?:기억해|잊지 ?마|메모해)\s*(?:두세요|주세요|세요|줘|둬|요)?
    [，。,\s]*(?:请|請)?(?:帮我|幫我)?(?:记住|記住|记下来|記下來)(?:这个|這個|这件事|這件事|了|吧|哦)*
    [\s,]+(?:unutma|hatırla|aklında tut|not et|not al)(?: lütfen)?
"""
# What may stand for the fact without being one.
NOTHING = r"""
    that | this | it | me | das | dies | es | ça | ceci | eso | esto | questo | это | 这个 | 這個 | これ | それ | 이거
"""
# "Can you …?": a request in the form of a question.
ASKED_TO = r"""
    can | could | will | would | kannst | könntest | würdest | peux | pourrais | puedes | podrías | puoi | potresti
"""

# How a question begins when no question mark ends it.
ASKS = r"""
    what | what['’]s | when | where | which | who | who['’]s | whose | whom | why | how | tell me | show me | recall
    look up | search | find | do you (?:know|remember) | did i | have i | am i | is my | are my
    was(?! (?:an?|the|it|not|so|at|in)\b) | wann | wo | welche[rsnm]? | wer | wessen | wem | wen | warum | wie
    sag mir | weißt du | que | qu['’]est-ce | quand | où | quel(?:le)?s? | qui | pourquoi | comment | dis-moi
    qué | cuándo | cuando | dónde | donde | cuál | quién | por qué | cómo | dime | cosa | dove | quale | perché | dimmi
    quando | qual | quem | wat | waar | wanneer | welk | kiedy | gdzie | kto | jaki | jaką
    что | когда | где | какой | какая | какую | какое | какие | кто | почему | как | сколько | скажи | напомни
"""
ASKS_UNSPACED = r"""
    什么 | 什麼 | 哪 | 谁 | 誰 | 吗$ | 嗎$ | 呢$ | 多少 | 几 | 怎么 | 怎麼 | 为什么 | 告诉我 | 告訴我
    何 | どこ | いつ | どんな | どの | だれ | なぜ | 教えて | ですか$ | ますか$
    무엇 | 뭐 | 어디 | 언제 | 누구 | 어떤 | 무슨
"""

# Whole messages.
GREETING = r"""
    hi | hello | hey | howdy | yo | hiya | greetings | good (?:morning|afternoon|evening|day) | /start | 👋
    hallo | moin | servus | grüezi | guten (?:morgen|tag|abend) | bonjour | salut | bonsoir | coucou
    hola | buenos días | buenas(?: tardes| noches)? | ciao | buongiorno | buonasera | olá | oi | bom dia | boa tarde
    hoi | hej | hei | cześć | dzień dobry | ahoj | привет | здравствуй(?:те)? | добрый (?:день|вечер) | доброе утро
    привіт | merhaba | selam | مرحبا | السلام عليكم | नमस्ते | 你好 | 您好 | 早上好
    こんにちは | おはよう(?:ございます)? | こんばんは | 안녕(?:하세요)?
"""
GREETED = r"""
    there | you | all | everyone | scrubjay | bot | how are you(?: today| doing)? | wie geht['’]s | ça va | qué tal
"""
THANKS = r"""
    thanks?(?: you)?(?: (?:a lot|so much|very much))? | thx | ty | cheers | great | nice | cool | perfect | ok(?:ay)?
    danke(?: schön| dir)? | vielen dank | super | merci(?: beaucoup)? | (?:muchas )?gracias | grazie(?: mille)?
    obrigad[oa] | dank je(?: wel)? | bedankt | tack | dzięki | спасибо(?: большое)? | дякую | teşekkürler
    شكرا | धन्यवाद
    谢谢你? | 謝謝你? | 多谢 | ありがとう(?:ございます)? | 감사합니다 | 고마워 | 👍
    bye | goodbye | good night | tschüss | au revoir | adiós | пока | 再见 | さようなら
"""
HELP = r"""
    /?help(?: me)? | \? | commands | what (?:all )?can (?:you|i) do(?: here)? | what do you do
    what can (?:you|i) (?:help(?: me)? with|ask|say) | how do(?:es)? (?:you|this|it) work | how can you help(?: me)?
    hilfe | was kannst du(?: alles)? | wie funktionierst du | aide | que (?:peux|sais)[- ]tu faire
    ayuda | (?:qué|que) (?:puedes|sabes) hacer | aiuto | cosa (?:puoi|sai) fare | ajuda | o que você (?:pode|sabe) fazer
    wat kun je(?: doen)? | помощь | помоги | что ты умеешь | что ты можешь
    帮助 | 幫助 | 你(?:能|会|會|可以)做什[么麼] | ヘルプ | 何ができ(?:る|ますか)
    도움말 | (?:뭘|무엇을) 할 수 있어(?:요)?
"""
IDENTITY = r"""
    (?:who|what) (?:exactly )?are you(?: exactly)? | what(?:['’]s| is) your name
    are you (?:an? |the |really |real |just )*(?:ai|a\.i\.|llm|(?:large )?language model|gpt|chatgpt|claude)
    are you (?:an? |the |really |just )*(?:human|person|real|bot|robot|chat ?bot|demo|model|machine)(?: model)?
    (?:which|what) (?:language )?(?:ai|llm|model) (?:are you|do you use|is this)(?: using)?
    (?:wer|was) bist du | wie heißt du | bist du (?:eine? )?(?:ki|mensch|bot|sprachmodell) | qui es[- ]tu | tu es qui
    (?:quién|quien|qué|que) eres | chi sei | cosa sei | quem é você | wie ben je | кто ты | ты кто | ты (?:бот|человек)
    你是谁 | 你是誰 | 你是什[么麼] | あなたは(?:誰|何)(?:ですか)? | 너는? 누구(?:야|니)
"""
OVERVIEW = r"""
    (?:so )?what (?:do|did) you (?:know|remember|have)(?: (?:about|on|of) (?:me|us))?(?: so far)? | who am i
    what have you (?:noted|remembered|saved|written)(?: down)?(?: about me| so far)?
    (?:tell|show) me (?:everything|all|what)(?: that)? you (?:know|remember|have)(?: about me)?
    do you (?:know|remember) (?:me|anything about me|anything)
    what(?:['’]s| is) in (?:your|the|my) (?:memory|notes?|files?)
    (?:show|list|read)(?: me)? (?:your |my |the |all )*(?:memory|memories|notes?|files?)
    was weißt du über mich | wer bin ich | woran erinnerst du dich | was hast du dir gemerkt
    que (?:sais|te rappelles)[- ]tu(?: (?:de|sur) moi)? | qui suis[- ]je
    (?:qué|que) (?:sabes|recuerdas)(?: (?:de|sobre) mí)? | quién soy | cosa (?:sai|ricordi)(?: di me)?
    o que você sabe sobre mim | что ты (?:знаешь|помнишь)(?: обо мне)? | кто я
    你(?:知道|记得|記得)(?:我|关于我|關於我)?的?(?:什[么麼]|哪些)事? | 我是谁 | 我是誰
    私について何を(?:知って|覚えて)い(?:る|ますか) | 나에 대해 (?:뭘|무엇을) (?:알아|기억해)(?:요)?
"""

# Words that say nothing about what a question is about.
STOP_WORDS = r"""
    a about am an and any anything are as at be been but by can could did do does for from had has have he her here
    him his how i if in is it its just me my of on or our please she should so some something tell that the their them
    then there they this to us was we were what when where which who whom whose why will with would you your again
    yet still ever now what's who's where's when's i'm don't doesn't didn't show find recall
    aber als am auf aus bei bin bist das dass dein deine dem den der des die du ein eine einen einer er es für hab
    habe hast hat ich ihr im ist ja kannst kein man mein meine meinem meinen meiner mich mir mit nach noch sag sind
    sie über um und uns von wann war warum was welche welchen welcher welches wem wen wer wie wir wo zu zum zur
    au aux ai avec ce ces cette dans de des du elle en es est et il je la le les leur lui ma mes mon moi ne nos notre
    nous où ou par pas pour que quel quelle quelles quels qu qui quoi sa se ses son sur ta te tes ton tu un une vous
    al con como cómo cual cuál cuales cuando cuándo del donde dónde el ella era eres esta está este las lo los
    mi mis para pero por qué quien quién quiénes ser si sobre soy su sus tus una y yo dime
    che chi come cosa da dei della di dove gli ho io mia mie mio quale quali quando sono dimmi
    eu meu minha não o onde os qual quem são seu sua um uma dat een het ik mijn van waar wanneer wat welke
    а без был была были было в вы где для до его ее её и из или к как какая какие какой какую какое когда кого кто
    ли меня мне мной мои мой моя моё мое моего моей моих мы на не нет но о об от по с со так ты у что это эта этот
    я скажи напомни
"""
# Words that help only beside one that says what is asked about.
WEAK_WORDS = r"""
    like love prefer favourite favorite want need know remember think say said told call live go use take get make usually often
    always best most mag mögen möchte liebe liebling weiß weißt heißt heißen gesagt
    aime aimer préfère sais sait veux gusta gustan prefiero sabes quiero piace preferisco gosto gosta
    люблю любит любимый любимая нравится знаешь помнишь
"""
