"""What the demo model answers about a conversation that is to be filed, summed up or noted. Pure."""

import re

from agents.base import Request
from agents.framing import label_of
from agents.providers.demo_rules import Remember, intents_of
from agents.recollection import INSTRUCTIONS
from memory.stopwords import stop_words

_TITLE_WORDS, _TITLE_CHARACTERS = 4, 40
_SUMMARY = "Filed by the demo model, which names a conversation by its first words and cannot sum it up."

# A person is `owner`, `user` or a quoted name; the agent has a bare name.
_SAID = re.compile(r'^\d\d:\d\d \*\*(?:owner|user|"[^"\n]*")(?: [^\n]*?)?\*\*: (?P<text>.+)', re.MULTILINE)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def about_a_conversation(request: Request) -> str | None:
    """Return the answer to a request about a conversation that it is given as data, None for any other request.

    It is filed under its first words, no notes are taken of it, and there is no summary of it: "".
    """
    texts = [block["text"] for block in request.messages[-1].content if block["type"] == "text"]
    conversation = next((text for text in texts if label_of(text) == "conversation"), None)
    if conversation is None:
        return None
    if request.tools:
        return "NO_REPLY"
    return f"Title: {_title(conversation)}\n{_SUMMARY}" if request.system == (INSTRUCTIONS,) else ""


def _title(conversation: str) -> str:
    """Return the first words that people said, without those that say nothing; "" where nobody said anything."""
    for said in _SAID.finditer(conversation):
        facts = [fact for intent in intents_of(said["text"]) if isinstance(intent, Remember) for fact in intent.facts]
        text = facts[0] if facts else said["text"]
        words = _WORD.findall(text)
        empty = stop_words(text, [word.lower() for word in words])
        if telling := [word for word in words if word.lower() not in empty] or words:
            return " ".join(telling[:_TITLE_WORDS])[:_TITLE_CHARACTERS].strip()
    return ""
