"""The promises that a resumable job should keep, and how each is judged.

>>> from checkpoint_contracts import CATALOGUE
>>> CATALOGUE["resume-keeps-work"].promise
'a killed job goes on; it does not start over'
"""

from checkpoint_contracts.archive import ArchiveError, dump, load
from checkpoint_contracts.catalogue import CATALOGUE
from checkpoint_contracts.contract import Contract
from checkpoint_contracts.evidence import (
    CRASHES,
    Coverage,
    CrashPoint,
    Evidence,
    Execution,
    Experiment,
    Fault,
    Finished,
    Handoff,
    OtherRun,
    OutputChange,
    PartialOutput,
    Reference,
    Trial,
    TrialKind,
    Variant,
)
from checkpoint_contracts.finished_job import wants_second_look
from checkpoint_contracts.ids import (
    CHANGED_PIPELINE_IS_NOTICED,
    DONE_SURVIVES_POWER_LOSS,
    FAILED_STAGE_IS_RETRIED,
    HANDOFF_TELLS_NEXT,
    NO_PARTIAL_UNDER_FINAL_NAME,
    OUTPUTS_CROSS_RESUME,
    POISON_FAILS_FAST,
    RE_ENTRY_IS_SAFE,
    RESUME_EQUALS_UNINTERRUPTED,
    RESUME_IS_IDEMPOTENT,
    RESUME_KEEPS_WORK,
    RESUME_SKIPS_DONE,
    STATE_NEVER_CORRUPT,
)
from checkpoint_contracts.judgement import judge, judge_all, replays_needed, trials_wanted
from checkpoint_contracts.re_entry import wants_outputs
from checkpoint_contracts.unresumed import (
    ACKNOWLEDGES_EXIT,
    after_exit,
    wants_handoff,
    wants_unresumed_check,
)
from checkpoint_contracts.verdict import Failure, Finding, Outcome, Symptom, Verdict

__all__ = [
    "ACKNOWLEDGES_EXIT",
    "CATALOGUE",
    "CHANGED_PIPELINE_IS_NOTICED",
    "CRASHES",
    "DONE_SURVIVES_POWER_LOSS",
    "FAILED_STAGE_IS_RETRIED",
    "HANDOFF_TELLS_NEXT",
    "NO_PARTIAL_UNDER_FINAL_NAME",
    "OUTPUTS_CROSS_RESUME",
    "POISON_FAILS_FAST",
    "RESUME_EQUALS_UNINTERRUPTED",
    "RESUME_IS_IDEMPOTENT",
    "RESUME_KEEPS_WORK",
    "RESUME_SKIPS_DONE",
    "RE_ENTRY_IS_SAFE",
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
    "Handoff",
    "OtherRun",
    "Outcome",
    "OutputChange",
    "PartialOutput",
    "Reference",
    "Symptom",
    "Trial",
    "TrialKind",
    "Variant",
    "Verdict",
    "after_exit",
    "dump",
    "judge",
    "judge_all",
    "load",
    "replays_needed",
    "trials_wanted",
    "wants_handoff",
    "wants_outputs",
    "wants_second_look",
    "wants_unresumed_check",
]
