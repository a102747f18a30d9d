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
    Reference,
)
from checkpoint_contracts.ids import (
    RESUME_EQUALS_UNINTERRUPTED,
    RESUME_KEEPS_WORK,
    RESUME_SKIPS_DONE,
    STATE_NEVER_CORRUPT,
)
from checkpoint_contracts.judgement import judge, judge_all, replays_needed
from checkpoint_contracts.keeps_work import wants_unresumed_check
from checkpoint_contracts.verdict import Failure, Finding, Outcome, Symptom, Verdict

__all__ = [
    "CATALOGUE",
    "RESUME_EQUALS_UNINTERRUPTED",
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
    "Outcome",
    "Reference",
    "Symptom",
    "Verdict",
    "dump",
    "judge",
    "judge_all",
    "load",
    "replays_needed",
    "wants_unresumed_check",
]
