"""The job with one planted fault: it says of every sum that it is entered already."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runtime import book

if __name__ == "__main__":
    print(f"going on after {len(book.SUMS)}", flush=True)
    book.run(Path(sys.argv[1]))
