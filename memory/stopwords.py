"""Words that say nothing about what a question is after; left out of a query, kept in the index. Pure; no I/O.

Our own short lists of the commonest function words: they make a query of many documents' words into one of few. They hold
folded words before stemming. Chinese, Japanese and Korean ones are single characters and pairs, as terms are.
"""

import re
from collections.abc import Iterable


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ENGLISH = _listed(
    """
    a an the this that these those there here
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
    it its itself they them their theirs themselves
    am is are was were be been being do does did doing have has had having
    can could will would shall should may might must ought cannot cant couldnt wont wouldnt shouldnt mustnt
    isnt arent wasnt werent dont doesnt didnt havent hasnt hadnt im ive youre theyre hes shes thats whats whos
    and or but nor if then than so because as while until though although unless whether
    of at by for with about against between into through during before after above below to from up down in out on off over
    under again onto upon within without toward towards across around along
    what which who whom whose when where why how
    not no only own same too very just also ever even still such any some each every both all more most other another
    much many few please
    """
)
_RUSSIAN = _listed(
    """
    и а но или не ни да в во на с со к ко о об от до из за по под над при для без у через между
    я ты он она оно мы вы они меня мне тебя тебе его ему ее ей нас нам вас вам их им мой моя мое мои твой наш ваш свой
    это этот эта эти тот та те то что чтобы как так же ли бы был была было были есть быть
    кто где когда куда откуда почему зачем какой какая какое какие сколько чей
    """
)
_LATIN_LANGUAGES = tuple(
    _listed(words)
    for words in (
        # German
        """
        der die das den dem des ein eine einen einem einer eines und oder aber nicht kein keine ich du er sie es wir ihr mich
        mir dich dir ihn ihm uns euch mein meine meinen dein deine sein seine unser ist sind war waren bin bist hat haben
        hatte habe wird werden wurde von vom zu zum zur in im am an auf aus bei mit nach fur uber unter vor durch um als wie
        was wer wo wann warum wieso welche welcher welches wen wem dass ob so auch noch nur wenn dann
        """,
        # French
        """
        le la les un une des du de au aux et ou mais ne pas je tu il elle on nous vous ils elles me te se mon ma mes ton ta
        tes son sa ses notre nos votre vos leur leurs ce cet cette ces est sont etait ete suis es ai as a avons avez ont
        avait en dans sur sous avec sans pour par que qui quoi ou quand comment pourquoi combien quel quelle quels quelles
        si y
        """,
        # Spanish
        """
        el la los las un una unos unas de del al y o pero no yo tu el ella nosotros ellos ellas me te se lo le les mi mis
        su sus nuestro es son era fue ser esta estan he ha han habia en con sin por para sobre entre desde hasta que quien
        quienes cuando donde como cual cuales cuanto cuantos este esta esto ese esa eso si
        """,
        # Portuguese
        """
        o a os as um uma uns umas de do da dos das no na nos nas ao e ou mas nao eu tu ele ela nos voce eles elas me te se
        meu minha meus seu sua seus nosso e sao era foi ser esta estao em com sem por pelo pela para sobre entre desde ate
        que quem quando onde como qual quais quanto este esta isto esse essa isso
        """,
        # Italian
        """
        il lo la i gli le un uno una di del dello della dei degli delle a al alla ai da dal dalla in nel nella con su sul
        per tra fra e o ma non io tu lui lei noi voi loro mi ti si ci mio mia miei suo sua nostro e sono era sei ho ha
        hanno che chi cosa quando dove come perche quale quali quanto questo questa quello quella se
        """,
        # Dutch
        """
        de het een en of maar niet geen ik jij je hij zij ze wij we jullie mij me hem haar ons mijn jouw zijn hun is was
        waren ben bent heeft hebben had wordt werd van naar in op aan met voor uit bij over onder door om te als dat die
        dit deze wat wie waar wanneer waarom hoe welke er ook nog
        """,
    )
)
# Words of those lists that English, or a name, uses for something: alone they prove no other language.
_AMBIGUOUS = _listed("die war hat man son sin pour van come dove bin den ben or tu ma men het sei")

_HAN = frozenset("的了是在我你您他她它们們这這那和与與就都也很吗嗎呢吧啊么麼什个個把被给給有不谁誰哪")
_SIGNS = _listed(
    """
    の は を に が で と も へ や か ね よ な 은 는 이 가 을 를 에 의 도 로 와 과
    什么 什麼 怎么 怎麼 怎样 为什 為什 么时 麼時 时候 時候 多少 哪里 哪裡 哪儿 是否 何时 何處 何处
    です ます ませ せん した して たの って いる ある ない この その あの どの これ それ どれ どこ だれ なに いつ から まで
    する では には とは のは のか すか まし でし
    에서 에게 으로 무엇 언제 어디 누가 누구 어떤 어떻 떻게 나는 저는 너는 그는 우리 있는 있다 입니 니다 니까 인가 인지
    """
)

_MONTH = re.compile(
    r"\bmay\b(?=,?\s*\d)|(?<=\d)(?:st|nd|rd|th)?,?\s(?:of\s)?may\b"
    r"|\b(?:in|on|last|next|since|until|till|by|of|during|before|after|early|late|mid|from|every)[\s-]may\b",
    re.IGNORECASE,
)
_NAMES = re.compile(r"(?<=[\w,;:)][ \t])(?:May|Will)\b")
_ACRONYMS = re.compile(r"\b(?:US|IT|WHO)\b")


def stop_words(question: str, words: Iterable[str]) -> frozenset[str]:
    """Return those of a question's folded `words` that say nothing in it; of CJK ones, single characters and pairs.

    English, Russian and CJK words always count; those of another language if more of the words prove it than prove
    English: "war" is a word to drop in a German question only. A month ("in May"), a name in the middle of a sentence
    ("did Will call") and an acronym ("the US office") are not taken for the function word that they look like.
    """
    given = frozenset(words)
    stops = _ENGLISH | _RUSSIAN | _other_language(given)
    return frozenset(word for word in given if word in stops or _says_nothing(word)) - _meant(question)


def _other_language(words: frozenset[str]) -> frozenset[str]:
    proven = max(_LATIN_LANGUAGES, key=lambda language: len((words & language) - _ENGLISH - _AMBIGUOUS))
    proof = (words & proven) - _ENGLISH - _AMBIGUOUS
    return proven if len(proof) > len((words & _ENGLISH) - proven) else frozenset()


def _says_nothing(sign: str) -> bool:
    return sign in _SIGNS or (len(sign) <= 2 and _HAN.issuperset(sign))


def _meant(question: str) -> frozenset[str]:
    """Return the words that look like function words and are none, by their capitals and neighbours."""
    meant = {match[0].lower() for match in _NAMES.finditer(question)}
    if not question.isupper():
        meant |= {match[0].lower() for match in _ACRONYMS.finditer(question)}
    return frozenset(meant | {"may"} if _MONTH.search(question) else meant)
