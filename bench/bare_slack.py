"""The floor on Slack: a bot of forty lines, slack-bolt and the anthropic SDK and nothing else. It keeps nothing."""

import asyncio
import sys
from typing import Any

import anthropic
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp, AsyncSay
from slack_sdk.web.async_client import AsyncWebClient


async def main(token: str, base_url: str, app_token: str, model_url: str) -> None:
    """Listen and answer until killed."""
    app = AsyncApp(client=AsyncWebClient(token, base_url))
    model = anthropic.AsyncAnthropic(api_key="test-key", base_url=model_url)

    @app.event("message")
    async def answer(event: dict[str, Any], say: AsyncSay) -> None:
        """Ask the model about one message and send what it says."""
        if not event.get("text"):
            return
        said = ""
        async with model.messages.stream(
            model="claude-test",
            max_tokens=1024,
            system="You are a helpful assistant on Slack.",
            messages=[{"role": "user", "content": event["text"]}],
        ) as stream:
            async for text in stream.text_stream:
                said += text
        await say(said)

    await AsyncSocketModeHandler(app, app_token).start_async()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:5]))
