"""Checks of what the configuration names on this machine: is it there? Only where that is asked; it may come later."""

import os
from collections.abc import Iterator
from pathlib import Path

from gateway.config.case import Case, Check
from gateway.config.channels import SlackAccount
from gateway.config.models import Config
from gateway.config.words import Finding
from gateway.settings_file import KeyPath, dotted
from memory.errors import EmbedderUnusable

_MODEL: KeyPath = ("memory", "embedder", "model")
_GONE = "there is nothing at {path} now. If it is on a drive, mount it; else correct the path, or take it out"


def model_folder(home: Path, model: str) -> Path | None:
    """Return the folder that a local `model` names, None if it is the name of a model.

    A relative one is below the home, as all paths in the file.
    """
    return home / Path(model).expanduser() if "/" in model else None


def absent(config: Config) -> list[str]:
    """Return a sentence, with its key, for each path to notes where nothing is at the moment."""
    return [
        f"{dotted(('memory', 'extra_paths', number))}: {_GONE.format(path=path)}"
        for number, path in enumerate(config.memory.extra_paths)
        if not os.path.exists(path)  # false, and no error, also below a folder that may not be read
    ]


def _models(case: Case) -> Iterator[Finding]:
    from memory.embedders import e5, fuse
    from memory.embedders.onnx_settings import read_settings

    embedder = case.config.memory.embedder
    if embedder.provider != "local" or embedder.model is None:
        return
    folder = model_folder(case.config.effective_home, embedder.model)
    if folder is None:
        if embedder.model not in (e5.MODEL, fuse.MODEL):
            known = (
                f"known are {e5.MODEL}, {fuse.MODEL}, and every folder with an ONNX model, such as ~/models/bge-small"
            )
            yield Finding(_MODEL, f"there is no local model called {case.shown(_MODEL)}; {known}")
        return
    try:
        read_settings(folder)
    except EmbedderUnusable as error:
        yield Finding(_MODEL, f"{error} Until then memory is searched by words only.")


def _packages(case: Case) -> Iterator[Finding]:
    from gateway.extras import missing

    for platform, accounts in case.config.channels.by_platform.items():
        if accounts and (sentence := missing(platform)):
            yield Finding(("channels", platform), sentence)
    if case.config.serves_web and (sentence := missing("web")):
        askers = [
            path for _, path, account in case.accounts() if isinstance(account, SlackAccount) and account.over_http
        ]
        yield Finding(("web",) if case.source.has(("web",)) else askers[0], sentence)


CHECKS: tuple[Check, ...] = (_models, _packages)
