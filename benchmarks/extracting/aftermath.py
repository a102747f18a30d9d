"""What must hold after a soak: each sample once and equal, markers true, nothing left."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.extracting.stores import BUCKET, Store
from benchmarks.extracting.workers import SoakError
from checkpoint_runtime.exclusion.lock import FILE_NAME as LOCK_NAME
from checkpoint_runtime.extract.crc import crc64nvme
from checkpoint_runtime.extract.file.reading import read_hidden_states
from checkpoint_runtime.extract.libraries import required
from checkpoint_runtime.extract.markers.record import SUFFIX, marker_in
from checkpoint_runtime.extract.staging.folder import PROGRESS_NAME
from checkpoint_runtime.extract.store.objects import PROBES_FOLDER

TOLERANCE: Final = {"bf16": 2**-7, "fp16": 2**-10, "fp32": 1e-4}
"""Relative to the value, and to the size of the layer's states."""
Reference = Mapping[str, Mapping[int, Any]]
"""Hidden states of each sample: by id and layer, [tokens, hidden]."""


@dataclass(frozen=True, slots=True)
class Aftermath:
    objects: int
    samples: int
    worst: float
    """The largest deviation, as a share of what the tolerance allows."""


def undisturbed(model: Path, dataset: Path, layers: tuple[int, ...], dtype: str) -> Reference:
    """One sample at a time, nothing padded, all by transformers itself."""
    torch = required("torch", "a reference")
    transformers = required("transformers", "a reference")
    names = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(model), local_files_only=True)
    module = transformers.AutoModel.from_pretrained(
        str(model), local_files_only=True, dtype="auto"
    ).eval()
    found: dict[str, dict[int, Any]] = {}
    with torch.inference_mode():
        for line in dataset.read_text().splitlines():
            sample = json.loads(line)
            tokens = torch.tensor([tokenizer(sample["text"])["input_ids"]])
            states = module(input_ids=tokens, output_hidden_states=True).hidden_states
            found[sample["id"]] = {layer: states[layer][0].to(names[dtype]) for layer in layers}
    return found


def require(
    store: Store, prefix: str, state: Path, staging: Path, reference: Reference, dtype: str
) -> Aftermath:
    """SoakError if something is not as an undisturbed extraction leaves it."""
    contents = _objects(store, prefix)
    _require_markers(state / "markers", contents)
    samples: dict[str, str] = {}
    worst = 0.0
    for key, content in contents.items():
        for name, layers in read_hidden_states(content).items():
            if name in samples:
                raise SoakError(f"the sample {name} is in {samples[name]} and in {key}")
            samples[name] = key
            worst = max(worst, _deviation(name, layers, reference, dtype))
    missing = sorted(reference.keys() - samples.keys())
    if missing:
        raise SoakError(f"{len(missing)} samples are not stored: {', '.join(missing[:5])} …")
    left = [
        str(path.relative_to(staging))
        for path in staging.rglob("*")
        if path.is_file() and path.name not in (LOCK_NAME, PROGRESS_NAME)
    ]
    if left:
        raise SoakError(f"left in the staging: {', '.join(left)}")
    return Aftermath(len(contents), len(samples), worst)


def _objects(store: Store, prefix: str) -> dict[str, bytes]:
    """Contents by key within the prefix; but for those by which a start tries the store."""
    client = store.client()
    contents: dict[str, bytes] = {}
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix):
        for entry in page.get("Contents", ()):
            key = str(entry["Key"]).removeprefix(f"{prefix}/")
            if not key.startswith(PROBES_FOLDER):
                contents[key] = client.get_object(Bucket=BUCKET, Key=entry["Key"])["Body"].read()
    uploads = client.list_multipart_uploads(Bucket=BUCKET, Prefix=prefix).get("Uploads") or []
    if uploads:
        raise SoakError(f"{len(uploads)} multipart uploads were left half done")
    return contents


def _require_markers(folder: Path, contents: Mapping[str, bytes]) -> None:
    found = {}
    for path in folder.glob(f"*{SUFFIX}"):
        marker = marker_in(path.read_bytes(), str(path))
        found[marker.whole.key] = marker.whole
    if found.keys() != contents.keys():
        lost = sorted(found.keys() - contents.keys())
        unmarked = sorted(contents.keys() - found.keys())
        raise SoakError(f"markers without an object: {lost}; objects without a marker: {unmarked}")
    for key, whole in found.items():
        if (whole.size, whole.crc64nvme) != (len(contents[key]), crc64nvme(contents[key])):
            raise SoakError(f"{key}: its marker tells of other bytes than the store holds")


def _deviation(name: str, layers: Mapping[int, Any], reference: Reference, dtype: str) -> float:
    if name not in reference or layers.keys() != reference[name].keys():
        raise SoakError(f"the sample {name} with layers {sorted(layers)} was never asked for")
    worst = 0.0
    for layer, states in layers.items():
        wanted = reference[name][layer]
        if states.shape != wanted.shape or states.dtype != wanted.dtype:
            raise SoakError(
                f"{name}, layer {layer}: {tuple(states.shape)} {states.dtype}, not "
                f"{tuple(wanted.shape)} {wanted.dtype}"
            )
        exact = wanted.double()
        size = exact.pow(2).mean().sqrt()
        allowed = TOLERANCE[dtype] * (exact.abs() + size)
        worst = max(worst, float(((states.double() - exact).abs() / allowed).max()))
        if not worst <= 1:  # a NaN is not
            raise SoakError(f"{name}, layer {layer}: differs by {worst:.1f} × what {dtype} allows")
    return worst
