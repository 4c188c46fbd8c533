"""A model for scenarios about what is kept: it talks in turns, and files the conversations that it is given to file."""

from collections.abc import Callable

from agents.base import Request
from agents.recollection import INSTRUCTIONS
from agents.testing import ScriptedModel, Step, shout


class Clerk:
    """Answers turns by `talk`; `title` answers whoever wants a title, being asked with the conversation as text.

    `turns` and `filed` are the requests of each sort; `model` is what a gateway is given.
    """

    def __init__(self, title: Callable[[str], Step] | Step, talk: Callable[[Request], Step] = shout) -> None:
        self.title = title
        self.talk = talk
        self.turns: list[Request] = []
        self.filed: list[Request] = []
        self.model = ScriptedModel(otherwise=self._step)

    def _step(self, request: Request) -> Step:
        if request.system != (INSTRUCTIONS,):
            self.turns.append(request)
            return self.talk(request)
        self.filed.append(request)
        return self.title(str(request.messages[0].content[0]["text"])) if callable(self.title) else self.title
