"""The kit's end: ask the server of a slot to run things there."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pytest_checkpoint
from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.receiver.receiver import RECEIVER
from pytest_checkpoint.record.request import Request, Result
from pytest_checkpoint.record.slot import bodies_of, scratch_of
from pytest_checkpoint.record.store.access import OWN
from pytest_checkpoint.record.store.bodies import Bodies
from pytest_checkpoint.record.store.wanted import WantedStore

_SERVER: Final = (
    "import sys; sys.path[:0] = [{path!r}]; "
    "from pytest_checkpoint.record.server import main; main({descriptor}); "
    "import os; os._exit(0)"  # taking its modules down takes longer than an execution
)
_LAST_WORDS: Final = 4000
_OWN_ACCOUNT: Final = frozenset(
    {
        "AWS_PROFILE",
        "AWS_DEFAULT_PROFILE",
        "AWS_SESSION_TOKEN",
        "AWS_SECURITY_TOKEN",
        "AWS_ENDPOINT_URL_S3",
        "AWS_ENDPOINT",
        "AWS_S3_ENDPOINT",
        "S3_ENDPOINT",
        "S3_ENDPOINT_URL",
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
        "AWS_ROLE_ARN",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN",
        "AWS_USE_FIPS_ENDPOINT",
        "AWS_USE_DUALSTACK_ENDPOINT",
    }
)
"""What would lead a client past the endpoint that it is given."""
_TOLD: Final = {
    "AWS_ACCESS_KEY_ID": OWN.key,
    "AWS_SECRET_ACCESS_KEY": OWN.secret,
    "AWS_DEFAULT_REGION": OWN.region,
    "AWS_REGION": OWN.region,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}
"""What a client needs to be told besides."""
STAGE_FAULT: Final = "CHECKPOINT_STAGE_FAULT"
"""Set only where a stage is to raise: ``raise:NAME:TIMES``."""
EFFECTS_URL: Final = "CHECKPOINT_EFFECTS_URL"
EFFECTS_FILE: Final = "CHECKPOINT_EFFECTS_FILE"
"""Set only where effects are received."""


class SlotClient:
    """A slot of our own while the ``with`` block lasts; removed at its end, however it ends."""

    def __init__(
        self,
        base: Path,
        number: int | None = None,
        *,
        receives: bool = False,
        store: WantedStore | None = None,
    ) -> None:
        """``receives``: effects can be sent there by HTTP. ``store``: the object store it has."""
        self._base = base
        self._wanted = number
        self._receives = receives
        self._store = store

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
            self._take(self._base, self._wanted)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def move(self, base: Path) -> None:
        """Give the slot back, and have another one there.

        HarnessError if none is to be had: then there is no slot any more.
        """
        self._take(base, None)

    def _take(self, base: Path, number: int | None) -> None:
        wanted = {"base": str(base), "number": number}
        store = self._store and dataclasses.asdict(self._store)
        answer = self._ask({**wanted, "receives": self._receives, "store": store})
        if "error" in answer:
            raise HarnessError(answer["error"])
        self.path = Path(answer["path"])
        self.number = int(answer["number"])
        self.port = int(answer["port"])
        """Of 127.0.0.1, where effects are received; 0: nowhere."""
        self.store_port = int(answer["store_port"])
        """The same of the object store."""

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
    def objects(self) -> Path:
        """The log of what the object store holds: see ``store.contents``."""
        return self.path / "objects"

    @property
    def bodies(self) -> Bodies:
        """The bytes of objects."""
        return Bodies(bodies_of(self.path))

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
    if slot.store_port:
        inherited = with_store(inherited, slot.store_port)
    if slot.port or slot.store_port:
        for name in ("no_proxy", "NO_PROXY"):  # a proxy cannot reach it, and is not to
            others = inherited.get(name)
            inherited[name] = f"{others},{RECEIVER}" if others else RECEIVER
    return inherited


def store_url(port: int) -> str:
    """Where the job finds the object store."""
    return f"http://{RECEIVER}:{port}"


def with_store(inherited: Mapping[str, str], port: int) -> dict[str, str]:
    """Where the object store is. Nothing of the user's own accounts is left: no job needs them."""
    told = {name: value for name, value in inherited.items() if name not in _OWN_ACCOUNT}
    return told | {"AWS_ENDPOINT_URL": store_url(port), **_TOLD}


def secrets_of(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment as far as it is the user's, and may hold what is not to be shown."""
    ours = {"AWS_ENDPOINT_URL": environment.get("AWS_ENDPOINT_URL", ""), **_TOLD}
    if not ours["AWS_ENDPOINT_URL"].startswith(f"http://{RECEIVER}:"):
        return dict(environment)
    given = {name: value for name, value in environment.items() if ours.get(name) != value}
    return given | {name: os.environ[name] for name in ours if name in os.environ}
