"""The settings file: YAML 1.2 values, lines, the environment, and what cannot be read."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.errors import ConfigInvalid
from gateway.settings_file import FromEnvironment, Loader, SettingsFile, dotted, plain_value, read_settings, shown

PARSERS = [pytest.param(Loader, id="the parser in use"), pytest.param(yaml.BaseLoader, id="the parser in Python")]


def read(text: str | bytes, loader: type[Any] = Loader, **environment: str) -> SettingsFile:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return read_settings(data, name="scrubjay.yaml", environment=environment, loader=loader)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("off", "off"),
        ("on", "on"),
        ("yes", "yes"),
        ("no", "no"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("", None),
        ("~", None),
        ("null", None),
        ("12", 12),
        ("-1001234567890", -1001234567890),
        ("987654321012345678", 987654321012345678),
        ("0o17", "0o17"),
        ("0x1f", "0x1f"),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("2026-01-26", "2026-01-26"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1e999", "1e999"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("9" * 5000, "9" * 5000),
        ("hello", "hello"),
    ],
)
def test_a_plain_word_means_what_yaml_1_2_says(text: str, value: object) -> None:
    assert plain_value(text) == value
    assert type(plain_value(text)) is type(value)


@pytest.mark.parametrize("loader", PARSERS)
def test_off_stays_text_and_quotes_always_make_text(loader: type[Any]) -> None:
    file = read("a: off\nb: 'true'\nc: \"12\"\nd: |\n  12\n", loader)

    assert file.values == {"a": "off", "b": "true", "c": "12", "d": "12\n"}


@pytest.mark.parametrize("loader", PARSERS)
def test_every_key_and_list_item_knows_its_line(loader: type[Any]) -> None:
    file = read("\n# first\na:\n  b: 1\n  c: [x,\n      y]\nd:\n  - e: 2\n  - 3\n", loader)

    assert file.values == {"a": {"b": 1, "c": ("x", "y")}, "d": ({"e": 2}, 3)}
    assert file.lines == {
        (): 1,
        ("a",): 3,
        ("a", "b"): 4,
        ("a", "c"): 5,
        ("a", "c", 0): 5,
        ("a", "c", 1): 6,
        ("d",): 7,
        ("d", 0): 8,
        ("d", 0, "e"): 8,
        ("d", 1): 9,
    }


def test_what_is_not_there_is_placed_on_the_line_of_what_is_around_it() -> None:
    file = read("a:\n  b: {}\n")

    assert str(file.problem(("a", "b", "c"), "missing")) == "scrubjay.yaml:2: a.b.c: missing"
    assert file.at(("a", "b", "c")) is None
    assert file.line_of(("z",)) == 1


def test_variables_are_filled_from_the_environment_that_is_given() -> None:
    text = "a: ${NAME}\nb: x-${NAME}-${OTHER:-fallback}-y\nc: {d: \"${EMPTY:-e}\"}\ne: ['${OTHER:-}']\n"

    file = read(text, NAME="value", EMPTY="")

    assert file.values == {"a": "value", "b": "x-value-fallback-y", "c": {"d": "e"}, "e": ("",)}
    assert isinstance(file.values["a"], FromEnvironment)
    assert file.problems == ()


def test_the_environment_is_filled_in_once_and_not_read_as_yaml() -> None:
    file = read("a: ${A}\nb: ${B}\n", A="${B}", B="x: [y\n# z")

    assert file.values == {"a": "${B}", "b": "x: [y\n# z"}


def test_a_doubled_dollar_stands_for_itself() -> None:
    file = read("a: $${NAME} costs $5\n", NAME="value")

    assert file.values == {"a": "${NAME} costs $5"}
    assert not isinstance(file.values["a"], FromEnvironment)


def test_a_variable_that_is_not_set_is_named_with_its_place() -> None:
    file = read("a:\n  b: [x, 'secret-${A}-${B}']\n", A="hidden-value")

    assert [str(problem) for problem in file.problems] == [
        "scrubjay.yaml:2: a.b[1]: the environment variable B is not set; set it before starting"
    ]
    assert file.spoiled == {("a", "b", 1)}
    assert file.values == {"a": {"b": ("x", None)}}


@pytest.mark.parametrize("text", ["${", "${}", "${1A}", "${A", "${A:x}", "${A B}"])
def test_a_dollar_brace_that_names_nothing_is_a_mistake(text: str) -> None:
    file = read(f"a: '{text}'\n", A="x")

    assert [problem.sentence for problem in file.problems] == [
        '"${" must be followed by a name and "}"; write "$${" to mean it literally'
    ]


@pytest.mark.parametrize("loader", PARSERS)
def test_a_key_given_twice_is_a_mistake_and_the_first_one_stays(loader: type[Any]) -> None:
    file = read("a:\n  token: 1\n  b: 2\n  token: 3\n", loader)

    assert [str(problem) for problem in file.problems] == [
        "scrubjay.yaml:4: a.token: this key was already given in line 2; keep one of them"
    ]
    assert file.values == {"a": {"token": 1, "b": 2}}


@pytest.mark.parametrize("loader", PARSERS)
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "1: the file is empty; it must name at least one agent"),
        ("# only a comment\n", "1: the file is empty; it must name at least one agent"),
        ("- a\n", '1: the file must hold settings, each as "key: value"'),
        (
            "a: 1\nb: c: d\n",
            '2: not valid YAML: a ": " that is out of place; mind the indentation, and quote such text',
        ),
        ("a: 1\n\tb: 2\n", "2: not valid YAML: a tab where the indentation needs spaces"),
        ("# ü\na:\n\tb: 2\n", "3: not valid YAML: a tab where the indentation needs spaces"),
        ("a: @b\n", "1: not valid YAML: no value may begin like this; put such text in quotes"),
        ("a: 1\nb: [1\nc: 2\n", '2: not valid YAML: a "[" without its "]", or a comma is missing'),
        (
            "a: 1\nb: {c: ${D}}\n",
            '2: not valid YAML: a "{" without its "}", or a comma is missing; inside braces, quote "${NAME}"',
        ),
        ("a: 1\nb: 'c\nd: 2\n", "2: not valid YAML: a quotation mark without its partner"),
        ("a: 1\n---\nb: 2\n", "2: not valid YAML: a second document begins here; the file holds one"),
        ("a:\n  b: 1\n c: 2\n", "3: not valid YAML: the indentation does not fit the lines above"),
        ("- a\nb: 1\n", "2: not valid YAML: the indentation does not fit the lines above"),
        (
            'a: "\\q"\n',
            "1: not valid YAML: an unknown escape after a backslash; use single quotes to mean it literally",
        ),
        ("a: 1\nb\nc: 2\n", '2: not valid YAML: a key without its ": "'),
        ("a: *b\n", "1: references such as *name are not read; write the value out"),
        ("a: &b 1\nc: *b\n", "2: references such as *name are not read; write the value out"),
        ("a: !!python/object:os.system x\n", "1: tags such as !!str are not read; put text in quotes"),
        ("a: !!str 12\n", "1: tags such as !!str are not read; put text in quotes"),
        ("a: " + "[" * 40 + "]" * 40, "1: more than 32 levels of nesting"),
        ("a: 1\nb: \x07\n", "2: a control character that YAML does not allow; remove it"),
        (b"a: 1\nb: \xff\n", "2: the file is not UTF-8; save it as UTF-8"),
        ("a: 1\n".encode("utf-16"), "1: the file is not UTF-8; save it as UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_its_line(
    text: str | bytes, complaint: str, loader: type[Any]
) -> None:
    with pytest.raises(ConfigInvalid) as refusal:
        read(text, loader)

    assert str(refusal.value) == f"scrubjay.yaml:{complaint}"


def test_a_key_that_is_not_text_is_a_mistake() -> None:
    file = read("a:\n  ? [b]\n  : c\n")

    assert [str(problem) for problem in file.problems] == ["scrubjay.yaml:2: a: a key must be plain text"]


def test_a_byte_order_mark_is_no_part_of_the_first_key() -> None:
    assert read("\ufeffa: 1\n").values == {"a": 1}


def test_keys_are_spoken_of_on_one_line_and_never_as_secrets() -> None:
    assert dotted(("bindings", 1, "agent")) == "bindings[1].agent"
    assert dotted(("a", "b\nc", "", "d" * 500)) == "a.'b\\nc'.''.'" + "d" * 60 + "'"
    assert dotted(("channels", "123456789:AAHfiqksKZ8WmR2zSjiQ7_v4TMAKdiHm9T0")) == "channels.(hidden)"
    assert dotted(("compaction", "soft_threshold_tokens")) == "compaction.soft_threshold_tokens"


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-api03-abc",
        "xoxb-123-abc",
        "xapp-1-A0-1",
        "123456789:AAHfiqksKZ8",
        "MTIzNDU2Nzg5MDEyMzQ1Njc4.GhIjKl.abcdefghijklmnopqrst",
        "my key is sk-ant-api03-abc",
    ],
)
def test_text_that_looks_like_a_secret_is_not_shown(secret: str) -> None:
    assert shown(secret) == "text"


def test_other_values_are_shown_as_they_are_written() -> None:
    values: list[object] = ["Alice", "", 5, 1.5, True, None, (), {}, FromEnvironment("x")]
    assert [shown(value) for value in values] == [
        '"Alice"',
        '""',
        "5",
        "1.5",
        "true",
        "nothing",
        "a list",
        "settings",
        "a value from the environment",
    ]


@given(st.one_of(st.binary(max_size=60), st.text("ab:-[]{}#&*!|>'\"%@`$ \n\t\\U0f\x00\u2028é", max_size=60)))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_read_or_refused_in_one_line_each(data: str | bytes) -> None:
    for loader in (Loader, yaml.BaseLoader):
        try:
            file = read(data, loader)
        except ConfigInvalid as refusal:
            assert str(refusal).isprintable()
        else:
            assert all(str(problem).isprintable() for problem in file.problems)
