"""Who people are: the configured ones, those approved by a code, and one human on several platforms."""

from gateway.people import People
from gateway.store.values import KnownPerson

BEA = KnownPerson("telegram", "5", "person", "Bea")


def people(*approved: KnownPerson) -> People:
    return People(
        owner={"telegram": ["1"], "slack": ["U1"]},
        linked={"ana": {"telegram": ["3"], "slack": ["U3", "U4"]}, "bo": {"telegram": ["4"]}},
        approved=approved,
    )


def test_the_owner_is_the_owner_on_every_platform_that_is_named() -> None:
    known = people()

    assert [known.standing(*who) for who in (("telegram", "1"), ("slack", "U1"))] == ["owner", "owner"]


def test_the_same_id_on_another_platform_is_somebody_else() -> None:
    known = people()

    assert known.standing("slack", "1") == "stranger"
    assert known.standing("discord", "3") == "stranger"


def test_whoever_sits_at_the_machine_is_the_owner_and_only_as_that_id() -> None:
    assert people().standing("terminal", "owner") == "owner"
    assert people().standing("telegram", "owner") == "stranger"
    assert people().standing("terminal", "1") == "stranger"


def test_one_human_has_one_shelf_under_all_their_ids() -> None:
    known = people()

    assert {known.shelf_name(*who) for who in (("telegram", "3"), ("slack", "U3"), ("slack", "U4"))} == {"ana"}
    assert known.shelf_name("telegram", "4") == "bo"
    assert known.standing("slack", "U4") == "person"


def test_somebody_who_is_not_linked_stands_alone() -> None:
    known = people(BEA, KnownPerson("slack", "5", "person", "Bea"))

    assert known.shelf_name("telegram", "5") == "telegram-5"
    assert known.shelf_name("slack", "5") == "slack-5"


def test_an_approved_person_is_known_at_once_and_after_a_restart() -> None:
    running = people()
    running.add(BEA)

    assert running.standing("telegram", "5") == people(BEA).standing("telegram", "5") == "person"


def test_an_approved_owner_is_one_at_once_and_after_a_restart() -> None:
    me = KnownPerson("telegram", "5", "owner", "me")
    running = people()
    running.add(me)

    assert running.standing("telegram", "5") == people(me).standing("telegram", "5") == "owner"


def test_what_the_configuration_says_stands_before_and_after_a_restart() -> None:
    approved = (KnownPerson("telegram", "3", "owner", "Ana"), KnownPerson("telegram", "1", "person", "me"))
    running = people()
    for person in approved:
        running.add(person)

    for known in (running, people(*approved)):
        assert known.standing("telegram", "3") == "person"
        assert known.standing("telegram", "1") == "owner"


def test_a_name_says_nothing() -> None:
    known = people(KnownPerson("telegram", "5", "person", "1"))

    assert known.standing("telegram", "5") == "person"
    assert known.standing("telegram", "Bea") == "stranger"
    assert known.standing("telegram", "ana") == "stranger"


def test_the_terminal_alone_is_no_owner_to_write_to() -> None:
    def only(*approved: KnownPerson) -> People:
        return People(owner={}, linked={}, approved=approved)

    assert not only().has_owner
    assert not only(BEA).has_owner
    assert only(KnownPerson("telegram", "5", "owner", "me")).has_owner
    assert people().has_owner
