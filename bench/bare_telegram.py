"""The floor on Telegram: a bot of forty lines, python-telegram-bot and the anthropic SDK and nothing else. It keeps nothing."""

import asyncio
import sys

import anthropic
from telegram import Bot, Update
from telegram.request import HTTPXRequest


async def answer(bot: Bot, client: anthropic.AsyncAnthropic, update: Update) -> None:
    """Ask the model about one message and send what it says."""
    message = update.effective_message
    if message is None or not message.text:
        return
    said = ""
    async with client.messages.stream(
        model="claude-test",
        max_tokens=1024,
        system="You are a helpful assistant on Telegram.",
        messages=[{"role": "user", "content": message.text}],
    ) as stream:
        async for text in stream.text_stream:
            said += text
    await bot.send_message(message.chat_id, said)


async def main(token: str, base_url: str, model_url: str) -> None:
    """Poll and answer until killed."""
    # With the SDK's own patience it loses some of a thousand answers that are sent at the same time.
    patient = HTTPXRequest(256, read_timeout=60, connect_timeout=60, pool_timeout=60)
    bot = Bot(token, base_url=base_url, request=patient)
    client = anthropic.AsyncAnthropic(api_key="test-key", base_url=model_url)
    running: set[asyncio.Task[None]] = set()
    offset = None
    async with bot:
        while True:
            for update in await bot.get_updates(offset=offset, timeout=20):
                offset = update.update_id + 1
                task = asyncio.create_task(answer(bot, client, update))
                running.add(task)
                task.add_done_callback(running.discard)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
