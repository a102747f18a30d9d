"""The plan is the same in every run, and each sample is done once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest

from checkpoint_runtime.extract.data.dataset import Dataset
from checkpoint_runtime.extract.data.digests import digests_of, outline_of
from checkpoint_runtime.extract.data.identity import Identity
from checkpoint_runtime.extract.data.packing import WINDOW, packed
from checkpoint_runtime.extract.data.plan import Plan
from checkpoint_runtime.extract.data.shards import Shard
from checkpoint_runtime.extract.errors import ChangedDatasetError, ExtractInputError
from checkpoint_runtime.extract.parts import Batch, Sample

IDENTITY = Identity("a" * 40, (2, 8), "bf16")
ALONE = Shard(0, 1)


class Letters:
    """A token a letter."""

    def encode(self, samples: Sequence[Sample]) -> list[tuple[int, ...]]:
        return [tuple(map(ord, sample.text)) for sample in samples]


@dataclass(frozen=True)
class Marker:
    key: str
    ids: tuple[str, ...]
    digests: tuple[str, ...]


def write(path: Path, count: int, *, seed: int = 1) -> Path:
    random = Random(seed)
    lines = ({"id": f"s{n}", "text": "x" * random.randint(1, 20)} for n in range(count))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def planned(path: Path, *, batch_tokens: int = 100, identity: Identity = IDENTITY) -> Plan:
    return Plan.made(Dataset(path), Letters(), batch_tokens=batch_tokens, identity=identity)


def done(*batches: Batch) -> dict[str, Marker]:
    return {batch.key: Marker(batch.key, batch.ids, digests_of(batch)) for batch in batches}


def ids_of(batches: Sequence[Batch]) -> list[str]:
    return sorted(name for batch in batches for name in batch.ids)


def test_packing() -> None:
    lengths = {"b": 3, "a": 3, "long": 11, "c": 4, "d": 1}
    assert list(packed(lengths, 7)) == [("long",), ("c", "a"), ("b", "d")]
    assert list(packed({}, 7)) == []


def test_a_plan(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", 2 * WINDOW + 7)
    plan = planned(path)
    remaining = plan.remaining(ALONE, {})
    batches = list(remaining)
    texts = {sample.id: sample.text for sample in Dataset(path)}
    assert plan.samples == remaining.samples == len(texts) == 2 * WINDOW + 7
    assert plan.tokens == remaining.tokens == sum(map(len, texts.values()))
    assert plan.batches == remaining.batches == len(batches)
    assert [batch.number for batch in batches] == list(range(len(batches)))
    assert ids_of(batches) == sorted(texts)
    for batch in batches:
        assert batch.token_count <= 100
        assert [len(tokens) for tokens in batch.tokens] == [len(texts[name]) for name in batch.ids]
        assert list(map(len, batch.tokens)) == sorted(map(len, batch.tokens), reverse=True)
        assert batch.key == IDENTITY.key(batch.ids)
        # No batch is of two windows.
        assert len({int(name[1:]) // WINDOW for name in batch.ids}) == 1
    assert list(planned(path).remaining(ALONE, {})) == batches
    assert remaining.keys == tuple(batch.key for batch in batches)


def test_keys_tell_what_was_extracted_how() -> None:
    ids = ("a", "b")
    others = [
        replace(IDENTITY, model="b" * 40),
        replace(IDENTITY, layers=(2,)),
        replace(IDENTITY, dtype="fp16"),
    ]
    keys = {identity.key(ids) for identity in [IDENTITY, *others]}
    keys |= {IDENTITY.key(("b", "a")), IDENTITY.key(("ab",)), IDENTITY.key(('a", "b',))}
    assert len(keys) == 7


@pytest.mark.parametrize("before", [1, 4])
@pytest.mark.parametrize("after", [1, 3])
def test_another_number_of_shards_goes_on(tmp_path: Path, before: int, after: int) -> None:
    plan = planned(write(tmp_path / "d.jsonl", 1500))
    random = Random(2)
    first = [
        batch
        for index in range(before)
        for batch in plan.remaining(Shard(index, before), {})
        if random.random() < 0.5
    ]
    rest = [
        batch
        for index in range(after)
        for batch in plan.remaining(Shard(index, after), done(*first))
    ]
    assert first
    assert rest
    assert ids_of([*first, *rest]) == sorted(f"s{number}" for number in range(1500))
    assert not list(plan.remaining(ALONE, done(*first, *rest)))


def test_samples_added_at_the_end(tmp_path: Path) -> None:
    """Whole windows stay as they are; of the last one, what is left is packed anew."""
    count = WINDOW + 50
    path = write(tmp_path / "d.jsonl", count)
    batches = list(planned(path).remaining(ALONE, {}))
    write(path, count + 100)
    plan = planned(path)
    added = list(plan.remaining(ALONE, done(*batches)))
    assert ids_of(added) == sorted(f"s{number}" for number in range(count, count + 100))
    assert not list(plan.remaining(ALONE, done(*batches, *added)))


def test_shards_that_look_at_different_times_share_what_is_packed_anew(tmp_path: Path) -> None:
    """With other batches than before, each window is one shard's: nothing twice, nothing missed."""
    path = write(tmp_path / "d.jsonl", 3 * WINDOW)
    old = list(planned(path, batch_tokens=77).remaining(ALONE, {}))
    markers = done(*old[::3])
    plan = planned(path, batch_tokens=100)
    random = Random(3)
    found: list[Batch] = list(old[::3])
    for index in (1, 0):
        mine = list(plan.remaining(Shard(index, 2), markers))
        # Killed in between, and started again.
        kept = mine[: random.randrange(len(mine))]
        markers |= done(*kept)
        again = list(plan.remaining(Shard(index, 2), markers))
        markers |= done(*again)
        found += [*kept, *again]
    assert ids_of(found) == sorted(f"s{number}" for number in range(3 * WINDOW))


def test_numbers_of_what_is_packed_anew_are_nobody_elses(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", 3 * WINDOW)
    old = list(planned(path, batch_tokens=77).remaining(ALONE, {}))
    found = list(planned(path).remaining(ALONE, done(old[0], old[-1])))
    numbers = [batch.number for batch in found]
    assert len(set(numbers)) == len(numbers)


def test_markers_of_another_extraction_do_not_count(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", 40)
    other = list(planned(path, identity=replace(IDENTITY, layers=(3,))).remaining(ALONE, {}))
    assert ids_of(list(planned(path).remaining(ALONE, done(*other)))) == ids_of(other)


def test_a_dataset_that_changes_meanwhile(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", 20)
    for count, seed in ((19, 1), (20, 2)):
        remaining = planned(write(path, 20)).remaining(ALONE, {})
        write(path, count, seed=seed)
        with pytest.raises(ExtractInputError, match="was changed while it was being extracted"):
            list(remaining)


def test_a_text_that_becomes_another_one_of_the_same_length_meanwhile(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", 20)
    remaining = planned(path).remaining(ALONE, {})
    path.write_text(path.read_text().replace('"xx', '"yy', 1))
    with pytest.raises(ExtractInputError, match="was changed while it was being extracted"):
        list(remaining)


def changed(path: Path, *ids: str, text: str) -> None:
    """Give these samples another text."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line["text"] = text if line["id"] in ids else line["text"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize("budget", [100, 77])  # the batches as planned, and all of them stray
@pytest.mark.parametrize("text", ["yyyyy", "y" * 19])
def test_another_text_under_the_id_of_what_is_done(tmp_path: Path, text: str, budget: int) -> None:
    path = write(tmp_path / "d.jsonl", WINDOW + 30)
    markers = done(*list(planned(path).remaining(ALONE, {})))
    names = [f"s{number}" for number in (3, 5, 8, WINDOW - 1, WINDOW + 2, WINDOW + 29)]
    changed(path, *names, text=text)
    plan = planned(path, batch_tokens=budget)
    for shard in (ALONE, Shard(1, 2)):
        with pytest.raises(ChangedDatasetError) as refused:
            plan.remaining(shard, markers)
        assert str(refused.value) == (
            f"{path}: the dataset has changed since: 6 samples that have been stored have other "
            "tokens now: 's3', 's5', 's8', 's1023', 's1026' …. Nothing was run. Give them another "
            "id; or keep what is stored as it is (--accept-changed); or extract all anew, with "
            "another --destination and --state."
        )
    accepted = plan.remaining(ALONE, markers, accept_changed=True)
    assert (accepted.changed, accepted.batches) == (tuple(names), 0)


def test_what_is_not_done_may_have_another_text(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", 40)
    first, *rest = planned(path).remaining(ALONE, {})
    changed(path, *rest[0].ids, text="y")
    remaining = planned(path).remaining(ALONE, done(first))
    assert remaining.changed == ()
    assert ids_of([first, *remaining]) == sorted(f"s{number}" for number in range(40))


def test_a_sample_that_is_gone_hides_no_other_that_changed(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", 40)
    first = next(iter(planned(path).remaining(ALONE, {})))
    changed(path, first.ids[1], text="y")
    lines = [
        line for line in path.read_text().splitlines() if json.loads(line)["id"] != first.ids[0]
    ]
    path.write_text("\n".join(lines))
    with pytest.raises(ChangedDatasetError, match=f"1 sample .*: '{first.ids[1]}'. Nothing was"):
        planned(path).remaining(ALONE, done(first))


def test_markers_that_do_not_tell_are_believed_and_those_of_others_do_not_count(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "d.jsonl", 40)
    older = done(*list(planned(path).remaining(ALONE, {})))
    older = {key: replace(marker, digests=()) for key, marker in older.items()}
    others = replace(IDENTITY, model="b" * 40)
    theirs = done(*list(planned(path, identity=others).remaining(ALONE, {})))
    changed(path, "s7", text="y")
    # As long as before would be the same batches: it may also be packed anew.
    assert planned(path).remaining(ALONE, older | theirs).batches == 0


@pytest.mark.parametrize("budget", [100, 77])  # the batches as planned, and all of them stray
def test_what_other_shards_have_to_do_is_known_by_its_keys(tmp_path: Path, budget: int) -> None:
    path = write(tmp_path / "d.jsonl", 2 * WINDOW + 7)
    plan = planned(path, batch_tokens=budget)
    markers = done(*list(planned(path).remaining(ALONE, {}))[::3])
    first, second = (plan.remaining(Shard(shard, 2), markers) for shard in (0, 1))
    assert first.keys
    assert first.others == set(second.keys)
    assert second.others == set(first.keys)
    alone = plan.remaining(ALONE, markers)
    assert set(alone.keys) == first.others | second.others
    assert not alone.others


def test_a_batch_has_an_outline_without_its_tokens(tmp_path: Path) -> None:
    remaining = planned(write(tmp_path / "d.jsonl", WINDOW + 7)).remaining(Shard(1, 2), {})
    some = list(remaining)[::2]
    keys = {batch.key for batch in some} | remaining.others
    assert remaining.outlines(keys) == [outline_of(batch) for batch in some]


def test_a_budget_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(ExtractInputError, match="--batch-tokens 0: a batch has at least one tok"):
        planned(write(tmp_path / "d.jsonl", 2), batch_tokens=0)
