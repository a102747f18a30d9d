"""Rounds of an extraction whose workers are killed, and what they did."""

from __future__ import annotations

import math
import os
import random
import select
import signal
import time
from dataclasses import dataclass, field
from typing import Final

from benchmarks.extracting import aftermath
from benchmarks.extracting.ground import Ground
from benchmarks.extracting.workers import (
    LOOKS_EVERY_S,
    SoakError,
    Worker,
    children,
    left_behind,
    require_one_thread,
    start,
)
from checkpoint_runtime.extract.markers.record import SUFFIX

_ENDS_WITHIN_S: Final = 180.0
_HELPERS_END_WITHIN_S: Final = 10.0
_GETS_ON_WITHIN_S: Final = 120.0
_AT_A_TIME: Final = 0.3
"""Share of kills placed by time since the start: within its first looks, that tell no event."""
_START_S: Final = 1.0
_STEP_S: Final = 0.03
"""So much after an event, at most: about what a batch takes."""


@dataclass
class Tally:
    """What was done, of all rounds."""

    kills: int = 0
    starts: int = 0
    rounds: int = 0
    begun: int = 0
    """Batches."""
    batches: int = 0
    """Of them, each once."""
    taken_up: int = 0
    """Of them, out of the staging, where a killed worker had left them whole."""
    on_their_way: int = 0
    """Begun and not acknowledged when their worker was killed, in all."""
    repeated: int = 0
    """Begun again, after a kill of the worker that had begun them."""
    most: int = 0
    """The most of them for one kill."""
    twice: int = 0
    """Begun again, although no kill was in the way."""
    samples: int = 0
    worst: float = 0.0


class Round:
    """One extraction of the whole dataset, into a prefix of its own."""

    def __init__(self, ground: Ground, number: int, shards: int, tally: Tally) -> None:
        self.prefix = f"round-{number:03}"
        self.state = ground.disk / self.prefix / "state"
        self.staging = ground.memory / self.prefix
        self.shards = shards
        self.running: dict[int, Worker] = {}
        self.finished: set[int] = set()
        self.ended: list[Worker] = []
        self._ground = ground
        self._tally = tally
        self._events = ground.disk / self.prefix / "workers"
        self._events.mkdir(parents=True)

    @property
    def marked(self) -> int:
        return len(list((self.state / "markers").glob(f"*{SUFFIX}")))

    @property
    def begun(self) -> list[str]:
        """Batches, in order, by workers that have ended."""
        return [name for worker in self.ended for name in worker.started()]

    def fill(self) -> bool:
        """Start every shard that is not done and does not run; whether any is left."""
        for shard in range(self.shards):
            worker = self.running.get(shard)
            if worker is not None and worker.has_ended():
                self._ended(worker)
                worker.require_well()
                self.finished.add(shard)
            if shard not in self.running and shard not in self.finished:
                self.running[shard] = self._start(shard)
        return bool(self.running)

    def kill(self, shard: int) -> bool:
        """Whether that is what ended it."""
        worker = self.running[shard]
        if not worker.kill():
            return False
        self._ended(worker)
        self._tally.kills += 1
        return True

    def count(self) -> None:
        """What a kill cost: what its worker had begun, and another one began again."""
        tally, again = self._tally, set[str]()
        for worker in reversed(self.ended):
            cost = again.intersection(worker.started())
            again.update(worker.started())
            tally.begun += len(worker.started())
            tally.taken_up += worker.taken_up()
            if worker.was_killed:
                cost &= set(worker.open())
                tally.on_their_way += worker.open().total()
                tally.most = max(tally.most, len(cost))
                tally.repeated += len(cost)
        tally.batches += len(again)
        tally.twice = tally.begun - tally.batches - tally.repeated

    def hand_over(self, shards: int) -> None:
        """Kill all of them; so many others go on."""
        for shard in sorted(self.running):
            if not self.kill(shard):
                self._ended(self.running[shard])
        self.shards, self.finished = shards, set()

    def finish(self) -> None:
        """Without a kill."""
        while self.fill():
            next(iter(self.running.values())).wait(_ENDS_WITHIN_S)

    def end_all(self) -> None:
        for worker in list(self.running.values()):
            worker.kill()
            self._ended(worker)

    def _ended(self, worker: Worker) -> None:
        del self.running[worker.shard]
        self.ended.append(worker)

    def _start(self, shard: int) -> Worker:
        ground = self._ground
        arguments = ground.arguments(self.prefix, self.state, self.staging)
        arguments.append(f"--shard={shard}/{self.shards}")
        self._tally.starts += 1
        number = self._tally.starts
        return start(shard, arguments, ground.environment(), self._events, number)


@dataclass
class Soak:
    """All rounds."""

    ground: Ground
    kills: int
    seed: int
    shards: int
    reshard: int | None
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._batches = self.ground.batches()
        self._reference = aftermath.undisturbed(
            self.ground.model, self.ground.dataset, self.ground.layers, self.ground.dtype
        )
        self._round: Round | None = None
        self._others = children()
        require_one_thread()

    def all(self) -> None:
        """
        :raises SoakError: what did not hold.
        """
        while self.tally.kills < self.kills:
            self.tally.rounds += 1
            self._round = Round(self.ground, self.tally.rounds, self.shards, self.tally)
            self._disturb(self._round)
            self._round.finish()
            self._require(self._round)
            self._round.count()
            self._round = None

    def judge(self) -> int:
        """Print the work that was repeated, and the exit code that follows."""
        tally = self.tally
        if not tally.kills:
            return 0
        print(
            f"work repeated, --uploads {self.ground.uploads}: {tally.repeated} of {tally.begun} "
            f"batches begun, after {tally.kills} kills: {tally.repeated / tally.kills:.2f} batches "
            f"per kill, at most {tally.most}. On their way when killed: {tally.on_their_way} in "
            f"all; taken up from the staging: {tally.taken_up}"
        )
        missed = []
        bound = 1 + self.ground.ahead
        if tally.most > bound:
            missed.append(f"one kill cost {tally.most} batches (bound: {bound})")
        if tally.twice:
            missed.append(f"{tally.twice} batches begun twice, without a kill in between")
        for miss in missed:
            print(f"failed: {miss}")
        return 1 if missed else 0

    def end_all(self) -> None:
        if self._round is not None:
            self._round.end_all()
            self._round.count()
        for process in left_behind(self._others, 0.0):
            os.kill(process, signal.SIGKILL)  # a child of ours until it is waited for

    def _disturb(self, one: Round) -> None:
        """Kill until the kills are used up, or all is done."""
        if self.reshard is not None:
            self._reshard(one, self.reshard)
        while self.tally.kills < self.kills and one.fill():
            victim = self._chance.choice(sorted(one.running))
            if self._await_moment(one, victim):
                one.kill(victim)

    def _reshard(self, one: Round, shards: int) -> None:
        """Once half of it is marked, or soon after, others take over."""
        half = self._batches // 2
        spared = self.tally.kills + (self.kills - self.tally.kills) // 2
        while one.marked < half:
            if not one.fill():
                raise SoakError("it was done before it could be handed over: give more --samples")
            victim = self._chance.choice(sorted(one.running))
            kills = self.tally.kills < spared
            if self._await_moment(one, victim, None if kills else half) and kills:
                one.kill(victim)
        one.hand_over(shards)

    def _await_moment(self, one: Round, shard: int, marked: int | None = None) -> bool:
        """Whether it has come, and the worker is there still.

        :param marked: wait until so many batches are; None: until a moment that is drawn.
        """
        worker = one.running[shard]
        moment_s, lines = self._drawn(one, worker) if marked is None else (None, None)
        deadline_s = time.monotonic() + _GETS_ON_WITHIN_S
        while moment_s is None or time.monotonic() < moment_s:
            if worker.has_ended():
                return False
            if marked is not None and one.marked >= marked:
                return True
            if moment_s is None and lines is not None and len(worker.lines()) >= lines:
                moment_s = time.monotonic() + self._chance.uniform(0.0, _STEP_S)
            if time.monotonic() > deadline_s:
                raise SoakError(f"a worker does not get on:\n{worker.said()}")
            select.select([worker.descriptor], [], [], LOOKS_EVERY_S)
        return not worker.has_ended()

    def _drawn(self, one: Round, worker: Worker) -> tuple[float | None, int | None]:
        """A moment, or how many events it comes after."""
        if self._chance.random() < _AT_A_TIME:
            return worker.begun_s + self._chance.uniform(0.0, _START_S), None
        left = max(1, self._batches - one.marked) / max(1, self.kills - self.tally.kills)
        mean = max(2, math.ceil(2 * left / one.shards))
        return None, len(worker.lines()) + self._chance.randint(1, 2 * mean)

    def _require(self, one: Round) -> None:
        ground, tally = self.ground, self.tally
        left = left_behind(self._others, _HELPERS_END_WITHIN_S)
        if left:
            raise SoakError(f"processes are left: {left}")
        found = aftermath.require(
            ground.store, one.prefix, one.state, one.staging, self._reference, ground.dtype
        )
        if found.objects != self._batches:
            raise SoakError(f"{found.objects} objects, where {self._batches} batches were planned")
        if len(set(one.begun)) != found.objects:
            raise SoakError(
                f"{found.objects} objects, and {len(set(one.begun))} batches were begun"
            )
        tally.samples += found.samples
        tally.worst = max(tally.worst, found.worst)
        print(
            f"round {tally.rounds}: {found.samples} samples in {found.objects} objects, each once "
            f"and equal (deviation at most {found.worst:.2f} of what {ground.dtype} allows), "
            f"markers and objects the same, {tally.kills} kills by now, {tally.starts} starts, "
            f"{len(one.begun) - found.objects} batches repeated, "
            f"{sum(worker.taken_up() for worker in one.ended)} taken up",
            flush=True,
        )
