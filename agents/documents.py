"""PDFs: which files are some, and how many pages they have, counted in a process of its own. The only file with pypdf."""

import io
import logging
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec

from agents.errors import CannotBeShown
from agents.media import MAX_DOCUMENT_BYTES, MAX_PAGES

_HEAD_BYTES = 1_024  # readers look for the beginning so far into a file
COUNTING_SECONDS = 10.0  # a PDF can be made so that reading it never ends
MOST_BYTES = 1_000_000_000  # of memory, where the system knows such limits
_NO_PAGES = 3  # what the process ends with for a PDF that is damaged

log = logging.getLogger(__name__)


def is_pdf(data: bytes) -> bool:
    """Tell whether a file is a PDF, or was one."""
    return b"%PDF-" in data[:_HEAD_BYTES]


def pages_of(data: bytes, *, seconds: float = COUNTING_SECONDS) -> int:
    """Return how many pages a PDF has; `CannotBeShown` for one that a model cannot read as a document. For a thread.

    It is read by another process, which is ended after so many seconds: whoever writes to us may send anything.
    """
    if len(data) > MAX_DOCUMENT_BYTES:
        raise CannotBeShown(f"it is larger than {MAX_DOCUMENT_BYTES // 1_000_000} MB")
    if find_spec("pypdf") is None:
        raise CannotBeShown("what counts its pages is not installed (scrubjay[media])")
    command = (sys.executable, "-m", "agents.documents")
    try:
        ran = subprocess.run(command, input=data, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        log.warning("a PDF took too long to read", extra={"action": "pdf_endless", "bytes": len(data)})
        raise CannotBeShown("counting its pages took too long") from None
    if ran.returncode:
        reason = "damaged" if ran.returncode == _NO_PAGES else f"the process ended with {ran.returncode}"
        log.info("a PDF was not read: %s", reason, extra={"action": "pdf_damaged"})
        raise CannotBeShown("it is damaged")
    pages = int(ran.stdout)
    if pages < 0:
        raise CannotBeShown("it is protected by a password")
    if not 0 < pages <= MAX_PAGES:
        raise CannotBeShown(f"it has {pages} pages, and at most {MAX_PAGES} fit" if pages > 0 else "it has no pages")
    return pages


def count(data: bytes) -> int | None:
    """Return the number of pages, as the file itself says: -1 if it is encrypted, None if it is damaged. May never end."""
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it quotes documents
    try:
        reader = PdfReader(io.BytesIO(data), strict=False)
        return -1 if reader.is_encrypted else max(len(reader.pages), 0)
    except Exception:  # on damaged files pypdf raises whatever their parts lead to
        return None


def limit_memory() -> None:
    """Let this process have no more memory than the reading of a PDF may take."""
    with suppress(ImportError, ValueError, OSError):  # not every system has limits, or lets itself be limited
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


def _main() -> int:
    """Count the pages of the PDF on the standard input."""
    limit_memory()
    pages = count(sys.stdin.buffer.read())
    if pages is None:
        return _NO_PAGES
    sys.stdout.write(f"{pages}\n")
    return 0


if __name__ == "__main__":
    sys.exit(_main())
