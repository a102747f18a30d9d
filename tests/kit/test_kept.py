"""What is kept of an examination, for a replay and for people."""

from __future__ import annotations

from pathlib import Path

from pytest_checkpoint.keeping.bodies import name_of_body
from pytest_checkpoint.keeping.kept import Kept
from pytest_checkpoint.options import Options
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.tree.image import Image
from tests.contracts.builders import seen, undisturbed


def test_a_replay_starts_where_the_recording_did() -> None:
    image = Image({})
    recording = Recording("/slot", image, b"events", (), b"effects", b"objects")
    kept = Kept(recording=recording, evidence=seen(), reference=undisturbed(), note="")
    assert kept.control(Options(rootdir=Path())).start == State(
        image, b"events", b"effects", b"objects"
    )


def test_every_key_has_a_name_of_its_own() -> None:
    assert name_of_body("a/b c") == "body-a%2Fb%20c"
    long = "a" * 300
    names = {name_of_body(key) for key in (long + "1", long + "2", "é" * 300, "é" * 301)}
    assert len(names) == 4
    assert max(map(len, names)) <= 255
