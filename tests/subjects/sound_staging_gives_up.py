"""A full staging ends it, with a word; nothing cut short is taken for whole. Sound."""

from __future__ import annotations

from tiny_staging import Copier, Stager

if __name__ == "__main__":
    Copier.main(staged=Stager.staged)
