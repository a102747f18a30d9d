"""A tokenizer that lies beside a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("transformers", reason="needs transformers: extra extractor")

from checkpoint_runtime.extract.data.tokens import Tokenizer
from checkpoint_runtime.extract.errors import ExtractInputError
from checkpoint_runtime.extract.parts import Sample


def test_tokens(tiny_model: Callable[..., Path]) -> None:
    tokenizer = Tokenizer(tiny_model(), max_tokens=None)
    assert tokenizer.max_tokens == 128
    assert tokenizer.encode([]) == []
    short, long = tokenizer.encode([Sample("a", "é"), Sample("b", "x" * 127)])
    assert (len(short), len(long)) == (3, 128)
    assert short[0] == 1


def test_too_long(tiny_model: Callable[..., Path]) -> None:
    samples = [Sample("a", "x"), Sample("b", "x" * 20)]
    with pytest.raises(ExtractInputError, match="'b' has 21 tokens, and the model takes at most 9"):
        Tokenizer(tiny_model(), max_tokens=9).encode(samples)
    cutting = Tokenizer(tiny_model(), max_tokens=9, on_long="truncate")
    assert [len(tokens) for tokens in cutting.encode(samples)] == [2, 9]


def test_no_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(ExtractInputError, match="no tokenizer can be loaded from there"):
        Tokenizer(tmp_path, max_tokens=None)
