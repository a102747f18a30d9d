"""A promise that only whoever reads the output at night cares for."""

from __future__ import annotations

import re

from checkpoint_contracts import Broken, Experiment, ExperimentContract, Reference


def judge(experiment: Experiment, reference: Reference) -> Broken | None:
    """What was done may stand on the disk a moment before it is told, hence one more is fine."""
    done = sum(line.startswith("done ") for line in experiment.events_before)
    if not done or not experiment.resume.succeeded:
        return None  # a fresh start has nothing to say; a failure is another contract's
    said = re.search(r"^going on after (\d+)", experiment.resume.output, re.MULTILINE)
    if said is not None and int(said[1]) in (done, done + 1):
        return None
    return Broken(
        what=f"the resume does not say that it goes on after {done}",
        expected=f"going on after {done}",
        seen=experiment.resume.output,
        likely_cause="What is printed is not what was read. Count what the ledger holds.",
    )


resume_says_where = ExperimentContract(
    id="resume-says-where",
    promise="a resume says after how many sums it goes on",
    judge=judge,
    needs=frozenset({"stages"}),
)
