"""A model with random weights on a GPU, and what its extraction does there."""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.extracting.corpus import Subject, tiny_model, write_sentences
from benchmarks.extracting.loops import synchronize
from benchmarks.extracting.traces import Copies, copies_in
from checkpoint_runtime.extract.libraries import required
from checkpoint_runtime.extract.model.extractor import Extractor
from checkpoint_runtime.extract.model.loading import Model
from checkpoint_runtime.extract.parts import Batch
from checkpoint_runtime.extract.staging.usage import usage_of

LONGEST: Final = 1024
_WAIT_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Size:
    """Of a model like Llama."""

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    taken: tuple[int, ...]
    """Layers whose states are extracted."""
    batch_tokens: int
    samples: int


SIZES: Final = {
    "1b": Size(16, 2048, 8192, 32, 8, (2, 8, 14), 16384, 3000),
    "3b": Size(28, 3072, 8192, 24, 8, (2, 14, 26), 16384, 3000),
    "dry": Size(4, 64, 128, 4, 2, (1, 2, 3), 512, 24),
}


def written_model(folder: Path, size: Size, device: str) -> Path:
    """On disk, as transformers loads it: in bf16, with a tokenizer whose tokens are bytes."""
    torch = required("torch", "a benchmark")
    transformers = required("transformers", "a benchmark")
    tiny_model(folder)  # for its tokenizer
    (folder / "model.safetensors").unlink()
    settings = folder / "tokenizer_config.json"
    settings.write_text(
        json.dumps(json.loads(settings.read_text()) | {"model_max_length": LONGEST})
    )
    config = transformers.LlamaConfig(
        vocab_size=32000,
        hidden_size=size.hidden,
        intermediate_size=size.intermediate,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.kv_heads,
        max_position_embeddings=LONGEST,
        dtype=torch.bfloat16,
    )
    torch.manual_seed(0)
    with torch.device(device):
        model = transformers.AutoModel.from_config(config, dtype=torch.bfloat16)
    # In several files: their digests are made side by side.
    model.save_pretrained(folder, max_shard_size="500MB")
    return folder


def subject(folder: Path, name: str, device: str) -> tuple[Subject, Path, int]:
    """The model, the dataset, and the weights' number."""
    size = SIZES[name]
    model = written_model(folder / "model", size, device)
    words = 4 if name == "dry" else 24
    dataset = write_sentences(
        folder / "sentences.jsonl", size.samples, 1, words=words, longest=LONGEST - 2
    )
    weights = sum(path.stat().st_size for path in model.glob("*.safetensors")) // 2
    return Subject(name, model, size.taken), dataset, weights


def roomy(wanted_bytes: int) -> str | None:
    """A tmpfs with so much room; None: the usual place for temporary files."""
    memory = Path("/dev/shm")
    if memory.is_dir() and usage_of(memory).free_bytes > wanted_bytes:
        return str(memory)
    return None


def extracted_to_memory(model: Model, batches: Sequence[Batch], batch_tokens: int) -> Extractor:
    """Every batch as a whole file in host memory with its checksum, which another thread makes."""
    with (
        Extractor(model, batch_tokens=batch_tokens) as extractor,
        ThreadPoolExecutor(1) as stager,
    ):
        futures = [
            stager.submit(_finish, extractor.extract(batch, wait_s=_WAIT_S)) for batch in batches
        ]
        for future in futures:
            future.result()
    return extractor


def _finish(payload: Any) -> None:
    try:
        if payload.not_finite or not payload.crc64nvme:
            raise RuntimeError("hidden states of random weights are finite")
    finally:
        payload.release()


def profiled(act: Callable[[], object]) -> Copies:
    """What it copies from the device. No copies where there is none."""
    torch = required("torch", "a benchmark")
    kinds = torch.profiler.ProfilerActivity
    activities = [kinds.CPU]
    if torch.cuda.is_available():
        activities.append(kinds.CUDA)
    with torch.profiler.profile(activities=activities) as profiler:
        act()
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        profiler.export_chrome_trace(os.fspath(trace))
        return copies_in(trace)


def memcpy_gb_per_s(model: Model, size_bytes: int, times: int = 10) -> float:
    """The plainest copy of so many bytes into pinned memory, the median."""
    source = model.device.memory(size_bytes)
    target = model.device.host_memory(size_bytes)
    took_s = []
    for _ in range(times + 1):
        synchronize(model)
        begun_s = time.perf_counter()
        target.copy_(source, non_blocking=True)
        synchronize(model)
        took_s.append(time.perf_counter() - begun_s)
    return size_bytes / statistics.median(took_s[1:]) / 1e9
