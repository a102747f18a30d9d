"""The extractor next door, held to what takes longer: signals everywhere, two at a time, shards."""

import importlib.util
import runpy
import sys
from pathlib import Path

import pytest

from pytest_checkpoint.api import Bucket, CommandSubject, checkpoint_subject

NEEDED = ("torch", "transformers", "safetensors", "awscrt", "boto3", "moto")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
if MISSING:
    pytest.skip(
        f"not installed: {', '.join(MISSING)} (the extras extractor, s3)", allow_module_level=True
    )

NEIGHBOUR = Path(__file__).parent.with_name("extractor")
JOB = [sys.executable, str(NEIGHBOUR / "job.py")]


@checkpoint_subject
def extractor_at_length() -> CommandSubject:
    model = runpy.run_path(str(NEIGHBOUR / "tiny_model.py"))["kept_model"]()
    return CommandSubject(
        run=[*JOB, "run", str(model), "{workspace}"],
        check=[*JOB, "check", "{workspace}"],
        s3=Bucket("hidden-states", prefix="tiny", markers="state/markers/*.done"),
        ephemeral=["state/logs/*", "staging/*/*", "_probe/*"],
        capabilities=["preemption", "cleans-up", "exclusive", "shards"],
    )
