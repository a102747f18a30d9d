"""``leaves-no-litter``: what killed attempts leave behind does not pile up.

A trial is :data:`KILLS` kills in a row at one operation. After each it is counted how many names
lie in the workspace that a finished job does not have. If that number grows with each kill, the
promise is broken, whatever the finished job removes in the end: until then the disk fills up.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from checkpoint_contracts.evidence import Evidence, Reference, Trial, TrialKind
from checkpoint_contracts.ids import LEAVES_NO_LITTER
from checkpoint_contracts.tried import Seen, TrialContract, finding
from checkpoint_contracts.verdict import Symptom
from checkpoint_contracts.wording import counted, listed_lines

CLEANS_UP: Final = "cleans-up"
"""The capability: the job removes what its killed attempts have left."""
KILLS: Final = 5

_PILES_UP: Final = (
    "Every attempt makes a temporary name of its own (mkstemp, a process id, a time), and the one "
    "of a killed attempt is never removed. Use one name that is written over, or let the start of "
    "the job remove what attempts before it left, by a pattern that is the job's own."
)


def grows(leftovers: tuple[int, ...]) -> bool:
    """Whether there were more after each kill than after the one before.

    >>> grows((1, 2, 3, 4, 5)), grows((1, 1, 1, 1, 1)), grows((1, 2, 3, 3, 4))
    (True, False, False)
    """
    return all(one < other for one, other in pairwise(leftovers))


def _look(trial: Trial, evidence: Evidence, reference: Reference) -> Seen:
    counts = trial.leftovers
    if len(counts) < KILLS:
        return f"{trial.point.operation}: it was killed {len(counts)} times, not {KILLS}"
    if not grows(counts):
        return ()
    seen = f"after the kills: {', '.join(map(str, counts))}"
    if trial.litter:
        seen += f"\nand when it was finished after all:\n{listed_lines(trial.litter)}"
    elif trial.check is not None:
        seen += ", and none when it was finished after all"
    return (
        finding(
            LEAVES_NO_LITTER,
            trial,
            Symptom.LITTER_GROWS,
            f"{counted(counts[-1], 'leftover name')}, and more with each kill",
            expected="a number of leftover names that does not grow with each kill",
            seen=seen,
            cause=_PILES_UP,
        ),
    )


leaves_no_litter: Final = TrialContract(
    id=LEAVES_NO_LITTER,
    promise="what killed attempts leave behind does not grow with their number",
    explanation="""\
A job that is preempted every night leaves something behind every night. The run is killed after one
of its operations, the resume after the same operation (the first that is like it; else where most
names lie that it has to remove), and so on, five kills in a row. After each kill the names in the
workspace are counted that a finished job does not have: digits and random parts of names do not
count, nor what the ephemeral globs match, nor TMPDIR, which is not the job's to clean. If the
number grows with each of the five, the contract is broken, even if the finished job removes them
all in the end. That is done at up to twelve operations, first those after which such names lie
there in the undisturbed run; at all of them with --checkpoint-exhaustive. Without the capability
cleans-up the contract is not applicable, and the count at one operation is told in a note.

It is broken by a temporary file whose name is new at each attempt and that nobody removes.

Keep it: use one temporary name that is written over, or let the start of the job remove what
earlier attempts left, by a pattern that matches nothing else.""",
    kinds=(TrialKind.CRASH_LOOP,),
    needs=frozenset({CLEANS_UP}),
    look=_look,
)
