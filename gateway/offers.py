"""The platforms that `scrubjay init` offers: what each takes, and the lines of the configuration that connect it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Offer:
    """A platform. `get` says how to get what its `variables` of the environment hold; the values pass a check of the file.

    `lines` are YAML, as they stand under `channels`.
    """

    title: str
    get: str
    variables: Mapping[str, str]
    lines: str


OFFERS: Mapping[str, Offer] = {
    "telegram": Offer(
        "Telegram",
        "write /newbot to @BotFather, which tells you a token",
        {"TELEGRAM_BOT_TOKEN": "1:not-known-while-the-file-is-made"},
        """\
  telegram:
    accounts:
      personal:
        token: ${TELEGRAM_BOT_TOKEN}
        # Write to the bot; it tells you a code. Then type: scrubjay pair approve CODE --owner
        private: {policy: pairing}
        # Mention the bot in a group; it tells you the id to list here. Then start it again.
        # groups: {policy: allowlist, allow: ["-1001234567890"]}
""",
    ),
    "discord": Offer(
        "Discord",
        "make an application with a bot at discord.com/developers, with the Message Content intent; its page has the token",
        {"DISCORD_BOT_TOKEN": "not-known-while-the-file-is-made"},
        """\
  discord:
    accounts:
      community:
        token: ${DISCORD_BOT_TOKEN}
        private: {policy: pairing}
        # guild:ID lets a whole server in, ID alone one channel.
        # groups: {policy: allowlist, allow: ["guild:123456789012345678"]}
""",
    ),
    "slack": Offer(
        "Slack",
        "make an app at api.slack.com/apps by the manifest in the README; its pages have both tokens",
        {"SLACK_BOT_TOKEN": "xoxb-not-known", "SLACK_APP_TOKEN": "xapp-not-known"},
        """\
  slack:
    accounts:
      work:
        bot_token: ${SLACK_BOT_TOKEN}
        app_token: ${SLACK_APP_TOKEN}
        private: {policy: pairing}
        # Mention the bot in a channel; it tells you the id to list here.
        # groups: {policy: allowlist, allow: ["C0123456789"]}
""",
    ),
}


def channels(chosen: Sequence[str]) -> str:
    """Return the part of a configuration with the platforms; those that are not chosen are comments, ready to be used."""
    order = [*chosen, *(name for name in OFFERS if name not in chosen)]
    head = "channels:\n" if chosen else "# channels:\n"
    note = "# Where people write to it. To add a platform, take the `# ` from the beginning of its lines"
    parts = [f"{note}{'' if chosen else ', and of `channels`'}.\n", head]
    for name in order:
        offer = OFFERS[name]
        lines = f"  # {offer.title}: {offer.get}.\n{offer.lines}"
        parts.append(lines if name in chosen else "".join(f"# {line}\n" for line in lines.splitlines()))
    return "".join(parts)


def chosen_of(said: str) -> list[str] | None:
    """Return the platforms that an answer names, [] for none; None when it names something else."""
    names = said.lower().replace(",", " ").split()
    if names in ([], ["none"], ["no"]):
        return []
    return list(dict.fromkeys(names)) if all(name in OFFERS for name in names) else None


def steps(chosen: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Return what is still to be done before the platforms can be connected, a line each."""
    lines = []
    for name in chosen:
        offer = OFFERS[name]
        if missing := [variable for variable in offer.variables if not environment.get(variable)]:
            lines.append(f"{offer.title}: {offer.get}.")
            lines += [f"      `export {variable}=…`" for variable in missing]
    return lines
