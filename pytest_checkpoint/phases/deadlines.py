"""How long a resume or a check may take before it is taken to hang."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pytest_checkpoint.options import Options

_LEAST_DEADLINE_S: Final = 10.0
_DEADLINE_FACTOR: Final = 5.0
_LEAST_HANG_S: Final = 60.0
_HANG_FACTOR: Final = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """In seconds."""

    resume_s: float
    check_s: float

    @classmethod
    def of(cls, options: Options, *, resume_took_s: float, check_took_s: float) -> Deadlines:
        def deadline(took_s: float) -> float:
            if options.deadline_s is not None:
                return options.deadline_s
            return max(_LEAST_DEADLINE_S, _DEADLINE_FACTOR * took_s)

        return cls(resume_s=deadline(resume_took_s), check_s=deadline(check_took_s))

    def for_a_hang(self) -> Deadlines:
        """What the replay of a hang gets."""

        def longer(deadline_s: float) -> float:
            return max(_LEAST_HANG_S, _HANG_FACTOR * deadline_s)

        return Deadlines(resume_s=longer(self.resume_s), check_s=longer(self.check_s))
