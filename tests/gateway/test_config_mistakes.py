"""Every mistake that a configuration can have, and the sentence that it gets."""

from pathlib import Path

import pytest

from gateway.config import load_config
from gateway.errors import ConfigInvalid

AGENT = "agents: {main: {}}\n"
BOT = "channels: {telegram: {accounts: {personal: {token: '1:A', "
SLACK = "channels: {slack: {accounts: {work: {bot_token: b, app_token: a, "
DISCORD = "channels: {discord: {accounts: {club: {token: t, "
ENVIRONMENT = {"HOME": "/home/ana", "SECRET": "value-of-the-variable", "NUMBER": "0"}

NO_ID = "only ids count, since anybody can take a name: /whoami to the bot tells yours"
BOTFATHER = "@BotFather on Telegram gives you one"
NAME = "must have 1 to 32 characters of a-z, 0-9, - and _, and begin with a letter or digit"
PLACEHOLDER = "this is a placeholder; put the real one here, or take it from the environment"
EMPTY_LIST = "an empty list under the policy allowlist lets nobody in; add ids, or choose another policy"


def mistakes(folder: Path, text: str) -> str:
    path = folder / "scrubjay.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigInvalid) as refusal:
        load_config(path, environment=ENVIRONMENT)
    return str(refusal.value)


# fmt: off
UNKNOWN_KEYS = [
    ("agent: {}\n" + AGENT, '1: agent: unknown key; did you mean "agents"?'),
    ("agent: {main: {}}\n", '1: agent: unknown key; did you mean "agents"?'),
    (AGENT + "channels:\n  telegram:\n    accounts:\n      personal:\n        tokne: 1:A\n",
     '6: channels.telegram.accounts.personal.tokne: unknown key; did you mean "token"?'),
    (AGENT + "channels: {telegramm: {}}", '2: channels.telegramm: unknown key; did you mean "telegram"?'),
    (AGENT + "web: {quux: 1}", "2: web.quux: unknown key; known here: host, port, token"),
    (AGENT + "owner: {telegrm: ['1']}", '2: owner.telegrm: unknown key; did you mean "telegram"?'),
    (AGENT + "people: {ana: {slak: [U1]}}", '2: people.ana.slak: unknown key; did you mean "slack"?'),
    (AGENT + "sessions: {reset_by_kind: {grup: {}}}",
     '2: sessions.reset_by_kind.grup: unknown key; did you mean "group"?'),
    (AGENT + "bindings: [{agent: main, plattform: slack}]",
     '2: bindings[0].plattform: unknown key; did you mean "platform"?'),
    (AGENT + "web: {port: 1}\nweb: {}", "3: web: this key was already given in line 2; keep one of them"),
]
WRONG_TYPES = [
    (AGENT + "web: {port: many}", '2: web.port: must be a whole number, found "many"'),
    (AGENT + "web: {port: '80'}", '2: web.port: must be a whole number, found "80"'),
    (AGENT + "web: {port: 1.5}", "2: web.port: must be a whole number, found 1.5"),
    (AGENT + "web: {port: true}", "2: web.port: must be a whole number, found true"),
    (AGENT + "web: {port: 65536}", "2: web.port: must be 65535 or less, found 65536"),
    (AGENT + "web: {host: 5}", "2: web.host: must be text, found a number"),
    (AGENT + "web: [5]", '2: web: must be settings, each as "key: value", found a list'),
    (AGENT + "web: ${SECRET}", '2: web: must be settings, each as "key: value", found text'),
    (AGENT + "bindings:", "2: bindings: must be a list, found nothing; write [] for an empty one"),
    (AGENT + "bindings: [main]", '2: bindings[0]: must be settings, each as "key: value", found text'),
    (AGENT + "memory: {watch_quiet_seconds: soon}",
     '2: memory.watch_quiet_seconds: must be a number, found "soon"'),
    (AGENT + "memory: {search: {min_score: 1.5}}", "2: memory.search.min_score: must be 1.0 or less, found 1.5"),
    (AGENT + "memory: {search: {max_results: ${NUMBER}}}".replace("${NUMBER}", "'${NUMBER}'"),
     "2: memory.search.max_results: must be 1 or more, found a value from the environment"),
    (AGENT + "compaction: {flush: {enabled: yes}}", '2: compaction.flush.enabled: must be true or false, found "yes"'),
    (AGENT + "outbox: {unknown: resent}",
     '2: outbox.unknown: must be "resend" or "hold", found "resent"; did you mean "resend"?'),
    ("agents: {main: {tools: {shell: false}}}", '1: agents.main.tools.shell: must be "off" or "sandbox", found false'),
    ("agents: {main: 5}", '1: agents.main: must be settings, each as "key: value", found a number'),
    ("agents: {main: {model: 0}}", '1: agents.main.model: must be settings, each as "key: value", found a number'),
    ("agents: {main: {workspace: null}}", "1: agents.main.workspace: must be a path, found nothing"),
    ("agents: {main: {workspace: '~bob/x'}}",
     '1: agents.main.workspace: only "~/" is understood, not another user\'s home; write the path in full'),
    ('agents: {main: {workspace: "a\\0b"}}',
     "1: agents.main.workspace: the path holds a character that cannot be printed; remove it"),
    ("agents: {main: {model: {base_url: 'localhost:8080'}}}",
     "1: agents.main.model.base_url: must be an address that begins with http:// or https://"),
    ("agents: {main: {model: {base_url: 'http://[1'}}}",
     "1: agents.main.model.base_url: must be an address that begins with http:// or https://"),
    (AGENT + DISCORD + "gateway_url: 'https://x'}}}}",
     "2: channels.discord.accounts.club.gateway_url: must be an address that begins with ws:// or wss://"),
    (AGENT + "home: [a]", "2: home: must be a path, found a list"),
    (AGENT + "timezone: Europe/Berlinn",
     '2: timezone: unknown time zone "Europe/Berlinn"; use a name such as "Europe/Berlin"'),
    (AGENT + "timezone: ${SECRET}",
     '2: timezone: unknown time zone a value from the environment; use a name such as "Europe/Berlin"'),
    (AGENT + "sessions: {reset: {hour: 24}}", "2: sessions.reset.hour: must be 23 or less, found 24"),
    (AGENT + "sessions: {reset: {hour: -1}}", "2: sessions.reset.hour: must be 0 or more, found -1"),
    (AGENT + "heartbeat: {active_hours: 8-22}",
     '2: heartbeat.active_hours: must be two different times such as "08:00-22:00", found "8-22"'),
    (AGENT + "heartbeat: {active_hours: '08:00-08:00'}",
     '2: heartbeat.active_hours: must be two different times such as "08:00-22:00", found "08:00-08:00"'),
    (AGENT + "web:\n  token: ${UNSET}",
     "3: web.token: the environment variable UNSET is not set; set it before starting"),
]
AGENTS = [
    ("web: {}\n", '1: agents: missing; name at least one agent, for example "agents: {main: {}}"'),
    ("web: {}\nagents: {}\n", '2: agents: missing; name at least one agent, for example "agents: {main: {}}"'),
    ("agents:\n  a: {}\n  b: {}\n", '1: agents: none of them is the default; mark one with "default: true"'),
    ("agents:\n  a: {default: true}\n  b: {default: true}\n",
     "3: agents.b.default: agents.a is the default already; mark only one"),
    ("agents: {My Agent: {}}", f"1: agents.My Agent: an agent's id {NAME}"),
    ("agents: {../x: {}}", f"1: agents.../x: an agent's id {NAME}"),
    ("agents:\n  a: {default: true, workspace: ~/w}\n  b: {workspace: ~/x/../w}\n",
     "3: agents.b.workspace: this is the same folder as agents.a.workspace; every agent needs a folder of its own"),
    ("agents:\n  a: {default: true, workspace: ~/w}\n  b: {workspace: ~/w/b}\n",
     "3: agents.b.workspace: this is inside agents.a.workspace; every agent needs a folder of its own"),
    ("agents:\n  a: {default: true, workspace: ~/w/a}\n  b: {workspace: ~/w}\n",
     "3: agents.b.workspace: this is around agents.a.workspace; every agent needs a folder of its own"),
    ("agents: {a: {workspace: .}}", "1: agents.a.workspace: an agent must not reach the gateway's own files; "
     "choose a folder that does not hold them"),
    ("agents: {a: {workspace: state/a}}", "1: agents.a.workspace: an agent must not reach the gateway's own files; "
     "choose a folder that does not hold them"),
    ("agents: {a: {model: {context_window: 10000}}}",
     "1: agents.a.model.context_window: reserve_tokens must be smaller than the context_window of agent \"a\": "
     "20000 is not less than 10000"),
    (AGENT + "compaction: {reserve_tokens: 200000}",
     "2: compaction.reserve_tokens: reserve_tokens must be smaller than the context_window of agent \"main\": "
     "200000 is not less than 200000"),
    (AGENT + "compaction: {keep_recent_tokens: 180000}",
     "2: compaction.keep_recent_tokens: keep_recent_tokens must be smaller than context_window - reserve_tokens of "
     "agent \"main\": 180000 is not less than 200000 - 20000 = 180000"),
    (AGENT + "compaction: {flush: {soft_threshold_tokens: 160000}}",
     "2: compaction.flush.soft_threshold_tokens: soft_threshold_tokens must be smaller than what agent \"main\" has "
     "between keep_recent_tokens and reserve_tokens: 160000 is not less than 200000 - 20000 - 20000 = 160000"),
    ("agents: {a: {model: {max_tokens: 200000}}}",
     "1: agents.a.model.max_tokens: max_tokens must be smaller than context_window: 200000 is not less than 200000"),
    ("agents: {a: {model: {max_tokens: 190000}}}",
     "1: agents.a.model.max_tokens: leaves no room beside an answer: keep_recent_tokens must be smaller than "
     "context_window - max_tokens: 20000 is not less than 200000 - 190000 = 10000"),
    (AGENT + "memory: {chunk_tokens: 160}",
     "2: memory.chunk_tokens: overlap_tokens must be less than half of chunk_tokens: 80 is not less than 160 / 2"),
    (AGENT + "memory: {chunk_tokens: 12, overlap_tokens: 0}",
     "2: memory.chunk_tokens: must be 16 or more, found 12"),
    (AGENT + "memory: {search: {vector_weight: 0, text_weight: 0}}",
     "2: memory.search.vector_weight: vector_weight and text_weight must not both be 0"),
    (AGENT + "memory: {search: {max_results: 51}}",
     "2: memory.search.max_results: must be 50 or less, found 51"),
    (AGENT + "memory: {search: {mmr: 1.5}}",
     "2: memory.search.mmr: must be 1.0 or less, found 1.5"),
    (AGENT + "pruning: {soft_trim: {max_chars: 2000}}",
     "2: pruning.soft_trim: head_chars and tail_chars must fit in max_chars: 1500 + 1500 is more than 2000"),
    (AGENT + "memory: {embedder: {provider: http, base_url: 'https://x/v1'}}",
     "2: memory.embedder.model: missing; the http embedder needs base_url and model"),
    (AGENT + "media: {transcriber: {base_url: 'https://x/v1'}}",
     "2: media.transcriber.model: missing; a transcriber needs base_url and model"),
    (AGENT + "media: {transcriber: {model: whisper-1}}",
     "2: media.transcriber.base_url: missing; a transcriber needs base_url and model"),
    (AGENT + "media: {transcriber: {base_url: 'https://x/v1', model: whisper-1, timeout_seconds: 300}}",
     "2: media.transcriber.timeout_seconds: must be 240.0 or less, found 300"),
]
WHO_AND_WHERE = [
    (AGENT + "owner: {telegram: [Alice]}",
     f'2: owner.telegram[0]: "Alice" is not an id on Telegram, which looks like 123456789; {NO_ID}'),
    (AGENT + "owner: {telegram: ['@alice']}",
     f'2: owner.telegram[0]: "@alice" is not an id on Telegram, which looks like 123456789; {NO_ID}'),
    (AGENT + "people: {ana: {slack: ['Ana Lima']}}",
     f'2: people.ana.slack[0]: "Ana Lima" is not an id on Slack, which looks like U0123456789; {NO_ID}'),
    (AGENT + BOT + "private: {policy: allowlist, allow: ['alice ']}}}}}",
     "2: channels.telegram.accounts.personal.private.allow[0]: "
     f'"alice " is not an id on Telegram, which looks like 123456789; {NO_ID}'),
    (AGENT + BOT + "groups: {allow: ['1', Friends], senders: ['']}}}}}",
     "2: channels.telegram.accounts.personal.groups.senders[0]: "
     f'"" is not an id on Telegram, which looks like 123456789; {NO_ID}\n'
     "scrubjay.yaml:2: channels.telegram.accounts.personal.groups.allow[1]: "
     f'"Friends" is not an id on Telegram, which looks like 123456789; {NO_ID}'),
    (AGENT + BOT + "private: {allow: ['*']}}}}}",
     '2: channels.telegram.accounts.personal.private.allow[0]: "*" is not an id on Telegram, '
     'which looks like 123456789; to let everybody in, set "policy: open"'),
    (AGENT + DISCORD + "private: {allow: ['guild:1']}}}}}",
     '2: channels.discord.accounts.club.private.allow[0]: "guild:1" is not an id on Discord, '
     f"which looks like 987654321012345678; {NO_ID}"),
    (AGENT + SLACK + "groups: {allow: ['#general']}}}}}",
     '2: channels.slack.accounts.work.groups.allow[0]: "#general" is not an id on Slack, '
     f"which looks like U0123456789; {NO_ID}"),
    (AGENT + "owner: {telegram: ['${SECRET}']}",
     "2: owner.telegram[0]: a value from the environment is not an id on Telegram, "
     f"which looks like 123456789; {NO_ID}"),
    (AGENT + "owner: {telegram: [1.5, [2], null]}",
     "2: owner.telegram[0]: must be an id, found 1.5\nscrubjay.yaml:2: owner.telegram[1]: must be an id, found a list\n"
     "scrubjay.yaml:2: owner.telegram[2]: must be an id, found nothing"),
    (AGENT + "owner: {telegram: ['${UNSET}']}",
     "2: owner.telegram[0]: the environment variable UNSET is not set; set it before starting"),
    (AGENT + "owner: {telegram: [1]}\npeople: {ana: {telegram: ['user:1']}}",
     "3: people.ana.telegram[0]: this id is already at owner.telegram[0]; every id belongs to one human"),
    (AGENT + "people:\n  ana: {slack: [U1]}\n  bo: {slack: [U2, U1]}",
     "4: people.bo.slack[1]: this id is already at people.ana.slack[0]; every id belongs to one human"),
    (AGENT + "people: {telegram-5: {slack: [U1]}}",
     "2: people.telegram-5: a person's name must not be empty or begin with a platform's and a dash"),
    (AGENT + BOT + "private: {policy: allowlist, allow: []}}}}}",
     f"2: channels.telegram.accounts.personal.private.allow: {EMPTY_LIST}"),
    (AGENT + BOT + "private: {policy: allowlist}}}}}",
     f"2: channels.telegram.accounts.personal.private.allow: {EMPTY_LIST}"),
    (AGENT + BOT + "groups: {require_mention: false}}}}}",
     f"2: channels.telegram.accounts.personal.groups.allow: {EMPTY_LIST}"),
    (AGENT + BOT + "groups: {policy: open, senders: []}}}}}",
     "2: channels.telegram.accounts.personal.groups.senders: an empty list lets nobody speak; "
     "add ids, or write null for every member"),
    (AGENT + BOT + "groups: {policy: open, by_chat: {Friends: {require_mention: false}}}}}}}",
     '2: channels.telegram.accounts.personal.groups.by_chat.Friends: "Friends" is not an id on Telegram, '
     f"which looks like 123456789; {NO_ID}"),
    (AGENT + BOT + "groups: {policy: open, by_chat: {-5: {senders: []}}}}}}}",
     "2: channels.telegram.accounts.personal.groups.by_chat.-5.senders: an empty list lets nobody speak; "
     "add ids, or write null for every member"),
    (AGENT + BOT + "groups: {policy: open, bots: ['@helper_bot'], by_chat: {-5: {bots: [helper]}}}}}}}",
     '2: channels.telegram.accounts.personal.groups.bots[0]: "@helper_bot" is not an id on Telegram, '
     f"which looks like 123456789; {NO_ID}\n"
     'scrubjay.yaml:2: channels.telegram.accounts.personal.groups.by_chat.-5.bots[0]: "helper" is not an id on Telegram, '
     f"which looks like 123456789; {NO_ID}"),
    (AGENT + BOT + "groups: {policy: open, by_chat: {-5: {mention: true}}}}}}}",
     '2: channels.telegram.accounts.personal.groups.by_chat.-5.mention: unknown key; did you mean "require_mention"?'),
    (AGENT + "bindings: [{agent: mian}]", '2: bindings[0].agent: there is no agent "mian"; did you mean "main"?'),
    (AGENT + "bindings: [{platform: slack}]", "2: bindings[0].agent: missing; a binding must name its agent"),
    (AGENT + "bindings: [{agent: main, platform: telegrm}]",
     '2: bindings[0].platform: must be "telegram", "discord", "slack" or "terminal", found "telegrm"; '
     'did you mean "telegram"?'),
    (AGENT + BOT + "}}}}\nbindings: [{agent: main, platform: telegram, account: personnal}]",
     '3: bindings[0].account: there is no account "personnal" on Telegram; did you mean "personal"?'),
    (AGENT + BOT + "}}}}\nbindings: [{agent: main, account: work}]",
     '3: bindings[0].account: there is no account "work"'),
    (AGENT + "bindings: [{agent: main, platform: discord, guild: Friends}]",
     '2: bindings[0].guild: "Friends" is not an id on Discord, which looks like 987654321012345678; ' + NO_ID),
    (AGENT + "channels: {telegram: {accounts: {My Bot: {token: '1:A'}}}}",
     f"2: channels.telegram.accounts.My Bot: an account's name {NAME}"),
]
SECRETS = [
    (AGENT + "channels: {telegram: {accounts: {a: {}}}}",
     f"2: channels.telegram.accounts.a.token: missing; {BOTFATHER}"),
    (AGENT + "channels: {telegram: {accounts: {a: {token: hello}}}}",
     "2: channels.telegram.accounts.a.token: not a Telegram token, which is digits, a colon, then letters and digits; "
     + BOTFATHER),
    (AGENT + "channels: {telegram: {accounts: {a: {token: 12345}}}}",
     "2: channels.telegram.accounts.a.token: must be text, found a number; put it in quotes"),
    (AGENT + "channels: {telegram: {accounts: {a: 'token:1:AAHidden'}}}",
     '2: channels.telegram.accounts.a: must be settings, each as "key: value", found text'),
    (AGENT + "channels: {telegram: {accounts: {a: {token: 'hidden:1'}, b: {token: 'hidden:1'}}}}",
     "2: channels.telegram.accounts.a.token: not a Telegram token, which is digits, a colon, then letters and digits; "
     f"{BOTFATHER}\nscrubjay.yaml:2: channels.telegram.accounts.b.token: not a Telegram token, "
     f"which is digits, a colon, then letters and digits; {BOTFATHER}"),
    (AGENT + "channels:\n  telegram:\n    accounts:\n      a: {token: '1:A'}\n      b: {token: ' 1:A '}\n",
     "6: channels.telegram.accounts.b.token: the same token as channels.telegram.accounts.a.token; "
     "every account needs a bot of its own"),
    (AGENT + "channels: {discord: {accounts: {a: {token: ''}}}}",
     "2: channels.discord.accounts.a.token: missing; the Discord developer portal gives you one, under Bot"),
    (AGENT + "channels: {slack: {accounts: {a: {app_token: x}}}}",
     "2: channels.slack.accounts.a.bot_token: missing; your app's page on api.slack.com gives you one, "
     'under "OAuth & Permissions"'),
    (AGENT + "channels: {slack: {accounts: {a: {bot_token: x}}}}",
     "2: channels.slack.accounts.a: needs app_token (Socket Mode) or signing_secret (HTTP events), "
     "from your app's page on api.slack.com"),
]
# fmt: on


@pytest.mark.parametrize(("text", "sentence"), UNKNOWN_KEYS + WRONG_TYPES + AGENTS + WHO_AND_WHERE + SECRETS)
def test_every_mistake_is_one_sentence_with_file_line_and_key(tmp_path: Path, text: str, sentence: str) -> None:
    assert mistakes(tmp_path, text) == f"scrubjay.yaml:{sentence}"


@pytest.mark.parametrize(
    "placeholder",
    [
        "<token>",
        "<your token here>",
        "YOUR_TOKEN",
        "your-bot-token",
        "yourtoken",
        "123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11",
        "123456:YOUR-TOKEN",
        "xoxb-your-token",
        "xoxb-...",
        "xoxb-xxx-xxxxx",
        "sk-ant-...",
        "sk-ant-…",
        "changeme",
        "CHANGE_ME",
        "change-me-please",
        "...",
        "***",
        "xxxxxxxx",
        "TODO",
        "token",
        "BOT_TOKEN",
        "insert token here",
        "replace-me",
        "{token}",
    ],
)
def test_a_placeholder_that_was_left_in_stops_the_start(tmp_path: Path, placeholder: str) -> None:
    text = (
        AGENT
        + f"channels: {{discord: {{accounts: {{a: {{token: '{placeholder}'}}}}}}}}\nweb: {{token: '{placeholder}'}}"
    )

    assert mistakes(tmp_path, text) == (
        f"scrubjay.yaml:2: channels.discord.accounts.a.token: {PLACEHOLDER}\nscrubjay.yaml:3: web.token: {PLACEHOLDER}"
    )


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = """\
timezone: Mars/Olympus
owner: {telegram: [Alice, 1.5]}
agents:
  main: {model: {name: 5, context_window: 100, max_tokens: 50}}
  main: {}
channels:
  telegram:
    accounts:
      personal: {tokn: x, groups: {policy: opne, allow: [Friends]}}
bindings:
  - {agent: nobody, platform: mail}
  - mistake
  - {agent: main, account: nowhere}
web: {port: ${PORT}
  , token: changeme}
""".replace("${PORT}", "'${PORT}'")

    assert [line.split(":")[1:3] for line in mistakes(tmp_path, text).splitlines()] == [
        ["1", " timezone"],
        ["2", " owner.telegram[1]"],
        ["2", " owner.telegram[0]"],
        ["4", " agents.main.model.name"],
        ["4", " agents.main.model.context_window"],
        ["5", " agents.main"],
        ["9", " channels.telegram.accounts.personal.groups.policy"],
        ["9", " channels.telegram.accounts.personal.tokn"],
        ["9", " channels.telegram.accounts.personal.groups.allow[0]"],
        ["11", " bindings[0].platform"],
        ["11", " bindings[0].agent"],
        ["12", " bindings[1]"],
        ["13", " bindings[2].account"],
        ["14", " web.port"],
        ["15", " web.token"],
    ]


def test_what_follows_from_a_mistake_is_not_told_as_another_one(tmp_path: Path) -> None:
    text = AGENT + "channels: {telegram: {accounts: 5}}\nbindings: [{agent: main, platform: telegram, account: a}]\n"

    assert mistakes(tmp_path, text) == (
        'scrubjay.yaml:2: channels.telegram.accounts: must be settings, each as "key: value", found a number'
    )


def test_a_broken_entry_still_counts_as_named(tmp_path: Path) -> None:
    text = "agents: {main: 5}\nbindings: [{agent: main}]\n"

    assert mistakes(tmp_path, text) == (
        'scrubjay.yaml:1: agents.main: must be settings, each as "key: value", found a number'
    )


def test_a_home_that_cannot_be_found_is_a_mistake_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "scrubjay.yaml"
    path.write_text("agents: {main: {}}\n", encoding="utf-8")

    with pytest.raises(ConfigInvalid) as refusal:
        load_config(path, environment={})

    assert str(refusal.value) == (
        'scrubjay.yaml:1: home: "~" means nothing here because HOME is not set; write the path in full'
    )


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("missing.yaml", "missing.yaml: there is no such file; `scrubjay init` makes one"),
        ("", "this is a folder, not a file"),
    ],
)
def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path, name: str, sentence: str) -> None:
    with pytest.raises(ConfigInvalid) as refusal:
        load_config(tmp_path / name, environment=ENVIRONMENT)

    assert str(refusal.value).endswith(sentence)


def test_one_price_alone_is_a_mistake(tmp_path: Path) -> None:
    told = mistakes(tmp_path, "agents: {main: {model: {input_price: 3.0}}}\n")

    assert "output_price is missing beside it; give both or none" in told
