"""``checkpoint-runtime extract`` as a whole with a tiny model, and what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from checkpoint_runtime.command.extract_options import extract_wishes
from checkpoint_runtime.command.main import main
from checkpoint_runtime.command.parser import parsed
from checkpoint_runtime.extract.run import Wishes

MAKER = Path(__file__).parents[3] / "examples" / "extractor" / "tiny_model.py"


def arguments(folder: Path, *more: str) -> list[str]:
    """Of a worker in this folder; what stands last counts."""
    (folder / "d.jsonl").write_text(
        "".join(f'{{"id": "t{n}", "text": "{"so " * (n % 4)}it ends"}}\n' for n in range(12))
    )
    given = {
        "model": folder / "model",
        "dataset": folder / "d.jsonl",
        "layers": "0,2",
        "dtype": "fp32",
        "batch-tokens": 60,
        "destination": f"file://{folder}/objects",
        "staging": folder / "staging",
        "state": folder / "state",
        "heartbeat": 0,
    }
    return ["extract", *(f"--{name}={value}" for name, value in given.items()), *more]


def wishes(folder: Path, *more: str) -> Wishes:
    return extract_wishes(parsed(arguments(folder, *more)))


def test_options_become_wishes(tmp_path: Path) -> None:
    found = wishes(
        tmp_path, "--shard=1/4", "--staging-budget=1.5G", "--staging-high=90", "--on-nan=keep"
    )
    assert found.worker == "shard-1-of-4"
    assert (found.layers, found.dtype, found.heartbeat_s) == ((0, 2), "fp32", None)
    assert found.marks.budget_bytes == 3 << 29
    assert (found.marks.high, found.marks.low) == (0.9, 0.6)
    assert found.manner.keeps_not_finite
    assert (found.ahead, wishes(tmp_path, "--ahead=0").ahead) == (None, 0)
    assert found.store.read_timeout_s == 60.0
    assert wishes(tmp_path, "--upload-deadline=3").store.read_timeout_s == 1.0


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("--shard=4/4", "there is no such shard"),
        ("--layers=2,x", "numbers with commas"),
        ("--uploads=-1", "--uploads -1 is no number of threads from 0 to 256."),
        ("--ahead=-1", "--ahead -1 is no number of batches from 0 to 16."),
        ("--staging-budget=much", "--staging-budget 'much' is no size: 512M, say, or 2G."),
        ("--staging-high=50", "--staging-low 60 and --staging-high 50 are no marks"),
        ("--staging-deadline=-1", "--staging-deadline -1 is no time"),
        ("--upload-deadline=0", "--upload-deadline 0 is no time"),
        ("--grace=-1", "a grace of -1.0 s is none"),
        ("--heartbeat=-1", "an interval of -1.0 s between beats is none"),
        ("--markers-in-bucket", "--markers-in-bucket is for s3://"),
    ],
)
def test_options_that_are_none_are_told(
    tmp_path: Path, option: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(tmp_path, option)) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "state").exists()


def test_the_help_loads_nothing_heavy() -> None:
    program = (
        "import sys, contextlib\n"
        "from checkpoint_runtime.command.parser import parsed\n"
        "with contextlib.suppress(SystemExit): parsed(['extract', '--help'])\n"
        "heavy = {'torch', 'transformers', 'boto3', 'awscrt', 'rich'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "--staging-deadline SECONDS" in done.stdout


def test_a_missing_extra_is_told_before_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(arguments(tmp_path, "--markers-anywhere")) == 2
    assert "pip install 'checkpoint-contracts[extractor]'" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["d.jsonl"]


def test_state_on_the_file_system_of_the_staging_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(tmp_path)) == 2
    assert "on the same file system as the staging" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["d.jsonl"]


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("--dataset=/nowhere.jsonl", "/nowhere.jsonl: the dataset does not exist"),
        ("--destination=ftp://a/b", "is not s3://bucket/prefix or file:///directory"),
    ],
)
def test_what_is_not_there_is_told_before_anything(
    tmp_path: Path, option: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(tmp_path, option)) == 2
    assert sentence in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["d.jsonl"]


# --- with torch: in processes, since what it leaves in one is no other test's business ---


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    missing = [name for name in ("torch", "transformers", "awscrt") if find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (the extra extractor; tox -e extractor)")
    folder = tmp_path_factory.mktemp("model") / "tiny"
    subprocess.run([sys.executable, MAKER, folder], check=True, capture_output=True, timeout=120)
    return folder


MAIN = "import sys; from checkpoint_runtime.command.main import main; sys.exit(main())"


def extract(folder: Path, model: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = arguments(folder, f"--model={model}", "--markers-anywhere", *more)
    return subprocess.run(
        [sys.executable, "-c", MAIN, *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
    )


def test_two_shards_then_nothing_is_left_for_three(tmp_path: Path, model: Path) -> None:
    for shard in ("0/2", "1/2"):
        done = extract(tmp_path, model, f"--shard={shard}", "--heartbeat=5")
        assert done.returncode == 0, done.stderr
        assert "1.00 copies per batch" in done.stderr
    ids: list[str] = []
    for path in (tmp_path / "state" / "markers").glob("*.done"):
        ids += json.loads(path.read_text())["ids"]
    assert sorted(ids) == sorted(f"t{number}" for number in range(12))
    logs = sorted((tmp_path / "state" / "logs").iterdir())
    assert [path.name for path in logs] == ["shard-0-of-2.log", "shard-1-of-2.log"]
    beat = json.loads((tmp_path / "state" / "heartbeats" / "shard-1-of-2.json").read_text())
    progress = json.loads((tmp_path / "staging" / "shard-0-of-2" / "progress.json").read_text())
    assert (beat["state"], beat["done"]) == ("finished", beat["total"])
    assert (progress["copies_per_batch"], progress["samples"]) == (1.0, 12 - beat["done"])
    before = sorted((tmp_path / "objects").iterdir())
    again = extract(tmp_path, model, "--shard=2/3")
    assert (again.returncode, "nothing is to be done" in again.stderr) == (0, True)
    changed = tmp_path / "changed.jsonl"
    changed.write_text((tmp_path / "d.jsonl").read_text().replace('"so it ends"', '"so he ends"'))
    refused = extract(tmp_path, model, f"--dataset={changed}")
    assert (refused.returncode, "have other tokens now: 't1', 't5', 't9'." in refused.stderr) == (
        3,
        True,
    ), refused.stderr
    accepted = extract(tmp_path, model, f"--dataset={changed}", "--accept-changed")
    assert accepted.returncode == 0, accepted.stderr
    assert "3 samples that are stored have other tokens now: what is stored is kept" in (
        accepted.stderr
    )
    assert "nothing is to be done" in accepted.stderr
    assert sorted((tmp_path / "objects").iterdir()) == before
