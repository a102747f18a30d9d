"""What is known is known again, up to where the writer was killed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint_contracts.evidence import Coverage, Experiment, Fault, Trial, TrialKind
from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.keeping.logbook import LOGBOOK, Begun, KeptLogbook, begun_in
from pytest_checkpoint.phases.explore import Ended, Exploration, Explored
from pytest_checkpoint.phases.logbook import FORGETFUL, Notes, once
from tests.contracts.builders import killed, sound_trial, tried

BEGUN = Begun(session="s", subject="job", definition={"the kit": "1"})


@pytest.fixture
def logbook(tmp_path: Path) -> KeptLogbook:
    logbook = KeptLogbook(tmp_path)
    logbook.begin(BEGUN)
    return logbook


def explored(step: int) -> Explored:
    return Explored(experiments=(tried(killed(step)),), warm=True, took_s=0.25)


FINDINGS = {
    "state 1.kill": explored(1),
    "exploring ended": Ended(
        coverage={Fault.KILL: Coverage(derived=3, unique=2, explored=1, known_hangs=(killed(2),))},
        unlike=killed(4),
    ),
    "second crashes": Exploration(
        experiments=(tried(killed(3)),), coverage={}, warm=frozenset({killed(3), killed(9)})
    ),
    "notes": Notes(("é",)),
}


def test_findings_of_every_kind_are_read_as_they_were_kept(
    tmp_path: Path, logbook: KeptLogbook
) -> None:
    with logbook:
        for name, finding in FINDINGS.items():
            logbook.keep(name, finding)

    again = KeptLogbook(tmp_path)

    assert again.begun == BEGUN == begun_in(tmp_path)
    for name, finding in FINDINGS.items():
        assert again.recall(name, type(finding)) == finding
        assert logbook.recall(name, type(finding)) == finding
    assert again.recall("state 2.kill", Explored) is None


def test_killed_anywhere_what_was_kept_before_is_known(
    tmp_path: Path, logbook: KeptLogbook
) -> None:
    path = tmp_path / LOGBOOK
    sizes = [path.stat().st_size]
    with logbook:
        for step in range(3):
            logbook.keep(f"state {step}.kill", explored(step))
            sizes.append(path.stat().st_size)
    text = path.read_bytes()
    for cut in {0, 10, *sizes, *(size - 1 for size in sizes), *(size + 20 for size in sizes)}:
        path.write_bytes(text[:cut])
        whole = sum(size <= cut for size in sizes) - 1
        again = KeptLogbook(tmp_path)

        assert (again.begun is None) == (whole < 0)
        assert again.count("state ") == max(whole, 0)


def test_what_is_forgotten_stays_forgotten(tmp_path: Path, logbook: KeptLogbook) -> None:
    with logbook:
        for step in (1, 2):
            logbook.keep(f"state {step}.kill", explored(step))
        logbook.keep("notes", Notes())
        logbook.forget("state ")
        logbook.keep("state 2.kill", explored(7))
    for book in (logbook, KeptLogbook(tmp_path)):
        assert book.recall("state 1.kill", Explored) is None
        assert list(book.all_of("state ", Explored)) == [explored(7)]
        assert book.recall("notes", Notes) == Notes()


def test_several_are_forgotten_at_once_or_not_at_all(tmp_path: Path, logbook: KeptLogbook) -> None:
    path = tmp_path / LOGBOOK
    with logbook:
        for name in ("one", "two", "three"):
            logbook.keep(name, Notes())
        before = path.stat().st_size
        logbook.forget("one", "three")
    text = path.read_bytes()
    for cut in range(before, len(text) + 1):
        path.write_bytes(text[:cut])
        known = [name for name in ("one", "two", "three") if KeptLogbook(tmp_path).count(name)]
        assert known == (["two"] if cut == len(text) else ["one", "two", "three"])


def test_gone_on_with_it_knows_the_old_and_the_new(tmp_path: Path, logbook: KeptLogbook) -> None:
    with logbook:
        logbook.keep("state 1.kill", explored(1))
    with (tmp_path / LOGBOOK).open("ab") as torn:
        torn.write(b"0123456789abcdef [1, 2")
    with KeptLogbook(tmp_path) as again:
        again.keep("state 2.kill", explored(2))

    assert list(KeptLogbook(tmp_path).all_of("state ", Explored)) == [explored(1), explored(2)]


def test_finished_it_says_no_more_than_that(tmp_path: Path, logbook: KeptLogbook) -> None:
    with logbook:
        logbook.keep("state 1.kill", explored(1))
    logbook.finish(Notes(("all",)))

    again = KeptLogbook(tmp_path)

    assert again.begun == BEGUN
    assert again.recall("finished", Notes) == Notes(("all",))
    assert not again.count("state ")
    assert [path.name for path in tmp_path.iterdir()] == [LOGBOOK]


def test_a_trial_is_kept(tmp_path: Path, logbook: KeptLogbook) -> None:
    trial = sound_trial(TrialKind.SIGNALLED, "sigterm")
    with logbook:
        logbook.keep("tried", trial)
    assert KeptLogbook(tmp_path).recall("tried", Trial) == trial


def test_once_is_made_once(tmp_path: Path, logbook: KeptLogbook) -> None:
    made: list[int] = []

    def make() -> Notes:
        made.append(1)
        return Notes(("made",))

    with logbook:
        assert once(logbook, "it", Notes, make) == once(logbook, "it", Notes, make)
    assert once(KeptLogbook(tmp_path), "it", Notes, make) == Notes(("made",))
    assert len(made) == 1
    once(FORGETFUL, "it", Notes, make)
    once(FORGETFUL, "it", Notes, make)
    assert len(made) == 3


def test_anything_else_is_nobodys(tmp_path: Path) -> None:
    for text in (b"", b"{}\n", b"no logbook\n"):
        (tmp_path / LOGBOOK).write_bytes(text)
        assert KeptLogbook(tmp_path).begun is None


def test_an_experiment_keeps_its_lone_surrogates(tmp_path: Path, logbook: KeptLogbook) -> None:
    odd: Experiment = tried(killed(1), events_after=("done \udcff",))
    with logbook:
        logbook.keep("it", Explored(experiments=(odd,), warm=False, took_s=0.0))
    found = KeptLogbook(tmp_path).recall("it", Explored)
    assert found is not None
    assert found.experiments == (odd,)


def test_where_there_is_no_room_that_is_a_sentence(tmp_path: Path, logbook: KeptLogbook) -> None:
    (tmp_path / f"{LOGBOOK}.new").mkdir()
    writes: list[Callable[[], object]] = [
        lambda: logbook.begin(BEGUN),
        lambda: logbook.finish(Notes()),
    ]
    for write in writes:
        with pytest.raises(HarnessError, match=r"what was judged cannot be written to .*make room"):
            write()
    assert begun_in(tmp_path) == BEGUN
