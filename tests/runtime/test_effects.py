"""What is sent is sent once, or nobody is left to believe so: at every crash, signal and error."""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoint_runtime import (
    CheckpointRuntimeError,
    CommitError,
    Context,
    DamagedStateError,
    DefinitionError,
    EffectNotSent,
    EffectOutcomeError,
    EffectState,
    EffectUncertainError,
    Pipeline,
    Preempted,
    StageFailedError,
    StateError,
    TakenOverError,
    WorkspaceInUseError,
)
from checkpoint_runtime.effects.keys import idempotency_key
from checkpoint_runtime.exclusion.lock import WorkspaceLock
from checkpoint_runtime.state.effect_records import EffectName
from checkpoint_runtime.state.log import StateLog
from checkpoint_runtime.state.records import first_record
from tests.runtime.disk import Disk, failing, full_after, on
from tests.runtime.support import Notes, Ran, failing_times, log_of, one, records_of

KEY = idempotency_key("film", EffectName("work", "publish", "v1"))


class Receiver:
    """What has come in. ``send`` and ``confirm`` are the two sides of it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def keys(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []

    def send(self, key: str) -> dict[str, int]:
        with self.path.open("a") as file:
            file.write(f"{key}\n")
        return {"number": len(self.keys)}

    def confirm(self, key: str) -> dict[str, int] | None:
        return {"number": self.keys.index(key) + 1} if key in self.keys else None


@pytest.fixture
def receiver(tmp_path: Path) -> Receiver:
    return Receiver(tmp_path / "received")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path / "w"


def publishing(
    send: Callable[[str], Any], confirm: Callable[[str], Any] | None = None, **given: Any
) -> Pipeline:
    return one(lambda context: context.effect("publish", "v1", send, confirm), **given)


def known(pipeline: Pipeline, workspace: Path) -> list[tuple[str, str | None]]:
    return [(effect.state, effect.how) for effect in pipeline.effects(workspace)]


# --- once ---


def test_what_it_gave_is_returned_and_not_sent_again(workspace: Path, receiver: Receiver) -> None:
    tried: list[int] = []
    fail = failing_times(2, tried)

    def work(context: Context) -> Any:
        given = context.effect("publish", "v1", receiver.send)
        fail(context)
        return given

    pipeline = one(work, attempts=3, backoff_s=0)
    assert pipeline.run(workspace)["work"] == {"number": 1}
    assert (receiver.keys, tried) == ([KEY], [1, 2, 3])
    assert records_of(workspace)[2:4] == [
        {"intent": "publish", "stage": "work", "key": "v1", "at": records_of(workspace)[2]["at"]},
        {
            "sent": "publish",
            "stage": "work",
            "key": "v1",
            "how": "replied",
            "at": records_of(workspace)[3]["at"],
            "value": {"number": 1},
            "digest": records_of(workspace)[3]["digest"],
        },
    ]


def test_the_key_is_the_same_everywhere_and_another_for_each_effect() -> None:
    assert KEY == "c842b6c494bf61d307ad509242e1c237"
    names = [EffectName(*parts) for parts in (("a", "b", "c"), ("ab", "", "c"), ("a", "bc", ""))]
    keys = {idempotency_key(pipeline, name) for pipeline in ("film", "song") for name in names}
    assert len(keys) == 6


@pytest.mark.parametrize("outcome", [None, (1, b"x" * 100_000), float("nan"), "ä", {1: {2}}])
def test_what_it_gave_comes_back_exactly_and_is_never_swept(
    workspace: Path, outcome: object
) -> None:
    given: list[object] = []

    def work(context: Context) -> None:
        given.append(context.effect("publish", "v1", lambda key: outcome))
        if len(given) == 1:
            raise RuntimeError

    with pytest.raises(StageFailedError):
        one(work).run(workspace)
    one(work).resume(workspace)
    one(work).rerun(workspace, "work")
    assert list(map(repr, given)) == [repr(outcome)] * 3
    assert given[0] is not outcome or outcome is None or type(outcome) is str


def test_each_item_has_its_own_and_the_same_name_twice_is_one(
    workspace: Path, receiver: Receiver
) -> None:
    pipeline = Pipeline("film")
    pipeline.map(
        lambda context, item: context.effect("mail", item, receiver.send), ["a", "b", "a"], name="m"
    )
    assert pipeline.run(workspace)["m"] == [{"number": 1}, {"number": 2}, {"number": 1}]
    assert [(effect.stage, effect.key) for effect in pipeline.effects(workspace)] == [
        ("m", "a"),
        ("m", "b"),
    ]


@pytest.mark.usefixtures("no_syncs")
@pytest.mark.parametrize("confirmed", [False, True])
def test_killed_at_any_call_it_is_sent_once_or_the_user_is_asked(
    tmp_path: Path, confirmed: bool
) -> None:
    def job(receiver: Receiver) -> Pipeline:
        return publishing(receiver.send, receiver.confirm if confirmed else None)

    with on(Disk()) as undisturbed:
        job(Receiver(tmp_path / "first")).run(tmp_path / "undisturbed")
    asked = {0: 0, 1: 0}
    for call in range(1, undisturbed.count + 1):
        workspace, receiver = tmp_path / f"call-{call}", Receiver(tmp_path / f"received-{call}")
        with on(Disk(crash_before=call)):
            job(receiver).run(workspace)
        try:
            job(receiver).resume(workspace)
        except EffectUncertainError:
            sent = len(receiver.keys)
            asked[sent] += 1
            job(receiver).effects(workspace).settle(
                "publish", "v1", happened=bool(sent), outcome={"number": 1} if sent else None
            )
            job(receiver).resume(workspace)
        assert receiver.keys == [KEY], f"killed before call {call}"
        assert job(receiver).results(workspace)["work"] == {"number": 1}
    # Of two calls (the sync after the intent, the write of the outcome) each side.
    assert asked == ({0: 0, 1: 0} if confirmed else {0: 1, 1: 1})


# --- when it is not known ---


def test_with_nobody_to_ask_the_run_stops_and_says_how_to_settle_it(
    workspace: Path, receiver: Receiver
) -> None:
    def lost(key: str) -> None:
        receiver.send(key)
        raise TimeoutError("no reply")

    pipeline = publishing(lost)
    with pytest.raises(StageFailedError, match="TimeoutError: no reply"):
        pipeline.run(workspace)
    for _ in range(2):
        with pytest.raises(EffectUncertainError) as caught:
            pipeline.resume(workspace)
        assert str(caught.value) == (
            "stage 'work': effect 'publish' with key 'v1' may or may not have happened: it was "
            f"about to be sent at {caught.value.at}, and how that ended is not recorded. Find out, "
            "and say so: pipeline.effects(workspace).settle('publish', 'v1', stage='work', "
            "happened=True) (or that it did not happen); then resume. A confirm= of context.effect "
            "would be asked instead."
        )
        assert (caught.value.stage, caught.value.kind, caught.value.key) == (
            "work", "publish", "v1",
        )  # fmt: skip
    status = pipeline.status(workspace)
    assert status.stages[0].attempts == 1  # asking is no attempt
    assert status.unsettled == (
        "pipeline.effects(workspace).settle('publish', 'v1', stage='work', happened=True)",
    )
    assert receiver.keys == [KEY]


@pytest.mark.parametrize("happened", [True, False])
def test_who_can_be_asked_is_asked(workspace: Path, receiver: Receiver, happened: bool) -> None:
    def lost(key: str) -> Any:
        if happened or not lost_before:
            lost_before.append(key)
            if happened:
                receiver.send(key)
            raise TimeoutError
        return receiver.send(key)

    lost_before: list[str] = []
    pipeline = publishing(lost, receiver.confirm, attempts=2, backoff_s=0)
    assert pipeline.run(workspace)["work"] == {"number": 1}
    assert (receiver.keys, lost_before) == ([KEY], [KEY])
    how = "confirmed" if happened else "replied"
    assert known(pipeline, workspace) == [(EffectState.SENT, how)]


def test_who_is_asked_and_cannot_say_is_the_stages_failure(workspace: Path) -> None:
    def unreachable(key: str) -> None:
        raise ConnectionError("no route")

    pipeline = publishing(unreachable, unreachable)
    for attempt in (1, 2):
        with pytest.raises(StageFailedError, match=f"no route.*{attempt} of 10 attempts used"):
            pipeline.resume(workspace)
    assert known(pipeline, workspace) == [(EffectState.UNSETTLED, None)]


def test_what_says_that_it_was_not_sent_is_believed(workspace: Path, receiver: Receiver) -> None:
    def refused(key: str) -> Any:
        if not refusals:
            refusals.append(key)
            raise EffectNotSent("503")
        return receiver.send(key)

    refusals: list[str] = []
    pipeline = publishing(refused)
    with pytest.raises(StageFailedError, match="EffectNotSent: 503"):
        pipeline.run(workspace)
    assert known(pipeline, workspace) == [(EffectState.NOT_SENT, "replied")]
    assert pipeline.resume(workspace)["work"] == {"number": 1}
    assert refusals == receiver.keys == [KEY]


def test_stages_that_are_not_built_on_it_go_on_and_its_attempt_does_not_count(
    workspace: Path,
) -> None:
    ran: Ran = []
    pipeline = publishing(failing(errno.ECONNRESET))
    pipeline.stage(name="other", after=[])(lambda context: ran.append("other"))
    with pytest.raises(StageFailedError):
        pipeline.run(workspace)
    with pytest.raises(EffectUncertainError):
        pipeline.resume(workspace, keep_going=True)
    assert ran == ["other"]
    assert pipeline.status(workspace).stages[0].attempts == 1


def test_what_it_gave_and_cannot_be_kept_is_not_lost_in_silence(
    workspace: Path, receiver: Receiver
) -> None:
    def send(key: str) -> object:
        receiver.send(key)
        return {"lock": threading.Lock()}

    with pytest.raises(EffectOutcomeError) as caught:
        publishing(send).run(workspace)
    assert str(caught.value).startswith(
        "stage 'work': effect 'publish' with key 'v1' has happened, and what it gave cannot be "
        "kept: value['lock'] is of type"
    )
    with pytest.raises(EffectUncertainError):
        publishing(receiver.send).resume(workspace)
    assert receiver.keys == [KEY]


# --- signals and errors of the disk ---


def terminating(call: Callable[..., Any], when: int) -> Callable[..., Any]:
    """The call, in the midst of which a SIGTERM comes at one of its times."""
    times: list[int] = []

    def terminated(*given: Any) -> Any:
        times.append(1)
        if len(times) == when:
            os.kill(os.getpid(), signal.SIGTERM)
        return call(*given)

    return terminated


@pytest.mark.parametrize(
    ("when", "sent", "how"),
    [
        (1, 0, None),  # of the attempt: before the stage begins
        (2, 0, (EffectState.NOT_SENT, "withdrawn")),
        (3, 1, (EffectState.SENT, "replied")),
    ],
)
def test_a_signal_waits_for_what_is_being_recorded(
    workspace: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch,
    when: int, sent: int, how: tuple[str, str] | None,
) -> None:  # fmt: skip
    pipeline = publishing(receiver.send)
    with StateLog(prepared(workspace), "film") as log:
        log.append(first_record("film"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", terminating(os.fdatasync, when))
        with pytest.raises(Preempted):
            pipeline.run(workspace)
    assert len(receiver.keys) == sent
    assert known(pipeline, workspace) == ([] if how is None else [how])
    assert pipeline.resume(workspace)["work"] == {"number": 1}
    assert receiver.keys == [KEY]
    assert pipeline.status(workspace).stages[0].attempts == 0


def prepared(workspace: Path) -> Path:
    workspace.mkdir()
    return workspace


def test_a_signal_within_send_leaves_it_open(workspace: Path) -> None:
    def send(key: str) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        pytest.fail("it was not struck")

    with pytest.raises(Preempted):
        publishing(send).run(workspace)
    assert known(publishing(send), workspace) == [(EffectState.UNSETTLED, None)]
    with pytest.raises(EffectUncertainError):
        publishing(send).resume(workspace)


def test_a_grace_goes_on_while_effects_are_recorded(workspace: Path, receiver: Receiver) -> None:
    def work(context: Context) -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        for name in "ab":
            context.effect("publish", name, receiver.send)
        return 1

    with pytest.raises(Preempted):
        one(work).run(workspace, grace_s=600)
    assert len(receiver.keys) == 2
    assert one(work).results(workspace)["work"] == 1


def test_where_the_intent_cannot_be_recorded_nothing_is_sent(
    workspace: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(context: Context) -> Any:
        monkeypatch.setattr(os, "write", full_after(5))
        try:
            return context.effect("publish", "v1", receiver.send)
        finally:
            monkeypatch.undo()

    with pytest.raises(CommitError, match="No space left on device: 96 bytes"):
        one(work).run(workspace)
    assert receiver.keys == []
    assert known(one(work), workspace) == []
    assert one(work).status(workspace).stages[0].attempts == 0


@pytest.mark.parametrize("call", ["write", "fdatasync"])
def test_where_what_it_gave_cannot_be_recorded_that_is_said(
    workspace: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def send(key: str) -> object:
        receiver.send(key)
        monkeypatch.setattr(os, call, failing(errno.EIO))
        return 1

    with pytest.raises(CommitError, match="Input/output error") as caught:
        publishing(send).run(workspace)
    monkeypatch.undo()
    assert caught.value.__notes__[0] == (
        "effect 'publish' with key 'v1' of stage 'work' has happened, and that is not recorded. "
        "Say so before you resume: pipeline.effects(workspace).settle('publish', 'v1', "
        "stage='work', happened=True)"
    )
    with pytest.raises(EffectUncertainError):
        publishing(receiver.send).resume(workspace)
    assert receiver.keys == [KEY]


def test_a_run_that_was_taken_over_sends_nothing_more(workspace: Path, receiver: Receiver) -> None:
    def work(context: Context) -> object:
        (workspace / "lock").unlink()
        assert publishing(receiver.send).resume(workspace)["work"] == {"number": 1}
        return context.effect("publish", "v2", receiver.send)

    with pytest.raises(TakenOverError):
        one(work).run(workspace)
    assert receiver.keys == [KEY]


# --- what is asked for wrongly ---


@pytest.mark.parametrize(
    ("kind", "key", "sentence"),
    [
        ("", "v1", "'' cannot be the kind of an effect: use text, not empty, without spaces arou"),
        ("publish", 7, "7 cannot be the key of an effect: use text"),
        ("publish", "a\nb", r"'a\\nb' cannot be the key of an effect: use printable text\."),
        ("x" * 501, "v1", "x… cannot be the kind of an effect: 500 characters are the limit"),
    ],
)
def test_a_name_that_cannot_be_one_gets_a_sentence(
    workspace: Path, kind: str, key: Any, sentence: str
) -> None:
    pipeline = one(lambda context: context.effect(kind, key, pytest.fail))
    with pytest.raises(DefinitionError, match=f"stage 'work': .*{sentence}"):
        pipeline.run(workspace)
    assert pipeline.status(workspace).stages[0].attempts == 0


def test_one_within_itself_is_refused_and_what_stands_beside_it_is_not(workspace: Path) -> None:
    def work(context: Context) -> object:
        def send(key: str) -> object:
            with pytest.raises(DefinitionError, match="is being sent at this moment, by another"):
                context.effect("publish", "v1", pytest.fail)
            return context.effect("publish", "v2", lambda key: "within")

        return context.effect("publish", "v1", send)

    assert one(work).run(workspace)["work"] == "within"


def test_threads_of_a_stage_may_send(workspace: Path, receiver: Receiver) -> None:
    def work(context: Context) -> int:
        threads = [
            threading.Thread(target=context.effect, args=("publish", str(number), receiver.send))
            for number in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        return len(set(receiver.keys))

    assert one(work).run(workspace)["work"] == 8
    assert {effect.state for effect in one(work).effects(workspace)} == {EffectState.SENT}


def test_what_a_pipeline_within_send_refuses_is_a_failure_of_the_stage(workspace: Path) -> None:
    def send(key: str) -> object:
        return Pipeline("empty").run(workspace / "inner")

    with pytest.raises(StageFailedError, match="DefinitionError: pipeline 'empty' has no stages"):
        publishing(send).run(workspace)


def test_a_child_that_the_stage_forks_sends_nothing(workspace: Path, receiver: Receiver) -> None:
    def work(context: Context) -> int:
        child = os.fork()
        if not child:
            try:
                context.effect("publish", "v1", receiver.send)
            except CommitError:
                os._exit(7)
            finally:
                os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert one(work).run(workspace)["work"] == 7
    assert receiver.keys == []


# --- rerun, settle ---


def test_a_stage_that_is_run_again_sends_nothing_again_unless_that_is_asked_for(
    workspace: Path, receiver: Receiver
) -> None:
    pipeline, notes = publishing(receiver.send), Notes()
    pipeline.run(workspace)
    pipeline.rerun(workspace, "work", progress=notes)
    pipeline.resume(workspace, rerun_from="work", progress=notes)
    assert receiver.keys == [KEY]
    pipeline.rerun(workspace, "work", forget_effects=True, progress=notes)
    assert receiver.keys == [KEY, KEY]
    stays = (
        "clears 2 stages (work, after); each of 1 effect that happened stays: it is not sent again"
    )
    assert notes.notes == [stays, stays, stays.replace("stays: it is not", "is")]


def test_what_is_open_is_not_forgotten(workspace: Path) -> None:
    pipeline = publishing(failing(errno.EIO))
    with pytest.raises(StageFailedError):
        pipeline.run(workspace)
    with pytest.raises(EffectUncertainError):
        pipeline.rerun(workspace, "work", forget_effects=True)


def test_effects_of_one_item_cannot_be_forgotten(workspace: Path) -> None:
    pipeline = Pipeline("film")
    pipeline.map(lambda context, item: item, [1], name="m")
    pipeline.run(workspace)
    with pytest.raises(DefinitionError, match="which effects of stage 'm' are those of one item"):
        pipeline.rerun(workspace, "m[0]", forget_effects=True)


def test_what_the_user_settles_is_known(workspace: Path, receiver: Receiver) -> None:
    pipeline = publishing(failing(errno.EIO))
    with pytest.raises(StageFailedError):
        pipeline.run(workspace)
    effects = pipeline.effects(workspace)
    effects.settle("publish", "v1", happened=True, outcome=(1, 2))
    assert [(effect.state, effect.outcome) for effect in effects] == [
        (EffectState.SENT, '{"$tuple": [1, 2]}')
    ]
    assert pipeline.resume(workspace)["work"] == (1, 2)
    effects.settle("publish", "v1", stage="work", happened=False)
    assert known(pipeline, workspace) == [(EffectState.NOT_SENT, "settled")]
    publishing(receiver.send).rerun(workspace, "work")
    assert receiver.keys == [KEY]


@pytest.mark.parametrize("given", [{}, {"outcome": None}])
def test_to_say_again_that_it_happened_takes_back_no_outcome(
    workspace: Path, receiver: Receiver, given: dict[str, Any]
) -> None:
    pipeline = publishing(receiver.send)
    pipeline.run(workspace)
    (before,) = pipeline.effects(workspace)
    effects = pipeline.effects(workspace)
    effects.settle("publish", "v1", happened=True, **given)
    (after,) = effects
    assert after == before if not given else (after.how, after.outcome) == ("settled", "null")


def test_what_cannot_be_settled_gets_a_sentence(workspace: Path, receiver: Receiver) -> None:
    pipeline = publishing(receiver.send)
    pipeline.stage(name="twin")(lambda context: context.effect("publish", "v1", receiver.send))
    workspace.mkdir()
    empty = pipeline.effects(workspace)
    assert len(empty) == 0
    with pytest.raises(DefinitionError, match="'publish' with key 'v1'; none is recorded here"):
        empty.settle("publish", "v1", happened=True)
    assert not list(workspace.iterdir())
    pipeline.run(workspace)
    effects = pipeline.effects(workspace)
    assert len(effects) == 2
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, "is one of each of the stages 'work', 'twin': say which"),
        ({"stage": "nope"}, "no effect .* of stage 'nope'; there is 'publish' 'v1' .sent., 'pub"),
        ({"stage": "work", "outcome": object()}, "outcome cannot be kept: it is of type object"),
        ({"stage": "work", "happened": False, "outcome": 1}, "did not happen, and gave 1?"),
    )
    for given, sentence in cases:
        with pytest.raises(DefinitionError, match=sentence):
            effects.settle("publish", "v1", **{"happened": True, **given})
    with WorkspaceLock(workspace, pytest.fail), pytest.raises(WorkspaceInUseError):
        effects.settle("publish", "v1", stage="work", happened=True)
    assert known(pipeline, workspace) == [(EffectState.SENT, "replied")] * 2


def test_a_side_file_of_what_it_gave_that_is_gone_is_told_with_what_to_do(workspace: Path) -> None:
    pipeline = publishing(lambda key: bytes(100_000))
    pipeline.run(workspace)
    for path in (workspace / "values").iterdir():
        path.write_bytes(bytes(99_999) + b"1")
    with pytest.raises(StateError, match="It is part of what effect 'publish' with key 'v1' of st"):
        pipeline.rerun(workspace, "work")
    pipeline.effects(workspace).settle("publish", "v1", happened=True, outcome=3)
    assert pipeline.resume(workspace)["work"] == 3


@pytest.mark.parametrize(
    "record",
    [
        {"intent": "k", "stage": "s", "at": "now"},
        {"unsent": "k", "stage": "s", "key": "1", "at": "now", "how": "guessed"},
        {"sent": "k", "stage": "s", "key": "1", "at": "now", "how": "replied", "value": 1},
        {"forgotten": [["s", "k", "1"]]},
        {"forgotten": [["s", "k"]]},
    ],
)
def test_a_record_that_lacks_something_is_damage(tmp_path: Path, record: dict[str, Any]) -> None:
    (tmp_path / "state.log").write_bytes(log_of([first_record("film"), record]))
    with pytest.raises(DamagedStateError, match=r"line 2: the record .* lacks something"):
        publishing(pytest.fail).effects(tmp_path)


def test_every_error_of_effects_is_of_the_one_tree() -> None:
    assert issubclass(EffectUncertainError, CheckpointRuntimeError)
    assert not issubclass(EffectNotSent, CheckpointRuntimeError)
