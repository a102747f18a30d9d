"""One subject in one slot: put a state there, run, resume, check, and say what came of it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from checkpoint_contracts.evidence import Effect, Execution
from pytest_checkpoint.options import Options
from pytest_checkpoint.phases.effects.reading import effects_of
from pytest_checkpoint.phases.known_checks import KnownChecks
from pytest_checkpoint.phases.wording import Wording
from pytest_checkpoint.record import faults
from pytest_checkpoint.record.client import STAGE_FAULT, SlotClient, environment
from pytest_checkpoint.record.request import Request, Result
from pytest_checkpoint.record.store.contents import fold
from pytest_checkpoint.record.store.faults import StoreFault
from pytest_checkpoint.record.store.requests import StoreRequest
from pytest_checkpoint.record.tracked import BESIDE
from pytest_checkpoint.states.timeline import State
from pytest_checkpoint.subject import Command, Subject
from pytest_checkpoint.tree.capture import capture
from pytest_checkpoint.tree.image import Image
from pytest_checkpoint.tree.restore import restore

NOT_THE_TREE: Final = BESIDE
_IMPORTED: Final = re.compile(r"^import time:\s+\d+ \|\s+\d+ \|\s+(\w[\w.]*)$", re.MULTILINE)
"""A line of ``-X importtime``."""


class Bench:
    """The subject's commands, in the slot of a client."""

    def __init__(self, client: SlotClient, subject: Subject, options: Options) -> None:
        self.client = client
        self.subject = subject
        self.options = options
        self._environment = environment(client, keep_tmpdir=options.keep_tmpdir)
        self._wording = Wording(client, self._environment)
        if subject.staging is not None:
            (client.workspace / subject.staging.path).mkdir(0o700, parents=True, exist_ok=True)
        self._empty = State(self.look(), b"")
        self._warm = False
        self._learned: tuple[str, ...] = ()
        self.keeps_order = False
        """Warm the operations of a run, and of a resume, were seen in the order of a fresh one."""
        self.known_checks = KnownChecks()
        self._reuses_checks = False
        self.asked: tuple[StoreRequest, ...] = ()
        """What the last command asked of the object store."""
        self.fell_back: str | None = None
        """Why a resume or check that was to start warm had to start fresh, if one had."""

    # --- states ---

    def put(self, state: State) -> None:
        """Make the slot hold exactly this state."""
        restore(state.image, self.client.path, exclude=NOT_THE_TREE)
        self.client.events.write_bytes(state.events)
        self.client.effects.write_bytes(state.effects)
        self.client.objects.write_bytes(state.objects)

    def put_nothing(self) -> None:
        """As a fresh run finds it: an empty workspace, an empty TMPDIR, no events."""
        self.put(self._empty)

    def look(self) -> Image:
        return capture(self.client.path, exclude=NOT_THE_TREE).image

    def state(self) -> State:
        client = self.client
        return State(
            self.look(),
            client.events.read_bytes(),
            client.effects.read_bytes(),
            client.objects.read_bytes(),
        )

    def new_events(self, before: bytes) -> tuple[str, ...]:
        """Lines appended since the events file held ``before``."""
        return lines_of(self.client.events.read_bytes()[len(before) :])

    def new_effects(self, before: bytes) -> tuple[Effect, ...]:
        """What was sent since the effects file held ``before``."""
        return effects_of(self.client.effects.read_bytes()[len(before) :])

    def stored(self) -> str:
        """What the object store holds: a text that is the same for the same."""
        return fold(self.client.objects.read_bytes()).digest.hex()

    # --- executions ---

    @contextmanager
    def warmly(self, *, on: bool) -> Iterator[bool]:
        """Inside, resumes and checks start warm where that is possible. Gives ``on``."""
        before, self._warm = self._warm, on
        try:
            yield on
        finally:
            self._warm = before

    @contextmanager
    def reusing_checks(self) -> Iterator[None]:
        """Inside, a state that was checked already is not checked again. Not for replays."""
        before, self._reuses_checks = self._reuses_checks, True
        try:
            yield
        finally:
            self._reuses_checks = before

    def setup(self) -> Execution | None:
        """None if the subject has no setup."""
        if self.subject.setup is None:
            return None
        result = self._send(self.subject.setup, self.options.run_deadline_s, filtered=False)
        return self.execution(result)

    def run(
        self, *, recording: Path | None = None, kill_at: int | None = None, warm: bool = False
    ) -> tuple[Result, Execution]:
        result = self._send(
            self.subject.run,
            self.options.run_deadline_s,
            recording=str(recording) if recording else None,
            kill_at=kill_at,
            warm=warm,
        )
        return result, self.execution(result)

    def killed(self, step: int, deadline_s: float, recording: Path) -> Result:
        """A run that is killed after a step, if it comes to that."""
        return self._send(
            self.subject.run,
            deadline_s,
            recording=str(recording),
            kill_at=step,
            warm=self._warm,
            in_order=True,
        )

    def learn_imports(self) -> None:
        """Find out, by a run of its own, what the job imports: warm starts have it loaded then.

        What is imported within functions cannot be told by reading the job; torch does so at the
        first optimizer, for longer than torch itself takes.
        """
        told = self._send(
            self.subject.run,
            self.options.run_deadline_s,
            variables={"PYTHONPROFILEIMPORTTIME": "1"},
        )
        if told.exit_code == 0:
            self._learned = tuple(_IMPORTED.findall(told.error_output))

    def rehearse(self, recording: Path) -> None:
        """A warm run: what is loaded for it is loaded where nothing of the job's lies yet."""
        self._send(
            self.subject.run, self.options.run_deadline_s, recording=str(recording), warm=True
        )

    def resume(self, deadline_s: float, *, bystanders: tuple[int, ...] = ()) -> Execution:
        """``bystanders``: processes of ours that the job could take for its own."""
        result = self._send(self.subject.resume, deadline_s, warm=self._warm, bystanders=bystanders)
        return self.execution(result)

    def resume_told(self, deadline_s: float, recording: Path, *, in_order: bool = True) -> Result:
        """A resume that is recorded, and all that is known of it.

        ``in_order``: warm too its operations come in the very order of a fresh process.
        """
        return self._send(
            self.subject.resume,
            deadline_s,
            recording=str(recording),
            warm=self._warm,
            in_order=in_order,
        )

    def attempt(
        self,
        command: Command,
        deadline_s: float,
        *,
        stage_fault: str | None = None,
        kill_after: tuple[str, int] | None = None,
    ) -> tuple[Execution, bool]:
        """One of the subject's commands with a fault, and whether it was killed for the line.

        ``stage_fault``: for the subject, ``raise:NAME:TIMES``. ``kill_after``: a line of the events
        file, and how often it may be written until everything is killed.
        """
        result = self._send(command, deadline_s, stage_fault=stage_fault, kill_after=kill_after)
        return self.execution(result), result.killed_at is not None

    def faulted(
        self,
        command: Command,
        deadline_s: float,
        *,
        injection: faults.Injection | None = None,
        room: faults.Room | None = None,
        signal: faults.SignalAt | None = None,
        lost_reply: faults.LostReply | None = None,
        store_faults: tuple[StoreFault, ...] = (),
        recording: Path | None = None,
        watch_closes: bool = False,
        warm: bool | None = None,
    ) -> tuple[Result, Execution]:
        """One of the subject's commands with a fault that answers. ``Result.fired_at``: whether.

        ``warm``: None: as :meth:`warmly` says.
        """
        result = self._send(
            command,
            deadline_s,
            injection=injection,
            room=room,
            signal=signal,
            lost_reply=lost_reply,
            store_faults=store_faults,
            recording=str(recording) if recording else None,
            watch_closes=watch_closes,
            warm=self._warm if warm is None else warm,
            in_order=True,
        )
        return result, self.execution(result)

    def ask(self, command: Command, deadline_s: float) -> Result:
        """A command of the subject's that only tells something: unfiltered, as a check is."""
        return self._send(command, deadline_s, filtered=False)

    def check(self, deadline_s: float) -> Execution:
        if self._reuses_checks and not self.options.allow_outside:
            return self.known_checks.made(
                self.state, lambda: self._check_made(deadline_s), warm=self._warm
            )
        return self._check_made(deadline_s)

    def _check_made(self, deadline_s: float) -> Execution:
        return self.execution(self.check_told(deadline_s), is_check=True)

    def check_told(self, deadline_s: float) -> Result:
        """A check, and all that is known of it."""
        return self._send(self.subject.check, deadline_s, filtered=False, warm=self._warm)

    def _send(
        self,
        command: Command,
        deadline_s: float,
        *,
        filtered: bool = True,
        recording: str | None = None,
        kill_at: int | None = None,
        stage_fault: str | None = None,
        kill_after: tuple[str, int] | None = None,
        injection: faults.Injection | None = None,
        room: faults.Room | None = None,
        signal: faults.SignalAt | None = None,
        lost_reply: faults.LostReply | None = None,
        store_faults: tuple[StoreFault, ...] = (),
        watch_closes: bool = False,
        bystanders: tuple[int, ...] = (),
        warm: bool = False,
        in_order: bool = False,
        variables: Mapping[str, str] | None = None,
    ) -> Result:
        request = dataclasses.replace(
            self.request(self.expanded(command), deadline_s),
            environment=self._environment_with(stage_fault) | dict(variables or {}),
            filtered=filtered,
            recording=recording,
            kill_at=kill_at,
            kill_after_line=kill_after[0] if kill_after else None,
            kill_after_times=kill_after[1] if kill_after else 1,
            injection=injection,
            room=room,
            signal=signal,
            lost_reply=lost_reply,
            store_faults=store_faults,
            watch_closes=watch_closes,
            bystanders=bystanders,
            warm=warm,
            learned=self._learned if filtered else (),
            in_order=in_order and bool(self._learned) and not self.keeps_order,
        )
        return self.carry_out(request)

    def request(self, command: Command, deadline_s: float) -> Request:
        """A fresh, filtered execution of a command, ``{workspace}`` already replaced in it.

        For :meth:`carry_out`; what else is wanted of it is replaced in the request.
        """
        return Request(
            command=command,
            working_directory=str(self.subject.working_directory),
            environment=self._environment,
            deadline_s=deadline_s,
            allow_network=self.options.allow_network,
            allow_outside=tuple(map(str, self.options.allow_outside)),
        )

    def carry_out(self, request: Request) -> Result:
        result = self.client.run(request)
        self.fell_back = self.fell_back or result.fresh_because
        self.asked = result.requests
        if request.filtered:
            self.known_checks.note(result)
        return result

    def expanded(self, command: Command) -> Command:
        """With the workspace's path in place of ``{workspace}``."""
        workspace = str(self.client.workspace)
        return tuple(part.replace("{workspace}", workspace) for part in command)

    def _environment_with(self, stage_fault: str | None) -> dict[str, str]:
        if stage_fault is None:
            return self._environment
        return {**self._environment, STAGE_FAULT: stage_fault}

    def execution(self, result: Result, *, is_check: bool = False) -> Execution:
        """In the words of the evidence: see :class:`Wording`."""
        return self._wording.execution(result, is_check=is_check)

    def clean(self, text: str) -> str:
        """Made comparable between workspaces, and redacted: fit to be kept and shown."""
        return self._wording.clean(text)


def lines_of(events: bytes) -> tuple[str, ...]:
    """The complete lines of an events file."""
    text = events.decode("utf-8", "backslashreplace")
    return tuple(line for line in re.split("\r?\n", text) if line)
