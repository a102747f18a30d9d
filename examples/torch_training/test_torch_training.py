"""A training loop on torch: its safetensors keep their promises, torch.save in place does not."""

import importlib.util
import sys
from pathlib import Path

import pytest

from pytest_checkpoint.api import CommandSubject, checkpoint_subject

MISSING = [name for name in ("torch", "safetensors") if importlib.util.find_spec(name) is None]
if MISSING:
    pytest.skip(f"not installed: {', '.join(MISSING)}", allow_module_level=True)

JOB = [sys.executable, str(Path(__file__).with_name("job.py"))]


@checkpoint_subject
def torch_training() -> CommandSubject:
    return CommandSubject(
        run=[*JOB, "train", "safetensors", "{workspace}"],
        check=[*JOB, "check", "safetensors", "{workspace}"],
        outputs=["training.safetensors"],
    )


@checkpoint_subject
def torch_save_in_place() -> CommandSubject:
    return CommandSubject(
        run=[*JOB, "train", "in-place", "{workspace}"],
        check=[*JOB, "check", "in-place", "{workspace}"],
        outputs=["training.pt"],
        expected_failures={
            "resume-equals-uninterrupted": "killed within torch.save, the job finds half a file",
            "state-never-corrupt": "a write cut short leaves half a file as the only copy",
            "done-survives-power-loss": "torch.save syncs nothing",
            "no-partial-under-final-name": "the file is emptied and filled under its final name",
            "no-space-is-survived": "the only copy is emptied before the new one fits",
            "io-error-is-not-success": "a write that fails leaves half a file as the only copy",
        },
    )
