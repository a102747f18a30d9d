"""A digest of everything in a model's directory that decides what its hidden states are."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from checkpoint_runtime.extract.errors import ExtractInputError

_PIECE_BYTES = 4 << 20
_THREADS = 8
_DIGEST_BYTES = 20

_TEXTS = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
)
"""The tokenizer's too: the same weights over other tokens give other states."""


def model_digest(directory: Path) -> str:
    """40 hex digits over configuration, tokenizer and weights. It reads all of them.

    :raises ExtractInputError: something is missing, or cannot be read.
    """
    if not directory.is_dir():
        what = "is not a directory" if directory.exists() else "does not exist"
        raise ExtractInputError(
            f"{directory}: the model {what}: give a local directory that transformers can load; "
            "nothing is downloaded"
        )
    if not (directory / "config.json").is_file():
        raise ExtractInputError(f"{directory}: there is no model in it: config.json is missing")
    if (directory / "adapter_config.json").exists():
        raise ExtractInputError(
            f"{directory}: this is an adapter, which needs another model: merge the two and give "
            "the directory of the result"
        )
    files = [path for name in _TEXTS if (path := directory / name).is_file()]
    files += _weights(directory)
    try:
        with ThreadPoolExecutor(_THREADS) as pool:
            found = list(pool.map(_file_digest, files))
    except OSError as error:
        raise ExtractInputError(f"{directory}: the model cannot be read: {error}") from error
    whole = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for path, digest in zip(files, found, strict=True):
        whole.update(path.name.encode() + b"\0" + digest)
    return whole.hexdigest()


def _weights(directory: Path) -> list[Path]:
    """Those that transformers loads: a directory often holds them in an older form as well."""
    for ending in ("safetensors", "bin"):
        found = sorted(directory.glob(f"*.{ending}"))
        if found:
            return found + sorted(directory.glob(f"*.{ending}.index.json"))
    raise ExtractInputError(f"{directory}: there are no weights in it (*.safetensors, or *.bin)")


def _file_digest(path: Path) -> bytes:
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            digest.update(piece)
    return digest.digest()
