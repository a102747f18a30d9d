"""A model, loaded from a local directory, and looked at before anything is extracted."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checkpoint_runtime.extract.data.identity import Identity
from checkpoint_runtime.extract.errors import ExtractInputError
from checkpoint_runtime.extract.libraries import required
from checkpoint_runtime.extract.model.device import Device, device_of
from checkpoint_runtime.extract.model.digest import model_digest
from checkpoint_runtime.extract.model.dtypes import StoredType, stored_type
from checkpoint_runtime.extract.model.padding import needs_mask
from checkpoint_runtime.extract.model.points import find_points
from checkpoint_runtime.extract.model.taps import Point, Taps

_PROBE_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Model:
    """A model, ready to be extracted from."""

    module: Any
    """A ``torch.nn.Module``, in the type of elements that its weights have."""
    device: Device
    points: Mapping[int, Point]
    """Where its wanted layers are."""
    hidden: int
    """Elements of a hidden state."""
    masked: bool
    """Whether what fills up a shorter sample must be masked."""
    pad: int
    """The token that does."""
    max_tokens: int | None
    """That a sample may have; None: as many as there are."""
    stored: StoredType
    identity: Identity

    @property
    def digest(self) -> str:
        """Of configuration, tokenizer and weights: 40 hex digits."""
        return self.identity.model

    @property
    def layers(self) -> tuple[int, ...]:
        return self.identity.layers


def parse_layers(text: str) -> tuple[int, ...]:
    """``2,8,14``: each once, in order.

    :raises ExtractInputError: it is no such list.
    """
    if not re.fullmatch(r"[0-9]{1,5}(,[0-9]{1,5})*", text):
        raise ExtractInputError(
            f"--layers {text}: numbers with commas between them are expected, as in 2,8,14; "
            "0 is the embeddings"
        )
    found = [int(number) for number in text.split(",")]
    twice = sorted({number for number in found if found.count(number) > 1})
    if twice:
        raise ExtractInputError(f"--layers {text}: {twice[0]} is there more than once")
    return tuple(sorted(found))


def load_model(
    directory: Path, *, layers: tuple[int, ...], dtype: str, device: str | Device = "auto"
) -> Model:
    """
    :param layers: in ascending order, each once; see :func:`parse_layers`.
    :param dtype: of the stored states: ``bf16``, ``fp16``, ``fp32`` or ``fp8``.
    :param device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
    :raises ExtractInputError: there is no such model, layer, type or device here; or a library is
        not installed.
    """
    stored = stored_type(dtype)
    digest = model_digest(directory)
    torch = required("torch", "an extraction")
    there = device_of(device) if isinstance(device, str) else device
    module = _loaded(directory)
    try:
        module = module.to(there.place).eval()
        found, hidden, masked, pad = _looked_at(torch, directory, module, layers, there)
    except torch.OutOfMemoryError as error:
        raise ExtractInputError(
            f"{directory}: the model does not fit into the memory of {there.place}: {error!s:.200}"
        ) from error
    # A model of pictures, say, takes no tokens, and says so in its own way.
    except (RuntimeError, TypeError, ValueError, LookupError, AttributeError) as error:
        raise ExtractInputError(
            f"{directory}: {type(module).__name__} cannot be run on a few tokens to see where its "
            f"layers are: {type(error).__name__}: {error!s:.300}"
        ) from error
    return Model(
        module=module,
        device=there,
        points=found,
        hidden=hidden,
        masked=masked,
        pad=pad,
        max_tokens=_max_tokens(torch, module),
        stored=stored,
        identity=Identity(digest, layers, stored.name),
    )


def _loaded(directory: Path) -> Any:
    transformers = required("transformers", "a model")
    try:
        config = transformers.AutoConfig.from_pretrained(
            str(directory), local_files_only=True, trust_remote_code=False
        )
        if getattr(config, "is_encoder_decoder", False):
            raise ExtractInputError(
                f"{directory}: {config.model_type} is an encoder and a decoder, which have "
                "hidden states of two kinds: give a model that is one of them"
            )
        with _quiet(transformers):
            module, report = transformers.AutoModel.from_pretrained(
                str(directory),
                config=config,
                dtype="auto",
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
    except ExtractInputError:
        raise
    # A damaged file raises what the library that reads it likes: OSError, ValueError,
    # SafetensorError, a RuntimeError of torch, a KeyError.
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise ExtractInputError(
            f"{directory}: transformers cannot load this model: {type(error).__name__}: "
            f"{first:.300}"
        ) from error
    _check_whole(directory, report)
    # Nothing is generated: what attention keeps for the next token would only take memory.
    module.config.get_text_config().use_cache = False
    module.config.use_cache = False
    return module.requires_grad_(False)


@contextlib.contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """transformers draws a bar for the weights, and warns of what only stands behind the layers,
    into whatever log this program writes. What counts is checked, and said, here.
    """
    logging = transformers.utils.logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    if bars:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _check_whole(directory: Path, report: Mapping[str, Any]) -> None:
    """transformers fills in random numbers for weights that are not there."""
    # A pooler stands behind all layers; models saved without one are common.
    missing = sorted(name for name in report["missing_keys"] if "pooler" not in name)
    wrong = missing or sorted(map(str, report.get("mismatched_keys") or ()))
    if wrong:
        what = "are missing from" if missing else "have another shape in"
        raise ExtractInputError(
            f"{directory}: weights of the model {what} its files: {wrong[0]}"
            + (f" and {len(wrong) - 1} more" if wrong[1:] else "")
            + ". Hidden states of such a model would be random"
        )


def _looked_at(
    torch: Any, directory: Path, module: Any, layers: tuple[int, ...], device: Device
) -> tuple[dict[int, Point], int, bool, int]:
    text = module.config.get_text_config()
    limit = _max_tokens(torch, module) or _PROBE_TOKENS
    pad = getattr(text, "pad_token_id", None)
    pad = 0 if pad is None else int(pad)
    # Any tokens do, as long as none of them is the one that stands for nothing.
    usable = [token for token in range(int(text.vocab_size)) if token != pad] or [pad]
    step = max(1, len(usable) // _PROBE_TOKENS)
    probe = (usable[::step] * _PROBE_TOKENS)[: min(_PROBE_TOKENS, limit)]
    tokens = device.there(torch.tensor([probe], dtype=torch.int64))
    points, hidden = find_points(directory, module, layers, tokens)
    with Taps(module, points) as taps:
        masked = needs_mask(directory, taps, tokens, (pad, probe[-1]))
    return points, hidden, masked, pad


def _max_tokens(torch: Any, module: Any) -> int | None:
    limit = getattr(module.config.get_text_config(), "max_position_embeddings", None)
    found = [limit] if isinstance(limit, int) and limit > 0 else []
    for name, part in module.named_modules():
        # Where positions are counted from behind the number of the padding, as in RoBERTa.
        if (
            isinstance(part, torch.nn.Embedding)
            and name.endswith("position_embeddings")
            and part.padding_idx is not None
        ):
            found.append(part.num_embeddings - part.padding_idx - 1)
    return min(found, default=None)
