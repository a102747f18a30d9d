"""The three contracts that every crash state judges by the table."""

from __future__ import annotations

from typing import Final

from checkpoint_contracts.evidence import Evidence, Fault
from checkpoint_contracts.ids import (
    RESUME_EQUALS_UNINTERRUPTED,
    RESUME_SKIPS_DONE,
    STATE_NEVER_CORRUPT,
)
from checkpoint_contracts.stages import stage_names
from checkpoint_contracts.tabled import TabledContract

STAGES: Final = "stages"

resume_equals_uninterrupted: Final = TabledContract(
    id=RESUME_EQUALS_UNINTERRUPTED,
    promise=(
        "after any kill, resume ends with the result of the undisturbed run, with no hand cleaning"
    ),
    explanation="""\
A job is killed before its first operation, after each one, and after the last. From every state
that such a kill leaves, the job is resumed once and checked. The resume must end by its deadline
with exit 0, and the check must exit 0 and say exactly what it says after the undisturbed run.

It is broken by a status that is saved before the output it speaks of, by a value that lived only in
memory and is missing after the resume ("done", with nothing to show), by the lock of a dead process
that the resume waits for, and by anything that has to be deleted by hand before the job goes on.

Keep it: save the output first, then the status, each by a temporary file, fsync and os.replace();
let the resume load what finished steps returned; take over the locks of dead processes.""",
    faults=frozenset({Fault.KILL}),
)

state_never_corrupt: Final = TabledContract(
    id=STATE_NEVER_CORRUPT,
    promise="a kill or torn write leaves the old state or the new one, readable",
    explanation="""\
Whatever was being written when the job died, the resume must find either the state from before or
the state from after, and be able to read it. After a kill it is broken if the resume fails. After a
torn write, the last write cut short, it is broken if the resume fails, if the resume or the check
does not end, or if the check fails or says something else than after the undisturbed run: a state
that reads without an error and is wrong (step=10 of step=101) is corrupt too.

It is broken by JSON, pickle or torch.save() written in place, and by a half-written last line that
is taken for a whole one.

Keep it: write a temporary file in the same directory, fsync it, os.replace() it onto the final
name. In a log that grows, give records a checksum or a length, and drop a last record that is not
whole.""",
    faults=frozenset({Fault.KILL, Fault.TORN}),
)


def no_stage(evidence: Evidence) -> str | None:
    """Why nothing can be said of stages, or None if the undisturbed run had some."""
    reference = evidence.reference
    if reference is None or stage_names(reference.events):
        return None
    return (
        "no stages were seen: the undisturbed run wrote no name with both a start and a done line "
        "to $CHECKPOINT_EVENTS"
    )


resume_skips_done: Final = TabledContract(
    id=RESUME_SKIPS_DONE,
    promise="a stage that was done before the crash does not run again on resume",
    explanation="""\
A stage is a name for which the undisturbed run wrote both a `start` and a `done` line to
$CHECKPOINT_EVENTS. `done NAME` is an acknowledgement: what it names must survive every later crash.
The contract is broken if the resume writes `start NAME` although `done NAME` stood there before
the crash, be it after a kill or after a torn write. It is also broken if a stage that had not been
started before the crash is never started at all and the result is wrong: one too many was skipped.
Without stages it is not applicable.

It is broken by a job that starts over, by one that saves its states only when the whole run ends,
by one that says done before the progress is on disk, and by one that counts one too far.

Keep it: save the progress after every stage, before its done line, and read it at the start.""",
    faults=frozenset({Fault.KILL, Fault.TORN}),
    needs=frozenset({STAGES}),
    inapplicable_because=no_stage,
)
