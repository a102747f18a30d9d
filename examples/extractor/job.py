"""Hidden states of a tiny model, extracted into a bucket: `checkpoint-runtime extract`.

python job.py run MODEL DIR      extracts what is not stored yet
python job.py check DIR          prints a digest of the stored states of each sample
python job.py reconcile DIR      makes the markers fit the bucket
"""

import hashlib
import json
import os
import re
import struct
import sys
from pathlib import Path
from urllib.request import urlopen

os.environ["TOKENIZERS_PARALLELISM"] = "false"

from checkpoint_runtime.command.main import main

if sys.argv[1:2] == ["run"]:
    # All that is slow to load, before anything is touched: it is no work that a crash could lose.
    import boto3
    import torch  # pyright: ignore[reportMissingImports]
    from transformers import (  # pyright: ignore[reportMissingImports]
        AutoModel,
        AutoTokenizer,
        LlamaModel,
        PreTrainedTokenizerFast,
    )

    _ = (boto3, AutoModel, AutoTokenizer, LlamaModel, PreTrainedTokenizerFast)
    # Small as the model is, threads would cost more than they save; and no two runs would be
    # alike. By a call: who starts this for every crash may have loaded torch before.
    torch.set_num_threads(1)

SENTENCES = Path(__file__).with_name("sentences.jsonl")
BUCKET, PREFIX = "hidden-states", "tiny"
DESTINATION = f"s3://{BUCKET}/{PREFIX}"


def run(model: str, workspace: str) -> int:
    return main(
        [
            "extract",
            f"--model={model}",
            f"--dataset={SENTENCES}",
            "--layers=0,1",
            "--dtype=fp32",
            "--batch-tokens=150",
            # One of several workers, if whoever starts it says so.
            f"--shard={'auto' if os.environ.get('RANK') else '0/1'}",
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


def check() -> None:
    found: dict[str, list[str]] = {}
    listing = asked(f"{BUCKET}?list-type=2&prefix={PREFIX}/").decode()
    for key in re.findall("<Key>([^<]*[.]safetensors)</Key>", listing):
        for name, digest in digests(asked(f"{BUCKET}/{key}")):
            found.setdefault(name, []).append(digest)
    wanted = [json.loads(line)["id"] for line in SENTENCES.read_text().splitlines()]
    missing = [name for name in wanted if name not in found]
    if missing:
        sys.exit(f"not stored: {', '.join(missing)}")
    print(json.dumps(found, sort_keys=True))


def asked(path: str) -> bytes:
    """Of a store on this machine: a client of boto3's would take longer than all the rest."""
    with urlopen(f"{os.environ['AWS_ENDPOINT_URL']}/{path}") as answer:
        return bytes(answer.read())


def digests(content: bytes) -> list[tuple[str, str]]:
    """Of each sample in a file: its states in all layers."""
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    metadata = header.pop("__metadata__")
    data = content[8 + size :]
    names, lengths = json.loads(metadata["ids"]), json.loads(metadata["lengths"])
    found = []
    place = 0
    for name, length in zip(names, lengths, strict=True):
        digest = hashlib.sha256()
        for layer in sorted(header):
            begin, end = header[layer]["data_offsets"]
            row = (end - begin) // header[layer]["shape"][0]
            digest.update(layer.encode())
            digest.update(data[begin + place * row : begin + (place + length) * row])
        found.append((name, digest.hexdigest()))
        place += length
    return found


if __name__ == "__main__":
    if sys.argv[1] == "run":
        sys.exit(run(sys.argv[2], sys.argv[3]))
    if sys.argv[1] == "reconcile":
        sys.exit(reconcile(sys.argv[2]))
    check()
