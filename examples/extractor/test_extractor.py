"""The runtime's extractor with a tiny model: what is marked is stored, whatever happens."""

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
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
MAKER = HERE / "tiny_model.py"


def model() -> Path:
    """A tiny model, made once: to load torch for it takes longer than all the rest."""
    digest = hashlib.sha256(MAKER.read_bytes()).hexdigest()[:16]
    path = Path(tempfile.gettempdir(), f"checkpoint-extractor-{os.getuid()}-{digest}")
    if not path.is_dir():
        aside = tempfile.mkdtemp(dir=path.parent)
        subprocess.run([sys.executable, MAKER, aside], check=True, capture_output=True)
        try:
            os.rename(aside, path)
        except OSError:  # another session was quicker
            if not path.is_dir():
                raise
    return path


@checkpoint_subject
def extractor() -> CommandSubject:
    return CommandSubject(
        run=[*JOB, "run", str(model()), "{workspace}"],
        check=[*JOB, "check", "{workspace}"],
        s3=Bucket(
            "hidden-states",
            prefix="tiny",
            markers="state/markers/*.done",
            reconcile=[*JOB, "reconcile", "{workspace}"],
        ),
        ephemeral=["state/logs/*", "staging/*/*", "_probe/*"],
        capabilities=["preemption", "cleans-up", "exclusive"],
    )
