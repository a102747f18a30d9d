"""The models against a real ext4, for a few seconds; and what is said where that cannot be."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "validate_models.py"
if not BENCHMARK.exists():
    pytest.skip("there are no benchmarks beside these tests", allow_module_level=True)
sys.path.append(str(BENCHMARK.parents[1]))

from benchmarks.real_filesystems.device_log import DeviceWrite, Flush  # noqa: E402 - the path first
from benchmarks.real_filesystems.images import DeviceState, at_most, device_states  # noqa: E402
from benchmarks.real_filesystems.judge import models_of  # noqa: E402
from benchmarks.real_filesystems.plans import plans  # noqa: E402
from benchmarks.real_filesystems.planted import Planted, planted  # noqa: E402
from benchmarks.real_filesystems.provoke import Kind, Plan  # noqa: E402
from benchmarks.real_filesystems.run import Mark, Run, nonzero_ranges  # noqa: E402
from benchmarks.real_filesystems.writers import small_writers  # noqa: E402

DEADLINE_S = 120.0
WRITERS = {writer.name: writer for writer in small_writers()}


def missing() -> str | None:
    """Why no real file system can be tried here."""
    if os.geteuid() != 0:
        return "mounting takes root"
    for device in ("/dev/fuse", "/dev/loop-control"):
        try:
            os.close(os.open(device, os.O_RDWR | os.O_CLOEXEC))
        except OSError as error:
            return f"{device}: {error.strerror}"
    if shutil.which("mkfs.ext4") is None:
        return "mkfs.ext4 is not installed"
    if "ext4" not in Path("/proc/filesystems").read_text(encoding="ascii").split():
        return "this kernel has no ext4"
    return None


def benchmark(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCHMARK), *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


def backing_files() -> list[str]:
    """What all loop devices stand on at the moment; others may take and leave some meanwhile."""
    found = []
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            found.append(path.read_text(errors="replace"))
        except OSError:
            continue  # let go just now
    return found


def test_what_a_real_ext4_leaves_is_among_the_states_of_every_model() -> None:
    if (why := missing()) is not None:
        pytest.skip(why)
    done = benchmark("--quick", "--filesystems", "ext4", "--seconds", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(
        r"^ext4 +(\S+) +\d+ +(\d+) +\d+ +\d+ +(\d+) +\d+ +(\d+)/(\d+)$", done.stdout, re.M
    )
    assert [row[0] for row in rows] == ["linux", "posix", "ext4-ordered"]
    for _, states, outside, rejected, all_planted in rows:
        assert int(states) > 100
        assert outside == "0"
        assert rejected == all_planted
        assert int(rejected) > 10
    zeros = re.search(r"^zeros at full length under the final name .* (\d+) of", done.stdout, re.M)
    assert zeros is not None
    assert int(zeros[1]) > 0


def test_nothing_is_left_behind_by_an_interrupt() -> None:
    if (why := missing()) is not None:
        pytest.skip(why)
    command = [sys.executable, str(BENCHMARK), "--quick", "--filesystems", "ext4"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it has begun
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 2
    assert said == "interrupted: all mounts and devices are released\n"
    name = f"validate-models-{process.pid}-"
    assert not list(Path("/dev/shm").glob(f"{name}*"))
    assert not [path for path in backing_files() if name in path]


def test_without_the_means_it_says_in_a_sentence_why_it_does_not_run(tmp_path: Path) -> None:
    done = benchmark("--quick", "--filesystems", "ext4", PATH=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.startswith("validate_models does not run here: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "told"),
    [("--filesystems", "'fat' is none of ext4, xfs, btrfs"), ("--writers", "'fat' is none of ")],
)
def test_an_unknown_name_is_a_wrong_command_line(option: str, told: str) -> None:
    done = benchmark(option, "fat")
    assert done.returncode == 2
    assert told in done.stderr


@pytest.mark.parametrize("wrong", list(planted()), ids=lambda wrong: wrong.text)
def test_a_wrong_state_is_rejected(wrong: Planted) -> None:
    models = models_of(WRITERS[wrong.writer])
    accepted = [m for m in wrong.models if models[m].allows(wrong.image, wrong.step) is None]
    assert accepted == []


def test_device_states_are_prefixes_and_losses_of_what_was_not_flushed() -> None:
    one, two, three = (DeviceWrite(number * 4096, b"x" * 4096) for number in range(3))
    found = set(device_states([one, Flush(), two, three], 1, random.Random(1)))
    assert (1, DeviceState(1)) in found
    assert (1, DeviceState(0)) in found
    assert (2, DeviceState(1)) in found  # the flush changes nothing
    assert (2, DeviceState(0)) not in found  # but nothing before it can be lost
    assert (4, DeviceState(4)) in found
    assert (4, DeviceState(1)) in found
    assert (4, DeviceState(3)) in found
    assert (4, DeviceState(1, (3,))) in found


def test_a_write_may_be_there_in_part_before_it_completes() -> None:
    entries = [DeviceWrite(0, b"x" * 8192)]
    assert (0, DeviceState(0, (), (0, 4096))) in set(device_states(entries, 0, random.Random(1)))


def test_of_too_many_states_those_without_a_loss_among_others_stay() -> None:
    entries = [DeviceWrite(number * 4096, b"x" * 4096) for number in range(9)]
    pairs = list(device_states(entries, 0, random.Random(1)))
    kept = {state for _, state in at_most(pairs, 10, random.Random(1))}
    assert kept == {DeviceState(length) for length in range(10)}


def test_a_moment_is_told_by_the_length_of_the_log() -> None:
    """Two operations: one that wrote two entries, then one that wrote none."""
    run = Run(WRITERS["rename-over"], plan(), b"", [], 5, [Mark(5, 7), Mark(8, 8)])
    assert list(run.steps_at(5)) == [(0, False)]
    assert list(run.steps_at(6)) == [(0, True)]
    assert list(run.steps_at(7)) == [(0, True), (1, False)]
    assert list(run.steps_at(8)) == [(1, False), (2, False)]
    assert list(run.steps_at(9)) == [(2, False)]
    assert run.end_of(5) == (0, True)
    assert run.end_of(7) == (1, False)


def plan() -> Plan:
    return Plan(Kind.NOTHING, None, keep_open=True)


def test_each_kind_of_provocation_is_planned_at_each_operation() -> None:
    planned = list(plans(3))
    assert len(planned) == len(set(planned))
    for kind in Kind:
        assert Plan(kind, None, keep_open=True) in planned
    assert {one.step for one in planned if one.kind is Kind.HELD} == {None, 1, 2, 3}


def test_a_writer_begins_with_the_plan_that_is_aimed_at_what_it_shows() -> None:
    aimed = Plan(Kind.BOTH, 2, keep_open=True)
    assert aimed in list(plans(3))[1:]
    planned = list(plans(3, (aimed,)))
    assert planned[0] == aimed
    assert len(planned) == len(set(planned))
    assert set(planned) == set(plans(3))


def test_each_aimed_plan_is_at_a_step_of_its_writer() -> None:
    aimed = {name: writer.aimed for name, writer in WRITERS.items() if writer.aimed}
    assert aimed.keys() == {"linked-when-written"}
    for name, (plan,) in aimed.items():
        assert plan.step is not None
        before, after = WRITERS[name].operations[plan.step - 1 : plan.step + 1]
        assert (before.call, after.call) == ("pwrite64", "link")


def test_what_is_not_zero_is_found_in_pieces_of_64_kib() -> None:
    piece = 1 << 16
    data = bytes(piece) + b"x" + bytes(piece - 1) + b"y" * piece + bytes(piece + 5)
    assert list(nonzero_ranges(data)) == [(piece, 3 * piece)]
