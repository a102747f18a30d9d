"""Waits for room in its staging, with a deadline, and removes leftovers at the start. Sound."""

from __future__ import annotations

from tiny_staging import Copier

if __name__ == "__main__":
    Copier.main()
