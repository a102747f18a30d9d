"""Ten thousand ways to spoil a state log: each is refused, or what is left of it is true."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime import Context, Pipeline, StageFailedError, StateError
from tests.runtime.support import files_in

MUTATIONS = 10_000
SEED = 20_261_129
Mutation = Callable[[random.Random, bytes, bytes], bytes]


def job(name: str, ran: list[str] | None = None, broken: str = "") -> Pipeline:
    pipeline = Pipeline(name)

    def add(stage: str, value: Any, **given: Any) -> None:
        def work(context: Context, *item: Any) -> Any:
            if ran is not None:
                ran.append(stage)
            if stage == broken:
                raise RuntimeError("broken")
            return [value, *item]

        if "items" in given:
            pipeline.map(work, given["items"], name=stage)
        else:
            pipeline.stage(name=stage, **given)(work)

    add("one", {"frames": 42})
    add("two", "zwei ä", version="2")
    add("each", 1.5, items=["a", "b", "c"])
    add("four", None, after=["one", "two"])
    return pipeline


RESULT = {
    "one": [{"frames": 42}],
    "two": ["zwei ä"],
    "each": [[1.5, "a"], [1.5, "b"], [1.5, "c"]],
    "four": [None],
}


def flip(chance: random.Random, data: bytes, other: bytes) -> bytes:
    spoilt = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 8])):
        spoilt[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(spoilt)


def delete(chance: random.Random, data: bytes, other: bytes) -> bytes:
    begin = chance.randrange(len(data))
    return data[:begin] + data[begin + chance.choice([1, 2, 9, 100]) :]


def insert(chance: random.Random, data: bytes, other: bytes) -> bytes:
    begin = chance.randrange(len(data) + 1)
    return (
        data[:begin]
        + chance.choice([b"\0", b"\n", b"x", b"{}", chance.randbytes(20)])
        + data[begin:]
    )


def truncate(chance: random.Random, data: bytes, other: bytes) -> bytes:
    return data[: chance.randrange(len(data))]


def zero(chance: random.Random, data: bytes, other: bytes) -> bytes:
    begin = chance.randrange(len(data))
    end = min(len(data), begin + chance.choice([1, 16, 512, 4096]))
    return data[:begin] + bytes(end - begin) + data[end:]


def double(chance: random.Random, data: bytes, other: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    number = chance.randrange(len(lines))
    return b"".join([*lines[:number], lines[number], *lines[number:]])


def swap(chance: random.Random, data: bytes, other: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    one, two = chance.sample(range(len(lines)), 2)
    lines[one], lines[two] = lines[two], lines[one]
    return b"".join(lines)


def drop(chance: random.Random, data: bytes, other: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    del lines[chance.randrange(len(lines))]
    return b"".join(lines)


def splice(chance: random.Random, data: bytes, other: bytes) -> bytes:
    lines, foreign = data.splitlines(keepends=True), other.splitlines(keepends=True)
    begin = chance.randrange(len(lines))
    end = chance.randrange(begin, len(lines) + 1)
    place = chance.randrange(len(foreign))
    return b"".join([*lines[:begin], *foreign[place : place + 1 + end - begin], *lines[end:]])


def twice(chance: random.Random, data: bytes, other: bytes) -> bytes:
    return flip(chance, chance.choice(ALL[:-1])(chance, data, other) or b"x", other)


ALL: list[Mutation] = [flip, delete, insert, truncate, zero, double, swap, drop, splice, twice]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """A log with a record of each kind, and that of another pipeline."""
    found = []
    for name in ("film", "song"):
        workspace = tmp_path_factory.mktemp(name)
        with pytest.raises(StageFailedError):
            job(name, broken="four").run(workspace, parameters={"x": 1})
        job(name).resume(workspace, rerun_from="two")
        found.append((workspace / "state.log").read_bytes())
    first, second = found
    return first, second


def true_prefix(values: dict[str, Any]) -> bool:
    return all(RESULT[stage] == value for stage, value in values.items())


def test_no_spoilt_log_gives_a_wrong_value_a_traceback_or_loses_anything(
    tmp_path: Path, logs: tuple[bytes, bytes]
) -> None:
    data, other = logs
    path = tmp_path / "state.log"
    pipeline = job("film")
    path.write_bytes(data)
    assert dict(pipeline.results(tmp_path)) == RESULT
    chance = random.Random(SEED)
    outcomes: Counter[str] = Counter()
    refusals: list[str] = []
    for number in range(MUTATIONS):
        mutation = ALL[number % len(ALL)]
        spoilt = mutation(chance, data, other)
        path.unlink()  # a file system may flush one that is emptied and filled again
        path.write_bytes(spoilt)
        where = f"mutation {number} ({mutation.__name__}) with seed {SEED}"
        try:
            values = dict(pipeline.results(tmp_path))
        except StateError as error:
            refusals.append(str(error))
            outcomes["refused"] += 1
        else:
            assert true_prefix(values), where
            outcomes["as it was" if values == RESULT else "less of it"] += 1
        assert path.read_bytes() == spoilt, where
    assert all(refusal.startswith(f"{path}, line ") for refusal in refusals)
    # Each way out is taken, and mutations are not mostly harmless.
    assert outcomes["refused"] > MUTATIONS / 2
    assert outcomes["less of it"] > MUTATIONS / 20


@pytest.mark.usefixtures("no_syncs")
def test_a_run_on_a_spoilt_log_is_refused_and_changes_nothing_or_ends_right(
    tmp_path: Path, logs: tuple[bytes, bytes]
) -> None:
    data, other = logs
    path = tmp_path / "state.log"
    chance = random.Random(SEED)
    outcomes: Counter[str] = Counter()
    for number in range(400):
        mutation = ALL[number % len(ALL)]
        for file in tmp_path.iterdir():
            file.unlink()
        path.write_bytes(mutation(chance, data, other))
        before = {**files_in(tmp_path), "lock": b""}
        where = f"mutation {number} ({mutation.__name__}) with seed {SEED}"
        try:
            results = dict(job("film").resume(tmp_path, parameters={"x": 1}))
        except StateError:
            assert files_in(tmp_path) == before, where
            outcomes["refused"] += 1
        else:
            assert results == RESULT, where
            outcomes["ended right"] += 1
    assert min(outcomes["refused"], outcomes["ended right"]) > 20
