"""What torch.distributed.checkpoint acknowledges is lost with the power: found in torch 2.13."""

from __future__ import annotations

import re
import shlex
import sys
from importlib.metadata import PackageNotFoundError, version

import pytest

from tests.acceptance.sessions import Workplace
from tests.subjects.matrix import FOLDER, SURVIVES_POWER_LOSS

pytest_plugins = ["pytester"]

VERSION = "2.13.0"
SUBJECT = "torch_dcp_save"
STATES = 9
"""Each takes seconds, in which torch is imported. These hold the one that counts."""


def missing() -> str | None:
    """What to install, if torch is not the one that this was found in."""
    install = f"pip install torch=={VERSION} numpy"
    try:
        found = version("torch")
    except PackageNotFoundError:
        return f"torch is not installed: {install}"
    if found.partition("+")[0] != VERSION:
        return f"torch is {found}, and this was found in {VERSION}: {install}"
    return None


def test_metadata_is_synced_before_it_is_written(workplace: Workplace) -> None:
    if (why := missing()) is not None:
        pytest.skip(why)
    script = [sys.executable, "-I", "-B", str(FOLDER / f"{SUBJECT}.py")]

    session = workplace.judge(
        *("--checkpoint-setup", "mkdir {workspace}/saved"),
        *("--checkpoint-run", shlex.join(script) + " run {workspace}"),
        *("--checkpoint-check", shlex.join(script) + " check {workspace}"),
        *("--checkpoint-faults", "power-loss", "--checkpoint-self-check", "0"),
        *("--checkpoint-max-states", str(STATES), "--checkpoint-time-budget", "10m"),
    )

    assert session.failed(SUBJECT) == {SURVIVES_POWER_LOSS}, session.output
    text = " ".join(session.item(SURVIVES_POWER_LOSS, SUBJECT).text.split())
    # The folder was synced and the save was acknowledged: what is lost is what lay in the buffer.
    assert '(event "done save"): resume exits 0, but the check exits 1' in text
    assert "saved/.metadata 0 bytes" in text
    assert re.search(r"data of saved/\.metadata\.tmp \(written at step \d+\) lost", text)
    cause = re.search(
        r"likely cause: rename saved/\.metadata\.tmp → saved/\.metadata at step (\d+): data of "
        r"saved/\.metadata\.tmp written at step (\d+) was never synced \(the fsync at step (\d+) "
        r"came before the write at step (\d+)\); an fsync of it would have been needed before "
        r"step (\d+)",
        text,
    )
    assert cause is not None, text
    rename, written, synced, write, deadline = map(int, cause.groups())
    assert synced + 1 == written == write
    assert written + 1 == rename == deadline
