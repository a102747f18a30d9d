"""Stage inputs, second runs and handoffs, as a user declares them and sees them fail."""

from __future__ import annotations

import pytest

from tests.acceptance.sessions import Session, Workplace
from tests.acceptance.test_replay import replay, replay_line
from tests.subjects.matrix import OUTPUTS_CROSS, RE_ENTRY, TELLS_NEXT

pytest_plugins = ["pytester"]

KILLS = ("--checkpoint-faults=kill", "--checkpoint-self-check=0")
GIVEN, LOST = "4" * 64, "0" * 64

# Breaks all three: what a returned is gone, a appends to what it left, the handoff comes too late.
BROKEN = f"""
frames={LOST}
say() {{ echo "$@" >> "$CHECKPOINT_EVENTS"; }}
if [ ! -e a ]; then
    say start a
    frames={GIVEN}
    echo x >> a.tmp; mv a.tmp a
    say done a
fi
if [ ! -e b ]; then
    say start b
    say input b $frames
    echo y > b
    say done b
fi
[ -e handoff.json ] || {{ echo '{{"done": ["a", "b"]}}' > h.tmp; mv h.tmp handoff.json; }}
"""
MENDED = BROKEN.replace(LOST, GIVEN).replace(">> a.tmp", "> a.tmp")
CHECK = "cat {workspace}/b"
HANDOFF = ("--checkpoint-handoff", "handoff.json")


def three(workplace: Workplace) -> Session:
    ids = [f"job::{contract}" for contract in (OUTPUTS_CROSS, RE_ENTRY, TELLS_NEXT)]
    run = workplace.shell(BROKEN)
    return workplace.judge_job(run, CHECK, *KILLS, *HANDOFF, "--checkpoint-outputs=a", *ids)


def test_each_is_told_and_can_be_replayed(workplace: Workplace) -> None:
    session = three(workplace)

    assert session.failed() == {OUTPUTS_CROSS, RE_ENTRY, TELLS_NEXT}
    for contract in session.failed():
        again = replay(workplace, replay_line(session, contract))
        assert again.failed() == {contract}, again.output
        first = session.item(contract).text.splitlines()[0]
        assert again.item(contract).text.splitlines()[0] == first

    workplace.shell(MENDED)
    for contract in (OUTPUTS_CROSS, RE_ENTRY):
        again = replay(workplace, replay_line(session, contract))
        assert again.verdicts() == {contract: "passed"}, again.output


@pytest.mark.parametrize(
    ("script", "more", "sentence"),
    [
        (
            "echo a > a",
            HANDOFF,
            "a handoff is declared, but after the undisturbed run handoff.json is not there (a",
        ),
        (
            "echo a > a",
            ("--checkpoint-handoff", "cat {workspace}/a"),
            "the handoff of the undisturbed run cannot be read: the handoff command: it is not",
        ),
        (
            'echo a > a; echo "input a b" >> "$CHECKPOINT_EVENTS"',
            (),
            "the event 'input a b' is not 'input NAME SHA256': end it with the digest, 64 ",
        ),
        (
            "echo a > a",
            ("--checkpoint-capability", "stage-inputs"),
            "the capability 'stage-inputs' is declared, but the undisturbed run wrote no line",
        ),
    ],
)
def test_what_is_declared_must_show(
    workplace: Workplace, script: str, more: tuple[str, ...], sentence: str
) -> None:
    session = workplace.judge_job(workplace.shell(script), "cat {workspace}/a", *KILLS, *more)

    assert session.inconclusive().startswith(sentence)
    assert session.ret == 1
