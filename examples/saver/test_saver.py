"""The saver put to the test by fixtures alone: no subject, no contracts, ordinary pytest."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples.saver.saver import load, save

if TYPE_CHECKING:
    from pytest_checkpoint.fixtures.crashes import CrashEverywhere
    from pytest_checkpoint.fixtures.full_disks import FullDisk
    from pytest_checkpoint.fixtures.io_errors import InputOutputError

OLD = {"step": 1}
NEW = {"step": 2, "text": "x" * 5_000}
save_new = partial(save, NEW)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(OLD, tmp_path)
    return tmp_path


def test_any_crash_leaves_the_old_state_or_the_new_one(
    crash_everywhere: "CrashEverywhere", folder: Path
) -> None:
    for crash in crash_everywhere(save_new, folder):
        assert load(crash.workspace) in (OLD, NEW), crash.describe()


def test_what_is_saved_survives_a_power_loss(
    crash_everywhere: "CrashEverywhere", folder: Path
) -> None:
    for crash in crash_everywhere(save_and_say_so, folder, faults=["power-loss"]):
        if "save" in crash.acknowledged:
            assert load(crash.workspace) == NEW, crash.describe()


def save_and_say_so(folder: Path) -> None:
    save_new(folder)
    with open(os.environ["CHECKPOINT_EVENTS"], "ab", buffering=0) as events:
        events.write(b"done save\n")


def test_a_call_that_fails_is_told(io_error: "InputOutputError", folder: Path) -> None:
    for trial in io_error(save_new, folder):
        assert load(trial.workspace) in (OLD, NEW), trial.describe()
        assert load(trial.workspace) == NEW or not trial.returned, trial.describe()


def test_a_full_disk_costs_nothing(full_disk: "FullDisk", folder: Path) -> None:
    for trial in full_disk(save_new, folder):
        assert load(trial.workspace) == OLD, trial.describe()
        assert trial.error is not None, trial.describe()
