"""What is done about a worker that is stale or stalled: a command is run, the job started again."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from checkpoint_runtime.command.watch_options import WatchOptions
from checkpoint_runtime.liveness.beat import BeatState
from checkpoint_runtime.liveness.judgement import Liveness
from checkpoint_runtime.liveness.restarts import Restarts
from checkpoint_runtime.liveness.watcher import Judgement, Watcher

_Key = tuple[Path, str]
_BEATS_WITHIN: Final = 4
"""Times the bound: so long a job that was started may load, and in any case:"""
_LOADS_WITHIN_S: Final = 60.0
_ENDS_WITHIN_S: Final = 10.0


class Incidents:
    """The incidents of one watch."""

    def __init__(self, options: WatchOptions, watcher: Watcher, note: Callable[[str], None]):
        """
        :param note: told, in a sentence, what is done.
        """
        self._options = options
        self._watcher = watcher
        self._note = note
        self._open: set[_Key] = set()
        self._restarts: dict[Path, Restarts] = {}
        """A command resumes the job of a workspace: all its workers."""
        self._told: list[subprocess.Popen[bytes]] = []

    def corrected(self, judgements: Sequence[Judgement]) -> list[Judgement]:
        """What is to be said of workers, by who knows what became of those it has started."""
        return [self._corrected(judged) for judged in judgements]

    def see_to(self, judgements: Sequence[Judgement]) -> bool:
        """Do what is to be done about them; whether one of them is to be waited for now."""
        for judged in judgements:
            self._see_to(judged)
        started = False
        if self._options.restart:
            for workspace in dict.fromkeys(judged.workspace for judged in judgements):
                started |= self._restart([one for one in judgements if one.workspace == workspace])
        self._told = [process for process in self._told if process.poll() is None]
        for restarts in self._restarts.values():
            restarts.reap()
        return started

    def is_settled(self, judged: Judgement) -> bool:
        """Whether nothing more will come of it."""
        if judged.liveness.has_ended:
            return True
        if not judged.liveness.is_incident:
            return False
        if not self._options.acts:
            return True
        restarts = self._restarts.get(judged.workspace)
        return restarts is not None and (restarts.used_up or restarts.refused(judged.worker))

    def used_up(self, judged: Judgement) -> bool:
        """Whether it stays an incident since there are no more restarts."""
        restarts = self._restarts.get(judged.workspace)
        return judged.liveness.is_incident and restarts is not None and restarts.used_up

    def close(self) -> None:
        """Wait a moment for what was started."""
        for process in self._told:
            try:
                process.wait(_ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._note(f"the command of --on-stale (process {process.pid}) still runs.")
        for restarts in self._restarts.values():
            restarts.wait(0.0)

    def _corrected(self, judged: Judgement) -> Judgement:
        """One that was started again and ended without a beat is not waited for."""
        restarts = self._restarts.get(judged.workspace)
        if restarts is None or not restarts.has_replaced(judged.worker):
            return judged
        code = restarts.ended_with
        if judged.liveness is not Liveness.WAITING or code is None:
            return judged
        finished = judged.beat is not None and judged.beat.state is BeatState.FINISHED
        if code == 0 and finished:
            why = "it said that it finished when it was told to end, and nothing was left to do"
            return replace(judged, liveness=Liveness.FINISHED, why=why, decided=True)
        if code == 0 and judged.beat is not None:
            # It has left the job to somebody else, a queue: that one has still to beat.
            return judged
        why = f"what was started again ended with code {code}, without a beat"
        liveness = Liveness.STALE if code else Liveness.FINISHED
        return replace(judged, liveness=liveness, why=why, decided=True)

    def _see_to(self, judged: Judgement) -> None:
        key = judged.workspace, judged.worker
        if not judged.liveness.is_incident:
            self._open.discard(key)
        elif key not in self._open:
            self._open.add(key)
            self._tell(judged)

    def _restart(self, judgements: Sequence[Judgement]) -> bool:
        """See to the workers of one workspace; whether one of them is to be waited for now."""
        if not any(judged.liveness.is_incident for judged in judgements):
            return False
        workspace = judgements[0].workspace
        replaced = self._restarts_of(workspace).make(judgements)
        within_s = max(_LOADS_WITHIN_S, _BEATS_WITHIN * self._watcher.stale_after_s)
        for worker in replaced:
            self._open.discard((workspace, worker))
            self._watcher.expect_another(workspace, worker, within_s)
        return bool(replaced)

    def _tell(self, judged: Judgement) -> None:
        if not self._options.on_stale:
            return
        filled = {
            "{workspace}": str(judged.workspace),
            "{worker}": judged.worker,
            "{state}": str(judged.liveness),
        }
        command = [_filled(part, filled) for part in self._options.on_stale]
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        except OSError as error:
            self._note(f"--on-stale: {command[0]} cannot be started: {error.strerror}.")
            return
        self._told.append(process)

    def _restarts_of(self, workspace: Path) -> Restarts:
        if workspace not in self._restarts:
            self._restarts[workspace] = Restarts(
                self._options.restart,
                budget=self._options.restarts,
                backoff_s=self._options.backoff_s,
                grace_s=self._options.grace_s,
                note=self._note,
            )
        return self._restarts[workspace]


def _filled(part: str, filled: dict[str, str]) -> str:
    for placeholder, text in filled.items():
        part = part.replace(placeholder, text)
    return part
