"""The store behind the proxy, asked one request at a time."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.store.access import Access
from pytest_checkpoint.record.store.asked import Asked
from pytest_checkpoint.record.store.http import Answer
from pytest_checkpoint.record.store.signing import signed, target

_PATIENCE_S: Final = 60.0
_NOT_PASSED_ON: Final = frozenset(
    [
        "accept-encoding",
        "amz-sdk-invocation-id",
        "amz-sdk-request",
        "authorization",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "x-amz-content-sha256",
        "x-amz-date",
        "x-amz-decoded-content-length",
        "x-amz-security-token",
        "x-amz-trailer",
    ]
)
_NOT_PASSED_BACK: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "server"})


@dataclass(slots=True)
class Upstream:
    """One connection, kept as long as the store keeps it."""

    access: Access
    _connection: http.client.HTTPConnection | None = field(default=None)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def send(self, asked: Asked) -> Answer:
        """Pass a request on, signed anew. HarnessError if the store does not answer."""
        headers = {k: v for k, v in asked.headers.items() if k not in _NOT_PASSED_ON}
        return self.ask(asked.method, asked.key, asked.query, headers, asked.body, asked.bucket)

    def ask(
        self,
        method: str,
        key: str = "",
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        bucket: str | None = None,
    ) -> Answer:
        """One request of our own. ``bucket``: None: the one that is ours; empty: about none."""
        bucket = self.access.bucket if bucket is None else bucket
        path = f"/{bucket}" + (f"/{key}" if key else "")
        at = target(path, query or {})
        told = {"host": self._name, **(headers or {})}
        told = signed(self.access.credentials, method, at, told, sha256(body).hexdigest())
        del told["host"]
        try:
            return self._exchanged(method, at, told, body)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise HarnessError(
                f"the object store at {self._name} does not answer "
                f"({type(error).__name__}: {error})"
            ) from error

    def post(self, path: str) -> Answer:
        """Something that is no part of S3, and needs no signature."""
        return self._exchanged("POST", path, {}, b"")

    @property
    def _name(self) -> str:
        return f"{self.access.host}:{self.access.port}"

    def _exchanged(self, method: str, at: str, headers: dict[str, str], body: bytes) -> Answer:
        again = self._connection is not None
        connection = self._connection or self._connected()
        try:
            connection.request(
                method, at, body or None, {"content-length": str(len(body))} | headers
            )
            reply = connection.getresponse()
        except (ConnectionError, http.client.RemoteDisconnected):
            self.close()
            self._connection = None
            if not again:
                raise
            return self._exchanged(method, at, headers, body)  # it was closed while it lay idle
        data = reply.read()
        passed = tuple(
            (name, value)
            for name, value in reply.getheaders()
            if name.lower() not in _NOT_PASSED_BACK
        )
        if reply.will_close:
            connection.close()
            self._connection = None
        return Answer(reply.status, passed, data)

    def _connected(self) -> http.client.HTTPConnection:
        access = self.access
        kind = http.client.HTTPSConnection if access.secure else http.client.HTTPConnection
        self._connection = kind(access.host, access.port, timeout=_PATIENCE_S)
        return self._connection
