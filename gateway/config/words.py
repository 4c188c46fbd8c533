"""Mistakes in plain sentences: what pydantic found, said in our words, and never with a secret's value."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from pydantic import SecretStr
from pydantic_core import ErrorDetails

from gateway.config.fields import Settings, annotation_at
from gateway.settings_file import KeyPath, SettingsFile, kind_of, shown

# Where the value itself says what is wrong it is shown; where something else was meant, only what sort of value it is.
_VALUE_SHOWN = {
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "greater_than_equal": "must be {ge} or more",
    "less_than_equal": "must be {le} or less",
    "literal_error": "must be {expected}",
    "wrong_type": "{sentence}",
}
_KIND_SHOWN = {
    "string_type": "must be text",
    "string_unicode": "must be text that can be written in UTF-8",
    "tuple_type": "must be a list",
    "dict_type": 'must be settings, each as "key: value"',
    "model_type": 'must be settings, each as "key: value"',
}
PYDANTIC_TYPES = frozenset(_VALUE_SHOWN) | frozenset(_KIND_SHOWN)


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake: the sentence about the setting at `path`.

    Whoever found it also looked at `also`; where one of those could not be read, the finding would only follow from
    that and is not told. `meant` is the setting that a misspelt key was probably meant to be.
    """

    path: KeyPath
    sentence: str
    also: tuple[KeyPath, ...] = ()
    meant: KeyPath | None = None

    def follows_from(self, spoiled: Iterable[KeyPath]) -> bool:
        """Tell whether one of the settings it looked at could not be read."""
        looked_at = (self.path, *self.also)
        return any(path[: len(above)] == above for above in spoiled for path in looked_at)


def closest(word: object, known: Iterable[str]) -> str:
    """Return `; did you mean "…"?` with the nearest known word, or nothing when none is near."""
    near = get_close_matches(word, list(known), n=1) if isinstance(word, str) else []
    return f'; did you mean "{near[0]}"?' if near else ""


def finding_of(error: ErrorDetails, source: SettingsFile, root: type[Settings]) -> Finding:
    """Return one of pydantic's errors as a finding."""
    path, kind, context = error["loc"], error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown_key(path, source, list(annotation_at(root, path[:-1]).model_fields))
    if kind == "unknown_key":
        return _unknown_key(path[:-1], source, str(context["known"]).split())  # the last step says that it is a key
    if kind == "sentence":
        return Finding(path, str(context["sentence"]))
    value = source.at(path)
    if kind in _VALUE_SHOWN:
        context = {name: re.sub("'([^']*)'", r'"\1"', str(text)) for name, text in context.items()}
        near = closest(value, re.findall('"([^"]*)"', context.get("expected", "")))
        return Finding(path, f"{_VALUE_SHOWN[kind].format(**context)}, found {shown(value)}{near}")
    hint = ""
    if value is None and kind == "tuple_type":
        hint = "; write [] for an empty one"
    elif kind == "string_type" and annotation_at(root, path) is SecretStr and isinstance(value, int | float):
        hint = "; put it in quotes"
    return Finding(path, f"{_KIND_SHOWN.get(kind, 'is not valid')}, found {kind_of(value)}{hint}")


def _unknown_key(path: KeyPath, source: SettingsFile, known: list[str]) -> Finding:
    near = get_close_matches(str(path[-1]), known, n=1)
    if not near:
        return Finding(path, f"unknown key; known here: {', '.join(known)}")
    return Finding(path, f'unknown key; did you mean "{near[0]}"?', meant=(*path[:-1], near[0]))
