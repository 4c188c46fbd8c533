"""What a folder says about its sentence encoder: its files, pooling, prefixes and longest text."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from memory.embedders.base import Kind
from memory.errors import EmbedderUnusable

Pooling = Literal["mean", "cls", "lasttoken"]

_MODELS = ("model.onnx", "onnx/model.onnx")
_MODEL_FOLDERS = ("", "onnx")
_LONGEST = 512  # tokens
_E5 = re.compile(r"(?<![a-z0-9])e5(?![a-z0-9])", re.IGNORECASE)
_E5_PREFIXES: Mapping[Kind, str] = {"query": "query: ", "passage": "passage: "}
_PROMPTS: Mapping[Kind, tuple[str, ...]] = {"query": ("query",), "passage": ("passage", "document", "corpus")}
_STARTS_AT_TWO = ("roberta", "xlm-roberta", "camembert", "mpnet")  # their first two positions are not for tokens
_PLAIN_STEPS = ("Transformer", "Pooling", "Normalize")
_POOLINGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "lasttoken",
}


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """A sentence encoder in a folder. `further_steps` names layers that only a graph with sentence vectors contains."""

    model: Path
    tokenizer: Path
    name: str
    pooling: Pooling
    prefixes: Mapping[Kind, str]
    longest: int
    further_steps: tuple[str, ...]


def read_settings(folder: Path) -> FolderSettings:
    """Read the files that sentence-transformers and Hugging Face write; only a model and its tokenizer.json must be there.

    Raises `EmbedderUnusable` for a folder or a file that is missing, a file that is not JSON, and a pooling that is not
    mean, cls or lasttoken.
    """
    if not folder.is_dir():
        raise EmbedderUnusable(
            f"There is no folder {folder}. Give the folder of an ONNX model, or leave the model out for the one that comes "
            "with Scrubjay."
        )
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise EmbedderUnusable(f"{tokenizer} is missing. Put the tokenizer.json of the model there.")
    config = _read(folder / "config.json")
    pooling, further_steps = _steps(folder)
    return FolderSettings(
        model=_model(folder),
        tokenizer=tokenizer,
        name=folder.name,
        pooling=pooling,
        prefixes=_prefixes(folder, str(config.get("_name_or_path", ""))),
        longest=_longest(folder, config),
        further_steps=further_steps,
    )


def _model(folder: Path) -> Path:
    for name in _MODELS:
        if (folder / name).is_file():
            return folder / name
    others = sorted(path for below in _MODEL_FOLDERS for path in (folder / below).glob("*.onnx"))
    if len(others) == 1:
        return others[0]
    if others:
        names = ", ".join(path.relative_to(folder).as_posix() for path in others)
        raise EmbedderUnusable(f"{folder} has several models ({names}). Keep one of them, or call it model.onnx.")
    raise EmbedderUnusable(f"{folder / 'model.onnx'} is missing. Put the model there, or in the folder onnx beside it.")


def _steps(folder: Path) -> tuple[Pooling, tuple[str, ...]]:
    """Return the pooling, mean if nothing is said, and the layers that follow it beside the scaling to unit length."""
    modules = _read(folder / "modules.json", list)
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in modules if isinstance(module, dict)]
    paths = [str(module.get("path", "")) for module, kind in zip(modules, kinds, strict=False) if kind == "Pooling"]
    file = folder / (paths[0] if paths else "1_Pooling") / "config.json"
    settings = _read(file)
    modes = [
        _POOLINGS.get(key, key) for key, value in settings.items() if key.startswith("pooling_mode_") and value is True
    ]
    if isinstance(settings.get("pooling_mode"), str):
        modes = [settings["pooling_mode"]]
    further = tuple(kind for kind in kinds if kind not in _PLAIN_STEPS)
    for pooling in get_args(Pooling):
        if (modes or ["mean"]) == [pooling]:
            return pooling, further
    raise EmbedderUnusable(
        f"{file} asks for {' and '.join(modes)}. Only mean, cls and lasttoken pooling are known here."
    )


def _prefixes(folder: Path, origin: str) -> Mapping[Kind, str]:
    """Return what is put before texts: the model's own prompts, or those of the E5 family if it bears that name."""
    settings = _read(folder / "config_sentence_transformers.json")
    prompts = settings.get("prompts")
    prompts = {key: text for key, text in prompts.items() if isinstance(text, str)} if isinstance(prompts, dict) else {}
    default = prompts.get(str(settings.get("default_prompt_name")), "")
    found: Mapping[Kind, str] = {
        kind: next((prompts[name] for name in names if name in prompts), default) for kind, names in _PROMPTS.items()
    }
    if not any(found.values()) and (_E5.search(folder.name) or _E5.search(origin)):
        return _E5_PREFIXES
    return found


def _longest(folder: Path, config: Mapping[str, Any]) -> int:
    """Return how many tokens the model takes: the least of what its files say, and never more than 512."""
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and config.get("model_type") in _STARTS_AT_TWO:
        positions -= 2
    said = (
        positions,
        _read(folder / "sentence_bert_config.json").get("max_seq_length"),
        _read(folder / "tokenizer_config.json").get("model_max_length"),
    )
    return min([_LONGEST, *(number for number in said if isinstance(number, int) and number > 2)])


def _read(path: Path, kind: type = dict) -> Any:
    """Return the content of a JSON file, empty if there is no such file."""
    try:
        content = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return kind()
    except OSError as error:
        raise EmbedderUnusable(f"{path} cannot be read ({error.strerror}). Look at its permissions.") from error
    except ValueError as error:
        raise EmbedderUnusable(f"{path} is not JSON ({error}). Get the file again.") from error
    if not isinstance(content, kind):
        raise EmbedderUnusable(f"{path} is not what it should be: a JSON {'object' if kind is dict else 'list'}.")
    return content
