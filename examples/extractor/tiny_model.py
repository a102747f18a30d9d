"""Writes a tiny model with random weights, as transformers loads it: nothing is downloaded.

    python tiny_model.py DIRECTORY [--kind llama|gpt2|bert] [--seed N]

Its hidden states mean nothing, but they are computed as those of a large model are.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

LAYERS = 4
HIDDEN = 32
HEADS = 4
MAX_TOKENS = 128
SPECIAL = ("<pad>", "<s>", "</s>")


def write_tiny_model(
    directory: Path,
    kind: str = "llama",
    seed: int = 0,
    *,
    layers: int = LAYERS,
    hidden: int = HIDDEN,
    dtype: str = "float32",
) -> Path:
    """The same seed gives the same bytes. A token is a byte, and each text begins with ``<s>``.

    :param kind: ``llama`` and ``gpt2`` look back only, ``bert`` both ways.
    :param dtype: of its weights, as torch calls it.
    """
    import torch  # pyright: ignore[reportMissingImports]
    import transformers  # pyright: ignore[reportMissingImports]

    tokenizer = _tokenizer()
    config = _config(transformers, kind, layers, hidden, len(tokenizer))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = transformers.AutoModel.from_config(config)
        # Larger than a fresh model's, so that every layer changes what goes through it.
        with torch.no_grad():
            for weight in model.parameters():
                if weight.dim() > 1:
                    weight.normal_(0.0, 0.2)
    model.to(getattr(torch, dtype)).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


def kept_model() -> Path:
    """The model of this file, made once for all: to load torch takes longer than the rest."""
    digest = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
    path = Path(tempfile.gettempdir(), f"checkpoint-extractor-{os.getuid()}-{digest}")
    if not path.is_dir():
        aside = tempfile.mkdtemp(dir=path.parent)
        subprocess.run([sys.executable, __file__, aside], check=True, capture_output=True)
        try:
            os.rename(aside, path)
        except OSError:  # another session was quicker
            if not path.is_dir():
                raise
    return path


def _config(transformers: Any, kind: str, layers: int, hidden: int, vocabulary: int) -> Any:
    tokens = {"vocab_size": vocabulary, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    if kind == "gpt2":
        return transformers.GPT2Config(
            n_layer=layers, n_embd=hidden, n_head=HEADS, n_positions=MAX_TOKENS, **tokens
        )
    sizes = {
        "hidden_size": hidden,
        "intermediate_size": 2 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": HEADS,
        "max_position_embeddings": MAX_TOKENS,
    }
    if kind == "bert":
        return transformers.BertConfig(**sizes, **tokens)
    return transformers.LlamaConfig(num_key_value_heads=HEADS // 2, **sizes, **tokens)


def _tokenizer() -> Any:
    from tokenizers import (  # pyright: ignore[reportMissingImports]
        Tokenizer,
        decoders,
        models,
        pre_tokenizers,
        processors,
    )
    from transformers import PreTrainedTokenizerFast  # pyright: ignore[reportMissingImports]

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate([*SPECIAL, *letters])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        model_max_length=MAX_TOKENS,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a tiny model with random weights.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--kind", choices=("llama", "gpt2", "bert"), default="llama")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(write_tiny_model(given.directory, given.kind, given.seed))


if __name__ == "__main__":
    main()
