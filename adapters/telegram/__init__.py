"""Telegram: Bot API payloads to and from the vocabulary; the SDK is imported by `client` alone."""

import sys

# httpx's command line, which httpx does without where it cannot have it; it would load rich and pygments (4 MB).
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
