"""The words in which people say when something shall happen, in fourteen languages, folded as `memory.date_words` folds."""

import re
from collections.abc import Iterable, Mapping
from functools import cache

from memory.date_words import SIGNS, WORDS, plain

# Names of days and months, and today, are those of `memory.date_words`; these here speak of what is to come. Phrases are
# parted by blanks, "_" stands for a blank in one. Behind a word of letters no letter may follow; behind a sign anything may.
_DAYS = {
    1: """tomorrow tmrw morgen demain mañana amanhã domani завтра jutro yarın غدا بكرة 明天 明日 あした 내일""",
    2: """day_after_tomorrow the_day_after_tomorrow übermorgen uebermorgen après-demain pasado_mañana depois_de_amanhã
        dopodomani overmorgen послезавтра pojutrze öbür_gün بعد_غد 后天 後天 明後日 あさって 모레""",
}
_WEEKDAYS = {
    0: "mon pazartesi 周一 週一 星期一 礼拜一 禮拜一",
    1: "tue tues salı 周二 週二 星期二 礼拜二 禮拜二",
    2: "wed çarşamba 周三 週三 星期三 礼拜三 禮拜三",
    3: "thu thur thurs perşembe 周四 週四 星期四 礼拜四 禮拜四",
    4: "fri cuma 周五 週五 星期五 礼拜五 禮拜五",
    5: "sat cumartesi 周六 週六 星期六 礼拜六 禮拜六",
    6: "sun pazar 周日 週日 周天 星期日 星期天 礼拜天 禮拜天",
}
_ALL_WEEKDAYS = {
    0: "mondays montags lundis",
    1: "tuesdays dienstags mardis",
    2: "wednesdays mittwochs mercredis",
    3: "thursdays donnerstags jeudis",
    4: "fridays freitags vendredis",
    5: "saturdays samstags sonnabends samedis sábados",
    6: "sundays sonntags dimanches domingos",
}
_UNITS = {
    "second": """second seconds sec secs s sekunde sekunden seconde secondes segundo segundos secondo secondi seconden
        секунду секунды секунд сек sekundę sekundy sekund saniye sn ثانية 秒 秒钟 秒鐘 초""",
    "minute": """minute minutes min mins m minuten minuto minutos minuti minuut минуту минуты минут мин minutę minuty
        minut dakika dk دقيقة دقائق 分钟 分鐘 分 분""",
    "hour": """hour hours hr hrs h stunde stunden std heure heures hora horas ora ore uur uren час часа часов ч godzinę
        godziny godzin godz saat ساعة ساعات 小时 小時 个小时 個小時 時間 시간""",
    "day": "d 天 日 일",
    "week": "w wk wks 周 週 星期 礼拜 禮拜 个星期 個星期 週間 주 주일",
    "month": "月 个月 個月 ヶ月 か月 カ月 월 개월 달",
    "year": "y yr yrs 年 년",
}
_CYCLES = {
    "hour": "hourly stündlich",
    "day": "daily everyday täglich quotidiennement diariamente dagelijks ежедневно codziennie",
    "week": "weekly wöchentlich wekelijks еженедельно",
    "month": "monthly monatlich maandelijks ежемесячно",
    "year": "yearly annually jährlich jaarlijks ежегодно",
    "workday": """weekday weekdays workday workdays working_day werktag werktags wochentag wochentags arbeitstag
        jour_ouvrable jours_ouvrables día_laborable días_laborables dia_útil dias_úteis giorno_feriale giorni_feriali werkdag
        будний_день рабочий_день dzień_roboczy hafta_içi iş_günü 工作日 平日 평일""",
    "weekend": "周末 週末 주말",
}
_MINUTES = {  # lengths that have a word of their own
    15: "quarter_of_an_hour a_quarter_of_an_hour quarter_hour einer_viertelstunde un_quart_d'heure",
    30: """half_an_hour half_hour a_half_hour einer_halben_stunde une_demi-heure media_hora meia_hora mezz'ora mezzora
        half_uur een_half_uur полчаса pół_godziny yarım_saat نصف_ساعة 半小时 半小時 半個小時 半个小时 半時間 반_시간 반시간""",
    120: "ساعتين",
}
_NUMBERS = {
    1: "a an bir",
    2: "iki couple_of a_couple_of",
    3: "üç",
    4: "dört",
    5: "beş",
}
_PLAIN = {
    "every": """every each jeder jede jeden jedes alle chaque tous_les toutes_les cada todos_los todas_las todo todos todos_os
        todas_as ogni tutti_i tutte_le elke elk iedere ieder каждый каждую каждое каждые co każdy każdą każde her كل
        每 每个 每個 每隔 毎 매""",
    "in": "in dans en em dentro_de daqui_a tra fra over binnen через za بعد خلال",
    "later": "later from_now später plus_tard después depois dopo later_today sonra 后 後 之后 之後 以后 以後 후 뒤",
    "next": """next nächste nächsten nächster nächstes kommende kommenden prochain prochaine próximo próxima prossimo prossima
        volgende следующий следующую следующее następny następną gelecek القادم""",
    "next_week": "下周 下週 下星期 下个星期 下個星期 下礼拜 来週 來週 다음주 다음_주",
    "on": """on the this of day am den der dem diesen le la les ce cet el este esta los día dia em no na il lo questo questa
        op de deze в во на w we dnia يوم في の 的""",
    "and": "and & und et y e en и i ve و 和 と",
    "last_day": """last_day letzten letzten_tag dernier_jour último_día último_dia ultimo_giorno laatste_dag последний_день
        ostatni_dzień 最后一天 最後一天 末日 月底 말일""",
    # Before figures "at" makes a time of the day of them; "toward" does if something else says so as well: "à 9 heures".
    "at": "at @ gegen um om a_las a_la alle в o_godz o_godzinie saat الساعة في_الساعة",
    "toward": "at @ gegen um om a_las a_la alle в o_godz o_godzinie saat الساعة في_الساعة à às o ore vers 在",
}
_TIMES = {
    (9, 0): "in_the_morning",
    (12, 0): "noon midday mittags mittag midi mediodía mezzogiorno полдень południe 中午 正午 정오",
    (15, 0): "in_the_afternoon",
    (18, 0): "in_the_evening this_evening",
    (
        20,
        0,
    ): """tonight heute_abend ce_soir esta_noche stasera vanavond сегодня_вечером dziś_wieczorem bu_akşam 今晚 今晩 今夜
        오늘밤""",
    (0, 0): "midnight mitternacht minuit medianoche mezzanotte полночь północ 자정",
}
_PARTS = {  # of a day that was said; by themselves they begin many a text
    (9, 0): """morning früh matin mattina manhã ochtend утром rano sabah صباحا 上午 早上 午前 朝 오전 아침""",
    (
        15,
        0,
    ): """afternoon nachmittag nachmittags après-midi tarde pomeriggio middag днём popołudniu öğleden_sonra 下午 午後
        오후""",
    (18, 0): "evening abend abends soir sera avond вечером wieczorem akşam مساء 晚上 夕方 저녁",
    (21, 0): "night noche noite ночью 夜 밤",
}


def _phrases(listed: str) -> Iterable[str]:
    return (plain(phrase.replace("_", " ")) for phrase in listed.split())


def _known(kind: str) -> dict[str, int]:
    """Return the words of one kind that questions are read by, and what they count."""
    return {
        phrase: tokens[0][1][0]
        for phrase, tokens in (WORDS | SIGNS).items()
        if len(tokens) == 1 and tokens[0][0] == kind
    }


def _listed(table: Mapping[int, str]) -> dict[str, int]:
    return {phrase: value for value, listed in table.items() for phrase in _phrases(listed)}


@cache
def numbered(name: str) -> Mapping[str, int]:
    """Return the words called `name` (day, weekday, weekdays, month, number, minutes) and the number of each, folded."""
    tables: dict[str, dict[str, int]] = {
        "day": {phrase: 0 for phrase, ago in _known("R").items() if ago == 0} | _listed(_DAYS),
        "weekday": _known("w") | _listed(_WEEKDAYS),
        "weekdays": _listed(_ALL_WEEKDAYS),
        "month": _known("a") | _known("m") | _known("M") | _known("E"),
        "number": _known("n") | _listed(_NUMBERS),
        "minutes": _listed(_MINUTES),
    }
    return tables[name]


@cache
def named(name: str) -> Mapping[str, str]:
    """Return the words called `name` (unit, cycle) and what each stands for, folded."""
    known = {"day": "D", "week": "W", "month": "O", "year": "J"} if name == "unit" else {"weekend": "k"}
    table = _UNITS if name == "unit" else _CYCLES
    found = {phrase: meaning for meaning, kind in known.items() for phrase in _known(kind)}
    return found | {phrase: meaning for meaning, listed in table.items() for phrase in _phrases(listed)}


@cache
def times() -> Mapping[str, tuple[int, int]]:
    """Return the words for times of the day and for parts of it, and hour and minute of each, folded."""
    tables = (*_PARTS.items(), *_TIMES.items())
    return {phrase: value for value, listed in tables for phrase in _phrases(listed)}


@cache
def pattern(name: str) -> str:
    """Return a pattern for the words called `name` as they stand in a folded text, the longest first."""
    if name in _PLAIN:
        words: Iterable[str] = _phrases(_PLAIN[name])
    elif name in ("time", "part"):
        words = (phrase for listed in (_TIMES if name == "time" else _PARTS).values() for phrase in _phrases(listed))
    else:
        words = named(name) if name in ("unit", "cycle") else numbered(name)
    branches = (_branch(word) for word in sorted(set(words), key=lambda word: (-len(word), word)))
    return f"(?:{'|'.join(branches)})"


def _branch(word: str) -> str:
    body = re.escape(word).replace(r"\ ", r"\s+")
    return body if is_sign(word) or not word[-1].isalnum() else rf"{body}(?![\w'])"


def is_sign(word: str) -> bool:
    """Tell whether a word is of a script that sets no blanks between words."""
    return bool(re.match(r"[\u1100-\u11ff\u3000-\u9fff\uac00-\ud7af]", word[-1]))
