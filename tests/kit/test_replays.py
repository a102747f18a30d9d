"""When the replay of a failure has to be made in another second than the experiment."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from checkpoint_contracts import judge
from checkpoint_contracts.evidence import Experiment, OtherRun, OutputChange
from checkpoint_contracts.outputs_cross import outputs_cross_resume
from checkpoint_contracts.re_entry import re_entry_is_safe
from checkpoint_contracts.verdict import Outcome
from pytest_checkpoint.phases import replays
from pytest_checkpoint.phases.deadlines import Deadlines
from pytest_checkpoint.phases.replays import Replays
from pytest_checkpoint.report.progress import SilentProgress
from tests.contracts.builders import EVENTS, checked, killed, seen, tried, undisturbed

FIRST, GIVEN, FETCH, SUM = "f" * 64, "0" * 64, EVENTS[:2], EVENTS[2:]
INPUTS = (*FETCH, "start sum", f"input sum {GIVEN}", "done sum")


class Clock:
    """Moves on only while somebody sleeps."""

    now_s = 1000.25

    def time(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


def replayed_at(
    monkeypatch: pytest.MonkeyPatch, experiment: Experiment, contract: Any, **reference: Any
) -> tuple[float, Outcome]:
    """When it was made again, and the verdict; what it shows holds the second, if anything does."""
    clock = Clock()
    known = undisturbed(**reference)

    def again(bench: Any, where: Any, *_: Any) -> Experiment:
        return told(experiment, int(clock.now_s))

    monkeypatch.setattr(replays, "time", clock)
    monkeypatch.setattr(replays, "conduct", again)
    monkeypatch.setattr(replays, "looks_of", lambda *_: None)
    control = SimpleNamespace(reference=known, deadlines=Deadlines(resume_s=1, check_s=1))
    source = SimpleNamespace(state=lambda _: None)
    bench = cast("Any", None)
    made = Replays(bench, cast("Any", control), cast("Any", source), SilentProgress())
    evidence = seen(told(experiment, int(clock.now_s)), reference=known, outputs=("out",))
    evidence = made.added_to(evidence, [contract])
    assert len(evidence.replays) == 1
    return clock.now_s, judge(evidence, contract).outcome


def told(experiment: Experiment, second: int) -> Experiment:
    """The experiment as it is when made in this second: its texts hold ``NOW``."""
    events = tuple(line.replace("NOW", f"{second:064}") for line in experiment.events_after)
    changes = tuple(
        OutputChange(
            path=one.path,
            change=one.change,
            digest=one.digest.replace("NOW", str(second)),
            same_size=one.same_size,
        )
        for one in experiment.output_changes or ()
    )
    return tried(
        experiment.point,
        events_before=experiment.events_before,
        events_after=events,
        output_changes=changes,
        check=experiment.check,
    )


def entered_again(digest: str, *, same_size: bool) -> Experiment:
    change = OutputChange(path="out", change="differs", digest=digest, same_size=same_size)
    return tried(killed(7), events_before=EVENTS[:3], events_after=SUM, output_changes=(change,))


@pytest.mark.parametrize(
    ("experiment", "at_s", "outcome"),
    [
        (entered_again("NOW", same_size=True), 1001.0, Outcome.PASSED),
        (entered_again("wrong", same_size=True), 1001.0, Outcome.FAILED),
        (entered_again("wrong", same_size=False), 1000.25, Outcome.FAILED),
    ],
)
def test_an_output_that_may_hold_the_second_is_looked_at_in_another_one(
    monkeypatch: pytest.MonkeyPatch, experiment: Experiment, at_s: float, outcome: Outcome
) -> None:
    assert replayed_at(monkeypatch, experiment, re_entry_is_safe) == (at_s, outcome)


@pytest.mark.parametrize(
    ("before", "digest", "at_s", "outcome"),
    [
        # Both undisturbed runs were made in one second, and agreed by chance.
        (0, "NOW", 1001.0, Outcome.NOT_APPLICABLE),
        (0, FIRST, 1001.0, Outcome.FAILED),
        # What was done before the crash must arrive as it was, whatever the time is now.
        (2, FIRST, 1000.25, Outcome.FAILED),
    ],
)
def test_and_so_is_an_input(
    monkeypatch: pytest.MonkeyPatch, before: int, digest: str, at_s: float, outcome: Outcome
) -> None:
    after = tuple(line.replace(GIVEN, digest) for line in INPUTS[before:])
    experiment = tried(killed(7), events_before=INPUTS[:before], events_after=after)
    reference = {"events": INPUTS, "other_run": OtherRun(events=INPUTS)}
    seen_at = replayed_at(monkeypatch, experiment, outputs_cross_resume, **reference)
    assert seen_at == (at_s, outcome)


def test_a_wrong_end_is_made_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = tried(killed(7), events_before=EVENTS[:3], events_after=SUM, check=checked("41\n"))
    assert replayed_at(monkeypatch, wrong, re_entry_is_safe) == (1000.25, Outcome.FAILED)
