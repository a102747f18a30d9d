"""``no-partial-under-final-name``: judged from the recording alone, for all states.

The kit derives which outputs stand there partial after, or within, which operation; nothing is run
for it, so nothing can be flaky, and no budget leaves anything out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from checkpoint_contracts.causes import WRITTEN_IN_PLACE
from checkpoint_contracts.evidence import Evidence, Fault, PartialOutput
from checkpoint_contracts.ids import NO_PARTIAL_UNDER_FINAL_NAME
from checkpoint_contracts.verdict import Finding, Symptom
from checkpoint_contracts.wording import counted, place

OUTPUTS: Final = "outputs"
"""The capability: the subject names its outputs, by globs."""


@dataclass(frozen=True, slots=True)
class NoPartialUnderFinalName:
    """The contract; it has no settings."""

    id: str = NO_PARTIAL_UNDER_FINAL_NAME
    promise: str = "a file that stands under its final name is whole"
    explanation: str = """\
An output is a file that matches the globs which the subject declares as outputs, and that is there
at the end of the undisturbed run. Whoever sees it under that name, a later job, a person, a copy
program, takes it for finished. So at every crash, after each operation and within each write, an
output must be absent, or as it was before the run, or final, or hold what came onto that name by a
rename or a link (or with a directory that did) and was not written since. This is derived from the
recording for every state, so that no budget and no resume has a part in it. A log that grows is no
output. Without declared outputs the contract is not applicable.

It is broken by an output that is opened under its final name and then filled, however fast, even if
the job itself would not believe it without a marker; and by one that is patched in place.

Keep it: write it under a temporary name in the same directory, flush and fsync it, then
os.replace() it onto the final name; fill a folder under a temporary name and rename the folder."""
    faults: frozenset[Fault] = frozenset({Fault.KILL, Fault.TORN})
    explores: bool = False
    needs: frozenset[str] = frozenset({OUTPUTS})

    def inapplicable(self, evidence: Evidence) -> str | None:
        if evidence.outputs:
            return None
        return (
            "no outputs are declared: name the files that must be whole whenever they stand under "
            "their final name (--checkpoint-outputs GLOB, outputs=[…])"
        )

    def findings(self, evidence: Evidence) -> tuple[Finding, ...]:
        return tuple(map(_finding, evidence.partial_outputs))

    def repeated(self, evidence: Evidence, finding: Finding) -> bool | None:
        return True

    def gaps(self, evidence: Evidence) -> tuple[str, ...]:
        return ()

    def too_little(self, evidence: Evidence) -> str | None:
        return None

    def notes(self, evidence: Evidence) -> tuple[str, ...]:
        return (f"{counted(len(evidence.outputs), 'output')} looked at in every state",)


def _finding(partial: PartialOutput) -> Finding:
    size = f"{partial.size_bytes} of {partial.final_size_bytes} bytes"
    if partial.size_bytes == partial.final_size_bytes:
        size = f"{size}, not the final ones"
    return Finding(
        contract=NO_PARTIAL_UNDER_FINAL_NAME,
        point=partial.point,
        symptom=Symptom.PARTIAL_OUTPUT,
        headline=(
            f"{place(partial.point)}: {partial.path} stands under its final name and is not whole "
            f"({size})"
        ),
        expected=(
            f"{partial.path} absent, as before the run, final ({partial.final_size_bytes} bytes), "
            "or as a rename or link brought it there"
        ),
        seen=f"{partial.path}, {size}: {partial.why}",
        likely_cause=WRITTEN_IN_PLACE,
    )


no_partial_under_final_name: Final = NoPartialUnderFinalName()
