"""The silent reply: whether a text is nothing but `NO_REPLY`, however a model may have wrapped it. Pure."""

from typing import Any

import regex  # type: ignore[import-untyped]

_LONGEST = 1_000  # characters; what is longer has something to say, and is not held back any more

# Around the token: anything but letters and digits, the language of a code fence, and the name in a tag. An envelope is
# a JSON object in which one value is the token, and all others are under keys that describe a reply and are not one.
_SILENT: Any = regex.compile(
    r"""
    (?(DEFINE)
        (?<token> NO \\? _REPLY )
        (?<before> (?: [^\p{L}\p{N}] | (?! (?&token) ) (?: (?<=```) \w++ \s | (?<=<) \w++ > ) )*+ )
        (?<after> (?: [^\p{L}\p{N}] | (?<=</) \w++ > )*+ )
        (?<string> " (?: [^"\\] | \\. )*+ " )
        (?<label> "(?: type | role | action | reason | reasoning | thought | status | channel | to )" )
        (?<described> (?&label) \s*+ : \s*+ (?: (?&string) | [\d.]++ | null | true | false ) )
        (?<quoted> " [^\p{L}\p{N}"]*+ (?&token) [^\p{L}\p{N}"]*+ " )
        (?<told> (?&string) \s*+ : \s*+ (?: (?&quoted) | (?&envelope) ) )
        (?<envelope> \{ \s* (?: (?&described) \s* , \s* )* (?&told) \s* (?: , \s* (?&described) \s* )* \} )
    )
    (?&before) (?&token) (?: (?&after) (?&token) )*+ (?&after)
    | (?: [^\p{L}\p{N}\{] | (?<=```) \w++ \s )*+ (?&envelope) (?&after)
    """,
    regex.VERBOSE | regex.IGNORECASE | regex.DOTALL,
)


def is_silent(text: str) -> bool:
    """Tell whether a reply says that nothing is to be said: the token alone, decorated, fenced or in a JSON envelope.

    A text that has any word of its own beside the token is a reply, and so is an empty one.
    """
    text = text.strip()
    return len(text) <= _LONGEST and _SILENT.fullmatch(text) is not None


def may_become_silent(prefix: str) -> bool:
    """Tell whether a reply that begins like this can still turn out silent: then nothing of it may be shown yet."""
    prefix = prefix.strip()
    return len(prefix) <= _LONGEST and _SILENT.fullmatch(prefix, partial=True) is not None
