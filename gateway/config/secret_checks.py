"""Checks of secrets: missing ones, placeholders left in, wrong shapes, and one bot under two names."""

import re
from collections.abc import Iterator, Mapping

from pydantic import SecretStr

from gateway.config.case import Case, Check
from gateway.config.channels import SlackAccount
from gateway.config.fields import Settings
from gateway.config.words import Finding
from gateway.settings_file import KeyPath, dotted

_PLACEHOLDER = re.compile(
    r"""^<.*>$ | ^\[.*\]$ | ^\{.*\}$ | \.\.\. | … | \*{3}     # <token>, sk-ant-..., ***
      | ^[0-9]+:(ABC|YOUR|TOKEN|X+)                          # the token that the platform's documentation shows
      | (^|[^a-z0-9])(your|my|changeme|change[-_ ]me|replace|placeholder|example|dummy|todo|x{3,})([^a-z0-9]|$)
      | ^(your|change|replace|insert|enter|put).*(token|key|secret|here|me)$
      | ^(bot|app|api)?[-_ ]?(token|key|secret|password)$""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_TELEGRAM_TOKEN = re.compile(r"[0-9]+:[A-Za-z0-9_-]+")

_TOKEN_NAMES = {"telegram": "token", "discord": "token", "slack": "bot_token"}
_WHERE_FROM = {
    "telegram": "@BotFather on Telegram gives you one",
    "discord": "the Discord developer portal gives you one, under Bot",
    "slack": 'your app\'s page on api.slack.com gives you one, under "OAuth & Permissions"',
}


def is_placeholder(secret: str) -> bool:
    """Tell whether a secret is only what a template holds in its place."""
    return _PLACEHOLDER.search(secret) is not None


def secrets_in(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Yield every secret below `value` that is not empty, with its path."""
    if isinstance(value, SecretStr):
        if secret := value.get_secret_value():
            yield path, secret
    elif isinstance(value, Settings):
        for name in type(value).model_fields:
            yield from secrets_in(getattr(value, name), (*path, name))
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            yield from secrets_in(entry, (*path, name))


def _placeholders(case: Case) -> Iterator[Finding]:
    for path, secret in secrets_in(case.config):
        if is_placeholder(secret):
            yield Finding(path, "this is a placeholder; put the real one here, or take it from the environment")


def _tokens(case: Case) -> Iterator[Finding]:
    seen: dict[tuple[str, str], KeyPath] = {}
    for platform, account_path, account in case.accounts():
        path = (*account_path, _TOKEN_NAMES[platform])
        token: str = getattr(account, _TOKEN_NAMES[platform]).get_secret_value()
        if not token:
            yield Finding(path, f"missing; {_WHERE_FROM[platform]}")
        elif is_placeholder(token):
            continue
        elif platform == "telegram" and not _TELEGRAM_TOKEN.fullmatch(token):
            shape = "not a Telegram token, which is digits, a colon, then letters and digits"
            yield Finding(path, f"{shape}; {_WHERE_FROM[platform]}")
        elif first := seen.get((platform, token)):
            sentence = f"the same token as {dotted(first)}; every account needs a bot of its own"
            yield Finding(path, sentence)
        seen.setdefault((platform, token), path)


def _slack(case: Case) -> Iterator[Finding]:
    for _, path, account in case.accounts():
        if isinstance(account, SlackAccount) and account.app_token is None and account.signing_secret is None:
            sentence = (
                "needs app_token (Socket Mode) or signing_secret (HTTP events), from your app's page on api.slack.com"
            )
            yield Finding(path, sentence, also=((*path, "app_token"), (*path, "signing_secret")))


CHECKS: tuple[Check, ...] = (_placeholders, _tokens, _slack)
