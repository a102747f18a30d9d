"""Which part of the work is this worker's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from checkpoint_runtime.extract.errors import ExtractInputError

_FORM = re.compile(r"(auto|[0-9]{1,9})(?:/([0-9]{1,9}))?")

_LAUNCHERS = {
    "torchrun": "RANK",
    "a Slurm job array": "SLURM_ARRAY_TASK_ID",
    "a Kubernetes indexed job": "JOB_COMPLETION_INDEX",
}


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several equal parts of the work. It holds no state: any worker can be any shard."""

    index: int
    """From 0."""
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def takes(self, number: int) -> bool:
        """Whether the thing with this number is a part of it."""
        return number % self.count == self.index

    @classmethod
    def parse(cls, text: str, environment: Mapping[str, str]) -> Shard:
        """
        :param text: ``I/N``, I from 0; ``auto``: as the launcher says; ``auto/N``: the launcher
            says I alone.
        :raises ExtractInputError: it is none of them, or the launcher does not say so.
        """
        form = _FORM.fullmatch(text)
        if form is None or (form[1] != "auto" and form[2] is None):
            raise ExtractInputError(
                f"--shard {text}: I/N is expected, with I from 0, or auto, or auto/N"
            )
        count = None if form[2] is None else int(form[2])
        if form[1] == "auto":
            return _from_launcher(text, count, environment)
        return _checked(f"--shard {text}", int(form[1]), count or 0)


def _from_launcher(text: str, count: int | None, environment: Mapping[str, str]) -> Shard:
    present = {who: name for who, name in _LAUNCHERS.items() if environment.get(name)}
    if not present:
        names = ", ".join(f"{name} ({who})" for who, name in _LAUNCHERS.items())
        raise ExtractInputError(
            f"--shard {text}: the environment does not say which shard this is: none of {names} "
            "is set. Give --shard I/N"
        )
    if len(present) > 1:
        # Each of them alone would let several workers do the same part, and nobody another.
        names = " and ".join(f"{name}={environment[name]}" for name in present.values())
        raise ExtractInputError(
            f"--shard {text}: the environment says it more than once: {names}. Give --shard I/N"
        )
    name = next(iter(present.values()))
    if name == "RANK":
        return _torchrun(count, environment)
    if name == "SLURM_ARRAY_TASK_ID":
        return _slurm(count, environment)
    return _kubernetes(text, count, environment)


def _torchrun(count: int | None, environment: Mapping[str, str]) -> Shard:
    index = _number("RANK", environment)
    if count is None:
        count = _number("WORLD_SIZE", environment, "RANK is set, but")
    return _checked(f"RANK={index} of {count}", index, count)


def _slurm(count: int | None, environment: Mapping[str, str]) -> Shard:
    """The numbers of an array need not begin at 0, nor follow each other."""
    task = _number("SLURM_ARRAY_TASK_ID", environment)
    first = _number("SLURM_ARRAY_TASK_MIN", environment, default=0)
    step = _number("SLURM_ARRAY_TASK_STEP", environment, default=1)
    told = _number("SLURM_ARRAY_TASK_COUNT", environment, "SLURM_ARRAY_TASK_ID is set, but")
    count = told if count is None else count
    step = max(step, 1)
    last = _number("SLURM_ARRAY_TASK_MAX", environment, default=first + (count - 1) * step)
    place, beyond = divmod(task - first, step)
    said = f"SLURM_ARRAY_TASK_ID={task} of {count} from {first} to {last} in steps of {step}"
    # An array of listed numbers (1,3,7) does not tell which place a task has among them.
    if beyond or place < 0 or (last - first) // step + 1 != count:
        raise ExtractInputError(f"{said}: these numbers do not fit together. Give --shard I/N")
    return _checked(said, place, count)


def _kubernetes(text: str, count: int | None, environment: Mapping[str, str]) -> Shard:
    index = _number("JOB_COMPLETION_INDEX", environment)
    if count is None:
        count = _number(
            "JOB_COMPLETIONS",
            environment,
            f"--shard {text}: Kubernetes says which shard this is (JOB_COMPLETION_INDEX={index}), "
            "but not of how many. Give --shard auto/N, or set JOB_COMPLETIONS to the job's "
            ".spec.completions: now",
        )
    return _checked(f"JOB_COMPLETION_INDEX={index} of {count}", index, count)


def _number(
    name: str,
    environment: Mapping[str, str],
    missing: str = "",
    default: int | None = None,
) -> int:
    text = environment.get(name, "")
    if not text and default is not None:
        return default
    if not text:
        raise ExtractInputError(f"{missing} {name} is not set".strip())
    if not re.fullmatch("[0-9]{1,9}", text):
        raise ExtractInputError(f"{name}={text}: a whole number is expected. Give --shard I/N")
    return int(text)


def _checked(said: str, index: int, count: int) -> Shard:
    if count < 1:
        raise ExtractInputError(f"{said}: there is at least one shard")
    if index >= count:
        raise ExtractInputError(
            f"{said}: there is no such shard: of {count} they are 0 to {count - 1}"
        )
    return Shard(index, count)
