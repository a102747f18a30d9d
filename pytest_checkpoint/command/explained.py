"""``explain``: all that there is to know of one contract.

The texts are the contracts' own, those that reports and docs/contracts.md show.
"""

from __future__ import annotations

import difflib
from typing import Final

from checkpoint_contracts.catalogue import CATALOGUE
from checkpoint_contracts.contract import Contract
from checkpoint_contracts.tabled import causes_told
from pytest_checkpoint.command.needs import DECLARED_BY, faults_of, needs_of
from pytest_checkpoint.command.wrapped import wrapped
from pytest_checkpoint.errors import UserError

_HEADINGS: Final = {
    "It is broken by ": "What breaks it",
    "Keep it: ": "How to keep it",
}
"""How a paragraph of an explanation begins, where a new part of it does."""


def explained(name: str) -> str:
    """The text to print. Raises :class:`UserError` if there is no such contract."""
    contract = CATALOGUE.get(name.strip())
    if contract is None:
        raise UserError(_unknown(name))
    parts = [
        contract.id,
        wrapped(f"The promise: {contract.promise}."),
        *_explanation(contract),
        *_causes(contract),
        f"What it needs\n\n{_needs(contract)}",
        f"What is done to the job\n\n{_faults(contract)}",
        f"To judge only it\n\n{_command(contract)}",
    ]
    return "\n\n".join(parts)


def _unknown(name: str) -> str:
    wanted = name.strip().lower()
    words = set(wanted.split("-"))
    near = difflib.get_close_matches(wanted, CATALOGUE, n=3, cutoff=0.5) or [
        one for one in CATALOGUE if words & set(one.split("-"))
    ]
    meant = f" Did you mean {' or '.join(near[:3])}?" if near else ""
    return f"there is no contract {name!r}.{meant} All of them: checkpoint-contracts list"


def _explanation(contract: Contract) -> list[str]:
    """Its paragraphs, with a heading where a new part begins."""
    paragraphs = contract.explanation.split("\n\n")
    told = [f"How it is judged\n\n{_indented(paragraphs[0])}"]
    for paragraph in paragraphs[1:]:
        heading = next(
            (text for start, text in _HEADINGS.items() if paragraph.startswith(start)), ""
        )
        told.append((heading and f"{heading}\n\n") + _indented(paragraph))
    return told


def _causes(contract: Contract) -> list[str]:
    causes = causes_told(contract.id)
    if not causes:
        return []
    items = "\n".join(wrapped(cause, first="    * ", rest="      ") for cause in causes)
    return [f"Likely causes that a report names\n\n{items}"]


def _needs(contract: Contract) -> str:
    needs = needs_of(contract)
    if not needs:
        return wrapped("Nothing: it applies to every job.", first="    ", rest="    ")
    return "\n".join(
        wrapped(f"{need}: {DECLARED_BY[need]}", first="    ", rest="      ") for need in needs
    )


def _faults(contract: Contract) -> str:
    faults = faults_of(contract)
    if not faults:
        text = "Nothing: the control run says it all, for which the job is resumed when it is done."
    else:
        text = f"--checkpoint-faults {','.join(faults)}"
    return wrapped(text, first="    ", rest="    ")


def _command(contract: Contract) -> str:
    return (
        f"    pytest --checkpoint-contracts -k {contract.id}\n"
        f"    or, of one subject: pytest --checkpoint-contracts SUBJECT::{contract.id}\n"
        "    (a failure names the command that replays it, with --checkpoint-replay)"
    )


def _indented(paragraph: str) -> str:
    return wrapped(" ".join(paragraph.split()), first="    ", rest="    ")
