"""The kit's end: ask the server of a slot to run things there."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pytest_checkpoint
from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.receiver.receiver import RECEIVER
from pytest_checkpoint.record.request import Request, Result
from pytest_checkpoint.record.slot import scratch_of

_SERVER: Final = (
    "import sys; sys.path[:0] = [{path!r}]; "
    "from pytest_checkpoint.record.server import main; main({descriptor})"
)
_LAST_WORDS: Final = 4000
STAGE_FAULT: Final = "CHECKPOINT_STAGE_FAULT"
"""Set only where a stage is to raise: ``raise:NAME:TIMES``."""
EFFECTS_URL: Final = "CHECKPOINT_EFFECTS_URL"
EFFECTS_FILE: Final = "CHECKPOINT_EFFECTS_FILE"
"""Set only where effects are received."""


class SlotClient:
    """A slot of our own while the ``with`` block lasts; removed at its end, however it ends."""

    def __init__(self, base: Path, number: int | None = None, *, receives: bool = False) -> None:
        """``receives``: effects can be sent there by HTTP."""
        self._base = base
        self._wanted = number
        self._receives = receives

    def __enter__(self) -> Self:
        ours, theirs = socket.socketpair()
        root = str(Path(pytest_checkpoint.__file__).parent.parent)
        self._complaints = tempfile.TemporaryFile()
        with theirs:
            self._server = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-c",
                    _SERVER.format(path=root, descriptor=theirs.fileno()),
                ],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._complaints,
                start_new_session=True,
            )
        self._socket = ours
        self._lines = ours.makefile("rb")
        try:
            wanted = {"base": str(self._base), "number": self._wanted}
            answer = self._ask({**wanted, "receives": self._receives})
            if "error" in answer:
                raise HarnessError(answer["error"])
        except BaseException:
            self._close()
            raise
        self.path = Path(answer["path"])
        self.number = int(answer["number"])
        self.port = int(answer["port"])
        """Of 127.0.0.1, where effects are received; 0: nowhere."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def run(self, request: Request) -> Result:
        """Carry out one execution and wait for it; HarnessError if the kit itself failed."""
        self._send(request.dump())
        result = Result.load(self._line())
        if result.failure is not None:
            raise HarnessError(result.failure)
        return result

    @property
    def workspace(self) -> Path:
        return self.path / "w"

    @property
    def temporary(self) -> Path:
        return self.path / "t"

    @property
    def events(self) -> Path:
        return self.path / "events"

    @property
    def effects(self) -> Path:
        return self.path / "effects"

    @property
    def scratch(self) -> Path:
        """For recordings that nobody keeps; removed with the slot."""
        return scratch_of(self.path)

    def _ask(self, question: dict[str, object]) -> dict[str, str]:
        self._send(json.dumps(question).encode())
        answer: dict[str, str] = json.loads(self._line())
        return answer

    def _send(self, line: bytes) -> None:
        try:
            self._socket.sendall(line + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            raise self._ended() from None

    def _line(self) -> bytes:
        try:
            line = self._lines.readline()
        except ConnectionResetError:
            line = b""
        if not line:
            raise self._ended()
        return line

    def _ended(self) -> HarnessError:
        code = self._server.wait()
        self._complaints.seek(0)
        said = self._complaints.read()[-_LAST_WORDS:].decode(errors="replace").strip()
        return HarnessError(
            f"the recording server ended unexpectedly (status {code})" + (said and f":\n{said}")
        )

    def _close(self) -> None:
        """Hang up, and wait until everything has been ended and removed."""
        self._lines.close()
        self._socket.close()
        self._server.wait()
        self._complaints.close()


def environment(slot: SlotClient, *, keep_tmpdir: bool) -> dict[str, str]:
    """What a subject's processes inherit: ours, and where its things are."""
    inherited = dict(os.environ)
    for name in (STAGE_FAULT, EFFECTS_URL, EFFECTS_FILE):
        inherited.pop(name, None)
    inherited["CHECKPOINT_WORKSPACE"] = str(slot.workspace)
    inherited["CHECKPOINT_EVENTS"] = str(slot.events)
    inherited["PYTHONDONTWRITEBYTECODE"] = "1"
    if not keep_tmpdir:
        inherited["TMPDIR"] = str(slot.temporary)
    if slot.port:
        inherited[EFFECTS_URL] = f"http://{RECEIVER}:{slot.port}/"
        inherited[EFFECTS_FILE] = str(slot.effects)
        for name in ("no_proxy", "NO_PROXY"):  # a proxy cannot reach it, and is not to
            others = inherited.get(name)
            inherited[name] = f"{others},{RECEIVER}" if others else RECEIVER
    return inherited
