"""The int8 graph of the packed model, built once and kept beside the state."""

import hashlib
import logging
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memory.embedders.e5.graph import SCHEME, build
from memory.embedders.model_files import store

if TYPE_CHECKING:
    from memory.embedders.e5.pack import Pack

log = logging.getLogger(__name__)

_STEM = "e5-small-"


def cached_graph(pack: "Pack", weights_sha256: str, folder: Path) -> bytes:
    """Return the graph of these weights, from `folder` if an undamaged one is there; else it is built and put there.

    Graphs of other weights or of an older scheme are removed then. Several processes may do this at once.
    """
    name = _STEM + hashlib.sha256(f"{weights_sha256} {SCHEME}".encode()).hexdigest()[:16]
    file, checksum = folder / f"{name}.onnx", folder / f"{name}.onnx.sha256"
    try:
        graph = file.read_bytes()
        if checksum.read_text(encoding="ascii").strip() == hashlib.sha256(graph).hexdigest():
            return graph
        log.warning("damaged graph rebuilt", extra={"action": "damaged graph rebuilt", "path": str(file)})
    except (OSError, ValueError):
        log.info("graph built", extra={"action": "graph built", "path": str(file)})
    graph = build(pack)
    store(file, graph)
    store(checksum, hashlib.sha256(graph).hexdigest().encode())
    with suppress(OSError):  # what cannot be removed only takes space
        for old in folder.glob(f"{_STEM}*"):
            if not old.name.startswith(name):
                old.unlink(missing_ok=True)
    return graph
