"""A subject's command with a fault that answers, and what the evidence gets of it."""

from __future__ import annotations

import errno
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.bench import Bench
from pytest_checkpoint.record import journal
from pytest_checkpoint.record.client import SlotClient
from pytest_checkpoint.record.drift import drift
from pytest_checkpoint.record.faults import SignalAt, injection_at
from pytest_checkpoint.subject import Subject

JOB = ("/bin/sh", "-c", 'echo some > "$0/f" || { echo failed; exit 3; }; mv "$0/f" "$0/g"')


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    command = (*JOB, "{workspace}")
    subject = Subject(
        name="job", run=command, resume=command, check=command, working_directory=tmp_path
    )
    with SlotClient(tmp_path / "base") as client:
        yield Bench(client, subject, Options(rootdir=tmp_path))


def test_an_injection_a_signal_and_watched_closes(bench: Bench, tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    bench.put_nothing()
    bench.faulted(bench.subject.run, 60.0, recording=folder, watch_closes=True)
    control = journal.load(folder).operations
    assert "close" in {one.call for one in control}

    bench.put_nothing()
    write = next(one.step for one in control if one.write is not None)
    injection = injection_at(control, write, errno.EIO)
    result, execution = bench.faulted(
        bench.subject.run, 60.0, injection=injection, recording=folder, watch_closes=True
    )
    assert (execution.exit_code, result.fired_at) == (3, write)
    assert "failed" in execution.output
    assert drift(control, journal.load(folder).operations, write) is None

    bench.put_nothing()
    asked = SignalAt(step=1, number=signal.SIGTERM, grace_s=30.0)
    result, execution = bench.faulted(bench.subject.run, 60.0, signal=asked)
    assert (execution.signal, result.fired_at) == (signal.SIGTERM, 1)
