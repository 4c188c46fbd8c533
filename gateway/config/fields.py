"""What settings are made of: the frozen base of every group, and the types of single values."""

import os
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    WrapSerializer,
    field_validator,
)
from pydantic_core import PydanticCustomError

from gateway.settings_file import FromEnvironment, KeyPath, plain_value

T = TypeVar("T")

CHANNEL_PLATFORMS = ("telegram", "discord", "slack")
CHAT_KINDS = ("private", "group")

_HOST_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]{0,252})")
_CLOCK_SPAN = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]-(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)")


@dataclass(frozen=True, slots=True)
class Places:
    """What paths in the file are relative to: `home` for relative ones, `user_home` for `~` (None: not known)."""

    home: Path
    user_home: Path | None


class Settings(BaseModel):
    """A group of settings: frozen, strict about types, and closed to keys that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    @field_validator("*", mode="before")
    @classmethod
    def _as_written(cls, value: Any, info: ValidationInfo) -> Any:
        """Read an empty group as one of defaults, empty text as null, and numbers out of the environment's text."""
        annotation = cls.model_fields[str(info.field_name)].annotation
        if value is None and is_group(annotation):
            return {}
        if not isinstance(value, str):
            return value
        if not value.strip() and type(None) in get_args(annotation):
            return None
        if isinstance(value, FromEnvironment):
            numeric = {int, float, bool} & {annotation, *get_args(annotation)}
            return plain_value(value.strip()) if numeric else str(value)
        return value


def is_group(annotation: Any) -> bool:
    """Tell whether a field holds named settings: a group, or a mapping of names to something."""
    plain = without_null(annotation)
    return get_origin(plain) is Mapping or (isinstance(plain, type) and issubclass(plain, Settings))


def without_null(annotation: Any) -> Any:
    """Return `X` for the annotation `X | None`, any other as it is."""
    if get_origin(annotation) in (Union, types.UnionType):
        return next(arm for arm in get_args(annotation) if arm is not type(None))
    return annotation


def annotation_at(group: type[Settings], path: KeyPath) -> Any:
    """Return the type of the setting at `path` below `group`, without its null, or None for an unknown one."""
    current: Any = group
    for step in path:
        if isinstance(current, type) and issubclass(current, Settings):
            known = current.model_fields.get(str(step))
            current = known.annotation if known else None
        else:
            inner = {Mapping: 1, tuple: 0}.get(get_origin(current))
            current = None if inner is None else get_args(current)[inner]
        current = without_null(get_args(current)[0] if get_origin(current) is Annotated else current)
    return current


def wrong(sentence: str) -> PydanticCustomError:
    """Return an error whose sentence is told as it is. It must not hold the value: that may be a secret."""
    return PydanticCustomError("sentence", "{sentence}", {"sentence": sentence})


def wrong_type(sentence: str) -> PydanticCustomError:
    """Return an error whose sentence is followed by what was found instead."""
    return PydanticCustomError("wrong_type", "{sentence}", {"sentence": sentence})


def _one_of(known: tuple[str, ...]) -> Callable[[str], str]:
    def check(key: str) -> str:
        if key not in known:
            raise PydanticCustomError("unknown_key", "{known}", {"known": " ".join(known)})
        return key

    return check


def _filled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: {} if entry is None else entry for key, entry in value.items()}
    return value


def _stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def _identifier(value: Any) -> str:
    """Return an id as text, without blanks, quotes and a leading `user:`, however it was written."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise wrong_type("must be an id")
    return value.strip().strip("\"'").strip().removeprefix("user:").strip()


def _folder(value: Any, info: ValidationInfo) -> Path:
    if isinstance(value, Path):
        return value
    if not isinstance(value, str) or not value.strip():
        raise wrong_type("must be a path")
    if not value.isprintable():
        raise wrong("the path holds a character that cannot be printed; remove it")
    if not isinstance(info.context, Places):
        raise TypeError("paths can only be read with `Places` as the context")
    return expanded(value.strip(), info.context)


def expanded(text: str, places: Places) -> Path:
    """Return an absolute, normal path: `~` is the user's home, anything relative is below the gateway's home."""
    if not text.startswith("~"):
        return _normal(places.home / text)
    tilde, _, rest = text.partition("/")
    if tilde != "~":
        raise wrong('only "~/" is understood, not another user\'s home; write the path in full')
    if places.user_home is None:
        raise wrong('"~" means nothing here because HOME is not set; write the path in full')
    return _normal(places.user_home / rest.lstrip("/"))


def _normal(path: Path) -> Path:
    return Path(os.path.normpath(path))


def _url(*schemes: str) -> Callable[[str], str]:
    def check(url: str) -> str:
        try:
            good = urlsplit(url).scheme in schemes and bool(urlsplit(url).hostname)
        except ValueError:
            good = False
        if not good:
            raise wrong(f"must be an address that begins with {' or '.join(f'{scheme}://' for scheme in schemes)}")
        return url

    return check


def _host(text: str) -> str:
    host = text.strip()
    if not _HOST_NAME.fullmatch(host):
        try:
            ip_address(host)
        except ValueError:
            raise wrong('must be an address such as "127.0.0.1", or a name; the port has a key of its own') from None
    return host


def _clock_span(text: str) -> str:
    if not _CLOCK_SPAN.fullmatch(text) or text[:5] == text[6:]:
        raise wrong_type('must be two different times such as "08:00-22:00"')
    return text


Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Hour = Annotated[int, Field(ge=0, le=23)]
Host = Annotated[str, AfterValidator(_host)]
Port = Annotated[int, Field(ge=0, le=65535)]
Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0)]
Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Secret = Annotated[SecretStr, BeforeValidator(_stripped)]
Identifier = Annotated[str, BeforeValidator(_identifier)]
Folder = Annotated[Path, BeforeValidator(_folder)]
Url = Annotated[str, AfterValidator(_url("http", "https"))]
SocketUrl = Annotated[str, AfterValidator(_url("ws", "wss"))]
ClockSpan = Annotated[str, AfterValidator(_clock_span)]
ChannelName = Annotated[str, AfterValidator(_one_of(CHANNEL_PLATFORMS))]
KindName = Annotated[str, AfterValidator(_one_of(CHAT_KINDS))]

_FROZEN = (
    BeforeValidator(_filled),
    AfterValidator(MappingProxyType),
    WrapSerializer(lambda mapping, serialise: serialise(dict(mapping))),
)
Named = Annotated[Mapping[str, T], *_FROZEN]
ByChannel = Annotated[Mapping[ChannelName, T], *_FROZEN]
ById = Annotated[Mapping[Identifier, T], *_FROZEN]
ByKind = Annotated[Mapping[KindName, T], *_FROZEN]


def nothing_named() -> Mapping[str, Any]:
    """Return an empty frozen mapping, the default of every `Named` field."""
    return MappingProxyType({})
