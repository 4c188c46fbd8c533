"""`scrubjay init`: the first configuration, and the workspace that it names."""

from collections.abc import Callable, Mapping

from agents.workspace import create_workspace
from gateway.config import load_config
from gateway.errors import AlreadyThere
from gateway.home import Home

Ask = Callable[[str, str], str]

_HEAD = """\
# Scrubjay's configuration. Everything but `agents` has a default; `scrubjay check-config` names every mistake.
# ${{NAME}} is taken from the environment, ${{NAME:-x}} has a fallback. deploy/scrubjay.example.yaml shows every setting.
timezone: {zone}

agents:
  {agent}:
    default: true
    workspace: {workspace}
    model:
      provider: anthropic
      api_key: ${{ANTHROPIC_API_KEY:-}}   # empty: the demo model answers
"""

_TELEGRAM = """
channels:
  telegram:
    accounts:
      personal:
        token: ${TELEGRAM_BOT_TOKEN}
        private: {policy: pairing}                  # who writes first gets a code: scrubjay pair approve CODE --owner
        groups: {policy: allowlist, allow: []}      # ids of groups; /whoami tells one
"""

_LATER = """
# To write to your agent on Telegram: talk to @BotFather, export the token as TELEGRAM_BOT_TOKEN, take away the `# `.
#
# channels:
#   telegram:
#     accounts:
#       personal:
#         token: ${TELEGRAM_BOT_TOKEN}
#         private: {policy: pairing}                # who writes first gets a code: scrubjay pair approve CODE --owner
#         groups: {policy: allowlist, allow: ["-1001234567890"]}
"""


def initialise(home: Home, environment: Mapping[str, str], *, ask: Ask | None) -> list[str]:
    """Write the configuration and make its workspaces; return what to tell. `ask(question, default)` answers, or nobody.

    Raises `AlreadyThere` before anything is touched when there is a configuration, `ConfigInvalid` for odd answers.
    """
    if home.config.exists():
        raise AlreadyThere(f"{home.config} is there already; it was not touched. Edit it, or choose another --home.")
    answer = ask or (lambda question, default: default)
    agent = answer("Name of your first agent", "main")
    zone = answer("Time zone", _host_zone())
    workspace = answer("Folder for what it remembers", str(home.root / "workspaces" / agent))
    telegram = answer("Connect a Telegram bot (the token comes from TELEGRAM_BOT_TOKEN)? yes/no", "no")
    text = _HEAD.format(zone=zone, agent=agent, workspace=workspace)
    text += _TELEGRAM if telegram.lower() in ("y", "yes") else _LATER
    home.prepare()
    with home.config.open("x", encoding="utf-8") as file:
        file.write(text)
    home.config.chmod(0o600)
    return [f"wrote {home.config}", *_workspaces(home, environment), *_next_steps(environment)]


def _workspaces(home: Home, environment: Mapping[str, str]) -> list[str]:
    complete = {"TELEGRAM_BOT_TOKEN": "1:unset-while-the-file-is-checked-for-the-first-time", **environment}
    config = load_config(home.config, environment=complete, home=home.root)
    return [
        f"made {agent.workspace}: {', '.join(made)}"
        if (made := create_workspace(agent.workspace))
        else f"kept {agent.workspace}"
        for agent in config.agents.values()
    ]


def _next_steps(environment: Mapping[str, str]) -> list[str]:
    lines = ["next: scrubjay chat"]
    if not environment.get("ANTHROPIC_API_KEY"):
        lines.append("without ANTHROPIC_API_KEY in the environment the demo model answers")
    return lines


def _host_zone() -> str:
    from tzlocal import get_localzone_name

    return get_localzone_name() or "UTC"
