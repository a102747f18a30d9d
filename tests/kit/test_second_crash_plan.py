"""Which resumes are crashed, how many of them, and what counts as reached."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from checkpoint_contracts.evidence import Coverage, Execution, Experiment, Fault
from pytest_checkpoint.phases.explore import NOTHING_EXPLORED, Exploration
from pytest_checkpoint.phases.second_crash import exploring
from pytest_checkpoint.phases.second_crash import spent as spent_module
from pytest_checkpoint.phases.second_crash.plan import SecondCrashes
from pytest_checkpoint.phases.second_crash.recoveries import MOST, Recorder, Recoveries, single_keys
from pytest_checkpoint.phases.second_crash.spent import told_spent
from pytest_checkpoint.phases.warm import COLD
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.operations import (
    Create,
    Effect,
    Event,
    NodeKind,
    Operation,
    Write,
)
from pytest_checkpoint.report.progress import SilentProgress
from pytest_checkpoint.states.kill import CrashState, kill_state, parse
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.resumes import crash_id
from pytest_checkpoint.states.source import StateSource
from pytest_checkpoint.tree.image import ROOT, Directory, Image
from tests.contracts.builders import checked, killed, ran, tried, undisturbed

EMPTY = Image(
    {ROOT: Directory(mode=0o700, entries={b"w": 1}), 1: Directory(mode=0o700, entries={})}
)
LINES = (b"start fetch\n", b"done fetch\n", b"start sum\n", b"done sum\n")
REFUSES = ran(1, output="fetch has failed too often\n")


def operations(*names: bytes) -> tuple[Operation, ...]:
    """For each name a file is made and written; ``say …`` is a line of the events."""
    found: list[Operation] = []

    def add(path: bytes, effect: Effect) -> None:
        found.append(Operation(step=len(found) + 1, call="write", path=path, effects=(effect,)))

    for node, name in enumerate(names, start=50):
        if name.startswith(b"say "):
            add(b"events", Event(name.removeprefix(b"say ") + b"\n"))
        else:
            add(b"w/" + name, Create(1, name, node, NodeKind.FILE, 0o600))
            add(b"w/" + name, Write(node, 0, b"ab"))
    return tuple(found)


def run_of_events() -> StateSource:
    """A run of twelve lines: thirteen kills, and no file."""
    lines = (*LINES, *(b"progress %d\n" % number for number in range(8)))
    done = tuple(
        Operation(step=step, call="write", path=b"events", effects=(Event(line),))
        for step, line in enumerate(lines, start=1)
    )
    return StateSource(Recording("slot", EMPTY, b"", done), Model.LINUX)


class Lab:
    """A recorder whose resumes do what a test says."""

    def __init__(
        self,
        tmp_path: Path,
        does: Callable[[CrashState], tuple[bytes, ...]],
        *,
        failing: frozenset[int] = frozenset(),
        exhaustive: bool = False,
    ) -> None:
        self.source = run_of_events()
        bench = SimpleNamespace(
            options=SimpleNamespace(exhaustive=exhaustive), reusing_checks=self._reusing_checks
        )
        control = SimpleNamespace(recording=self.source.recording, reference=undisturbed())
        self.recorder = Recorder(
            cast("Any", bench), cast("Any", control), self.source, tmp_path / "resumes"
        )
        self.recorded: list[str] = []
        self.found = Recoveries()
        self._does, self._failing = does, failing
        self._reuses_checks = False
        cast("Any", self.recorder).record = self._record

    @contextmanager
    def _reusing_checks(self) -> Iterator[None]:
        self._reuses_checks = True
        yield
        self._reuses_checks = False

    def _record(self, crash: CrashState) -> Experiment:
        assert self._reuses_checks, "most resumes end in the same state"
        self.recorded.append(crash_id(crash))
        state = self.source.state(crash)
        done = operations(*self._does(crash))
        self.recorder.resumes.add(crash, Recording("slot", state.image, state.events, done))
        resume = ran(1) if crash.step in self._failing else ran(wall_s=1.0)
        check = checked() if resume.succeeded else None
        point = self.source.point(crash)
        return Experiment(point=point, events_before=(), resume=resume, check=check)

    def choose(self, *steps: int, deadline_s: float = 60.0, **known: Any) -> list[int]:
        values = {"known_failing": set(), "known_sound": set(), "known_keys": set(), **known}
        self.recorder.choose(
            [kill_state(step) for step in steps],
            deadline=time.monotonic() + deadline_s,
            found=self.found,
            **values,
        )
        return [crash.step for crash in self.found.chosen]

    def plan(self, **fields: Any) -> SecondCrashes:
        keys = single_keys(self.source, exhaustive=False, repeats=False)
        values = {"torn": False, "broken": set(), "exhaustive": False, **fields}
        return SecondCrashes(self.source, self.recorder, self.found, keys, **values)


def one_each(crash: CrashState) -> tuple[bytes, ...]:
    """Another file in every resume, by names that are no numbers."""
    return (b"abcdefghijklm"[crash.step : crash.step + 1],)


def test_no_two_that_begin_alike_are_crashed(tmp_path: Path) -> None:
    lab = Lab(tmp_path, lambda crash: (b"x",) if crash.step < 3 else (b"y",))
    assert lab.choose(1, 2, 3, 4) == [1, 3]
    assert not lab.recorder.resumes.knows(kill_state(2)), "what is not crashed is not kept"
    thorough = Lab(tmp_path, lambda crash: (b"x",), exhaustive=True)
    assert thorough.choose(1, 2, 3) == [1, 2, 3]


def test_not_more_than_enough_are_recorded(tmp_path: Path) -> None:
    lab = Lab(tmp_path, one_each)
    assert lab.choose(*range(13)) == list(range(MOST))
    nothing_new = Lab(tmp_path, one_each)
    known = set()
    for step in range(3):
        nothing_new.choose(step)
        known |= {
            nothing_new.recorder.resumes.after(kill_state(step)).timeline.key(at, repeats=False)
            for at in range(3)
        }
    nothing_new.found = Recoveries()
    assert nothing_new.choose(*range(13), known_keys=known) == list(range(3 + MOST))


def test_a_crash_that_is_not_survived_is_not_crashed_again(tmp_path: Path) -> None:
    lab = Lab(tmp_path, one_each, failing=frozenset({2}))
    assert lab.choose(1, 2, 3, 4, known_failing={"4.kill"}) == [1, 3]
    assert lab.recorded == ["1.kill", "2.kill", "3.kill"]
    assert lab.found.left_out == (
        "left out: 2 crashes from which the first resume does not end well by itself",
    )
    assert not lab.found.doubts
    assert lab.found.broken == {(Fault.KILL, 'event "done fetch"')}


def test_one_that_was_survived_before_is_a_doubt(tmp_path: Path) -> None:
    lab = Lab(tmp_path, one_each, failing=frozenset({2}))
    assert lab.choose(2, 3, known_sound={"2.kill"}) == [3]
    (doubt,) = lab.found.doubts
    assert doubt.startswith("flaky subject: killed at step 2 (event")
    coverage = lab.plan().coverage(set())[Fault.SECOND_CRASH]
    assert coverage.doubts == (doubt,)


def test_no_time_is_told(tmp_path: Path) -> None:
    lab = Lab(tmp_path, one_each)
    assert lab.choose(1, deadline_s=-1) == []
    coverage = lab.plan().coverage(set())[Fault.SECOND_CRASH]
    assert (coverage.derived, coverage.unreached) == (
        0,
        ("the resume after a crash: none was recorded",),
    )


def test_as_many_are_crashed_as_fit_and_never_less_than_two(tmp_path: Path) -> None:
    def does(crash: CrashState) -> tuple[bytes, ...]:
        return tuple(bytes([97 + crash.step, 97 + n]) for n in range(6 - crash.step))

    lab = Lab(tmp_path, does)
    lab.choose(1, 2, 3, 4)  # 10, 8, 6, 4 operations
    plan = lab.plan()
    plan.limit(time_s=100.0, one_s=8.0, most=500)  # 10 of 28 are affordable
    assert len(plan.states) == 4 + 6
    assert plan.coverage(set())[Fault.SECOND_CRASH].unique == 28
    (note,) = plan.coverage(set())[Fault.SECOND_CRASH].left_out
    assert note.startswith("2 of 4 recorded resumes were crashed: more do not fit")
    plan.limit(time_s=0.001, one_s=8.0, most=500)
    assert len(plan.states) == 4 + 6
    plan.limit(time_s=100.0, one_s=0.1, most=500)
    assert len(plan.states) == 28
    plan.limit(time_s=None, one_s=None, most=1)
    assert len(plan.states) == 28, "all"


def test_every_operation_must_be_reached_and_torn_writes_come_after(tmp_path: Path) -> None:
    lab = Lab(tmp_path, one_each)
    lab.choose(1, 2)
    plan = lab.plan(torn=True)
    plan.limit(time_s=100.0, one_s=0.1, most=500)
    ids = [crash_id(unique.crash) for unique in plan.states]
    assert ids == [
        *("1.kill+1.kill", "2.kill+1.kill", "1.kill+2.kill", "2.kill+2.kill"),
        *("1.kill+2.torn-1", "2.kill+2.torn-1"),
    ]
    first = {parse(text) for text in ids[:3]}
    coverage = plan.coverage(first)[Fault.SECOND_CRASH]
    assert coverage.unreached == (
        "the resume after 2.kill, killed at its step 2 (write c (2 bytes at 0))",
    )
    all_kills = plan.coverage({parse(text) for text in ids[:4]})[Fault.SECOND_CRASH]
    assert (all_kills.unreached, all_kills.explored, all_kills.unique) == ((), 4, 6)


def test_where_one_crash_breaks_two_tell_nothing_more(tmp_path: Path) -> None:
    lab = Lab(tmp_path, one_each)
    lab.choose(1)
    plan = lab.plan(torn=True, broken={(Fault.TORN, "write b")})
    plan.limit(time_s=100.0, one_s=0.1, most=500)
    assert [crash_id(one.crash) for one in plan.states] == ["1.kill+1.kill", "1.kill+2.kill"]
    assert plan.coverage(set())[Fault.SECOND_CRASH].left_out == (
        (
            "left out: 1 crash state of resumes at kinds of operations at which one crash is not "
            "survived either"
        ),
    )


def test_what_leaves_the_same_as_such_an_operation_tells_nothing_more_either(
    tmp_path: Path,
) -> None:
    lab = Lab(tmp_path, lambda _: (b"b", b"say start fetch"))
    lab.choose(1)  # after "start fetch": that line makes no other state
    plan = lab.plan(broken={(Fault.KILL, "write b")})
    plan.limit(time_s=100.0, one_s=0.1, most=500)
    assert [crash_id(one.crash) for one in plan.states] == ["1.kill+1.kill"]


# --- attempts that are used up ---


@pytest.mark.parametrize(
    ("resume", "second", "gives_up", "spent"),
    [
        (REFUSES, "1.kill+1.kill", True, "fetch"),
        (REFUSES, "1.kill+1.kill", False, ""),
        (REFUSES, "3.kill+1.kill", True, "sum"),
        (REFUSES, "0.kill+3.kill", True, ""),
        (ran(1), "1.kill+1.kill", True, ""),
        (ran(), "1.kill+1.kill", True, ""),
        (ran(None, signal=9, output="x"), "1.kill+1.kill", True, ""),
    ],
)
def test_a_refusal_is_put_down_to_the_stage_that_was_hit_each_time(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    resume: Execution,
    second: str,
    gives_up: bool,
    spent: str,
) -> None:
    # From the first crash, which hit only fetch, the resume gets as far as sum.
    far = (b"say start fetch", b"say done fetch", b"say start sum")
    lab = Lab(tmp_path, lambda crash: one_each(crash) if crash.step else far)
    lab.choose(0, 1, 3)
    asked: list[tuple[str, int]] = []

    def refuses_when_killed_at(_: Any, __: Any, stage: str, times: int) -> bool:
        asked.append((stage, times))
        return gives_up

    monkeypatch.setattr(spent_module, "_gives_up", refuses_when_killed_at)
    crash = parse(second)
    events = lab.source.state(crash).events.decode().splitlines()
    experiment = Experiment(
        point=lab.source.point(crash),
        events_before=tuple(events),
        resume=resume,
        check=checked() if resume.succeeded else None,
    )
    control = cast("Any", SimpleNamespace(reference=undisturbed()))
    (told,) = told_spent(
        cast("Any", None),
        control,
        lab.source,
        [
            experiment,
        ],
    )
    assert told.spent == spent
    assert set(asked) <= {("fetch", 2), ("sum", 2)}


# --- what single crashes have shown ---


def test_what_hung_or_failed_before_is_not_resumed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    source = run_of_events()
    given: dict[str, Any] = {}

    class Chooser:
        def __init__(self, *_: Any) -> None:
            self.resumes = None

        def choose(self, crashes: list[CrashState], **fields: Any) -> None:
            given.update(fields, crashes=crashes)

    def explored_nothing(*_: Any, **__: Any) -> Exploration:
        return NOTHING_EXPLORED

    monkeypatch.setattr(exploring, "Recorder", Chooser)
    monkeypatch.setattr(exploring, "explore", explored_nothing)
    hang = source.point(kill_state(5))
    before = Exploration(
        experiments=(tried(killed(3), ran(1)), tried(killed(4))),
        coverage={Fault.KILL: Coverage(derived=9, unique=9, explored=8, known_hangs=(hang,))},
    )
    bench = SimpleNamespace(
        options=SimpleNamespace(
            time_budget_s=4.0, max_states=8, exhaustive=False, depth=2, faults={Fault.SECOND_CRASH}
        )
    )
    control = SimpleNamespace(reference=undisturbed())
    nothing = exploring.explore_second_crashes(
        cast("Any", bench),
        cast("Any", control),
        source,
        before,
        SilentProgress(),
        COLD,
        folder=Path("resumes"),
    )
    assert nothing.experiments == ()
    assert given["known_failing"] == {"3.kill", "5.kill"}
    assert given["known_sound"] == {"4.kill"}
    assert given["known_keys"] == single_keys(source, exhaustive=False, repeats=False)
    assert {crash.fault for crash in given["crashes"]} == {Fault.KILL}
