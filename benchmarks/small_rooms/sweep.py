"""One subject at many boundaries, on a real tmpfs and with a quota of the same size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.small_rooms.boundaries import Boundary, boundaries
from benchmarks.small_rooms.subjects import Commands
from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record import journal
from pytest_checkpoint.record.client import SlotClient, environment
from pytest_checkpoint.record.describe import normalized
from pytest_checkpoint.record.faults import Room
from pytest_checkpoint.record.request import Request, Result
from pytest_checkpoint.record.room.ledger import PAGE
from pytest_checkpoint.record.tracked import BESIDE
from pytest_checkpoint.states.timeline import State, Timeline
from pytest_checkpoint.tree.capture import capture
from pytest_checkpoint.tree.compare import differences, walk
from pytest_checkpoint.tree.image import File, Image, printable
from pytest_checkpoint.tree.restore import restore

ATTEMPTS: Final = 6
"""A job with threads, or with times in its files, does not do the same twice: it is run so often
each way until some run of one way is like some run of the other.
"""
_DEADLINE_S: Final = 60.0
_NOT_THE_TREE: Final = BESIDE


class NoRealRoomError(Exception):
    """This machine mounts no tmpfs; says why."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one execution in little room."""

    ended: str
    fired: bool
    image: Image
    check: tuple[int | None, str]

    @property
    def shape(self) -> list[tuple[str, str]]:
        """Names, kinds, and sizes in blocks: times in a log have more or fewer digits."""
        return sorted(
            (
                normalized(printable(path)),
                _blocks(node.content.size) if isinstance(node, File) else type(node).__name__,
            )
            for path, _, node in walk(self.image)
        )

    def unlike(self, other: Outcome) -> list[str]:
        """In what two of them disagree."""
        pairs = {
            "exit": (self.ended, other.ended),
            "fired": (self.fired, other.fired),
            "tree": (self.shape, other.shape),
            "check": (self.check, other.check),
        }
        return [f"{what}: {one} / {two}" for what, (one, two) in pairs.items() if one != two]


def _blocks(size: int) -> str:
    return f"file of {-(-size // PAGE)} blocks"


@dataclass(slots=True)
class Tally:
    """What a sweep found."""

    name: str
    boundaries: int = 0
    refused: int = 0
    """Boundaries at which the real tmpfs refused something."""
    survived: int = 0
    """Of these, runs that ended well all the same."""
    agreed: int = 0
    repeated: int = 0
    """Of these, pairs that agreed only when they were tried again."""
    same_bytes: int = 0
    disagreements: list[str] = field(default_factory=list)


def sweep(commands: Commands, base: Path, most: int, seed: int) -> Tally:
    """HarnessError if the subject does not run undisturbed; NoRealRoomError."""
    with SlotClient(base) as client:
        bench = _Bench(client, commands)
        recording = bench.record()
        timeline = Timeline(recording.start, recording.start_events, recording.operations)
        tally = Tally(commands.name)
        for boundary in boundaries(recording, most, seed):
            _compare(bench, timeline.after(boundary.step), boundary, tally)
        return tally


def _compare(bench: _Bench, state: State, boundary: Boundary, tally: Tally) -> None:
    tally.boundaries += 1
    tried: list[tuple[Outcome, Outcome]] = []
    while len(tried) < ATTEMPTS:
        real = bench.outcome(state, boundary, real=True)
        quota = bench.outcome(state, boundary, real=False)
        if not tried:
            tally.refused += real.fired
            tally.survived += real.fired and real.ended == "exit 0"
        tried.append((real, quota))
        if _some_alike(tried):
            tally.agreed += 1
            tally.repeated += len(tried) > 1
            tally.same_bytes += not differences(real.image, quota.image)
            return
    tally.disagreements.append(f"{boundary}: {'; '.join(tried[0][0].unlike(tried[0][1]))}")


def _some_alike(tried: Sequence[tuple[Outcome, Outcome]]) -> bool:
    return any(not one.unlike(other) for one, _ in tried for _, other in tried)


class _Bench:
    """One subject in one slot."""

    def __init__(self, client: SlotClient, commands: Commands) -> None:
        self._client = client
        self._commands = commands
        self._start = State(self._look(), b"")

    def record(self) -> journal.Recording:
        self._put(self._start)
        folder = self._client.scratch / "recording"
        result = self._send(self._commands.run, recording=str(folder))
        if result.exit_code != 0:
            raise HarnessError(f"{self._commands.name} does not run: {result.error_output}")
        return journal.load(folder)

    def outcome(self, state: State, boundary: Boundary, *, real: bool) -> Outcome:
        self._put(state)
        command = self._commands.resume if boundary.step else self._commands.run
        result = self._send(command, room=boundary.room(real=real))
        if real and result.real_room is None:
            raise NoRealRoomError(result.no_real_room or "")
        image = self._look()
        check = self._send(self._commands.check, filtered=False)
        ended = f"signal {result.signal}" if result.signal else f"exit {result.exit_code}"
        fired = result.fired_at is not None
        return Outcome(ended, fired, image, (check.exit_code, check.output))

    def _put(self, state: State) -> None:
        restore(state.image, self._client.path, exclude=_NOT_THE_TREE)
        self._client.events.write_bytes(state.events)

    def _look(self) -> Image:
        return capture(self._client.path, exclude=_NOT_THE_TREE).image

    def _send(
        self,
        command: Sequence[str],
        *,
        room: Room | None = None,
        recording: str | None = None,
        filtered: bool = True,
    ) -> Result:
        workspace = str(self._client.workspace)
        result = self._client.run(
            Request(
                command=tuple(part.replace("{workspace}", workspace) for part in command),
                working_directory=str(self._client.scratch.parent),
                environment=environment(self._client, keep_tmpdir=False),
                deadline_s=_DEADLINE_S,
                room=room,
                recording=recording,
                filtered=filtered,
            )
        )
        wrong = result.problem or result.refusal
        if wrong is not None or result.timed_out:
            raise HarnessError(f"{self._commands.name}: {wrong or 'it passed its deadline'}")
        return result
