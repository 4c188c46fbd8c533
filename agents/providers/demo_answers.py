"""The sentences of the demo model. Pure."""

from collections.abc import Collection, Sequence

from agents.providers.demo_recall import Line
from agents.providers.demo_rules import Small

WHAT_I_AM = "I am Scrubjay's built-in demo: a few rules, not a language model."
REAL_ONE = "For a real model set `ANTHROPIC_API_KEY` and start again, or name one in `scrubjay.yaml`."
CANNOT_WRITE = "I have no tool to write with here, so I did not note that."
CANNOT_READ = "I have no tool to read my notes with here, so I cannot look that up."

_TRY = 'Say "Remember that I like black coffee", and later ask "What coffee do I like?"'
_SENTENCES = {
    "greeting": f"Hello! {WHAT_I_AM} {_TRY}\n\n{REAL_ONE}",
    "thanks": "You are welcome!",
    "identity": f"{WHAT_I_AM} {REAL_ONE}",
    "empty": 'What shall I remember? Put it in one message, like "Remember that I like black coffee".',
    "statement": f"I am only the demo, so that is beyond me. {_TRY}",
}


def talk(kind: Small, tools: Collection[str]) -> str:
    """Return the answer to something that needs no file."""
    return _help(tools) if kind == "help" else _SENTENCES[kind]


def _help(tools: Collection[str]) -> str:
    can = []
    if "append" in tools:
        can.append('- "Remember that …" writes a line into today\'s note, a Markdown file that you can edit.')
    if "memory_search" in tools:
        can.append("- A question is looked up in the files of my memory, and I name the file.")
    elif "read" in tools:
        can.append("- A question is looked up in the files of my memory, word by word, and I name the file.")
    if "read" in tools:
        can.append('- "What do you know?" shows what is written there.')
    can.append("- `/help` lists the commands; they work with every model.")
    return "\n".join([f"{WHAT_I_AM} This is what I can do:\n", *can, f"\n{REAL_ONE}"])


def attached(paths: Sequence[str]) -> str:
    """Return what is said about files that came with the message."""
    return f"I keep {_paths(paths)}, but the demo cannot look into files."


def written(facts: Sequence[str], path: str | None, outcome: str, *, failed: bool) -> str:
    """Return the confirmation of a note that the tool wrote, or why it did not."""
    if failed:
        return f"I could not write that down: {outcome}"
    place = f"`{path}`" if path else "today's note"
    return f"I wrote that into {place}:\n\n" + "\n".join(f"- {fact}" for fact in facts)


def found(lines: Sequence[Line], *, files: int) -> str:
    """Return the lines that answer a question, with their files, or that there are none among so many files."""
    if not lines:
        looked = {0: "I have no notes yet", 1: "I looked through one file"}.get(
            files, f"I looked through {files} files"
        )
        return f"I know nothing about that: {looked}. The demo compares words, so other words may help."
    return _told(lines, "I found this in my notes:")


def found_by_words(lines: Sequence[Line]) -> str | None:
    """Return the lines of the search that answer a question, with their files; None if there are none."""
    return _told(lines, "I found this in my notes:") if lines else None


def said_before(lines: Sequence[Line]) -> str | None:
    """Return what was said in past conversations, by whom and when; None if there is nothing."""
    if not lines:
        return None
    return "None of my notes has that, but it was said before:\n\n" + "\n".join(f"- {_said(line)}" for line in lines)


def _said(line: Line) -> str:
    return f"{line.path}: {' '.join(line.text.split())}"


def found_by_meaning(lines: Sequence[Line]) -> str | None:
    """Return lines that are near a question in meaning, and that they are no more than that; None if there are none."""
    if not lines:
        return None
    doubt = "None of my notes has these words."
    if len(lines) == 1:
        return f"{doubt} Nearest in meaning, from `{lines[0].path}`: {_line(lines[0])}"
    return f"{doubt} Nearest in meaning:\n\n{_bullets(lines)}"


def not_found(degraded: str | None) -> str:
    """Return that a search found nothing, and what may be the reason."""
    said = "I know nothing about that: no note of mine is near it. Other words may help."
    return f"{said} {degraded}" if degraded else said


def overview(lines: Sequence[Line], count: int) -> str:
    """Return the first lines of everything that is known, and how many more there are."""
    if not lines:
        return "My notes are empty so far."
    more = f"\n\nThere are {count - len(lines)} more lines." if count > len(lines) else ""
    return "This is what my notes say:\n\n" + _bullets(lines) + more


def failures(sentences: Sequence[str]) -> list[str]:
    """Return one paragraph about files that could not be read, or none."""
    return [f"I could not read everything: {' '.join(dict.fromkeys(sentences))}"] if sentences else []


def _told(lines: Sequence[Line], heading: str) -> str:
    if len(lines) == 1:
        return f"From `{lines[0].path}`: {_line(lines[0])}"
    return f"{heading}\n\n{_bullets(lines)}"


def _bullets(lines: Sequence[Line]) -> str:
    return "\n".join(f"- {_line(line)} (`{line.path}`)" for line in lines)


def _line(line: Line) -> str:
    return f"{line.heading}: {line.text}" if line.heading else line.text


def _paths(paths: Sequence[str]) -> str:
    return ", ".join(f"`{path}`" for path in paths)
