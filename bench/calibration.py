"""`python -m bench.calibration` measures the built-in embedder anew and writes what ships; after every change to it."""

import asyncio
import json
from pathlib import Path

import memory.evaluation
from bench.memory_quality import models
from bench.report import say
from memory.calibration import SHIPPED, measured
from memory.embedders.local import local_embedder


async def main() -> None:
    """Measure and write."""
    embedder = local_embedder(models())
    calibration = await measured(embedder)
    await embedder.close()
    file = Path(memory.evaluation.__file__).parent / SHIPPED
    file.write_text(
        json.dumps({embedder.identity: json.loads(calibration.to_json())}, indent=1) + "\n", encoding="utf-8"
    )
    say(f"{embedder.identity}: floors {calibration.floors}, bars {calibration.bars}")


if __name__ == "__main__":
    asyncio.run(main())
