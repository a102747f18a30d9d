"""What all rounds of a soak have in common: the model, the sentences, the store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.extracting.sinks import CREDENTIALS
from benchmarks.extracting.stores import BUCKET, Store
from checkpoint_runtime.extract.data.dataset import Dataset
from checkpoint_runtime.extract.data.plan import Plan
from checkpoint_runtime.extract.data.tokens import Tokenizer
from checkpoint_runtime.extract.model.loading import load_model


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What all rounds have in common."""

    store: Store
    disk: Path
    memory: Path
    model: Path
    dataset: Path
    layers: tuple[int, ...]
    dtype: str
    batch_tokens: int
    uploads: int
    ahead: int
    """Batches that may be extracted while the one before them is being staged."""

    def batches(self) -> int:
        """Of the whole dataset. Imports all that a worker needs, too."""
        model = load_model(self.model, layers=self.layers, dtype=self.dtype, device="cpu")
        tokenizer = Tokenizer(self.model, max_tokens=model.max_tokens)
        dataset = Dataset(self.dataset, id_field="id", text_field="text")
        self.store.client().list_buckets()
        return Plan.made(
            dataset, tokenizer, batch_tokens=self.batch_tokens, identity=model.identity
        ).batches

    def arguments(self, prefix: str, state: Path, staging: Path) -> list[str]:
        """Of ``checkpoint-runtime``, but for the shard."""
        return [
            "extract",
            f"--model={self.model}",
            f"--dataset={self.dataset}",
            f"--layers={','.join(map(str, self.layers))}",
            f"--dtype={self.dtype}",
            "--device=cpu",
            f"--batch-tokens={self.batch_tokens}",
            f"--destination=s3://{BUCKET}/{prefix}",
            f"--staging={staging}",
            f"--state={state}",
            f"--uploads={self.uploads}",
            f"--ahead={self.ahead}",
            # Where /dev/shm is no mount of its own.
            "--markers-anywhere",
        ]

    def environment(self) -> dict[str, str]:
        return CREDENTIALS | {"AWS_ENDPOINT_URL": self.store.url}
