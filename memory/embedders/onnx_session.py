"""onnxruntime, opened for a model that shares the processor with a chat: one thread, and memory given back."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxruntime import InferenceSession  # type: ignore[import-untyped]


def open_session(
    model: bytes | Path, *, without: Sequence[str] = (), exact_products: bool = False
) -> "InferenceSession":
    """Load a model from its bytes or its file; `without` names optimisations of onnxruntime to be left out.

    `exact_products` avoids the overflow of 8-bit products on processors without VNNI, which is slower. Raises what
    onnxruntime raises, which has no common root.
    """
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # the arena keeps the memory of the longest text for good
    options.log_severity_level = 3
    if exact_products:
        options.add_session_config_entry("session.x64quantprecision", "1")
    return InferenceSession(
        model if isinstance(model, bytes) else str(model),
        options,
        providers=["CPUExecutionProvider"],
        disabled_optimizers=list(without),
    )
