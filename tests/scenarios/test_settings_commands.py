"""/model /think /queue /usage /compact /context: what is set holds, what is said of tokens and money is true."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from adapters.testing import FakeAdapter
from agents.base import Request, Usage
from agents.errors import ModelUnavailable
from agents.prices import Price
from agents.providers.demo import DemoModel
from agents.providers.messages_refusals import refusal
from agents.testing import Held, Say, ScriptedModel, Step, call, said_last
from agents.window import LEFT_OUT
from gateway.agent import Agent
from memory.testing import FakeClock
from tests.scenarios.conftest import ANA, GROUP, OWNER, SETTINGS, House, until
from tests.scenarios.test_compaction import SUMMARY, Mind, fill

KEY = "agent:main:main"
NOON = datetime(2026, 1, 26, 12, 0, tzinfo=UTC)
PLAIN = SETTINGS + "sessions:\n  memory_hook: {{enabled: false}}\n"
MILLION = Usage(input_tokens=1_000_000)


@pytest.fixture
def house(house: House) -> House:
    return replace(house, settings=PLAIN)


@pytest.fixture
def again() -> FakeAdapter:
    """The platform as the next process meets it."""
    return FakeAdapter(platform="telegram", account="main")


async def ask(chat: FakeAdapter, text: str, *, sender: str = OWNER, group: str | None = None) -> str:
    """Let somebody write, and return what they hear."""
    chat.say(text, chat_id=group or sender, sender=sender, kind="group" if group else "private", addressed=True)
    return (await chat.heard()).text


def chosen(model: ScriptedModel) -> tuple[str | None, int | None]:
    """The model and the thinking that were asked for last."""
    return model.requests[-1].model, model.requests[-1].thinking_tokens


# What is set


async def test_a_model_that_is_chosen_answers_from_the_next_message_on_over_resets_and_restarts(
    house: House, chat: FakeAdapter, again: FakeAdapter, model: ScriptedModel
) -> None:
    async with house.open(chat, model=model):
        assert await ask(chat, "/model") == "`scripted` answers here."
        assert await ask(chat, "/model claude-haiku-5-5") == (
            "`claude-haiku-5-5` answers here from the next message on. `/model default` brings `scripted` back."
        )
        assert await ask(chat, "/model") == (
            "`claude-haiku-5-5` answers here, instead of `scripted`. `/model default` brings that back."
        )
        await ask(chat, "hello")
        assert chosen(model) == ("claude-haiku-5-5", None)
        await ask(chat, "/new")
        await ask(chat, "hello again")
        assert chosen(model) == ("claude-haiku-5-5", None)
    async with house.open(again, model=model):
        await ask(again, "and now?")
        assert chosen(model) == ("claude-haiku-5-5", None)
        assert await ask(again, "/model default") == "`scripted` answers here from the next message on."
        await ask(again, "and now?")
        assert chosen(model) == (None, None)


async def test_thinking_that_is_chosen_is_asked_for_over_resets_and_restarts(
    house: House, chat: FakeAdapter, again: FakeAdapter, model: ScriptedModel
) -> None:
    async with house.open(chat, model=model):
        assert await ask(chat, "/think") == (
            "Thinking is off here. It can be `off`, `low`, `medium` or `high`. "
            "To change it, write `/think` and one of these words, or `default`."
        )
        assert await ask(chat, "/think High") == "Thinking is high from the next message on."
        await ask(chat, "/new hello")
        await chat.heard()
        assert chosen(model) == (None, 16_384)
    async with house.open(again, model=model):
        await ask(again, "and now?")
        assert chosen(model) == (None, 16_384)
        assert await ask(again, "/think off") == "Thinking is off from the next message on."
        await ask(again, "and now?")
        assert chosen(model) == (None, None)


async def test_a_queue_that_is_chosen_holds_from_the_next_message_on(house: House, chat: FakeAdapter) -> None:
    held = Held(Say(calls=(call("list", path="memory"),)))
    model = ScriptedModel(held, "ONE")
    async with house.open(chat, model=model) as gateway:
        assert (await ask(chat, "/queue")).startswith(
            "While I work, I take your messages into the work that runs (`steer`)."
        )
        assert await ask(chat, "/queue FollowUp") == (
            "While I work, your messages wait, and I answer one after the other (`followup`)."
        )
        chat.say("one", chat_id=OWNER, sender=OWNER)
        await held.begun.wait()
        chat.say("two", chat_id=OWNER, sender=OWNER)
        await until(lambda: gateway.lanes.waiting(KEY) == 1)
        held.go.set()
        assert [(await chat.heard()).text, (await chat.heard()).text] == ["ONE", "TWO"]
        assert "(`steer`)" in await ask(chat, "/queue default")


async def test_what_is_set_for_one_conversation_holds_for_no_other(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    async with house.open(chat, model=model):
        await ask(chat, "/model other", group=GROUP)
        await ask(chat, "/think low", group=GROUP)
        await ask(chat, "hello")
        assert chosen(model) == (None, None)
        await ask(chat, "hello", sender=ANA, group=GROUP)
        assert chosen(model) == ("other", 2_048)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("/model x", "Only my owner chooses which model answers."),
        ("/model default", "Only my owner chooses which model answers."),
        ("/think high", "Only my owner chooses how long I think."),
        ("/queue collect", "Only my owner chooses what happens to messages."),
        ("/model", "`scripted` answers here."),
        ("/usage", "- This conversation: nothing yet"),
    ],
)
async def test_a_person_sees_what_is_set_and_only_the_owner_sets_it(
    house: House, chat: FakeAdapter, model: ScriptedModel, text: str, answer: str
) -> None:
    async with house.open(chat, model=model):
        assert await ask(chat, text, sender=ANA) == answer
        assert await ask(chat, text, sender=ANA, group=GROUP) == f"Only my owner can use {text.split()[0]} here."
        await ask(chat, "hello", sender=ANA)

    assert chosen(model) == (None, None)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("/model two words", "That is no name of a model. Write it as its provider does, such as `claude-haiku-5-5`."),
        (
            f"/model {'x' * 121}",
            "That is no name of a model. Write it as its provider does, such as `claude-haiku-5-5`.",
        ),
        ("/think hard", "I do not know 'hard'. Thinking can be `off`, `low`, `medium` or `high`."),
        ("/queue fast", "I do not know 'fast'. It can be `steer`, `collect`, `followup` or `interrupt`."),
    ],
)
async def test_what_cannot_be_set_is_refused_with_what_can(
    house: House, chat: FakeAdapter, model: ScriptedModel, text: str, answer: str
) -> None:
    async with house.open(chat, model=model):
        assert await ask(chat, text) == answer
        await ask(chat, "hello")

    assert chosen(model) == (None, None)


async def test_a_model_that_its_server_does_not_know_is_told_with_the_way_back(house: House, chat: FakeAdapter) -> None:
    def talk(request: Request) -> Step:
        body = {"type": "error", "error": {"type": "not_found_error", "message": f"model: {request.model}"}}
        return refusal(404, body, model=request.model, detail="404") if request.model else "hello"

    async with house.open(chat, model=ScriptedModel(otherwise=talk)):
        await ask(chat, "/model claude-typo")
        assert await ask(chat, "hello") == (
            "The model “claude-typo” is not known to its server; the owner has to correct its name. "
            "`/model default` brings `scripted` back."
        )
        await ask(chat, "/model default")
        assert await ask(chat, "hello") == "hello"


async def test_the_demo_says_that_it_is_no_model_to_choose(house: House, chat: FakeAdapter) -> None:
    async with house.open(chat, model=DemoModel()):
        assert await ask(chat, "/model claude-haiku-5-5") == (
            "The demo answers here, which needs no key. Set one and start again to choose a model."
        )
        assert await ask(chat, "/model") == "`demo` answers here."
        await ask(chat, "hello")
        assert (await ask(chat, "/usage")).startswith("- This conversation: 1 call, without tokens\n")


# What it costs


def priced(price: Price | None) -> Callable[[Agent], Agent]:
    return lambda agent: replace(agent, price=price)


@pytest.mark.parametrize(
    ("price", "chosen_model", "cost"),
    [
        (None, "claude-haiku-9", "about $1.00"),
        (None, None, "cost unknown: I have no price for scripted"),
        (Price(2.5, 10), None, "about $2.50"),
        (Price(2.5, 10), "claude-opus-9", "about $5.00"),  # the configured price is that of the configured model
        (Price(2.5, 10), "other", "cost unknown: I have no price for other"),
    ],
)
async def test_usage_says_what_a_million_tokens_cost(
    house: House, chat: FakeAdapter, price: Price | None, chosen_model: str | None, cost: str
) -> None:
    model = ScriptedModel(otherwise=lambda request: Say("ok", usage=MILLION))
    async with house.open(chat, model=model, change=priced(price)):
        if chosen_model is not None:
            await ask(chat, f"/model {chosen_model}")
        await ask(chat, "hello")
        told = f"1 call, 1,000,000 tokens read (0% of it from the cache), 0 written, {cost}"
        assert await ask(chat, "/usage") == (
            f"- This conversation: {told}\n- This month, everything that `main` did: {told}"
        )


async def test_usage_is_summed_up_by_conversation_month_and_model(house: House, chat: FakeAdapter) -> None:
    usage = Usage(100_000, 20_000, cache_read_tokens=300_000, cache_write_tokens=0)
    clock = FakeClock(datetime(2026, 1, 31, 12, 0, tzinfo=UTC))
    model = ScriptedModel(otherwise=lambda request: Say("ok", usage=usage))
    async with house.open(chat, model=model, clock=clock, change=priced(Price(1, 5))):
        await ask(chat, "hello")
        await ask(chat, "hello", sender=ANA)
        await ask(chat, "/new")
        await ask(chat, "/model claude-haiku-9")
        await ask(chat, "hello")
        january = await ask(chat, "/usage")
        await ask(chat, "hello", sender=ANA)
        anas = await ask(chat, "/usage", sender=ANA)
        groups = await ask(chat, "/usage", group=GROUP)
        clock.advance(24 * 3_600)
        await ask(chat, "hello")
        february = await ask(chat, "/usage")

    one = "1 call, 400,000 tokens read (75% of it from the cache), 20,000 written, about $0.23"
    assert january.split("\n") == [
        f"- This conversation: {one}",
        "- This month, everything that `main` did: 3 calls, 1,200,000 tokens read (75% of it from the cache), "
        "60,000 written, about $0.69",
        f"  - claude-haiku-9: {one}",
        "  - scripted: 2 calls, 800,000 tokens read (75% of it from the cache), 40,000 written, about $0.46",
    ]
    assert anas == (
        "- This conversation: 2 calls, 800,000 tokens read (75% of it from the cache), 40,000 written, about $0.46"
    )
    assert groups == "- This conversation: nothing yet"
    assert february.split("\n") == [f"- This conversation: {one}", f"- This month, everything that `main` did: {one}"]


async def test_a_part_without_a_price_is_named_beside_the_sum(house: House, chat: FakeAdapter) -> None:
    model = ScriptedModel(otherwise=lambda request: Say("ok", usage=MILLION))
    async with house.open(chat, model=model):
        await ask(chat, "hello")
        await ask(chat, "/model claude-sonnet-9")
        await ask(chat, "hello")
        told = await ask(chat, "/usage")

    assert "about $3.00 without scripted, which I have no price for" in told.split("\n")[0]


# Summing up by hand


async def test_compact_says_what_it_came_to_and_the_next_request_has_the_summary(
    house: House, chat: FakeAdapter
) -> None:
    mind = Mind()
    async with house.open(chat, model=mind.model, clock=FakeClock(NOON)):
        await fill(chat, 14)
        told = await ask(chat, "/compact the colour of the door")
        await ask(chat, "and now?")

    found = re.fullmatch(
        r"Summed up: ([\d,]+) tokens before, ([\d,]+) now\. All that was said can still be searched\.", told
    )
    assert found is not None
    before, after = (int(number.replace(",", "")) for number in found.groups())
    assert before > after > 15_000
    assert "the colour of the door" in str(mind.summaries[0].messages)
    assert SUMMARY in str(mind.turns[-1].messages) and "part 0" not in str(mind.turns[-1].messages)


async def test_compact_of_a_short_conversation_says_that_it_is_short(
    house: House, chat: FakeAdapter, model: ScriptedModel
) -> None:
    async with house.open(chat, model=model):
        told = [await ask(chat, "/compact")]
        await ask(chat, "hello")
        told.append(await ask(chat, "/compact"))

    assert told == ["There is nothing to sum up yet: this conversation is short."] * 2
    assert len(model.requests) == 1


async def test_compact_waits_for_the_turn_that_runs_and_what_comes_later_waits_for_it(
    house: House, chat: FakeAdapter
) -> None:
    held, summary = Held("at last"), Held(SUMMARY)
    mind = Mind(answer=lambda request: held if said_last(request) == "think" else "ok", summary=lambda request: summary)
    async with house.open(chat, model=mind.model, clock=FakeClock(NOON)) as gateway:
        await fill(chat, 14)
        chat.say("think", chat_id=OWNER, sender=OWNER)
        await held.begun.wait()
        chat.say("/compact", chat_id=OWNER, sender=OWNER)
        assert await ask(chat, "/queue")  # what was written before it has begun
        chat.say("and then?", chat_id=OWNER, sender=OWNER)
        await until(lambda: gateway.lanes.waiting(KEY) == 1)
        assert mind.summaries == []
        held.go.set()
        assert (await chat.heard()).text == "at last"
        await summary.begun.wait()
        assert await ask(chat, "hello", sender=ANA) == "ok"  # nobody else waits
        summary.go.set()
        heard = [(await chat.heard()).text for _ in range(2)]

    assert sorted(text.split(":")[0] for text in heard) == ["Summed up", "ok"]
    assert SUMMARY in str(mind.turns[-1].messages)


async def test_compact_with_a_model_that_fails_says_so_and_keeps_the_facts(house: House, chat: FakeAdapter) -> None:
    mind = Mind(summary=lambda request: ModelUnavailable("down", retry_after_seconds=3_600))
    async with house.open(chat, model=mind.model, clock=FakeClock(NOON)):
        await ask(chat, "The locker of Tom has the code 4711.")
        await fill(chat, 14)
        told = await ask(chat, "/compact")
        await ask(chat, "and now?")

    assert "tokens before" in told
    assert "The model could not sum up, so I left the oldest part out and kept what mattered most by its words." in told
    assert LEFT_OUT in str(mind.turns[-1].messages) and "4711" in str(mind.turns[-1].messages)


async def test_compact_in_a_group_is_the_owners(house: House, chat: FakeAdapter, model: ScriptedModel) -> None:
    async with house.open(chat, model=model):
        assert await ask(chat, "/compact", sender=ANA, group=GROUP) == "Only my owner can use /compact here."
        assert "this conversation is short" in await ask(chat, "/compact", group=GROUP)


# What is told


async def test_context_is_a_table_of_what_is_told_and_what_the_cache_saved(house: House, chat: FakeAdapter) -> None:
    usage = Usage(1_000, 50, cache_read_tokens=3_000)
    model = ScriptedModel(otherwise=lambda request: Say("ok", usage=usage))
    async with house.open(chat, model=model, clock=FakeClock(NOON)):
        (house.workspace / "MEMORY.md").write_text("x" * 30_000, encoding="utf-8")
        (house.workspace / "memory" / "2026-01-26.md").write_text("- tea at four\n", encoding="utf-8")
        before = await ask(chat, "/context")
        await ask(chat, "hello")
        after = await ask(chat, "/context")

    assert before.endswith("\n\nNothing was asked in this conversation yet, so the cache has saved nothing.")
    assert "| our conversation | 0 | 0 messages | 0 |" in before
    rows = {cells[0]: cells[1:] for cells in map(cells_of, after.split("\n")) if len(cells) == 4}
    assert rows["part"] == ["characters", "sent", "tokens"]
    raw, sent, tokens = rows["MEMORY.md"]
    assert raw == "30,000" and 15_000 < number(sent) < 21_000 and number(tokens) > 100
    assert number(rows["notes of today and yesterday"][2]) > 5
    assert rows["our conversation"][1] == "2 messages"
    total = number(rows["all, with my own rules"][2])
    assert total > sum(number(cells[2]) for name, cells in rows.items() if name in ("MEMORY.md", "AGENTS.md", "tools"))
    assert after.endswith(
        "The model has read 4,000 tokens in this conversation so far; 3,000 of them (75%) came from its cache, "
        "at a tenth of the price."
    )


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def number(cell: str) -> int:
    return int(re.findall(r"[\d,]+", cell)[0].replace(",", ""))


async def test_context_says_that_earlier_parts_were_summed_up(house: House, chat: FakeAdapter) -> None:
    async with house.open(chat, model=Mind().model, clock=FakeClock(NOON)):
        await fill(chat, 14)
        await ask(chat, "/compact")
        told = await ask(chat, "/context")

    assert "Earlier parts were summed up once; all of it stays searchable." in told
