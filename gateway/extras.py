"""What has to be installed beside the base before a platform can be spoken to, or anything served over HTTP."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec

# By the name of the extra: what needs it, and the packages that it brings.
_EXTRAS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "telegram": ("Telegram", ("telegram",)),
    "discord": ("Discord", ("discord",)),
    "slack": ("Slack", ("slack_bolt", "aiohttp")),
    "web": ("The web server", ("starlette", "uvicorn")),
}


def missing(extra: str, find: Callable[[str], object] = find_spec) -> str | None:
    """Return a sentence that says what to install for an extra, None where it is there."""
    what, packages = _EXTRAS[extra]
    absent = [name for name in packages if find(name) is None]
    if not absent:
        return None
    are = "is" if len(absent) == 1 else "are"
    return f'{what} needs {" and ".join(absent)}, which {are} not installed: pip install "scrubjay[{extra}]"'
