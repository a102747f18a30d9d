"""Texts to tokens, with the tokenizer that lies beside the model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

from checkpoint_runtime.extract.errors import ExtractInputError
from checkpoint_runtime.extract.libraries import required
from checkpoint_runtime.extract.parts import Sample

OnLong = Literal["fail", "truncate"]

_NO_LIMIT = 10**6
"""transformers gives a huge number where a tokenizer has no limit."""


class Encoder(Protocol):
    """What makes tokens of samples. A test has its own."""

    def encode(self, samples: Sequence[Sample]) -> list[tuple[int, ...]]:
        """Of each sample, at least one token."""
        ...


class Tokenizer:
    """Of a Hugging Face model in a local directory, with the special tokens that it adds."""

    def __init__(
        self, directory: Path, *, max_tokens: int | None, on_long: OnLong = "fail"
    ) -> None:
        """
        :param max_tokens: that the model has positions for; None: the tokenizer alone says.
        :param on_long: what becomes of a sample that is longer.
        :raises ExtractInputError: there is no tokenizer in the directory that can be loaded.
        """
        self._directory = directory
        self._on_long = on_long
        transformers = required("transformers", "a tokenizer")
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(
                str(directory), local_files_only=True, trust_remote_code=False
            )
        # Whatever a broken file makes of the libraries that read it: tokenizers raises a bare
        # Exception, and each tokenizer class its own.
        except Exception as error:
            raise ExtractInputError(
                f"{directory}: no tokenizer can be loaded from there: {error!s:.300}"
            ) from error
        own = self._tokenizer.model_max_length
        limits = [limit for limit in (own, max_tokens) if limit is not None and limit < _NO_LIMIT]
        self.max_tokens: int | None = min(limits, default=None)

    def encode(self, samples: Sequence[Sample]) -> list[tuple[int, ...]]:
        """
        :raises ExtractInputError: a sample has no tokens, or more than the model can take.
        """
        if not samples:
            return []
        cut = self._on_long == "truncate" and self.max_tokens is not None
        found = self._tokenizer(
            [sample.text for sample in samples],
            truncation=cut,
            max_length=self.max_tokens if cut else None,
            padding=False,
            return_attention_mask=False,
            verbose=False,
        )["input_ids"]
        encoded = [tuple(tokens) for tokens in found]
        for sample, tokens in zip(samples, encoded, strict=True):
            self._check(sample, len(tokens))
        return encoded

    def _check(self, sample: Sample, length: int) -> None:
        if not length:
            raise ExtractInputError(
                f"the sample {sample.id!r} has a text, but the tokenizer in {self._directory} "
                "makes no token of it: take it out"
            )
        if self.max_tokens is not None and length > self.max_tokens:
            raise ExtractInputError(
                f"the sample {sample.id!r} has {length} tokens, and the model takes at most "
                f"{self.max_tokens}: shorten it, take it out, or cut all such samples with "
                "--on-long truncate"
            )
