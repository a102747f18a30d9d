"""Tiny models, and the way of a few texts through them."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from checkpoint_runtime.extract.data.dataset import Dataset
from checkpoint_runtime.extract.data.plan import Plan
from checkpoint_runtime.extract.data.shards import Shard
from checkpoint_runtime.extract.data.tokens import Tokenizer
from checkpoint_runtime.extract.model.extractor import Extractor
from checkpoint_runtime.extract.model.loading import Model, load_model
from checkpoint_runtime.extract.parts import Batch

WRITER = Path(__file__).parents[4] / "examples" / "extractor" / "tiny_model.py"


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """Such models are too small to share out, and on a busy machine threads wait for threads."""
    if importlib.util.find_spec("torch") is not None:
        import torch  # pyright: ignore[reportMissingImports]

        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The directory of one, by kind: ``llama``, ``gpt2`` or ``bert``."""
    spec = importlib.util.spec_from_file_location("tiny_model", WRITER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: dict[tuple[str, int], Path] = {}

    def directory(kind: str = "llama", seed: int = 0) -> Path:
        if (kind, seed) not in made:
            folder = tmp_path_factory.mktemp(f"{kind}-{seed}")
            made[kind, seed] = module.write_tiny_model(folder, kind, seed)
        return made[kind, seed]

    return directory


@pytest.fixture
def batches(tmp_path: Path) -> Callable[..., list[Batch]]:
    """Those of a few samples of many lengths."""

    def batches(directory: Path, model: Model, count: int = 30, tokens: int = 300) -> list[Batch]:
        random = Random(1)
        path = tmp_path / f"{count}.jsonl"
        with path.open("w") as file:
            for number in range(count):
                text = "ab cé"[: random.randint(1, 5)] * random.randint(1, 15)
                file.write(json.dumps({"id": f"s{number}", "text": f".{text}"}) + "\n")
        plan = Plan.made(
            Dataset(path),
            Tokenizer(directory, max_tokens=model.max_tokens),
            batch_tokens=tokens,
            identity=model.identity,
        )
        return list(plan.remaining(Shard(0, 1), {}))

    return batches


@pytest.fixture
def loaded(tiny_model: Callable[..., Path]) -> Callable[..., Model]:
    def loaded(
        kind: str = "llama", layers: tuple[int, ...] = (0, 2, 4), dtype: str = "fp32"
    ) -> Model:
        return load_model(tiny_model(kind), layers=layers, dtype=dtype, device="cpu")

    return loaded


@pytest.fixture
def extractor() -> Iterator[Callable[..., Extractor]]:
    """One that is closed at the end."""
    opened: list[Extractor] = []

    def extractor(model: Model, batch_tokens: int = 300, **given: Any) -> Extractor:
        opened.append(Extractor(model, batch_tokens=batch_tokens, **given))
        return opened[-1].__enter__()

    yield extractor
    for one in opened:
        one.__exit__(None, None, None)
