"""Hidden states of a real model, all-MiniLM-L6-v2, extracted into a bucket.

python job.py run MODEL DIR      extracts what is not stored yet
python job.py check DIR          prints a digest of the stored states of all samples
python job.py reconcile DIR      makes the markers fit the bucket
"""

import hashlib
import json
import os
import runpy
import sys
from pathlib import Path

# Two runs must be alike, to the bit; and what runs here is too short to be shared out.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import boto3

# Whoever starts this for every crash can have these loaded before: it takes seconds.
import transformers.models.bert.modeling_bert  # pyright: ignore[reportMissingImports]
import transformers.models.bert.tokenization_bert  # pyright: ignore[reportMissingImports]  # noqa: F401

from checkpoint_runtime.command.main import main

NEIGHBOUR = Path(__file__).parent.with_name("extractor") / "job.py"

BUCKET, PREFIX = "hidden-states", "minilm"
DESTINATION = f"s3://{BUCKET}/{PREFIX}"
SENTENCES = "sentences.jsonl"


def run(model: str, workspace: str) -> int:
    return main(
        [
            "extract",
            f"--model={model}",
            f"--dataset={workspace}/{SENTENCES}",
            "--layers=0,1",
            "--dtype=bf16",
            "--batch-tokens=3600",
            f"--destination={DESTINATION}",
            f"--staging={workspace}/staging",
            f"--state={workspace}/state",
            # Both are in the workspace, which is what is crashed.
            "--markers-anywhere",
            # What others hold of a full disk is given back by nobody here.
            "--staging-deadline=0",
            "--upload-deadline=3",
            "--heartbeat=0",
            # One step after the other, so that every run makes the same calls in the same order.
            "--uploads=0",
        ]
    )


def reconcile(workspace: str) -> int:
    return main(
        [
            "reconcile",
            "--apply",
            f"--destination={DESTINATION}",
            f"--markers={workspace}/state/markers",
        ]
    )


def check(workspace: str) -> None:
    """Every sample is stored once; a digest of all states, by sample."""
    # As the neighbour reads a file of hidden states: without the runtime.
    read = runpy.run_path(str(NEIGHBOUR))["digests"]
    client = boto3.client("s3")
    found: dict[str, str] = {}
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=PREFIX):
        for listed in page.get("Contents", ()):
            if not listed["Key"].endswith(".safetensors"):
                continue
            content = client.get_object(Bucket=BUCKET, Key=listed["Key"])["Body"].read()
            for name, digest in read(content):
                if name in found:
                    sys.exit(f"the sample {name} is stored twice")
                found[name] = digest
    lines = Path(workspace, SENTENCES).read_text(encoding="utf-8").splitlines()
    missing = [name for name in (json.loads(line)["id"] for line in lines) if name not in found]
    if missing:
        sys.exit(f"{len(missing)} samples are not stored: {', '.join(missing[:5])} …")
    states = json.dumps(sorted(found.items())).encode()
    print(json.dumps({"samples": len(found), "states": hashlib.sha256(states).hexdigest()}))


if __name__ == "__main__":
    if sys.argv[1] == "run":
        sys.exit(run(sys.argv[2], sys.argv[3]))
    if sys.argv[1] == "reconcile":
        sys.exit(reconcile(sys.argv[2]))
    check(sys.argv[2])
