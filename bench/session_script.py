"""The scripted conversation of the session measure: what is said in 400 turns, and 200 facts to be asked for at the end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from random import Random

TURNS = 400
FEWEST_CHARACTERS, MOST_CHARACTERS = 2_000, 50_000

_NAMES = (
    "Marek", "Ingrid", "Paolo", "Yusuf", "Beatriz", "Oksana", "Tomoko", "Henrik", "Leila", "Desmond",
    "Agnieszka", "Rafael", "Miriam", "Kofi", "Solveig", "Dario", "Nadia", "Emeka", "Viola", "Stellan",
)  # fmt: skip
_CITIES = (
    "Skagen", "Lugano", "Tartu", "Porto", "Ghent", "Bergen", "Trieste", "Uppsala", "Cork", "Graz",
)  # fmt: skip
_COMPANIES = (
    "Nordlicht", "Abacus", "Tresco", "Heliora", "Brightwell", "Quantis", "Mirador", "Osprey", "Valtera", "Kestrel",
)  # fmt: skip
_CHINESE_NAMES = ("李明", "王芳", "张伟", "刘洋", "陈静", "杨帆", "赵磊", "黄丽", "周涛", "吴敏")

# What is said, and how it is asked for at the end: in other words, around the same name.
_FORMS: Sequence[tuple[str, str, str]] = (
    ("My cousin {name} was born on {date}.", "When can we celebrate the birthday of {name}?", "{date}"),
    ("The boiler at {company} carries the serial number {code}.", "How is the heating at {company} identified?", "{code}"),
    ("We pay {number} euros a month for the storage room in {city}.", "How expensive is our depot in {city}?", "{number}"),
    ("{name} moved to Birch Lane {number}, on the second floor.", "Where does {name} live these days?", "{number}"),
    ("Careful when you cook: {name} cannot stand {food}.", "What should never be on the plate of {name}?", "{food}"),
    ("The report for {company} has to be handed in by {date}.", "What is the deadline of the {company} paper?", "{date}"),
    ("I left the trailer in {city} at gate {code}.", "Where is the trailer parked in {city}?", "{code}"),
    ("{name} gives lessons in {subject} since autumn.", "What does {name} teach?", "{subject}"),
    ("Our contract with {company} runs out on {date}.", "When does the agreement with {company} end?", "{date}"),
    ("The wifi in the cabin near {city} wants the key {code}.", "How do I get online in the hut by {city}?", "{code}"),
    ("{name} has called the new dog {pet}.", "What is the pet of {name} named?", "{pet}"),
    ("I lent my copy of {book} to {name}.", "Which novel did I give away to {name}?", "{book}"),
    ("The night train to {city} leaves from platform {number}.", "Where do I board the sleeper for {city}?", "{number}"),
    ("The parcel for {name} comes to {number} grams.", "How heavy is the package that goes to {name}?", "{number}"),
    ("{company} gets {number} percent off from us.", "How large is the discount that we grant {company}?", "{number}"),
    ("Copies of the files of {company} are kept under /srv/{slug}/{number}.", "Where is the backup of {company}?", "{number}"),
    ("From Monday on {name} works as a {job}.", "What is the profession of {name} now?", "{job}"),
    ("You can ring {name} under {phone}.", "Which phone number has {name}?", "{phone}"),
    ("Eine Nacht auf der Hütte bei {city} kostet {number} Franken.", "What is the price of a bed in {city}?", "{number}"),
    ("{chinese}的车牌号是{code}。", "{chinese}开的汽车挂什么牌照?", "{code}"),
)  # fmt: skip

_FOODS = ("celery", "mussels", "aniseed", "beetroot", "blue cheese", "coriander", "liver", "olives", "fennel", "kale")
_SUBJECTS = ("chemistry", "Latin", "drawing", "geology", "violin", "fencing", "carpentry", "botany", "rhetoric", "judo")
_PETS = ("Biscuit", "Pavlova", "Otter", "Ziggy", "Marzipan", "Socks", "Bandit", "Clover", "Pepper", "Noodle")
_BOOKS = ("Middlemarch", "Stoner", "Solaris", "Beloved", "Kokoro", "Austerlitz", "Pnin", "Ulysses", "Emma", "Dracula")
_JOBS = ("beekeeper", "notary", "midwife", "welder", "translator", "surveyor", "florist", "pilot", "baker", "luthier")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "October", "November")

_FILLERS = (
    "Let us go on where we stopped.", "I am not sure that this is the best order.", "That looks better than before.",
    "Somebody should look at the middle part again.", "It took longer than I thought, but it is fine.",
    "Could you look into the next file as well?", "I would rather have it short and plain.",
    "The weather is dreadful, so there is time for it today.", "Leave the rest as it is for the moment.",
    "This is more or less what we had in mind.", "I will read it tonight on the sofa.",
)  # fmt: skip
_WORDS = (
    "lorem", "table", "river", "window", "garden", "paper", "early", "quiet", "under", "yellow", "market", "corner",
    "simple", "lantern", "basket", "winter", "moving", "pattern", "circle", "ladder", "morning", "copper", "velvet",
    "anchor", "bridge", "cotton", "drawer", "engine", "forest",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement that is made once, the question that asks for it in other words, and what an answer has to hold."""

    statement: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Turn:
    """What happens in a turn: what a person writes after how many seconds, files that are read, and what is replied."""

    number: int
    seconds_before: float
    text: str
    files: tuple[str, ...]
    reply: str


@dataclass(frozen=True, slots=True)
class Script:
    """The whole conversation; `files` are the texts that the tool `read` gives, by name."""

    turns: tuple[Turn, ...]
    facts: tuple[Fact, ...]
    files: dict[str, str]


def write_script(seed: int = 7) -> Script:
    """Return the conversation, the same for the same seed."""
    random = Random(seed)
    facts = list(_facts(random))
    random.shuffle(facts)
    files = {f"data/part-{number:03}.txt": _file(random) for number in range(120)}
    names = cycle(files)
    turns = []
    for number in range(TURNS):
        fact = facts[number // 2] if number % 2 == 0 else None
        by_agent = fact is not None and number % 10 == 4  # every fifth one is said by the agent
        said = [random.choice(_FILLERS), random.choice(_FILLERS)]
        if fact is not None and not by_agent:
            said.insert(random.randrange(3), fact.statement)
        reply = [random.choice(_FILLERS), random.choice(_FILLERS), random.choice(_FILLERS)]
        if fact is not None and by_agent:
            reply.insert(random.randrange(3), fact.statement)
        reads = tuple(next(names) for _ in range(random.choice((0, 0, 1, 1, 2))))
        pause = random.uniform(400, 3_600) if number and number % 23 == 0 else random.uniform(15, 120)
        turns.append(Turn(number, pause, f"{' '.join(said)} (#{number})", reads, " ".join(reply)))
    return Script(tuple(turns), tuple(facts), files)


def _facts(random: Random) -> Iterator[Fact]:
    for number in range(10):
        for place, (statement, question, answer) in enumerate(_FORMS):
            company = _COMPANIES[(number + place) % 10]
            values = {
                "name": _NAMES[(number * 2 + place) % 20],
                "city": _CITIES[(number + place) % 10],
                "company": company,
                "slug": company.lower(),
                "chinese": _CHINESE_NAMES[number],
                "date": f"{random.randint(1, 28)} {random.choice(_MONTHS)} {random.randint(1950, 2031)}",
                "code": f"{random.choice('BDFHKQTX')}{random.choice('MNRVWZ')}-{random.randint(1_000, 9_999)}",
                "number": str(random.randint(112, 9_876)),
                "phone": f"0{random.randint(300, 899)} {random.randint(100_000, 999_999)}",
                "food": _FOODS[number],
                "subject": _SUBJECTS[number],
                "pet": _PETS[number],
                "book": _BOOKS[number],
                "job": _JOBS[number],
            }
            yield Fact(statement.format(**values), question.format(**values), answer.format(**values))


def _file(random: Random) -> str:
    """Return a text of 2,000 to 50,000 characters, small ones more often, in lines."""
    size = int(FEWEST_CHARACTERS * (MOST_CHARACTERS / FEWEST_CHARACTERS) ** random.random()) - 100
    lines, length = [], 0
    while length < size:
        line = f"{random.randint(1, 99_999)} " + " ".join(random.choices(_WORDS, k=12))
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines)
