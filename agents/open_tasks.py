"""Whether a sentence speaks of something that is still to be done, in the languages that we know. Pure.

These are the commonest ways to say so, not all of them: what is said otherwise is found by what else the sentence holds.
"""

from collections.abc import Iterator, Sequence

import regex  # type: ignore[import-untyped]

from agents.values import words_of
from memory.date_words import plain

# A stroke stands between the words of a phrase. Folded as `plain` does: case and accents do not matter.
_ASKED = """
todo to-do todos please/remind can/you/remind will/you/remind remind/me/to remind/me/about remind/me/of/the
remind/me/that remind/me/when remind/me/on remind/me/at remind/me/in remind/me/tomorrow remind/me/next remind/me/again
remind/us/to remind/us/about remind/him/to remind/her/to remind/them/to don't/forget dont/forget not/forget
remember/to need/to needs/to i/have/to we/have/to you/have/to has/to need/a need/an need/the need/some need/more
follow/up deadline due/on due/by due/at due/in due/date still/open still/missing still/to erinnere/mich erinner/mich
erinnern/mich erinnere/uns nicht/vergessen vergiss/nicht vergesst/nicht denk/daran denk/dran denk/bitte zu/erledigen
aufgabe noch/offen rappelle-moi rappelez-moi rappelle-nous il/faut n'oublie/pas n'oubliez/pas à/faire recuérdame
recuérdanos recuerda hay/que no/olvides no/te/olvides no/olvidar pendiente lembra-me lembre-me me/lembre me/lembra
preciso precisamos não/esqueça não/esquecer ricordami bisogna non/dimenticare da/fare herinner/me herinner/ons
niet/vergeten vergeet/niet напомни напомните нужно надо необходимо не/забудь не/забудьте не/забыть przypomnij trzeba
nie/zapomnij do/zrobienia hatırlat hatırlatır hatırlatın lazım gerek gerekiyor unutma unutmayın yapılacak нагадай
треба потрібно ذكرني يجب لا/تنس لا/تنسى لازم תזכיר תזכירי אל/תשכח אל/תשכחי याद/दिलाना याद/दिला याद/रखना करना/है जरूरत
ज़रूरत muss müssen musst müsst je/dois nous/devons tengo/que tenemos/que tenho/que devo dobbiamo moet moeten должен
должна должны muszę musimy צריך צריכה
"""
_PROMISED = """
have/to must i'll i/will we'll we/will going/to should promised sollte sollten ich/werde wir/werden je/vais voy/a
ik/ga ik/zal я/сделаю سوف
"""
_ONLY_SAID = frozenset({"be", "been", "have", "say", "admit"})  # must be nice, have to say
_SIGNS = regex.compile(
    r"""
    提醒(?:我|一下|我们|我們) | 记得 | 記得 | 别忘 | 別忘 | 不要忘 | 待办 | 待辦 | 必须 | 必須 | 需要 | 我会 | 我會 | 截止
    | リマインド | 忘れ(?:ないで|ずに) | なければ(?:ならない|いけない|なりません) | しなきゃ | する必要 | やること | 締め?切り
    | 알려\s?줘 | 알림 | 해야 | 잊지\s?(?:마|말) | 할\s?일 | 마감 | 필요(?:하|해)
    """,
    regex.VERBOSE,
)
_BOX = regex.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])?\s*\[(?P<mark>[ xX✓✔]?)\]\s")


def _by_first_word(phrases: str) -> dict[str, list[tuple[str, ...]]]:
    found: dict[str, list[tuple[str, ...]]] = {}
    for first, *rest in (plain(phrase).split("/") for phrase in phrases.split()):
        found.setdefault(first, []).append(tuple(rest))
    return found


_AFTER_ASKED, _AFTER_PROMISED = _by_first_word(_ASKED), _by_first_word(_PROMISED)


def is_open_task(sentence: str) -> bool:
    """Tell whether a sentence asks for something to be done, or is an open box of a list; a ticked one is done."""
    if "]" in sentence and (box := _BOX.match(sentence)):
        return not box["mark"].strip()
    words = words_of(sentence)
    if words[:1] == ("remind",):
        return True
    if any(words[at : at + len(rest)] == rest for at, rest in _phrases(words, _AFTER_ASKED)):
        return True
    return not sentence.isascii() and _SIGNS.search(sentence) is not None


def is_promise(sentence: str) -> bool:
    """Tell whether somebody says what they will, must or should do; much of it is only talk."""
    words = words_of(sentence)
    for at, rest in _phrases(words, _AFTER_PROMISED):
        end = at + len(rest)
        if words[at:end] == rest and _ONLY_SAID.isdisjoint(words[end : end + 1]):
            return True
    return False


def _phrases(
    words: Sequence[str], following: dict[str, list[tuple[str, ...]]]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield what might stand behind each of the words so that they are a phrase, with where that would be."""
    if following.keys().isdisjoint(words):
        return
    for at, word in enumerate(words, start=1):
        yield from ((at, rest) for rest in following.get(word, ()))
