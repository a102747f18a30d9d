"""The same program with a quota and on a real tmpfs of that size."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from pytest_checkpoint.record.faults import Room
from pytest_checkpoint.record.request import Result
from pytest_checkpoint.tree.image import Image

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner

PREAMBLE = "import os\nos.chdir(os.environ['CHECKPOINT_WORKSPACE'])\n"


def start(runner: Runner, room: Room, source: str, *arguments: str, **options: Any) -> Result:
    """Run a program in an empty workspace with so much room. Skips where none can be mounted."""
    command = options.pop("command", (sys.executable, "-SE"))
    before = options.pop("before", None)
    runner.clear()
    if before is not None:
        before()
    wanted = {"recording": None, "room": room} | options
    program = (*command, "-c", PREAMBLE + source, *arguments)
    result = runner.client.run(runner.request(program, **wanted))
    if room.real and (result.no_real_room or "").startswith("no file system may be mounted"):
        pytest.skip(result.no_real_room or "")
    assert (result.problem, result.refusal) == (None, None)
    return result


def really(runner: Runner, source: str, **options: Any) -> tuple[Result, Image]:
    """On a real tmpfs of ``blocks`` and ``inodes``, and what it left."""
    room = Room(blocks=options.pop("blocks", None), inodes=options.pop("inodes", None), real=True)
    result = start(runner, room, source, **options)
    assert result.real_room is not None, result.no_real_room
    return result, runner.look()


def virtually(runner: Runner, source: str, **options: Any) -> tuple[Result, Image]:
    """With a quota."""
    room = Room(blocks=options.pop("blocks", None), inodes=options.pop("inodes", None))
    result = start(runner, room, source, **options)
    return result, runner.look()
