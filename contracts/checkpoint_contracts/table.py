"""How what was seen becomes a verdict: the one table, for any subject.

============================================= ============================ ===================
seen                                          after a kill                 after a torn write
============================================= ============================ ===================
the resume exits ≠ 0 or dies by a signal      state-never-corrupt and      state-never-corrupt
                                              resume-equals-uninterrupted
the resume or the check passes its deadline   resume-equals-uninterrupted  state-never-corrupt
the check fails, or says something else       resume-equals-uninterrupted  state-never-corrupt
``start X`` although ``done X`` was           resume-skips-done            resume-skips-done
acknowledged
a stage never started, and a wrong result     resume-skips-done            resume-skips-done
============================================= ============================ ===================

After a second crash, in a resume, every row names crash-during-recovery.
After a power loss every row but the last names done-survives-power-loss. The last row is the other
way of not skipping just what was done: one too many. It is asked only together with a wrong end,
since a job may name its later stages by what is left to do; and that wrong end is what
done-survives-power-loss has found already.

A failure is attributed to the fault of its state, never to another.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from checkpoint_contracts.evidence import Experiment, Fault, Reference
from checkpoint_contracts.ids import (
    CRASH_DURING_RECOVERY,
    DONE_SURVIVES_POWER_LOSS,
    RESUME_EQUALS_UNINTERRUPTED,
    RESUME_SKIPS_DONE,
    STATE_NEVER_CORRUPT,
)
from checkpoint_contracts.stages import done_again, skipped, stage_names
from checkpoint_contracts.verdict import Symptom

_POWER_LOSS: Final = (DONE_SURVIVES_POWER_LOSS,)
_SECOND_CRASH: Final = (CRASH_DURING_RECOVERY,)

_WRONG_END: Final[Mapping[Fault, tuple[str, ...]]] = MappingProxyType(
    {
        Fault.KILL: (RESUME_EQUALS_UNINTERRUPTED,),
        Fault.TORN: (STATE_NEVER_CORRUPT,),
        Fault.POWER_LOSS: _POWER_LOSS,
        Fault.SECOND_CRASH: _SECOND_CRASH,
    }
)

_STAGES_ONLY: Final[Mapping[Fault, tuple[str, ...]]] = MappingProxyType(
    {
        Fault.KILL: (RESUME_SKIPS_DONE,),
        Fault.TORN: (RESUME_SKIPS_DONE,),
        Fault.SECOND_CRASH: _SECOND_CRASH,
    }
)

TABLE: Final[Mapping[Symptom, Mapping[Fault, tuple[str, ...]]]] = MappingProxyType(
    {
        Symptom.RESUME_FAILED: MappingProxyType(
            {
                Fault.KILL: (STATE_NEVER_CORRUPT, RESUME_EQUALS_UNINTERRUPTED),
                Fault.TORN: (STATE_NEVER_CORRUPT,),
                Fault.POWER_LOSS: _POWER_LOSS,
                Fault.SECOND_CRASH: _SECOND_CRASH,
            }
        ),
        Symptom.HANG: _WRONG_END,
        Symptom.CHECK_HANG: _WRONG_END,
        Symptom.CHECK_FAILED: _WRONG_END,
        Symptom.DIFFERENT_RESULT: _WRONG_END,
        Symptom.DONE_AGAIN: MappingProxyType({**_STAGES_ONLY, Fault.POWER_LOSS: _POWER_LOSS}),
        Symptom.SKIPPED: _STAGES_ONLY,
    }
)


def contracts_broken(symptom: Symptom, fault: Fault) -> tuple[str, ...]:
    """The ids of the contracts that this cell of the table names."""
    return TABLE.get(symptom, {}).get(fault, ())


def symptoms(experiment: Experiment, reference: Reference) -> tuple[Symptom, ...]:
    """The rows of the table that one experiment shows: at most one wrong end; stages gone wrong.

    An experiment that is not :func:`usable <gap>` shows nothing.
    """
    if gap(experiment) is not None:
        return ()
    seen: list[Symptom] = []
    end = _wrong_end(experiment, reference)
    if end is not None:
        seen.append(end)
    seen += (
        symptom
        for symptom in (Symptom.DONE_AGAIN, Symptom.SKIPPED)
        if (stages_concerned(experiment, reference, symptom))
    )
    return tuple(seen)


def stages_concerned(
    experiment: Experiment, reference: Reference, symptom: Symptom
) -> tuple[str, ...]:
    """The stages of which a symptom speaks; empty if it was not seen."""
    stages = stage_names(reference.events)
    before, after = experiment.events_before, experiment.events_after
    if symptom is Symptom.DONE_AGAIN:
        return done_again(stages, before, after)
    wrong = _wrong_end(experiment, reference)
    if symptom is Symptom.SKIPPED and wrong in (Symptom.CHECK_FAILED, Symptom.DIFFERENT_RESULT):
        return skipped(stages, before, after)
    return ()


def gap(experiment: Experiment) -> str | None:
    """Why nothing may be concluded from an experiment, or None if something may."""
    for execution in (experiment.resume, experiment.check):
        if execution is not None and not execution.usable:
            return execution.refusal or execution.problem
    if experiment.resume.succeeded and experiment.check is None:
        return f"the check was not run after the resume from {experiment.point.id}"
    return None


def ends_well(experiment: Experiment, reference: Reference) -> bool:
    """Whether the resume, and the check after it, ended with the reference result."""
    return gap(experiment) is None and _wrong_end(experiment, reference) is None


def _wrong_end(experiment: Experiment, reference: Reference) -> Symptom | None:
    resume, check = experiment.resume, experiment.check
    if resume.timed_out:
        return Symptom.HANG
    if not resume.succeeded or check is None:
        return Symptom.RESUME_FAILED
    if check.timed_out:
        return Symptom.CHECK_HANG
    if not check.succeeded:
        return Symptom.CHECK_FAILED
    if check.output != reference.check.output:
        return Symptom.DIFFERENT_RESULT
    return None
