"""How a heartbeat is declared, and each mistake in it: a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checkpoint_contracts.heartbeat import HEARTBEAT
from pytest_checkpoint.api import CommandSubject, HeartbeatCommand, HeartbeatFile
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.phases.liveness.asking import declared
from pytest_checkpoint.session.heartbeats import of_options
from pytest_checkpoint.session.registration import validated
from pytest_checkpoint.subject import Subject

ASK = ["true", "{workspace}"]


def subject(heartbeat: Any, **fields: Any) -> Subject:
    given = CommandSubject(
        run="true {workspace}", check="true {workspace}", heartbeat=heartbeat, **fields
    )
    return validated(given, name="job", who="job", working_directory=Path("/"), ids=())


def test_naming_it_declares_the_capability() -> None:
    by_file, by_command = (
        subject(one)
        for one in (
            HeartbeatFile("beats/*", 2),
            HeartbeatCommand(ASK, stale_after_s=0.5, stalled_after_s=3),
        )
    )
    assert by_file.capabilities == by_command.capabilities == {HEARTBEAT}
    seen, asked = declared(by_file), declared(by_command)
    assert seen is not None
    assert asked is not None
    assert (seen.what, seen.is_file) == ("the heartbeat file beats/*", True)
    assert (seen.stale_after_s, seen.stalled_after_s) == (2.0, None)
    assert (asked.what, asked.is_file) == ("true {workspace}", False)
    assert (asked.stale_after_s, asked.stalled_after_s) == (0.5, 3.0)
    assert declared(subject(None)) is None


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("beat.json", "must be HeartbeatFile(glob, stale_after_s) or HeartbeatCommand("),
        (HeartbeatFile("", 1), "a glob of files in the workspace, not ''"),
        (HeartbeatFile("/tmp/beat", 1), "must be relative to the workspace, and stay in it"),
        (HeartbeatFile("../beat", 1), "must be relative to the workspace, and stay in it"),
        (HeartbeatFile("beat", 0), "stale_after_s must be a number of seconds above 0, not 0"),
        (HeartbeatFile("beat", float("nan")), "above 0, not nan"),
        (HeartbeatFile("beat", True), "must be a number of seconds, not True"),
        (HeartbeatCommand("gone {workspace}", stale_after_s=1), "command not found: gone"),
        (HeartbeatCommand("true", stale_after_s=1), "has no {workspace}"),
        (
            HeartbeatCommand(ASK, stale_after_s=1, stalled_after_s=-1),
            "stalled_after_s must be a number of seconds above 0, not -1",
        ),
    ],
)
def test_a_mistake_is_a_sentence(given: object, sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        subject(given)
    assert sentence in str(caught.value)


def test_the_capability_alone_names_nothing() -> None:
    with pytest.raises(UserError, match="the capability 'heartbeat' is declared by the file or"):
        subject(None, capabilities=[HEARTBEAT])


def options(**given: str) -> dict[str, list[str]]:
    return {f"--checkpoint-{name.replace('_', '-')}": [value] for name, value in given.items()}


def test_by_options() -> None:
    assert of_options({}) is None
    assert of_options(options(heartbeat_file="beat", stale_after="2m")) == HeartbeatFile(
        "beat", 120.0
    )
    asked = options(heartbeat_command="true {workspace}", stale_after="1", stalled_after="90")
    assert of_options(asked) == HeartbeatCommand(
        "true {workspace}", stale_after_s=1.0, stalled_after_s=90.0
    )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"heartbeat_file": "b", "heartbeat_command": "c"}, "given: choose one"),
        ({"stale_after": "1"}, "--checkpoint-stale-after given without a heartbeat: add"),
        ({"stalled_after": "1"}, "--checkpoint-stalled-after given without a heartbeat: add"),
        ({"heartbeat_file": "b"}, "--checkpoint-heartbeat-file needs --checkpoint-stale-after"),
        ({"heartbeat_command": "c"}, "-command needs --checkpoint-stale-after SECONDS"),
        ({"heartbeat_file": "b", "stale_after": "soon"}, "'soon' is no duration"),
        (
            {"heartbeat_file": "b", "stale_after": "1", "stalled_after": "2"},
            "a file cannot say that a worker is stalled; a command can",
        ),
    ],
)
def test_a_mistake_in_the_options_is_a_sentence(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        of_options(options(**given))
    assert sentence in str(caught.value)
