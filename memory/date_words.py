"""The words in which people speak of dates, language by language, as tokens. Pure; no I/O.

A token is a kind, one character, and what it counts:

    M a month; m the same if a preposition or figures are beside it; a if figures are; E an English month
    w a weekday, Monday 0     D W O J a unit: day, week, month, year     k a weekend     n a number
    R the day so many days ago, 0 today     h yesterday, if the text is French
    L last (1), the one before (2)     T this     V ago, said before its number     A ago, said after it
    p a preposition before a month     b one before a date in figures (am 8.5.)     q "of", also before a month
    f what says nothing     x what looks like one of these and is none
    y s d a Chinese, Japanese or Korean sign after a year, a month, a day     z an era, by the year before its first
"""

import unicodedata
from collections.abc import Iterator, Mapping

import regex  # type: ignore[import-untyped]

Token = tuple[str, tuple[int, ...]]

ENGLISH_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)

# Months by language, January first. Spellings are parted by a stroke; "?" marks one that is also another word or a name, "!"
# one that is a date beside figures only; "-" stands for a name spelled as in English.
_MONTHS = """
jan? feb? mar! apr? - jun? jul? aug? sep?/sept? oct? nov? dec?
januar/jänner februar/feber märz/maerz/mrz! - mai? juni? juli? - - oktober/okt! - dezember/dez!
janvier/janv! février/févr!/fév! mars? avril/avr! - juin juillet/juil! août septembre octobre novembre décembre/déc!
enero/ene! febrero marzo abril/abr! mayo? junio? julio? agosto septiembre/setiembre octubre noviembre diciembre/dic!
janeiro fevereiro/fev! março!/marco! - maio/mai? junho julho - setembro outubro novembro dezembro
gennaio febbraio - aprile maggio giugno/giu! luglio - settembre ottobre/ott! - dicembre
januari februari maart/mrt! - mei? - - augustus? - - - -
январь/января/январе/янв! февраль/февраля/феврале/фев! март/марте/марта?/мар! апрель/апреля/апреле/апр! май/мая/мае \
июнь/июня/июне июль/июля/июле август/августа/августе/авг! сентябрь/сентября/сентябре/сен!/сент! \
октябрь/октября/октябре/окт! ноябрь/ноября/ноябре/ноя!/нояб! декабрь/декабря/декабре/дек!
styczeń/stycznia/styczniu luty?/lutego/lutym marzec/marca!/marcu kwiecień/kwietnia/kwietniu maj!/maja!/maju \
czerwiec/czerwca/czerwcu lipiec/lipca/lipcu sierpień/sierpnia/sierpniu wrzesień/września/wrześniu \
październik/października/październiku listopad/listopada/listopadzie grudzień/grudnia/grudniu
ocak?/ocakta/ocak'ta şubat/şubatta/şubat'ta mart?/martta/mart'ta nisan?/nisanda/nisan'da mayıs/mayısta/mayıs'ta \
haziran/haziranda/haziran'da temmuz/temmuzda/temmuz'da ağustos/ağustosta/ağustos'ta eylül?/eylülde/eylül'de \
ekim?/ekimde/ekim'de kasım?/kasımda/kasım'da aralık?/aralıkta/aralık'ta
يناير فبراير مارس? أبريل/إبريل مايو يونيو/يونيه يوليو/يوليه أغسطس سبتمبر أكتوبر نوفمبر ديسمبر
كانون_الثاني شباط? آذار نيسان? أيار حزيران تموز آب? أيلول تشرين_الأول تشرين_الثاني كانون_الأول
جانفي فيفري - أفريل ماي? جوان? جويلية أوت? - - - -
"""

_WEEKDAYS = """
monday tuesday wednesday thursday friday saturday sunday
montag dienstag mittwoch donnerstag freitag samstag/sonnabend sonntag
lundi mardi mercredi jeudi vendredi samedi dimanche
lunes martes miércoles jueves viernes sábado domingo
segunda/segunda-feira terça/terça-feira quarta/quarta-feira quinta/quinta-feira sexta/sexta-feira - -
lunedì martedì mercoledì giovedì venerdì sabato domenica
maandag dinsdag woensdag donderdag vrijdag zaterdag zondag
понедельник вторник среда/среду четверг пятница/пятницу суббота/субботу воскресенье
poniedziałek wtorek środa/środę czwartek piątek sobota/sobotę niedziela/niedzielę
الاثنين/الإثنين الثلاثاء الأربعاء الخميس الجمعة السبت الأحد
"""

# Written without blanks, or with endings: found inside longer runs of signs.
_SIGN_WEEKDAYS = """
月曜日/月曜/월요일 火曜日/火曜/화요일 水曜日/水曜/수요일 木曜日/木曜/목요일 \
金曜日/金曜/금요일 土曜日/土曜/토요일 日曜日/日曜/일요일
"""

_NUMBERS = """
one/ein/eine/einen/einem/einer/un/une/una/um/uma/een/один/одну/jeden two/zwei/deux/dos/dois/duas/due/twee/два/две/dwa/dwie \
three/drei/trois/tres/três/tre/drie/три/trzy four/vier/quatre/cuatro/quatro/quattro/четыре/cztery \
five/fünf/cinq/cinco/cinque/vijf/пять/pięć six/sechs/seis/sei/zes/шесть/sześć seven/sieben/siete/sete/sette/zeven/семь/siedem \
eight/acht/huit/ocho/oito/otto/восемь/osiem nine/neun/neuf/nueve/nove/negen/девять/dziewięć \
ten/zehn/dix/diez/dieci/tien/десять/dziesięć eleven/elf/onze/once/undici/одиннадцать/jedenaście \
twelve/zwölf/douze/doce/doze/dodici/twaalf/двенадцать/dwanaście
"""

_WORDS = {
    "R0": """today tonight this_morning this_afternoon this_evening heute aujourd'hui ce_matin ce_soir cet_après-midi
        hoy esta_mañana esta_noche hoje oggi stamattina stasera vandaag vanavond сегодня dziś dzisiaj bugün اليوم""",
    "R1": """yesterday last_night gestern hier_soir hier_matin ayer anoche ontem ieri gisteren вчера wczoraj dün
        أمس بالأمس""",
    "R2": """day_before_yesterday vorgestern avant-hier avant_hier anteayer antier antes_de_ayer anteontem altro_ieri altroieri
        ieri_l'altro eergisteren позавчера przedwczoraj أول_أمس""",
    "h1": "hier",
    "L1": """last past this_past previous letzte letzten letzter letztes letztem vergangene vergangenen vergangener vergangenes
        vorige vorigen voriger voriges vorig dernier dernière passé passée pasado pasada último última passado passada scorso
        scorsa passato passata afgelopen прошлый прошлая прошлое прошлые прошлого прошлой прошлом прошлую прошлых zeszły zeszła
        zeszłe zeszłego zeszłej zeszłym zeszłą ubiegły ubiegłego ubiegłej ubiegłym geçen الماضي الماضية""",
    "L2": "vorletzte vorletzten vorletzter vorletztes позапрошлый позапрошлого позапрошлой позапрошлом позапрошлую",
    "T0": """this current diese diesen dieser dieses diesem ce cet cette este esta neste nesta deste desta questo
        questa quest deze dit этот эта это этого этой этом эту эти этих tego tej tym tę bu هذا هذه""",
    "V0": "vor il_y_a hace há قبل منذ",
    "A0": "ago fa geleden назад atrás temu önce",
    "D0": """day days tag tage tagen jour jours día días dia dias giorno giorni dag dagen день дня дней dzień dni gün يوم
        أيام""",
    "W0": """week weeks woche wochen semaine semaines semana semanas settimana settimane weken неделя недели неделе
        неделю недель tydzień tygodnia tygodnie tygodni tygodniu hafta أسبوع الأسبوع أسابيع""",
    "O0": """month months monat monate monaten monats mois mes meses mês mese mesi maand maanden месяц месяца месяце
        месяцев miesiąc miesiąca miesiące miesięcy miesiącu ay شهر الشهر أشهر شهور""",
    "J0": """year years jahr jahre jahren jahres an ans année années año años ano anos anno anni jaar jaren год года
        году лет rok roku lata lat yıl سنة السنة سنوات عام العام أعوام""",
    "k0": """weekend week-end week_end wochenende fin_de_semana fim_de_semana fine_settimana выходные выходных""",
    "n1 D0 A0": "a_day_ago день_назад",
    "n1 W0 A0": "a_week_ago неделю_назад tydzień_temu",
    "n1 O0 A0": "a_month_ago месяц_назад miesiąc_temu",
    "n1 J0 A0": "a_year_ago год_назад rok_temu",
    "p0": """in since until im seit bis ab ende anfang mitte en au depuis début fin desde em inizio sinds vanaf в во w od في""",
    "b0": "am vom zum den",
    "q0": "de d di del с",
    "f0": "of the la le l el der des dem dell della dello do da na",
}
_SIGNS = {
    "R0": "今天 今日 今早 今晚 今朝 今晩 今夜 本日 오늘",
    "R1": "昨天 昨日 昨晚 昨夜 昨晩 きのう ゆうべ 어제 어젯밤",
    "R2": "前天 一昨日 おととい 그저께",
    "R3": "大前天",
    "L1 W0": "上周 上週 上星期 上个星期 上個星期 上礼拜 上禮拜 上个礼拜 上個禮拜 先週 지난주 지난_주",
    "L2 W0": "上上周 上上週 上上星期 上上个星期 上上個星期 先々週 지지난주",
    "L1 k0": "上周末 上週末 上个周末 上個週末 先週末 지난_주말 지난주말",
    "L1 O0": "上月 上个月 上個月 先月 지난달 지난_달",
    "L2 O0": "上上个月 上上個月 先々月 지지난달",
    "L1 J0": "去年 昨年 작년 지난해",
    "L2 J0": "前年 一昨年 재작년",
    "T0 W0": "本周 本週 这周 這週 本星期 这星期 這星期 这个星期 這個星期 这礼拜 這禮拜 今週 이번_주 이번주 금주",
    "T0 k0": "本周末 这周末 這週末 这个周末 這個週末 今週末 이번_주말",
    "T0 O0": "本月 这个月 這個月 今月 이번_달 이번달",
    "T0 J0": "今年 올해 금년",
    "L1": "지난",
    "D0 A0": "天前 日前 天以前 天之前 일_전 일전",
    "W0 A0": "周前 週前 週間前 个星期前 個星期前 星期前 礼拜前 주_전 주전",
    "O0 A0": "个月前 個月前 箇月前 ヶ月前 か月前 カ月前 ヵ月前 개월_전 개월전 달_전",
    "J0 A0": "年前 년_전 년전",
    "y0": "年 년",
    "s0": "月 월",
    "d0": "日 号 號 天 일",
    "f0": "の 的 의",
    "x0": "日本 天气 天氣 天気 오늘날",
    "z2018": "令和",
    "z1988": "平成",
    "z1925": "昭和",
    "z1911": "民国 民國",
}

# Marks are put into order by a sort that is quadratic in the length of their run.
_MANY_MARKS = regex.compile(r"([\p{M}\uFF9E\uFF9F]{4})[\p{M}\uFF9E\uFF9F]+")
_LEFT_OUT = regex.compile(r"[\u0300-\u036F\u0640\u064B-\u0655\u0670\u00AD\u200C-\u200F\u2060\uFEFF]+")
_ALIKE = str.maketrans("’‘ʼ´ıł", "''''il")


def plain(text: str) -> str:
    """Return a text as the tables below have it: folded, without accents, vowel signs and what nobody sees."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", _MANY_MARKS.sub(r"\1", text).translate(_ALIKE)).casefold()
    return unicodedata.normalize("NFC", _LEFT_OUT.sub("", unicodedata.normalize("NFD", text.translate(_ALIKE))))


def _rows(table: str) -> Iterator[tuple[int, str]]:
    """Return the spellings of a table with the number of their column."""
    for row in table.strip().splitlines():
        for column, cell in enumerate(row.split()):
            yield from ((column, spelling) for spelling in cell.split("/") if spelling != "-")


def _tokens(specification: str) -> tuple[Token, ...]:
    return tuple((token[0], (int(token[1:] or 0),)) for token in specification.split())


def _lexicon(phrases: Mapping[str, str]) -> dict[str, tuple[Token, ...]]:
    return {
        plain(phrase.replace("_", " ")): _tokens(specification)
        for specification, listed in phrases.items()
        for phrase in listed.split()
    }


def _words() -> dict[str, tuple[Token, ...]]:
    found: dict[str, tuple[Token, ...]] = {}
    for column, spelling in _rows(_MONTHS):
        kind = {"?": "m", "!": "a"}.get(spelling[-1], "M")
        found[plain(spelling.rstrip("?!").replace("_", " "))] = ((kind, (column + 1,)),)
    found |= {plain(spelling): (("n", (column + 1,)),) for column, spelling in _rows(_NUMBERS)}
    found |= {plain(spelling): (("w", (column,)),) for column, spelling in _rows(_WEEKDAYS)}
    found |= {name: (("E", (number,)),) for number, name in enumerate(ENGLISH_MONTHS, start=1)}
    return found | _lexicon(_WORDS)


WORDS = _words()  # these have no letter beside them
SIGNS = {plain(name): (("w", (column,)),) for column, name in _rows(_SIGN_WEEKDAYS)} | _lexicon(_SIGNS)  # these may
