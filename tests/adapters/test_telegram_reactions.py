"""The sign that somebody works on a message: in groups, once, and gone when the answer is there."""

from typing import Literal

from adapters.base import Activity, Chat
from adapters.telegram.reactions import SIGN, Reactions

GROUP = Chat("telegram", "main", "-100500")


def shown(phase: Literal["working", "done"], *ids: str, chat: Chat = GROUP) -> Activity:
    return Activity(chat, ids, phase)


def asked(reactions: Reactions, activity: Activity) -> list[tuple[int, str | None]]:
    return [(request["message_id"], request["reaction"]) for request in reactions.due(activity)]


def test_a_message_in_a_group_gets_the_sign_when_work_begins_and_loses_it_at_the_end() -> None:
    reactions = Reactions()

    assert reactions.due(shown("working", "42")) == [{"chat_id": -100500, "message_id": 42, "reaction": SIGN}]
    assert asked(reactions, shown("working", "42")) == []
    assert asked(reactions, shown("done", "42")) == [(42, None)]
    assert asked(reactions, shown("done", "42")) == []


def test_a_message_that_joins_the_work_later_gets_the_sign_as_well() -> None:
    reactions = Reactions()
    asked(reactions, shown("working", "42"))

    assert asked(reactions, shown("working", "42", "43")) == [(43, SIGN)]
    assert asked(reactions, shown("done", "42", "43")) == [(42, None), (43, None)]


def test_what_never_had_the_sign_loses_none() -> None:
    assert asked(Reactions(), shown("done", "42")) == []


def test_private_chats_get_none_and_neither_does_what_is_no_message_there() -> None:
    reactions = Reactions()

    assert reactions.due(shown("working", "42", chat=Chat("telegram", "main", "1001"))) == []
    assert reactions.due(shown("working", "reminder-1-2026")) == []


def test_the_number_that_a_bot_counts_for_itself_is_told_without_its_own_id() -> None:
    assert asked(Reactions(), shown("working", "42@7001")) == [(42, SIGN)]


def test_a_chat_that_takes_no_reactions_is_left_alone_and_others_are_not() -> None:
    reactions = Reactions()
    asked(reactions, shown("working", "42"))
    reactions.refused(GROUP, "Telegram refused the request: message to react not found")
    assert asked(reactions, shown("done", "42")) == [(42, None)]
    reactions.refused(GROUP, "Telegram refused the request: REACTION_INVALID")

    assert asked(reactions, shown("done", "42")) == asked(reactions, shown("working", "43")) == []
    assert asked(reactions, shown("working", "43", chat=Chat("telegram", "main", "-7"))) == [(43, SIGN)]


def test_of_very_many_messages_only_the_newest_are_remembered() -> None:
    reactions = Reactions()
    asked(reactions, shown("working", *(str(number) for number in range(2_000))))

    assert asked(reactions, shown("done", "5", "1999")) == [(1999, None)]
