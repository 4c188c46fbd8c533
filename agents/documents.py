"""PDFs: which files are some, and how many pages they have. The only file with pypdf."""

import io
import logging

from agents.errors import CannotBeShown
from agents.media import MAX_DOCUMENT_BYTES, MAX_PAGES

_HEAD_BYTES = 1_024  # readers look for the beginning so far into a file

log = logging.getLogger(__name__)


def is_pdf(data: bytes) -> bool:
    """Tell whether a file is a PDF, or was one."""
    return b"%PDF-" in data[:_HEAD_BYTES]


def pages_of(data: bytes) -> int:
    """Return how many pages a PDF has; `CannotBeShown` for one that a model cannot read as a document. For a thread."""
    if len(data) > MAX_DOCUMENT_BYTES:
        raise CannotBeShown(f"it is larger than {MAX_DOCUMENT_BYTES // 1_000_000} MB")
    try:
        pages, encrypted = _read(data)
    except ModuleNotFoundError:
        raise CannotBeShown("what counts its pages is not installed (scrubjay[media])") from None
    except Exception as error:  # on damaged files pypdf raises whatever their parts lead to
        log.info("a PDF is damaged: %s", type(error).__name__, extra={"action": "pdf_damaged"})
        raise CannotBeShown("it is damaged") from error
    if encrypted:
        raise CannotBeShown("it is protected by a password")
    if not 0 < pages <= MAX_PAGES:
        raise CannotBeShown(f"it has {pages} pages, and at most {MAX_PAGES} fit" if pages > 0 else "it has no pages")
    return pages


def _read(data: bytes) -> tuple[int, bool]:
    """Return the number of pages, as the file itself says, and whether it is encrypted."""
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it quotes documents
    reader = PdfReader(io.BytesIO(data), strict=False)
    if reader.is_encrypted:
        return 0, True
    return len(reader.pages), False
