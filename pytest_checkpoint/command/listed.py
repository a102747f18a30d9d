"""``list``: every contract in a line or two, or as JSON."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from typing import Final

from checkpoint_contracts.catalogue import CATALOGUE
from pytest_checkpoint.command.needs import faults_of, needs_of

_COLUMNS: Final = ("contract", "promise", "needs", "faults")


def listed(*, as_json: bool) -> str:
    """The text to print; a table where stdout is a terminal and rich is installed."""
    if as_json:
        fields = [
            {
                "id": contract.id,
                "promise": contract.promise,
                "needs": needs_of(contract),
                "faults": faults_of(contract),
            }
            for contract in CATALOGUE.values()
        ]
        return json.dumps(fields, indent=2)
    rows = [
        (
            contract.id,
            contract.promise,
            ", ".join(needs_of(contract)) or "-",
            ", ".join(faults_of(contract)) or "-",
        )
        for contract in CATALOGUE.values()
    ]
    width = shutil.get_terminal_size((100, 24)).columns
    table = _table(rows, width) if sys.stdout.isatty() else None
    return table or "\n".join(line for row in rows for line in _plain(row, width))


def _plain(row: tuple[str, str, str, str], width: int) -> list[str]:
    name, promise, needs, faults = row
    indent = "    "
    told = f"needs: {needs}; faults: {faults}"
    wrap = textwrap.TextWrapper(
        max(40, width - 1),
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    return [name, *wrap.wrap(promise), *wrap.wrap(told)]


def _table(rows: list[tuple[str, str, str, str]], width: int) -> str | None:
    """None: rich is not installed."""
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return None
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in _COLUMNS:
        table.add_column(column, no_wrap=column == "contract", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
