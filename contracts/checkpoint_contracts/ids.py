"""The ids of the contracts: in reports, markers, exclusions and replays. They never change."""

from __future__ import annotations

from typing import Final

RESUME_EQUALS_UNINTERRUPTED: Final = "resume-equals-uninterrupted"
STATE_NEVER_CORRUPT: Final = "state-never-corrupt"
RESUME_SKIPS_DONE: Final = "resume-skips-done"
RESUME_KEEPS_WORK: Final = "resume-keeps-work"
DONE_SURVIVES_POWER_LOSS: Final = "done-survives-power-loss"
NO_PARTIAL_UNDER_FINAL_NAME: Final = "no-partial-under-final-name"
RESUME_IS_IDEMPOTENT: Final = "resume-is-idempotent"
FAILED_STAGE_IS_RETRIED: Final = "failed-stage-is-retried"
POISON_FAILS_FAST: Final = "poison-fails-fast"
CHANGED_PIPELINE_IS_NOTICED: Final = "changed-pipeline-is-noticed"
OUTPUTS_CROSS_RESUME: Final = "outputs-cross-resume"
RE_ENTRY_IS_SAFE: Final = "re-entry-is-safe"
HANDOFF_TELLS_NEXT: Final = "handoff-tells-next"
NO_SPACE_IS_SURVIVED: Final = "no-space-is-survived"
IO_ERROR_IS_NOT_SUCCESS: Final = "io-error-is-not-success"
PREEMPTION_IS_CLEAN: Final = "preemption-is-clean"
LEAVES_NO_LITTER: Final = "leaves-no-litter"
CRASH_DURING_RECOVERY: Final = "crash-during-recovery"
BAD_STATE_IS_REFUSED: Final = "bad-state-is-refused"
