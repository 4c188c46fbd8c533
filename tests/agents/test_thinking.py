"""How a request says which model is to think, and how much: by a budget to older models, by an effort to newer ones."""

from typing import Any

import pytest

from agents.base import Message, Request, text_block
from agents.providers.messages_request import MIN_THINKING_TOKENS, is_adaptive, parameters_of

ASKED = Message("user", (text_block("why?"),))
CALL = {"type": "tool_use", "id": "c1", "name": "read", "input": {}}
RESULT = Message("user", ({"type": "tool_result", "tool_use_id": "c1", "content": "text"},))
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}


def parameters(
    tokens: int | None, *messages: Message, model: str = "claude-sonnet-4-5", other: str | None = None
) -> dict[str, Any]:
    request = Request(("s",), (), messages or (ASKED,), 8_000, model=other, thinking_tokens=tokens)
    return parameters_of(model, request)


def test_without_a_wish_nothing_is_said_about_thinking() -> None:
    for tokens in (None, 0):
        found = parameters(tokens)
        assert ("thinking" in found, "output_config" in found, found["max_tokens"]) == (False, False, 8_000)


def test_what_is_thought_comes_on_top_of_what_an_answer_may_have() -> None:
    found = parameters(4_000)

    assert found["thinking"] == {"type": "enabled", "budget_tokens": 4_000}
    assert found["max_tokens"] == 12_000


def test_no_budget_is_smaller_than_the_least_that_the_server_takes() -> None:
    found = parameters(10)

    assert found["thinking"]["budget_tokens"] == MIN_THINKING_TOKENS
    assert found["max_tokens"] > found["thinking"]["budget_tokens"]


@pytest.mark.parametrize(
    ("tokens", "effort"), [(1_024, "low"), (4_096, "low"), (8_000, "medium"), (16_384, "medium"), (32_000, "high")]
)
def test_newer_models_are_told_an_effort_and_no_budget(tokens: int, effort: str) -> None:
    found = parameters(tokens, model="claude-sonnet-5-5")

    assert found["thinking"] == {"type": "adaptive"}
    assert found["output_config"] == {"effort": effort}
    assert found["max_tokens"] == 8_000 + tokens


@pytest.mark.parametrize(
    ("model", "adaptive"),
    [
        ("claude-sonnet-5-5", True),
        ("claude-fable-5", True),
        ("claude-opus-4-7", True),
        ("claude-opus-4-6", True),
        ("anthropic.claude-opus-4-6-v1", True),
        ("claude-opus-4.5", False),
        ("claude-haiku-4-5-20251001", False),
        ("claude-sonnet-4-20250514", False),
        ("claude-3-7-sonnet-20250219", False),
        ("claude-latest", False),
        ("glm-4.7", False),
        ("qwen3:30b", False),
    ],
)
def test_the_name_of_a_model_tells_how_it_is_made_to_think(model: str, adaptive: bool) -> None:
    assert is_adaptive(model) == adaptive


def test_the_model_that_a_request_names_is_the_one_that_is_asked() -> None:
    found = parameters(8_000, model="claude-sonnet-4-5", other="claude-opus-4-7")

    assert found["model"] == "claude-opus-4-7"
    assert found["thinking"] == {"type": "adaptive"}


def test_a_model_that_began_to_call_tools_without_thinking_goes_on_without() -> None:
    found = parameters(4_000, ASKED, Message("assistant", (CALL,)), RESULT)

    assert "thinking" not in found
    assert found["max_tokens"] == 8_000


def test_a_model_that_thought_before_it_called_tools_goes_on_thinking() -> None:
    found = parameters(4_000, ASKED, Message("assistant", (THOUGHT, CALL)), RESULT)

    assert found["thinking"]["type"] == "enabled"
