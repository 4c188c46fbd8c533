"""The floor on Discord: a bot of forty lines, discord.py and the anthropic SDK and nothing else. It keeps nothing."""

import sys

import anthropic
import discord
from discord.gateway import DiscordWebSocket
from discord.http import Route
from yarl import URL


class Bot(discord.Client):
    """Answers every message in its channel."""

    def __init__(self, model_url: str) -> None:
        super().__init__(intents=discord.Intents.default())
        self.model = anthropic.AsyncAnthropic(api_key="test-key", base_url=model_url)

    async def on_message(self, message: discord.Message) -> None:
        """Ask the model about one message and send what it says."""
        if message.author == self.user or not message.content:
            return
        said = ""
        async with self.model.messages.stream(
            model="claude-test",
            max_tokens=1024,
            system="You are a helpful assistant on Discord.",
            messages=[{"role": "user", "content": message.content}],
        ) as stream:
            async for text in stream.text_stream:
                said += text
        await message.channel.send(said)


def main(token: str, api_url: str, gateway_url: str, model_url: str) -> None:
    """Listen and answer until killed."""
    Route.BASE = api_url
    DiscordWebSocket.DEFAULT_GATEWAY = URL(gateway_url)
    Bot(model_url).run(token, log_handler=None)


if __name__ == "__main__":
    main(*sys.argv[1:5])
