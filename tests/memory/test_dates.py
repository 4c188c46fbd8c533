"""Dates: the day that a file is named after, and the days that a question speaks of, in many languages."""

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.analyser import terms
from memory.date_words import ENGLISH_MONTHS, SIGNS, WORDS
from memory.dates import asked_dates, date_words, day_of

TODAY = date(2026, 1, 28)  # a Wednesday
LAST_WEEK = "2026 january 19 20 21 22 23 24 25"
TWO_WEEKS_AGO = "2026 january 11 12 13 14 15 16 17"

days = st.dates(date(1900, 1, 1), date(2099, 12, 31))


@pytest.mark.parametrize(
    "path",
    [
        "memory/2026-01-26.md",
        "memory/2026-01-26-api-design.md",
        "memory/2026-01-26-1430.md",
        "people/x/memory/2026-01-26.md",
        "2026-01-26 foo.md",
        "deep/er/still/2026-01-26.md",
        "memory/2025-12-31/2026-01-26.md",
        "2026_01_26.md",
        "2026.01.26.md",
        "20260126.md",
        "20260126-standup.md",
        "2026-01-26会议.md",
        "2026-01-26.MD",
        "2026-01-26.markdown",
    ],
)
def test_a_file_has_the_day_that_its_name_begins_with(path: str) -> None:
    assert day_of(path) == date(2026, 1, 26)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "MEMORY.md",
        "memory/2023-02-30.md",
        "memory/2023-13-01.md",
        "memory/0000-01-01.md",
        "memory/2026-01-261.md",
        "memory/12026-01-26.md",
        "memory/2026-01_26.md",
        "memory/2026-1-6.md",
        "memory/202601261430.md",
        "memory/20260126cafe.md",
        "memory/notes-2026-01-26.md",
        "memory/2026-01-26/notes.md",
        "memory/2026-01-26",
        "memory/2026-01-26.png",
        "memory/２０２６-01-26.md",
        "memory/\n.md",
    ],
)
def test_any_other_file_has_no_day(path: str) -> None:
    assert day_of(path) is None


@given(st.dates(), st.sampled_from(["", "-design", " ", ".2", "_x"]))
def test_every_day_that_can_be_written_is_found_in_a_name(day: date, rest: str) -> None:
    assert day_of(f"memory/{day.isoformat()}{rest}.md") == day


def test_the_words_of_a_day_are_year_english_month_and_day() -> None:
    assert date_words(date(2023, 5, 8)) == "2023 may 8"


@given(days)
def test_the_words_of_a_day_are_three_terms_of_the_index(day: date) -> None:
    assert len(terms(date_words(day))) == 3


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("2023-05-08", "2023 may 8"),
        ("2023-5-8", "2023 may 8"),
        ("what is in memory/2023-05-08-1430.md?", "2023 may 8"),
        ("logged 2023-05-08T14:30:00Z", "2023 may 8"),
        ("2023/05/08", "2023 may 8"),
        ("2023.05.08", "2023 may 8"),
        ("20230508", "2023 may 8"),
        ("2023-05-08/2023-05-09", "2023 may 8 9"),
        ("8.5.2023", "2023 may 8"),
        ("am 08.05.2023.", "2023 may 8"),
        ("08.05.23", "2023 may 8"),
        ("13/05/2023", "2023 may 13"),
        ("05/13/2023", "2023 may 13"),
        ("5/13/23", "2023 may 13"),
        ("08-05-2023", "2023 may 8 august 5"),
        ("５／１３／２０２３", "2023 may 13"),
        ("٢٠٢٣-٠٥-٠٨", "2023 may 8"),
        ("2023-05", "2023 may"),
        ("05/2023", "2023 may"),
        ("Was war am 8.5.?", "may 8"),
        ("Was war am 8.5?", "may 8"),
        ("vom 8.5. an", "may 8"),
    ],
)
def test_dates_in_figures_are_read(query: str, words: str) -> None:
    assert asked_dates(query, TODAY) == words


def test_figures_that_may_be_day_or_month_are_read_both_ways_except_with_dots() -> None:
    assert asked_dates("08/05/2023", TODAY) == "2023 may 8 august 5"
    assert asked_dates("05/05/2023", TODAY) == "2023 may 5"
    assert asked_dates("8.5.2023", TODAY) == "2023 may 8"


@pytest.mark.parametrize(
    "query",
    [
        "",
        "v1.2.3",
        "version 8.5.2023 of the app",
        "version 2025.11.19",
        "ubuntu 22.04.03",
        "python 3.11.7, node 8.5.20",
        "pycharm 2023.1.2",
        "at 14:30 or 14.30",
        "+49 30 1234567, 030-1234567, 555-12-10-2023",
        "it costs $8.5. and 1,234.56 or 8.50 €",
        "+20230508",
        "192.168.1.1",
        "2023-02-30 and 30.2.2023 and 2023-13-01",
        "1234-05-08",
        "12345678",
        "TICKET-4821",
        "gpt4 and node7",
        "3/4 of the cases",
        "page 8 of 12",
        "chapter 8. 5 more",
        "³ ½ ① 〇",
    ],
)
def test_versions_times_telephone_numbers_amounts_and_impossible_days_are_no_dates(query: str) -> None:
    assert asked_dates(query, TODAY) == ""


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("8 May 2023", ""),
        ("May 8, 2023", ""),
        ("what happened in May?", ""),
        ("May I ask who called?", ""),
        ("This may be wrong", ""),
        ("a long march in august company", ""),
        ("May 8th", "8"),
        ("the 8th of May, 2023", "8"),
        ("May 08, 2023", "8"),
        ("May 3-8", "3 4 5 6 7 8"),
        ("Sept. 8, 2023", "2023 september 8"),
        ("8-Oct-2023", "2023 october 8"),
        ("since Jan", "january"),
        ("Jan said hello", ""),
        ("mar a lago", ""),
        ("hold the mayo", ""),
        ("last May", "2025 may"),
        ("this April", "2026 april"),
        ("May last year", "2025"),
        ("last January", "2025 january"),
    ],
)
def test_english_dates_give_what_their_own_words_lack(query: str, words: str) -> None:
    assert asked_dates(query, TODAY) == words


@pytest.mark.parametrize(
    ("today", "words"),
    [
        (date(2026, 4, 30), "2025 may"),
        (date(2026, 5, 31), "2025 may"),
        (date(2026, 6, 1), "2026 may"),
    ],
)
def test_last_may_is_the_latest_before_this_month(today: date, words: str) -> None:
    assert {asked_dates(q, today) for q in ("last May", "im letzten Mai", "mai dernier", "в прошлом мае")} == {words}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        # German
        ("8. Mai 2023", "2023 may 8"),
        ("der 08. März", "march 8"),
        ("3.-8. Mai", "may 8"),
        ("3-8 Mai", "may 3 4 5 6 7 8"),
        ("im Mai", "may"),
        ("Jänner 2023", "2023 january"),
        ("am 3. Dez.", "december 3"),
        # French
        ("le 1er mai", "may 1"),
        ("8 août 2023", "2023 august 8"),
        ("en fevrier", "february"),
        ("au mois de mai", "may"),
        ("la planète Mars", ""),
        ("début d’avril", "april"),
        # Spanish
        ("el 8 de mayo de 2023", "2023 may 8"),
        ("en mayo", "may"),
        ("diciembre del 2023", "2023 december"),
        ("en marcha por el mar", ""),
        # Portuguese
        ("8 de março de 2023", "2023 march 8"),
        ("15 de marco", "march 15"),
        ("em maio", "may"),
        ("o livro de Marco", ""),
        # Italian
        ("il 3 maggio", "may 3"),
        ("l'8 giugno 2023", "2023 june 8"),
        ("non ho mai detto", ""),
        ("in luglio", "july"),
        # Dutch
        ("8 mei 2023", "2023 may 8"),
        ("in maart", "march"),
        ("Mei belde", ""),
        # Russian
        ("8 мая 2023 года", "2023 may 8"),
        ("в мае", "may"),
        ("с июня", "june"),
        ("Марта звонила", ""),
        # Polish
        ("8 maja 2023", "2023 may 8"),
        ("w październiku", "october"),
        ("Maja zadzwoniła", ""),
        # Turkish
        ("8 Mayıs 2023", "2023 may 8"),
        ("Ağustos'ta", "august"),
        ("ağustosta", "august"),
        ("İstanbul'da 3 Ekim", "october 3"),
        # Chinese
        ("5月8日", "may 8"),
        ("五月八号我们聊了什么", "may 8"),
        ("2023年5月", "2023 may"),
        ("二〇二三年十二月二十五日", "2023 december 25"),
        ("23年5月8日", "2023 may 8"),
        ("在八月份", "august"),
        ("去年五月", "2025 may"),
        ("今年5月8號", "2026 may 8"),
        ("三个月的项目", ""),
        ("一起去十分远的地方", ""),
        # Japanese
        ("2023年5月8日の会議", "2023 may 8"),
        ("去年の5月", "2025 may"),
        ("令和5年5月8日", "2023 may 8"),
        ("3ヶ月の研修", ""),
        ("月曜日", ""),
        ("5月3日前", "may 3"),
        # Korean
        ("5월 8일", "may 8"),
        ("2023년 5월에", "2023 may"),
        ("작년 5월", "2025 may"),
        # Arabic
        ("٨ مايو ٢٠٢٣", "2023 may 8"),
        ("في شهر مارس", "march"),
        ("كانون الثاني 2023", "2023 january"),
        ("في آذار", "march"),
    ],
)
def test_months_are_known_by_their_names_in_many_languages(query: str, words: str) -> None:
    assert asked_dates(query, TODAY) == words


@pytest.mark.parametrize(
    ("words", "queries"),
    [
        ("2026 january 28", "today|heute|aujourd'hui|aujourd’hui|hoy|hoje|oggi|vandaag|сегодня|今天|今日|오늘|اليوم"),
        (
            "2026 january 27",
            "yesterday|last night|gestern|on a parlé hier soir|ayer|ontem|ieri|gisteren|вчера|昨天|昨日|어제|أمس",
        ),
        ("2026 january 26", "the day before yesterday|vorgestern|avant-hier|anteayer|позавчера|前天|一昨日|그저께"),
        ("2026 january 25", "3 days ago|three days ago|vor drei Tagen|vor 3 Tagen|il y a trois jours|hace tres días"),
        (
            "2026 january 25",
            "há 3 dias|3 dias atrás|tre giorni fa|drie dagen geleden|3 дня назад|три дня назад|قبل 3 أيام",
        ),
        ("2026 january 25", "三天前|3天前天气怎么样|大前天|3日前|３日前|3일 전"),
        (
            LAST_WEEK,
            "last week|the past week|last week's plan|letzte Woche|vergangene Woche|la semaine dernière|semana pasada",
        ),
        (
            LAST_WEEK,
            "semana passada|settimana scorsa|vorige week|на прошлой неделе|上周|上星期|上周天气|先週|지난주|الأسبوع الماضي",
        ),
        ("2026 january 26 27 28 29 30 31 february 1", "this week|diese Woche|cette semaine|esta semana|на этой неделе"),
        ("2026 january 26 27 28 29 30 31 february 1", "本周|这周|這週|今週|이번 주"),
        (
            "2026 january 24 25",
            "last weekend|letztes Wochenende|le week-end dernier|el fin de semana pasado|上周末|先週末",
        ),
        (
            TWO_WEEKS_AGO,
            "2 weeks ago|two weeks ago|vor zwei Wochen|il y a deux semaines|hace dos semanas|две недели назад",
        ),
        (TWO_WEEKS_AGO, "两周前|2週間前|兩個星期前"),
        ("2026 january 18 19 20 21 22 23 24", "a week ago|vor einer Woche|il y a une semaine|неделю назад|一周前"),
        ("2026 january 12 13 14 15 16 17 18", "vorletzte Woche|на позапрошлой неделе|上上周|先々週"),
        ("2025 december", "last month|letzten Monat|le mois dernier|el mes pasado|в прошлом месяце|上个月|先月|지난달"),
        ("2025 december", "one month ago|vor einem Monat|il y a un mois|hace un mes|месяц назад|一个月前|1ヶ月前"),
        ("2026 january", "this month|diesen Monat|ce mois|este mes|в этом месяце|这个月|本月|今月|이번 달"),
        (
            "2025 january",
            "12 months ago|vor 12 Monaten|il y a douze mois|hace 12 meses|12 месяцев назад|十二个月前|12か月前",
        ),
        ("2025", "last year|letztes Jahr|l'année dernière|l'an dernier|el año pasado|в прошлом году|去年|昨年|작년"),
        ("2026", "this year|dieses Jahr|cette année|este año|в этом году|今年|올해"),
        ("2023", "three years ago|vor drei Jahren|il y a 3 ans|hace 3 años|3 года назад|三年前|3年前"),
        (
            "2026 january 26",
            "last Monday|letzten Montag|lundi dernier|el lunes pasado|в прошлый понедельник|지난 월요일",
        ),
        ("2026 january 21", "last Wednesday|am letzten Mittwoch|mercredi dernier|el pasado miércoles|в прошлую среду"),
        ("2026 january 30", "this Friday|diesen Freitag|ce vendredi|este viernes|в эту пятницу|这周五|今週の金曜日"),
        ("2026 january 19", "Monday last week|last week Monday|letzte Woche Montag|lundi de la semaine dernière"),
        ("2026 january 19", "上周一|上星期一|先週の月曜日|先週月曜|지난주 월요일"),
        ("2026 january 25", "上周日|上星期天"),
        ("2026 january 26 25", "2-3 days ago"),
        ("may 2025", "Mai letzten Jahres|en mai l'année dernière"),
    ],
)
def test_what_is_said_from_today_on_becomes_days_months_and_years(words: str, queries: str) -> None:
    for query in queries.split("|"):
        assert (query, asked_dates(f"¿{query}?", TODAY)) == (query, words)


@pytest.mark.parametrize(
    "query",
    [
        "Monday",
        "on Monday we met",
        "周一开会",
        "half past eight",
        "last call",
        "the last week of May",
        "the last 3 people",
        "this is the day",
        "weeks ago",
        "Was steht hier?",
        "二十十月",
        "二十三十五月",
        "Wat staat hier?",
        "mes dernières notes",
        "next week, next May, in 3 days",
        "5000 days ago",
        "上海的天气",
    ],
)
def test_what_only_looks_like_a_date_is_none(query: str) -> None:
    assert asked_dates(query, TODAY) == ""


def test_hier_is_yesterday_in_french_and_here_in_german_and_dutch() -> None:
    assert asked_dates("Qu’est-ce qu’on a décidé hier ?", TODAY) == "2026 january 27"
    assert asked_dates("Was haben wir hier beschlossen?", TODAY) == ""
    assert asked_dates("Wat hebben we hier besloten?", TODAY) == ""


def test_several_dates_give_each_word_once() -> None:
    assert asked_dates("2023-05-08, 2023-05-09 oder im Mai 2024?", TODAY) == "2023 may 8 9 2024"


@pytest.mark.parametrize(
    ("query", "today", "words"),
    [
        ("this week", date.max, "9999 december 27 28 29 30 31"),
        ("last week", date(1, 1, 3), ""),
        ("yesterday", date.min, ""),
        ("999 weeks ago", date.min, ""),
        ("999 months ago", date.min, ""),
        ("last year", date.min, ""),
    ],
)
def test_days_beyond_the_calendar_are_left_out(query: str, today: date, words: str) -> None:
    assert asked_dates(query, today) == words


def test_of_a_very_long_text_its_beginning_and_its_end_are_read() -> None:
    pasted = "5月8日 " * 20_000

    assert asked_dates(f"vorgestern {pasted} im Juni", TODAY) == "2026 january 26 may 8 june"
    assert asked_dates("word " * 10_000 + "5月8日" + " word" * 10_000, TODAY) == ""


@given(days, days)
def test_a_day_in_figures_asks_for_the_words_of_that_day(day: date, today: date) -> None:
    written = [
        day.isoformat(),
        f"{day:%Y/%m/%d}",
        f"{day:%Y%m%d}",
        f"{day.day}.{day.month}.{day.year}",
        f"{day.year}年{day.month}月{day.day}日",
        f"{day.year}년 {day.month}월 {day.day}일",
    ]

    assert {asked_dates(text, today) for text in written} == {date_words(day)}


@given(days, st.integers(min_value=0, max_value=999))
def test_days_ago_ask_for_the_words_of_that_day(today: date, number: int) -> None:
    words = date_words(today - timedelta(number))

    assert {asked_dates(t, today) for t in (f"{number} days ago", f"vor {number} Tagen", f"{number}天前")} == {words}


@given(
    days,
    st.sampled_from(["last week", "上周", "2 weeks ago", "last month", "3 months ago", "去年", "last May", "上周三"]),
)
def test_what_is_past_is_at_least_begun_before_today(today: date, query: str) -> None:
    year, *rest = asked_dates(query, today).split()

    assert today.year - 2 <= int(year) <= today.year
    assert len(rest) <= 10


_vocabulary = st.sampled_from(
    [*WORDS, *SIGNS, "8", "08", "31", "2023", "2023-05-08", "8.5.", "十", "廿", ".", ",", "x"]
)


@settings(max_examples=300)
@given(
    st.text(st.characters(), max_size=40)
    | st.lists(_vocabulary, max_size=12).map(" ".join)
    | st.lists(_vocabulary).map("".join),
    st.dates(),
)
def test_whatever_is_asked_the_answer_is_words_of_dates(query: str, today: date) -> None:
    words = asked_dates(query, today).split()

    assert len(words) == len(set(words))
    assert all((word.isascii() and word.isdecimal()) or word in ENGLISH_MONTHS for word in words)


@given(st.text(st.characters(), max_size=60))
def test_whatever_the_path_a_day_or_none_comes_back(path: str) -> None:
    day_of(path)
    day_of(path + ".md")


_PIECES = [
    *("a_", "may_8_", "8_", "1.", "1", "2023-05-08_", "2023-05-08-", "de_la_", "vor_3_", "last_", "v_", "-", "_", "é"),
    *(
        "今天",
        "上周一",
        "三",
        "月",
        "a\u0301\u0316",
        "\u0301\u0316",
        "\uff9e\u0301",
        "\ud800",
        "the_day_before_yesterda_",
    ),
]


@pytest.mark.parametrize("piece", _PIECES, ids=ascii)
def test_a_long_text_is_read_to_an_end(piece: str) -> None:
    text = piece.replace("_", " ") * (100_000 // len(piece))

    assert len(asked_dates(text, TODAY).split()) <= 500  # and does not hang: what is quadratic here takes minutes
