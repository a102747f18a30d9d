"""Programs that upload, written down as a recorder would."""

from __future__ import annotations

from hashlib import sha256

from checkpoint_contracts.bucket import StoreRequest, Verb
from pytest_checkpoint.record.journal import Recording
from pytest_checkpoint.record.operations import STORE_CALL, Operation, Stored
from pytest_checkpoint.record.store.contents import StoredObject, gone_line, object_line
from pytest_checkpoint.states.power_loss.models import Model
from pytest_checkpoint.states.source import StateSource
from tests.kit.power_loss.programs import Program

_METHODS = {Verb.PUT: "PUT", Verb.PART: "PUT", Verb.DELETE: "DELETE", Verb.GET: "GET"}


def line(key: str, data: bytes) -> bytes:
    return object_line(StoredObject(key=key, size=len(data), sha256=sha256(data).hexdigest()))


class Uploader(Program):
    """With requests among its calls."""

    def __init__(self, objects: bytes = b"", **files: bytes) -> None:
        """``objects``: what the store holds at the start."""
        super().__init__(**files)
        self.objects = objects
        self.requests: list[StoreRequest] = []

    def put(self, key: str, data: bytes) -> None:
        self.ask(Verb.PUT, key, line(key, data), len(data))

    def delete(self, key: str) -> None:
        self.ask(Verb.DELETE, key, gone_line(key))

    def ask(self, verb: Verb, key: str, lines: bytes = b"", size: int = 0) -> None:
        path = f"{_METHODS.get(verb, 'POST')} s3://b/{key}"
        step = len(self.operations) + 1
        effect = Stored(lines, 200, size)
        operation = Operation(step=step, call=STORE_CALL, path=path.encode(), effects=(effect,))
        self.operations.append(operation)
        self.requests.append(StoreRequest(verb=verb, key=key, path=path, status=200, step=step))

    @property
    def source(self) -> StateSource:
        recording = Recording(
            "/slot", self.start, b"", tuple(self.operations), start_objects=self.objects
        )
        return StateSource(recording, Model.LINUX)
