"""What must survive a summary: which facts are found, which of them it lacks, which are told, and that nothing breaks it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base import text_block
from agents.entries import Entry, MessageRecord, Redaction
from agents.framing import frame
from agents.keeping import Fact, facts, lacking, missing, ranked, unwritten, within
from agents.open_tasks import is_open_task
from agents.prompt import Moment, Quoted, notes_content, user_content
from agents.sentences import READ_CHARS, sentences_of, values_in
from agents.workspace import WorkspacePart
from memory.tokens import count_tokens
from tests.agents.conversations import BERLIN, NOON, PRIVATE, agent, called, entries, member, owner, result


def words(text: str) -> int:
    return len(text.split())


def found_in(*texts: str) -> set[str]:
    """The values of facts in what the owner says."""
    return {fact.value for fact in facts(entries(*map(owner, texts)), zone=BERLIN)}


def lacks(said: str, summary: str) -> set[str]:
    return {fact.value for fact in missing(facts(entries(owner(said)), zone=BERLIN), summary)}


# What is a fact


@pytest.mark.parametrize(
    ("sentence", "values"),
    [
        ("my dentist is Dr. Moll, call +49 30 1234567", {"Dr. Moll", "+49 30 1234567"}),
        (
            "write to anna.b@example.co.uk or see https://example.com/a?b=1.",
            {"anna.b@example.co.uk", "https://example.com/a?b=1"},
        ),
        ("we meet Jean-Luc de la Tour in Paris", {"Jean-Luc de la Tour", "Paris"}),
        ("the budget is $1,200.50 and 12 kg of rice", {"$1,200.50", "12 kg"}),
        ("it moved to 26 January 2026 at 14:30", {"26 January", "2026", "14:30"}),
        ("am 8. Mai um 9 Uhr", {"8. Mai", "9 Uhr"}),
        ("le 3 février à 14h30", {"3 février", "14h30"}),
        ("due 2026-03-05 or 5.3.2026", {"2026-03-05"}),
        ("the log is /var/log/app.log and C:\\temp\\x.txt", {"/var/log/app.log", "C:\\temp\\x.txt"}),
        ("edit docs/plan.md on host db1.example.com", {"docs/plan.md", "db1.example.com"}),
        ("the server is 192.168.1.10:8080", {"192.168.1.10:8080"}),
        ("ticket TICKET-4821 needs v1.2.3 and violet-7", {"TICKET-4821", "v1.2.3", "violet-7"}),
        ("set `max_size` and run make_all", {"`max_size`", "make_all"}),
        ("he reads «Der Zauberberg» and “The Long Goodbye”", {"Der Zauberberg", "The Long Goodbye"}),
        ("田中さんと3月8日に東京駅で14時に会う", {"田中", "3月8日", "東京駅", "14時"}),
        ("《三体》 costs 45元", {"三体", "45元"}),
        ("김철수 씨는 3월 8일에 온다", {"김철수", "3월 8일"}),
        ("он живёт в Москве", {"Москве"}),
        ("إسمه الدكتور أحمد علي", {"أحمد علي"}),
        ("I told her that GitHub is down", {"GitHub"}),
        ("30% of the shares", {"30%"}),
        ("she has three kids und zwei Katzen", {"three kids", "zwei Katzen"}),
    ],
)
def test_names_figures_dates_addresses_paths_and_codes_are_found(sentence: str, values: set[str]) -> None:
    assert values <= {value.text for value in values_in(sentence)}


@pytest.mark.parametrize(
    "sentence",
    [
        "I think so.",
        "OK, thanks!",
        "5 and 3 of them",
        "this is it and/or that",
        "Yes. No. Please.",
        "e.g. this or i.e. that",
        "",
    ],
)
def test_what_says_nothing_is_no_fact(sentence: str) -> None:
    assert found_in(sentence) == set()


@pytest.mark.parametrize(
    "sentence",
    [
        "Remind me to water the plants",
        "I have to send the contract tomorrow",
        "we still need to book the hotel",
        "Don’t forget the milk for Sunday",
        "- [ ] renew the passport",
        "TODO: fix the roof",
        "Erinnere mich an die Steuer",
        "Ich muss noch die Miete überweisen",
        "Rappelle-moi d'acheter du pain",
        "Il faut réserver la salle",
        "Tengo que llamar a mi madre",
        "No olvides las llaves",
        "Não esqueça o passaporte",
        "Ricordami di pagare la bolletta",
        "Herinner me aan de afspraak",
        "Напомни мне позвонить маме",
        "Muszę kupić bilety",
        "别忘了交房租",
        "資料を忘れないで持ってくる",
        "내일까지 보고서를 제출해야 한다",
        "ذكرني بموعد الطبيب غدا",
        "मुझे दवा लेना याद दिलाना",
    ],
)
def test_open_tasks_are_found_in_many_languages(sentence: str) -> None:
    [kinds] = {tuple(fact.kind for fact in facts(entries(owner(sentence)), zone=BERLIN) if fact.kind == "task")}
    assert is_open_task(sentence)
    assert kinds == ("task",)


@pytest.mark.parametrize(
    "sentence", ["- [x] renew the passport", "The muster was long", "A willow and a mustard seed", "[link](x) done"]
)
def test_what_is_done_or_only_looks_alike_is_no_task(sentence: str) -> None:
    assert not is_open_task(sentence)


def test_a_capital_at_the_head_of_a_sentence_is_a_name_only_if_it_comes_again() -> None:
    assert found_in("Hortensia said yes.") == set()
    assert found_in("Hortensia said yes.", "Then we saw Hortensia in town.") == {"Hortensia"}
    assert found_in("Hortensia said yes.", "Hortensia wants blue.") == {"Hortensia"}
    assert found_in("Gardening is fun.", "Gardening, I like gardening.") == set()
    assert (
        found_in("Absolutely!", "Absolutely, I agree.", "You'll see.", "You'll love it.", "Here's how it is.") == set()
    )


def test_german_nouns_with_an_article_are_no_names() -> None:
    said = found_in(
        "Ich habe das Auto mit der Rechnung in die Werkstatt gebracht und dann war Frau Müller noch bei Siemens."
    )

    assert "Frau Müller" in said
    assert not said & {"Auto", "Rechnung", "Werkstatt"}


def test_the_headings_of_an_answer_are_no_names() -> None:
    assert values_in("Next Steps For Your Wonderful Garden Project Plan") == []


# Whose words count


def test_results_of_tools_quotes_notes_and_circumstances_give_no_facts() -> None:
    quoting = Moment(NOON, "memory/2026-01-26.md", quote=Quoted("Zed Zyx", "code ALPHA-1111"))
    notes = notes_content([WorkspacePart("memory/2026-01-26.md", "- BRAVO-2222", 12)])
    talk = entries(
        MessageRecord("user", (*notes, *user_content(PRIVATE, quoting, "is that right?"))),
        agent("> DELTA-4444\nlet me look", called("a", "read", path="CHARLIE-3333.md")),
        result("a", "ECHO-5555 and Foxtrot Golf"),
        MessageRecord("user", (text_block(frame("heartbeat", "HOTEL-8888", file="HEARTBEAT.md")),)),
        agent("```\nINDIA-9999\n```"),
    )

    assert facts(talk, zone=BERLIN) == []


def test_forwarded_words_count_as_said() -> None:
    forwarded = Moment(NOON, "memory/2026-01-26.md", forwarded_from="Airline")
    record = MessageRecord("user", user_content(PRIVATE, forwarded, "Your booking is QX-7781"))

    assert [fact.value for fact in facts(entries(record), zone=BERLIN)] == ["QX-7781"]


def test_what_was_taken_out_gives_no_facts() -> None:
    talk = (*entries(owner("the code is 4821")), Entry("2", "1", NOON, Redaction("1")))

    assert facts(talk, zone=BERLIN) == []


# What a summary lacks


@pytest.mark.parametrize(
    ("said", "summary"),
    [
        ("we owe 1,000 dollars", "- 1000 dollars are owed"),
        ("es kostet 1.000 €", "kostet 1000 Euro"),
        ("ask Zoë Müller", "- asked ZOE MULLER"),
        ("on 2026-01-26", "on January 26th"),
        ("on 26 January", "2026-01-26"),
        ("on 3/4/2026", "on 4 March"),
        ("at 2:30 pm", "at 14:30"),
        ("um 9 Uhr", "at 9:00"),
        ("call +49 30 1234567", "phone 030 1234567"),
        ("see TICKET-4821", "ticket 4821 is open"),
        ("mail Anna@Example.com", "anna@example.com"),
        ("it takes 12 kg", "12kg are needed"),
        ("she has three kids", "- 3 kids"),
        ("in 東京駅", "東京駅で会う"),
        ("I need to renew my passport before May", "- Renew the passport before May"),
    ],
)
def test_the_same_in_another_spelling_is_not_missing(said: str, summary: str) -> None:
    assert lacks(said, summary) == set()


@pytest.mark.parametrize(
    ("said", "summary", "missed"),
    [
        ("we owe 1,000 dollars", "much is owed, 100 or 10000", {"1,000 dollars"}),
        ("ask Zoë Müller", "asked Zoë", {"Zoë Müller"}),
        ("on 2026-01-26", "in January 2026, 27 people", {"2026-01-26"}),
        ("at 14:30", "at 14:00, 30 of them", {"14:30"}),
        ("it takes 12 kg", "12 days, 3 kg", {"12 kg"}),
        ("the pin is 4821", "the pin was given", {"4821"}),
        ("Remind me to water the plants", "plants were talked of", {"Remind me to water the plants"}),
    ],
)
def test_what_a_summary_does_not_have_is_missing(said: str, summary: str, missed: set[str]) -> None:
    assert lacks(said, summary) == missed


# What is told


def test_facts_are_told_as_dated_sentences_of_whoever_said_them() -> None:
    kept = lacking(
        entries(member("Ben", "Hello. The door code is 4821."), agent("I saw Anna there.")),
        "",
        zone=BERLIN,
        count=words,
    )

    assert kept.told == (
        '- 2026-01-26, "Ben" (id U7): The door code is 4821.',
        "- 2026-01-26, agent: I saw Anna there.",
    )
    assert kept.rest == ()


def test_a_sentence_with_several_facts_is_told_once() -> None:
    kept = lacking(entries(owner("we meet Anna on 8 May at 14:30 with TICKET-4821")), "", zone=BERLIN, count=words)

    assert len(kept.told) == 1


def test_of_several_sentences_with_a_fact_people_and_statements_come_before_questions_and_the_agent() -> None:
    talk = entries(owner("the door code is 4821"), agent("so it is 4821."), owner("was it 4821?"))

    [told] = lacking(talk, "", zone=BERLIN, count=words).told

    assert told == "- 2026-01-26, owner: the door code is 4821"


def test_people_come_before_the_agent_then_what_recurs_and_is_recent() -> None:
    talk = entries(
        agent("look at ALPHA-1."),
        *(owner(f"see BRAVO-{n}") for n in range(2, 20)),
        owner("again BRAVO-3"),
        owner("again BRAVO-3 now"),
        agent("look at ALPHA-2."),
    )

    values = [fact.value for fact in ranked(facts(talk, zone=BERLIN))]

    assert values[0] == "BRAVO-3"
    assert values[1:4] == ["BRAVO-19", "BRAVO-18", "BRAVO-17"]
    assert values[-2:] == ["ALPHA-2", "ALPHA-1"]


def test_only_what_has_room_is_told_and_the_rest_comes_in_the_order_it_was_said() -> None:
    talk = entries(*(owner(f"locker number {n} opens with K-{n}{n}") for n in range(100, 400)))

    kept = lacking(talk, "", zone=BERLIN, count=count_tokens)

    assert sum(map(count_tokens, kept.told)) <= 1_500
    assert len(kept.told) > 30 and len(kept.told) + len(kept.rest) == 300
    assert "K-399399" in kept.told[0]
    assert "K-100100" in kept.rest[0] and list(kept.rest) == sorted(kept.rest)


def test_a_long_sentence_is_shortened_around_its_value() -> None:
    [told] = lacking(
        entries(owner("well and so " * 40 + "the key is K-77 " + "and on it goes " * 30)), "", zone=BERLIN, count=words
    ).told

    assert "the key is K-77 and" in told
    assert len(told) < 290 and told.count("…") == 2


def test_a_value_that_a_shortened_sentence_lost_is_told_with_its_own() -> None:
    said = "first comes ALPHA-1 " + "and so on it goes " * 30 + "last comes OMEGA-9"

    told = lacking(entries(owner(said)), "", zone=BERLIN, count=words).told

    assert len(told) == 2
    assert {"ALPHA-1" in item for item in told} == {True, False}


def test_each_item_is_one_line_whatever_was_said() -> None:
    kept = lacking(entries(owner("code 4821\u2028next\x00 5921\r\nlast 6921 \x1b[0m")), "", zone=BERLIN, count=words)

    assert all(item.startswith("- 2026") and len(item.splitlines()) == 1 for item in kept.told)
    assert len(kept.told) == 3


def test_items_that_a_file_has_are_not_written_again() -> None:
    items = ["- 2026-01-26, owner: a 1111", "- 2026-01-26, owner: b 2222", "- 2026-01-26, owner: b 2222"]

    assert unwritten(items, f"# Kept\n\n{items[0]}\n") == items[1:2]


# Robustness


def test_what_was_pasted_does_not_drown_what_was_said() -> None:
    pasted = "\n".join(f"row {n} of TABLE-{n}" for n in range(20_000))

    assert sum(map(len, sentences_of(pasted))) <= READ_CHARS


@pytest.mark.parametrize(
    "text",
    [
        *(sign * 300_000 for sign in ("a", "1", "`", "「", "\u0301", "東")),
        *(pair * 100_000 for pair in ("A ", "/a", "a@", "A-", "_a", "a.b", "1.2,", "```\n", "[ ] ", "1-1", "a1_")),
    ],
    ids=lambda text: ascii(text[:4]),
)
def test_no_text_takes_long(text: str) -> None:
    found = facts(entries(owner(text), owner("the code is 4821")), zone=BERLIN)

    assert "4821" in {fact.value for fact in found}


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(max_size=120), max_size=6), st.text(max_size=200))
def test_any_text_is_read_and_what_is_kept_can_be_stored(texts: list[str], summary: str) -> None:
    talk = entries(*(owner(text) if n % 2 else agent(text) for n, text in enumerate(texts)))

    found = facts(talk, zone=BERLIN)
    kept = within(ranked(missing(found, summary)), count=len, tokens=200)

    "\n".join([*kept.told, *kept.rest]).encode()
    assert found == facts(talk, zone=BERLIN)
    assert len({*kept.told, *kept.rest}) == len(kept.told) + len(kept.rest)
    assert all(_stands_there(fact) for fact in found)


def _stands_there(fact: Fact) -> bool:
    return fact.statement.text[fact.start :].lstrip("\"'“„«「『《 \t").startswith(fact.value.strip()[:1]) and bool(
        fact.keys
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(["Ask Anna Lee about K-12.", "Pay 300 € by 5 May!", "Remind me to call +49 30 1234567."]),
        min_size=1,
    )
)
def test_a_summary_that_has_the_words_lacks_nothing(texts: list[str]) -> None:
    assert lacking(entries(*map(owner, texts)), " ".join(texts), zone=BERLIN, count=words).told == ()
