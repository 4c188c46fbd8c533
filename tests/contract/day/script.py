"""The day's script: who says what where, what the model says to it, and how many parts of an answer come."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tests.contract.day.places import (
    COMMUNITY,
    DEPLOY,
    DISCORD,
    GARDENERS,
    GARDENERS_OFFICE,
    GENERAL,
    HOME,
    INVOICES,
    NEIGHBOUR,
    OFFICE,
    OFFICE_BOB,
    POST,
    ROSES,
    SLACK,
    SLACK_BOB,
    TERMINAL,
    Place,
)
from tests.emulators.messages.answers import Answer, ToolCall

Person = Literal["alice", "bob", "carol", "echo"]
Way = Literal["message", "edit", "command", "file"]
End = Literal["replied", "silent", "command", "pairing", "overheard", "noted"]

SECRETS = ("third flower pot", "41,700", "behind the shed", "the fourteenth", "sixteen roses")


@dataclass(frozen=True, slots=True)
class Step:
    """What the model says when the last message of a request contains `when`; None: the text of the day's message."""

    answer: Answer
    when: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One message of the day. `{bot}` in it mentions the bot of its place, `{code}` is the code that was told last.

    `end` is what becomes of it, `parts` how many messages answer it. `marks` names its id for places and edits to come;
    `of` is the name of the message that an edit changes. `times` it is said, each time when the one before was answered.
    """

    who: Person
    place: Place
    says: str
    steps: tuple[Step, ...] = ()
    end: End = "replied"
    parts: int = 1
    way: Way = "message"
    marks: str | None = None
    of: str | None = None
    times: int = 1

    @property
    def words(self) -> str:
        """The text without the mention."""
        return self.says.removeprefix("{bot} ")


def says(text: str) -> tuple[Step, ...]:
    """The model answers at once."""
    return (Step(Answer(text=text)),)


def does(tool: str, result: str, reply: str, /, **arguments: object) -> tuple[Step, ...]:
    """The model uses a tool first, and answers when it has a result that contains `result`."""
    return (Step(Answer(tool_calls=(ToolCall(tool, arguments),))), Step(Answer(text=reply), when=result))


_TABLE = "| leg | finds | costs |\n|---|---|---|\n| words | exact names | 4 ms |\n| vectors | meanings | 8 ms |"
_CODE = "\n".join(f"for leg in legs:  # round {number}\n    pool |= leg.find(query, {number})" for number in range(40))
LONG = (
    f"# How it is found\n\n{_TABLE}\n\nEvery question goes **both** ways, and this is the loop:\n\n```python\n{_CODE}\n```\n\n"
    + "\n\n".join(f"{number}. {'What one leg misses, the other finds. ' * 6}".rstrip() for number in range(1, 9))
)
LEASE = b"The lease of Birch Lane 4 ends on 30 June.\n"

MORNING: Sequence[Line] = (
    Line(
        "alice",
        HOME,
        "Good morning. The spare key is under the third flower pot, please keep that.",
        does("append", "Added to memory/", "Kept: I know where the key is.", text="The spare key: third flower pot."),
    ),
    Line("alice", TERMINAL, "Where did I say that the key is?", says("Under a flower pot, you said this morning.")),
    Line("alice", SLACK, "For the Kestrel offer we do not go below 41,700.", says("Understood, that is our floor.")),
    Line("alice", OFFICE, "Remind me of our floor for Kestrel, I am on the phone.", says("It is 41,700.")),
    Line("bob", GENERAL, "Deploy at ten, as always.", end="overheard", parts=0),
    Line(
        "bob",
        DEPLOY,
        "{bot} what do we deploy today?",
        says("The release that you called *Osprey*."),
        marks="deploy",
    ),
    Line("alice", DEPLOY, "Bob, you are on call for it, all week.", says("NO_REPLY"), end="silent", parts=0),
    Line("bob", GARDENERS, "Who waters on Saturday?", end="overheard", parts=0),
    Line(
        "alice",
        GARDENERS,
        "{bot} put me down for Saturday, and where is my key?",
        does(
            "memory_search",
            "Nothing was found",
            "Saturday is yours. I know of no key here.",
            query="spare key flower pot",
        ),
    ),
    Line("bob", GARDENERS_OFFICE, "{bot} is the van free on Saturday?", says("The van is free from noon.")),
    Line("alice", INVOICES, "{bot} which number has the greenhouse bill?", says("It is number 2291.")),
    Line("bob", ROSES, "{bot} which roses survive shade?", says("*Ghislaine* does, and **Alba** roses.")),
    Line("carol", NEIGHBOUR, "Hello, I am Carol from next door.", end="pairing"),
    Line("alice", HOME, "/pair approve {code}", end="command", way="command"),
    Line(
        "carol",
        NEIGHBOUR,
        "My bees are behind the shed, nobody else needs to know.",
        does("append", "Added to people/telegram-1003/", "That stays between us.", text="Bees behind the shed."),
    ),
)

NOON: Sequence[Line] = (
    Line("bob", COMMUNITY, "The mirror is slow today.", end="overheard", parts=0),
    Line("bob", COMMUNITY, "{bot} how do I report a fault?", says("Open a post in *questions*.")),
    Line("bob", POST, "{bot} my file is refused.", says("What does the first line say?")),
    Line("alice", POST, "/activation always", end="command", way="command"),
    Line("bob", POST, "It says: unknown key.", says("Then the name is misspelt.")),
    Line("alice", DISCORD, "Explain in full how my notes are found.", says(LONG), parts=3),
    Line(
        "alice",
        HOME,
        "Here is the lease.",
        does("list", "lease.txt", "It ends on 30 June.", path="inbox"),
        way="file",
    ),
    Line(
        "alice",
        HOME,
        "Write the shopping list and send it as a file.",
        (
            Step(Answer(tool_calls=(ToolCall("write", {"path": "shopping.md", "text": "- sixteen roses\n"}),))),
            Step(Answer(tool_calls=(ToolCall("send_file", {"path": "shopping.md"}),)), when="Wrote shopping.md"),
            Step(Answer(text="Here is the list."), when="shopping.md goes with your reply"),
        ),
        parts=2,
        marks="list",
    ),
    Line(
        "bob",
        SLACK_BOB,
        "I am away on the fourteenth, tell nobody.",
        does("append", "Added to people/bob/", "I keep it to myself.", text="Bob is away on the fourteenth."),
    ),
    Line(
        "bob",
        OFFICE_BOB,
        "When did I say that I am away?",
        does("memory_search", "Bob is away on the fourteenth", "On the fourteenth of this month.", query="Bob away"),
    ),
    Line("bob", GARDENERS, "Whose turn is it to mow?", end="overheard", parts=0, marks="mow"),
    Line("bob", GARDENERS, "{bot} whose turn is it to mow?", says("Dora's, by the list."), way="edit", of="mow"),
    Line(
        "alice",
        HOME,
        "Write the shopping list, with milk, and send it as a file.",
        end="noted",
        parts=0,
        way="edit",
        of="list",
    ),
)

# The gateway is killed while it thinks about the first, and the others come while it is down.
CRASH: Sequence[Line] = (
    Line(
        "alice",
        HOME,
        "Think hard: which way to Bergen?",
        (Step(Answer(text="Never said.", hold=True)), Step(Answer(text="Over the mountains, by train."))),
    ),
    Line("bob", DEPLOY, "Is the release out?", says("It is, since eleven.")),
)

# Discord is down: the first waits for its answer to be sent, the second for being heard. The others do not wait, and the
# last one asks how everything is.
OUTAGE: Sequence[Line] = (
    Line("bob", COMMUNITY, "{bot} is the mirror still slow?", says("Not any more.")),
    Line("bob", COMMUNITY, "{bot} and the wiki?", says("The wiki is well.")),
    Line("alice", SLACK, "Meanwhile: what is left for today?", says("The Kestrel offer.")),
    Line("alice", HOME, "/status", end="command", way="command"),
)

# Telegram wants two seconds of silence in the group; the private chat does not wait.
LIMIT: Sequence[Line] = (
    Line("bob", GARDENERS, "{bot} do we need more mulch?", says("Four sacks.")),
    Line("alice", HOME, "What else for tonight?", says("The oven at seven.")),
)

EVENING: Sequence[Line] = (
    Line("alice", SLACK, "agents", end="command", way="command"),
    Line("alice", HOME, "/new", end="command", way="command"),
    Line(
        "alice",
        HOME,
        "Where is the spare key again?",
        does("memory_search", "spare key: third", "It is where you put it: under the pot.", query="spare key"),
    ),
    Line("echo", COMMUNITY, "{bot} good evening, colleague.", says("Good evening to you."), times=22),
)

DAY: Sequence[Line] = (*MORNING, *NOON, *CRASH, *OUTAGE, *LIMIT, *EVENING)
