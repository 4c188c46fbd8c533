"""The settings file: YAML text to values, with the line of every key and `${NAME}` filled from the environment."""

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from gateway.errors import ConfigInvalid, ConfigProblem

KeyPath = tuple[str | int, ...]

# libyaml's parser where PyYAML was built with it, else the one in Python: the same result, slower.
Loader: type[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

DEEPEST = 32

_INTEGER = re.compile(r"-?[0-9]{1,20}")
_FLOAT = re.compile(r"-?(\.[0-9]{1,20}|[0-9]{1,20}(\.[0-9]{0,20})?)([eE][-+]?[0-9]{1,3})?")
_TRUE, _FALSE, _NULL = ("true", "True", "TRUE"), ("false", "False", "FALSE"), ("null", "Null", "NULL", "~", "")
_VARIABLE = re.compile(r"\$\$\{|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\})?")
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SECRET_LIKE = re.compile(r"\b(sk-|xox[a-z]-|xapp-|[0-9]{5,}:)\S{4}|\b(?=\S*[0-9])[\w.+/=-]{24}", re.ASCII)

# What the parser says, in the order of trying, and what we say instead; "start" points at where the construct begins.
_PARSER_SAYS = (
    ("mapping values are not allowed", "end", 'a ": " that is out of place; mind the indentation, and quote such text'),
    ("tab character", "end", "a tab where the indentation needs spaces"),
    (r"'\t'", "end", "a tab where the indentation needs spaces"),
    ("cannot start any token", "end", "no value may begin like this; put such text in quotes"),
    ("',' or ']'", "start", 'a "[" without its "]", or a comma is missing'),
    ("',' or '}'", "start", 'a "{" without its "}", or a comma is missing; inside braces, quote "${NAME}"'),
    ("unexpected end of stream", "start", "a quotation mark without its partner"),
    ("document", "end", "a second document begins here; the file holds one"),
    ("escape character", "end", "an unknown escape after a backslash; use single quotes to mean it literally"),
    ("character escape code", "end", "an unknown escape after a backslash; use single quotes to mean it literally"),
    ("expected key", "end", "the indentation does not fit the lines above"),
    ("block end", "end", "the indentation does not fit the lines above"),
    ("'-' indicator", "end", "the indentation does not fit the lines above"),
    ("could not find expected ':'", "start", 'a key without its ": "'),
    ("node content", "end", "a value is missing here"),
)


class FromEnvironment(str):
    """Text filled from the environment: it is never shown, and may stand for a number or for true and false."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """The values of one file, where they stand, and the mistakes that were found while reading.

    `values` holds dicts, tuples, text, numbers, booleans and None; a value that could not be read is None, and its path
    is in `spoiled`. `lines` has the line of every key and list item, from 1.
    """

    name: str
    values: dict[str, Any]
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    problems: tuple[ConfigProblem, ...] = ()
    spoiled: frozenset[KeyPath] = frozenset()

    def problem(self, path: KeyPath, sentence: str) -> ConfigProblem:
        """Return a mistake at `path`, on the line of the nearest key that the file has."""
        return ConfigProblem(self.name, self.line_of(path), dotted(path), sentence)

    def line_of(self, path: KeyPath) -> int | None:
        """Return the line of `path`, or of the nearest part above it that the file has."""
        known = (self.lines[path[:depth]] for depth in range(len(path), -1, -1) if path[:depth] in self.lines)
        return next(known, None)

    def has(self, path: KeyPath) -> bool:
        """Tell whether the file itself gives a value at `path`."""
        return path in self.lines

    def at(self, path: KeyPath) -> Any:
        """Return the value at `path`, or None where the file has nothing."""
        value: Any = self.values if self.has(path) else None
        for step in path if self.has(path) else ():
            value = value[step]
        return value


def read_settings(
    data: bytes,
    *,
    name: str,
    environment: Mapping[str, str],
    unneeded: Collection[str] = (),
    loader: type[Any] = Loader,
) -> SettingsFile:
    """Return the settings in `data`, the bytes of the file called `name`.

    Plain scalars are read as YAML 1.2 does: only `true` and `false` are booleans. `${NAME}` and `${NAME:-fallback}` are
    taken from `environment`, `$${` stands for `${`; below the top keys `unneeded` a variable may be missing. Raises
    `ConfigInvalid` when nothing can be made of the file; smaller mistakes (a key twice, a variable that is not set) are
    collected in `problems`.
    """
    text = _decoded(data, name)
    try:
        _refuse_what_we_do_not_read(text, name, loader)
        root = yaml.compose(text, Loader=loader)
    except (yaml.MarkedYAMLError, ValueError) as error:  # ValueError: the pure parser on "\U00110000"
        raise _not_yaml(error, name, text) from None
    if root is None:
        raise ConfigInvalid([ConfigProblem(name, 1, "", "the file is empty; it must name at least one agent")])
    if not isinstance(root, yaml.MappingNode):
        raise ConfigInvalid([ConfigProblem(name, 1, "", 'the file must hold settings, each as "key: value"')])
    reader = _Reader(name, environment, unneeded)
    reader.lines[()] = 1
    values = reader.mapping(root, ())
    return SettingsFile(name, values, reader.lines, tuple(reader.problems), frozenset(reader.spoiled))


def plain_value(text: str) -> str | int | float | bool | None:
    """Return what an unquoted scalar means: null, true, false, a decimal number, or the text itself."""
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if text in _NULL:
        return None
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text


def dotted(path: KeyPath) -> str:
    """Return a path as people write it: `bindings[1].agent`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{_printable(step)}" for step in path)
    return text.removeprefix(".")


def shown(value: object) -> str:
    """Return how a value may be spoken of: short text and numbers as they are, nothing that might be a secret."""
    if isinstance(value, FromEnvironment):
        return "a value from the environment"
    if isinstance(value, str):
        return f'"{value}"' if _printable(value) == value or not value else "text"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return kind_of(value)


def kind_of(value: object) -> str:
    """Return what sort of value something is, without the value."""
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    kinds = ((str, "text"), (int | float, "a number"), (tuple, "a list"), (dict, "settings"))
    return next(kind for type_, kind in kinds if isinstance(value, type_))


def _printable(text: str) -> str:
    """Return `text` fit for one line of a report: cut, escaped, and without what looks like a secret."""
    if _SECRET_LIKE.search(text):
        return "(hidden)"
    return text if text.isprintable() and 0 < len(text) <= 60 else ascii(text[:60])


def _decoded(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigInvalid([ConfigProblem(name, line, "", "the file is not UTF-8; save it as UTF-8")]) from None
    if found := _UNPRINTABLE.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise ConfigInvalid([ConfigProblem(name, line, "", "a control character that YAML does not allow; remove it")])
    return text


def _refuse_what_we_do_not_read(text: str, name: str, loader: type[Any]) -> None:
    """Raise on aliases, tags and bottomless nesting: they make values that have no single line, or no end."""
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        refused = None
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            refused = "references such as *name are not read; write the value out"
        if getattr(event, "tag", None) is not None:
            refused = "tags such as !!str are not read; put text in quotes"
        if depth > DEEPEST:
            refused = f"more than {DEEPEST} levels of nesting"
        if refused:
            raise ConfigInvalid([ConfigProblem(name, _line(event.start_mark), "", refused)])


def _not_yaml(error: yaml.MarkedYAMLError | ValueError, name: str, text: str) -> ConfigInvalid:
    """Return the parser's complaint in our words; its own may quote the text, which may hold a secret."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or ""
    if mark is not None and "cannot start any token" in problem and text[mark.index : mark.index + 1] == "\t":
        problem = "tab character"  # libyaml does not name it where a value could begin
    sentence = "this cannot be read"
    for needle, end, ours in _PARSER_SAYS:
        if needle in problem:
            sentence = ours
            mark = getattr(error, "context_mark", None) or mark if end == "start" else mark
            break
    line = _line(mark)
    if line is not None:
        line = min(line, max(1, len(text.splitlines())))  # the end of the text is counted as one more
    return ConfigInvalid([ConfigProblem(name, line, "", f"not valid YAML: {sentence}")])


def _line(mark: Any) -> int | None:
    return None if mark is None else int(mark.line) + 1


class _Reader:
    """Walks composed nodes, collecting lines and mistakes on the way."""

    def __init__(self, name: str, environment: Mapping[str, str], unneeded: Collection[str]) -> None:
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[ConfigProblem] = []
        self.spoiled: set[KeyPath] = set()
        self._name = name
        self._environment = environment
        self._unneeded = unneeded

    def mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        """Return a mapping's values; of a key that is there twice, the first."""
        values: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                self._problem(path, line, "a key must be plain text")
                continue
            here = (*path, key.value)
            if key.value in values:
                self._problem(here, line, f"this key was already given in line {self.lines[here]}; keep one of them")
                continue
            self.lines[here] = line
            values[key.value] = self._value(value, here)
        return values

    def _value(self, node: yaml.Node, path: KeyPath) -> Any:
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return tuple(self._items(node, path))
        return self._scalar(node, path)

    def _items(self, node: yaml.SequenceNode, path: KeyPath) -> Iterator[Any]:
        for index, item in enumerate(node.value):
            here = (*path, index)
            self.lines[here] = item.start_mark.line + 1
            yield self._value(item, here)

    def _scalar(self, node: yaml.Node, path: KeyPath) -> Any:
        text = str(node.value)
        if "${" not in text:
            plain = isinstance(node, yaml.ScalarNode) and not node.style
            return plain_value(text) if plain else text
        filled: list[str] = []
        reached, from_environment = 0, False
        for found in _VARIABLE.finditer(text):
            filled.append(text[reached : found.start()])
            reached = found.end()
            if found.group() == "$${":
                filled.append("${")
                continue
            from_environment = True
            filled.append(self._variable(found, path))
        value = "".join((*filled, text[reached:]))
        if path in self.spoiled:
            return None
        return FromEnvironment(value) if from_environment else value

    def _variable(self, found: re.Match[str], path: KeyPath) -> str:
        variable, fallback = found.groups()
        if variable is None:
            self._spoil(path, '"${" must be followed by a name and "}"; write "$${" to mean it literally')
        elif fallback is not None:
            return self._environment.get(variable) or fallback
        elif variable in self._environment:
            return self._environment[variable]
        elif path[0] in self._unneeded:
            self.spoiled.add(path)
        else:
            self._spoil(path, f"the environment variable {variable} is not set; set it before starting")
        return ""

    def _spoil(self, path: KeyPath, sentence: str) -> None:
        self.spoiled.add(path)
        self._problem(path, self.lines[path], sentence)

    def _problem(self, path: KeyPath, line: int, sentence: str) -> None:
        self.problems.append(ConfigProblem(self._name, line, dotted(path), sentence))
