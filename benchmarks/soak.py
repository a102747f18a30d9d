"""Start, a random fault, the watchdog, resume; over and over, with the runtime's own pipeline.

    python benchmarks/soak.py [--rounds N] [--seed N] [--only ROUND]

Each round begins in a fresh workspace. A fault of any family is placed by the seed: a crash state
(kill, torn write, power loss), SIGKILL at an event, a failing or shortened call, a full disk,
SIGTERM, SIGINT or SIGUSR1, a stage that raises, SIGSTOP, a main thread that stands still, two
starts at once. Then ``checkpoint-runtime watch --restart`` sees to what is dead, frozen or stalled,
and what has ended otherwise is resumed. Afterwards the result must be that of an undisturbed run,
every effect must have happened once, and no process, and no file that an undisturbed run does not
leave, may be there. Every tenth round is undisturbed instead, under two busy loops per core, and
nobody may call it stale.

What a round does is drawn from the seed and its number: ``--only`` makes that one again, by itself.

Exit code: 0 if all of that held in all rounds, else 1, and what did not.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.soaking.place import WAIT_S, Place, SoakError
from benchmarks.soaking.trouble import LEAVES_IT_RUNNING, TROUBLES, Turn
from checkpoint_contracts.evidence import Fault
from pytest_checkpoint.record import journal
from pytest_checkpoint.record.client import SlotClient
from pytest_checkpoint.record.operations import Operation
from pytest_checkpoint.states.order import Plan, plan
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.source import StateSource

STALE_AFTER_S, STALLED_AFTER_S = 2.0, 2.0
LOADED_EVERY = 10
_RESUMES = 5
_PAGE = 4096


@dataclass(frozen=True, slots=True)
class Reference:
    """The undisturbed run."""

    result: str
    effects: Counter[str]
    names: Counter[str]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="ROUND", help="this one, and no other")
    given = parser.parse_args()
    numbers = range(1, given.rounds + 1) if given.only is None else (given.only,)
    base = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(tempfile.gettempdir())
    begun, failures, done = time.monotonic(), list[str](), Counter[str]()
    with (
        tempfile.TemporaryDirectory(prefix="soak-", dir=base) as folder,
        SlotClient(Path(folder), receives=True) as client,
    ):
        place = Place(client)
        reference, planned, operations = undisturbed(place, given.seed)
        blocks = sum(-(-one.stat().st_size // _PAGE) for one in client.workspace.rglob("*"))
        events = client.events.read_bytes().count(b"\n")
        for number in numbers:
            chance = random.Random(f"{given.seed} {number}")
            turn = Turn(place, planned, operations, blocks, events, chance)
            name = "load" if number % LOADED_EVERY == 0 else chance.choice(list(TROUBLES))
            place.bench.put_nothing()
            what = ""
            try:
                if name == "load":
                    under_load(place)
                else:
                    what = TROUBLES[name](turn)
                    recover(place, running=name in LEAVES_IT_RUNNING)
                require(place, reference)
                done[name] += 1
            except (SoakError, subprocess.TimeoutExpired) as error:
                failures.append(f"round {number}, {name}, {what}: {error}")
                print(failures[-1], flush=True)
                end_all(place)
            if number % 20 == 0:
                took_s = time.monotonic() - begun
                print(f"{number} rounds in {took_s:.0f} s, {len(failures)} failed", flush=True)
    for name, count in sorted(done.items()):
        print(f"  {name:16} {count:4} rounds ended as an undisturbed run")
    print(f"{len(numbers)} rounds, seed {given.seed}: {len(failures)} failed")
    return 1 if failures else 0


def undisturbed(place: Place, seed: int) -> tuple[Reference, Plan, Sequence[Operation]]:
    """Run it once, recorded."""
    place.bench.put_nothing()
    folder = place.client.scratch / "recording"
    result, _ = place.bench.run(recording=folder)
    if result.exit_code:
        raise SystemExit(f"the undisturbed run failed: {result.output}{result.error_output}")
    source = StateSource(journal.load(folder), Model.LINUX)
    faults = frozenset({Fault.KILL, Fault.TORN, Fault.POWER_LOSS})
    planned = plan(source, faults=faults, seed=seed, max_states=5000, exhaustive=False)
    reference = Reference(place.result(), place.effects(), place.names())
    return reference, planned, source.operations


def recover(place: Place, *, running: bool) -> None:
    """The watchdog first, if there is something that it can see; then whatever is still needed."""
    if running or any((place.client.workspace / "heartbeats").glob("*.json")):
        watched = _watch(place, "--restart", "--", *place.command("resume"))
        wrong = watched.returncode not in (0, 1, 12, 75) and not _unknown(watched.stderr)
        if wrong or "Traceback" in watched.stderr:
            raise SoakError(f"watch: exit {watched.returncode}: {watched.stdout}{watched.stderr}")
    place.let_go()
    ends: list[tuple[int, str]] = []
    while len(ends) < _RESUMES:
        ends.append(place.finish(place.start("resume")))
        if ends[-1][0] == 0:
            return
    raise SoakError(f"the resumes ended with {ends}")


def _unknown(said: str) -> bool:
    """A power loss has taken the beat, which nobody syncs: who is dead cannot be told from it."""
    return "does not say which process it is" in said


def under_load(place: Place) -> None:
    """An undisturbed run on a busy machine: nobody may call it stale."""
    loops = [
        subprocess.Popen([sys.executable, "-I", "-S", "-c", "while True: pass"])
        for _ in range(2 * (os.cpu_count() or 1))
    ]
    try:
        process = place.start("run")
        place.until_events(1, process)
        watched = _watch(place)
        code, said = place.finish(process)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    if code:
        raise SoakError(f"exit {code}: {said}")
    called = [json.loads(line) for line in watched.stdout.splitlines()]
    false = [one for one in called if one.get("state") in ("stale", "stalled")]
    if watched.returncode or false or not called:
        raise SoakError(f"watch: exit {watched.returncode}: {watched.stdout}{watched.stderr}")


def _watch(place: Place, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable, "-m", "checkpoint_runtime.command.main", "watch",
            str(place.client.workspace), "--json", f"--stale-after={STALE_AFTER_S}",
            f"--stalled-after={STALLED_AFTER_S}", *arguments,
        ],
        env=place.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
    )  # fmt: skip


def require(place: Place, reference: Reference) -> None:
    """SoakError if something is not as after the undisturbed run."""
    left = place.processes()
    if left:
        raise SoakError(f"processes are left: {left}")
    result, effects, names = place.result(), place.effects(), place.names()
    if result != reference.result:
        raise SoakError(f"the result is {result!r}, not {reference.result!r}")
    if effects != reference.effects:
        raise SoakError(f"effects: {effects}, not {reference.effects}")
    more = names - reference.names
    if more:
        raise SoakError(f"files are left: {dict(more)}")


def end_all(place: Place) -> None:
    """After a failure: what still lives must not disturb the next round."""
    for process in place.processes():
        try:
            os.kill(process, 9)
        except ProcessLookupError:
            continue


if __name__ == "__main__":
    sys.exit(main())
