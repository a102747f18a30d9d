"""The runtime's extractor with a tiny model and a bucket: what is marked is stored, in any crash.

What asks for a run more for every operation, or for two at a time, is judged next door, in
``extractor_at_length``: a start that loads torch and transformers takes seconds.
"""

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

HERE = Path(__file__).parent
JOB = [sys.executable, str(HERE / "job.py")]


@checkpoint_subject
def extractor() -> CommandSubject:
    model = runpy.run_path(str(HERE / "tiny_model.py"))["kept_model"]()
    return CommandSubject(
        run=[*JOB, "run", str(model), "{workspace}"],
        check=[*JOB, "check", "{workspace}"],
        s3=Bucket(
            "hidden-states",
            prefix="tiny",
            markers="state/markers/*.done",
            reconcile=[*JOB, "reconcile", "{workspace}"],
        ),
        ephemeral=["state/logs/*", "staging/*/*", "_probe/*"],
        # Each start loads a model: these states cover every operation, and all trials are made.
        time_budget_s=600,
        max_states=350,
    )
