"""The promises that a resumable job should keep, and how each is judged.

>>> from checkpoint_contracts import CATALOGUE
>>> CATALOGUE["resume-keeps-work"].promise
'a killed job goes on; it does not start over'
"""

from checkpoint_contracts.archive import ArchiveError, dump, load
from checkpoint_contracts.catalogue import CATALOGUE
from checkpoint_contracts.contract import Contract
from checkpoint_contracts.evidence import (
    Coverage,
    CrashPoint,
    Evidence,
    Execution,
    Experiment,
    Fault,
    Finished,
    PartialOutput,
    Reference,
)
from checkpoint_contracts.finished_job import wants_second_look
from checkpoint_contracts.ids import (
    DONE_SURVIVES_POWER_LOSS,
    NO_PARTIAL_UNDER_FINAL_NAME,
    RESUME_EQUALS_UNINTERRUPTED,
    RESUME_IS_IDEMPOTENT,
    RESUME_KEEPS_WORK,
    RESUME_SKIPS_DONE,
    STATE_NEVER_CORRUPT,
)
from checkpoint_contracts.judgement import judge, judge_all, replays_needed
from checkpoint_contracts.unresumed import (
    ACKNOWLEDGES_EXIT,
    after_exit,
    wants_unresumed_check,
)
from checkpoint_contracts.verdict import Failure, Finding, Outcome, Symptom, Verdict

__all__ = [
    "ACKNOWLEDGES_EXIT",
    "CATALOGUE",
    "DONE_SURVIVES_POWER_LOSS",
    "NO_PARTIAL_UNDER_FINAL_NAME",
    "RESUME_EQUALS_UNINTERRUPTED",
    "RESUME_IS_IDEMPOTENT",
    "RESUME_KEEPS_WORK",
    "RESUME_SKIPS_DONE",
    "STATE_NEVER_CORRUPT",
    "ArchiveError",
    "Contract",
    "Coverage",
    "CrashPoint",
    "Evidence",
    "Execution",
    "Experiment",
    "Failure",
    "Fault",
    "Finding",
    "Finished",
    "Outcome",
    "PartialOutput",
    "Reference",
    "Symptom",
    "Verdict",
    "after_exit",
    "dump",
    "judge",
    "judge_all",
    "load",
    "replays_needed",
    "wants_second_look",
    "wants_unresumed_check",
]
