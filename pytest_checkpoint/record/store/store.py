"""The object store of a slot: the kit's own or the user's, and the bucket in it."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Self
from urllib.parse import urlsplit
from xml.etree import ElementTree

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.receiver.receiver import RECEIVER, listen
from pytest_checkpoint.record.store.access import Access
from pytest_checkpoint.record.store.embedded import RESET, Embedded
from pytest_checkpoint.record.store.upstream import Upstream
from pytest_checkpoint.record.store.wanted import WantedStore

_FOUND_THERE: Final = (HTTPStatus.OK, HTTPStatus.CONFLICT)


class Stores:
    """Of one server, which has one slot after the other."""

    def __init__(self) -> None:
        self._embedded: Embedded | None = None

    def open(self, wanted: dict[str, Any]) -> Store:
        """For one slot. HarnessError with a sentence if the user's store cannot be used."""
        if wanted["endpoint"]:
            return Store.open(wanted, None)
        if self._embedded is None:
            self._embedded = Embedded.start()
        return Store.open(wanted, self._embedded)

    @property
    def processes(self) -> set[int]:
        """That outlive an execution, and a slot."""
        return {self._embedded.process} if self._embedded is not None else set()

    def close(self) -> None:
        if self._embedded is not None:
            self._embedded.close()


@dataclass(slots=True)
class Store:
    """Opened once per slot, by its server; closed with it."""

    wanted: WantedStore
    listener: socket.socket
    embedded: Embedded | None
    """None: the user's own."""
    _access: Access | None = None
    _made_bucket: bool = False

    @classmethod
    def open(cls, wanted: dict[str, Any], embedded: Embedded | None) -> Self:
        """HarnessError with a sentence if the user's store cannot be used."""
        store = cls(WantedStore(**wanted), listen(), embedded)
        if embedded is None:
            store._begin()
        return store

    @property
    def access(self) -> Access:
        """Its bucket is there. HarnessError if it cannot be had."""
        if self._access is None:
            self._begin()
        assert self._access is not None
        return self._access

    def close(self) -> None:
        """Of the user's own store, what is ours is removed."""
        self.listener.close()
        if self.embedded is None and self._access is not None:
            self._empty(self._access)

    def _begin(self) -> None:
        access = self._where()
        upstream = Upstream(access)
        try:
            if access.embedded:
                upstream.post(RESET)
            # To make one anew that is there is answered as if it had not been, and resets its ACL.
            there = not access.embedded and upstream.ask("HEAD").status == HTTPStatus.OK
            made = None if there else upstream.ask("PUT")
            if made is not None and made.status not in _FOUND_THERE:
                raise HarnessError(
                    f"the bucket {access.bucket!r} can be neither made nor used ({made.status}): "
                    f"{made.body[:200].decode(errors='replace')}"
                )
            if not access.embedded and (held := keys(upstream, access)):
                raise HarnessError(
                    f"s3://{access.bucket}/{access.prefix} at {self.wanted.endpoint} holds "
                    f"{held[0]!r}: a job that is run a thousand times needs a place of its own; "
                    "empty it, or declare another bucket or prefix"
                )
        finally:
            upstream.close()
        self._access = access
        self._made_bucket = made is not None and made.status == HTTPStatus.OK

    def _where(self) -> Access:
        wanted, listener = self.wanted, self.listener.fileno()
        if self.embedded is not None:
            return Access(
                listener=listener,
                host=RECEIVER,
                port=self.embedded.port,
                bucket=wanted.bucket,
                prefix=wanted.prefix,
            )
        parts = urlsplit(wanted.endpoint)
        secure = parts.scheme == "https"
        return Access(
            listener=listener,
            host=parts.hostname or "",
            port=parts.port or (443 if secure else 80),
            secure=secure,
            bucket=wanted.bucket,
            prefix=wanted.prefix,
            embedded=False,
        )

    def _empty(self, access: Access) -> None:
        upstream = Upstream(access)
        try:
            for key in keys(upstream, access):
                upstream.ask("DELETE", key)
            for key, upload in uploads(upstream, access):
                upstream.ask("DELETE", key, {"uploadId": upload})
            if self._made_bucket and not keys(upstream, access):
                upstream.ask("DELETE")
        finally:
            upstream.close()


def keys(upstream: Upstream, access: Access) -> list[str]:
    """Of all objects that lie in what is ours."""
    found: list[str] = []
    query = {"list-type": "2", "prefix": access.prefix}
    while True:
        answer = upstream.ask("GET", query=query)
        if answer.status != HTTPStatus.OK:
            raise HarnessError(
                f"the bucket {access.bucket!r} cannot be listed ({answer.status}): "
                f"{answer.body[:200].decode(errors='replace')}"
            )
        root = ElementTree.fromstring(answer.body)
        found += [text for one in _named(root, "Contents") for text in _texts(one, "Key")]
        token = _texts(root, "NextContinuationToken")
        if not token:
            return found
        query["continuation-token"] = token[0]


def uploads(upstream: Upstream, access: Access) -> list[tuple[str, str]]:
    """Key and id of all multipart uploads there that were neither completed nor aborted."""
    answer = upstream.ask("GET", query={"uploads": "", "prefix": access.prefix})
    if answer.status != HTTPStatus.OK:
        return []
    root = ElementTree.fromstring(answer.body)
    return [(_texts(o, "Key")[0], _texts(o, "UploadId")[0]) for o in _named(root, "Upload")]


def _named(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [one for one in root.iter() if one.tag.rpartition("}")[2] == name]


def _texts(root: ElementTree.Element, name: str) -> list[str]:
    return [one.text or "" for one in _named(root, name)]
