"""A workspace with a canary in every file, for tests of who reads and changes what."""

import os
from pathlib import Path

from memory.shelves import OWNER, SHARED_FILES, Audience

OWNERS = Audience(OWNER)
ANNA = Audience("people/anna")
GROUP = Audience("groups/telegram--100123")
OTHER_GROUP = Audience("groups/slack-C1")
AUDIENCES = (OWNERS, ANNA, GROUP, OTHER_GROUP)

SEED = {
    **{name: f"canary of {name}\n" for name in SHARED_FILES},
    "MEMORY.md": "canary of owner\n",
    "memory/2026-01-26.md": "canary of owner's day\n",
    "people/anna/MEMORY.md": "canary of anna\n",
    "groups/telegram--100123/MEMORY.md": "canary of group\n",
    "groups/telegram--100123/memory/2026-01-26.md": "canary of group's day\n",
    "groups/slack-C1/MEMORY.md": "canary of other group\n",
}


def seeded(parent: Path) -> Path:
    """Make a workspace with files on every shelf, and beside it a folder with a secret that is none of its business."""
    root = parent / "ws"
    for path, text in SEED.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (parent / "ws-evil").mkdir()
    (parent / "ws-evil" / "secret.md").write_text("canary from outside\n")
    return root


def contents(folder: Path) -> dict[str, bytes]:
    """Return every regular file below `folder` and its bytes; links are not followed."""
    found = {}
    for parent, _, names in os.walk(folder):
        for path in (Path(parent, name) for name in names):
            if not path.is_symlink() and path.is_file():
                found[str(path.relative_to(folder))] = path.read_bytes()
    return found


ODD_PATHS = [
    "",
    ".",
    "/",
    "/etc/hostname",
    "//etc/hostname",
    "../AGENTS.md",
    "..",
    "memory/../../x",
    "memory/..",
    "groups/telegram--100123/../../MEMORY.md",
    "../ws-evil/secret.md",
    "a//b",
    "a/",
    "a\0.md",
    "a\n.md",
    "a\x7f.md",
    "a\u2028.md",
    "..\\x",
    "memory\\x.md",
    "C:\\x",
    ".env",
    ".git/hooks/post-commit",
    "memory/.hidden/x.md",
    "\ud83d.md",
    "x" * 256,
    "é" * 128,
    "/".join(["x" * 100] * 11),
    "Groups/telegram--100123/MEMORY.md",
    "PEOPLE/anna/MEMORY.md",
]
