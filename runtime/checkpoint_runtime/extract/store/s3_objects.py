"""A bucket, or a folder of one, act by act."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from checkpoint_runtime.extract.crc import as_base64, crc64nvme, from_base64
from checkpoint_runtime.extract.parts import Whole
from checkpoint_runtime.extract.store.body import Body, mapped
from checkpoint_runtime.extract.store.failures import TakenError
from checkpoint_runtime.extract.store.objects import CHUNK_BYTES, Listed, Seen
from checkpoint_runtime.extract.store.options import StoreOptions
from checkpoint_runtime.extract.store.s3_client import s3_client
from checkpoint_runtime.extract.store.s3_errors import (
    answered,
    is_absent,
    is_unknown,
    translated,
)
from checkpoint_runtime.extract.store.s3_multipart import abandon_uploads, put_in_parts
from checkpoint_runtime.extract.store.s3_probe import computes_checksums


class S3Objects:
    """:class:`~checkpoint_runtime.extract.store.objects.Objects` of S3 or a server like it."""

    def __init__(self, bucket: str, prefix: str, options: StoreOptions) -> None:
        """
        :param prefix: without slashes around it; empty: the bucket itself.
        """
        self.bucket = bucket
        self.url = f"s3://{bucket}/{prefix}".rstrip("/")
        self._before = f"{prefix}/" if prefix else ""
        self._options = options
        self._lock = threading.Lock()

    @cached_property
    def _client(self) -> Any:
        with self._lock:
            return self.__dict__.get("_client") or s3_client(self._options)

    def check(self) -> None:
        with translated(self.url):
            # LIST tells what is wrong, HEAD only a number; but some servers list what is not there.
            self._client.list_objects_v2(Bucket=self.bucket, Prefix=self._before, MaxKeys=1)
            try:
                self._client.head_bucket(Bucket=self.bucket)
            except self._client.exceptions.ClientError as error:
                if not is_absent(error):
                    raise
                error.response["Error"]["Code"] = "NoSuchBucket"
                raise answered(self.url, error) from error

    def probe(self) -> bool:
        return computes_checksums(self)

    def put(self, path: Path, whole: Whole, *, instead_of: str | None) -> None:
        condition = {"IfNoneMatch": "*"} if instead_of is None else {"IfMatch": instead_of}
        with mapped(path, whole) as view, translated(self.place(whole.key)):
            if whole.size > self._options.multipart_threshold_bytes:
                put_in_parts(
                    self._client, self._named(whole.key), view, whole,
                    part_bytes=self._options.part_bytes, condition=condition,
                )  # fmt: skip
                return
            self._client.put_object(
                **self._named(whole.key),
                Body=Body(view),
                ContentLength=whole.size,
                ChecksumAlgorithm="CRC64NVME",
                ChecksumCRC64NVME=as_base64(whole.crc64nvme),
                **condition,
            )

    def put_bytes(self, key: str, content: bytes) -> None:
        self.put_small(key, content, crc64nvme(content))

    def put_small(self, key: str, content: bytes, crc: int, **condition: str) -> None:
        with translated(self.place(key)):
            self._client.put_object(
                **self._named(key),
                Body=content,
                ChecksumAlgorithm="CRC64NVME",
                ChecksumCRC64NVME=as_base64(crc),
                **condition,
            )

    def seen(self, key: str) -> Seen | None:
        with translated(self.place(key)):
            try:
                found = self._client.head_object(**self._named(key), ChecksumMode="ENABLED")
            except self._client.exceptions.ClientError as error:
                if is_absent(error):
                    return None
                raise
        return Seen(
            size=int(found["ContentLength"]),
            tag=str(found.get("ETag", "")),
            crc64nvme=from_base64(found.get("ChecksumCRC64NVME", "")),
        )

    def chunks(self, key: str) -> Iterator[bytes]:
        with translated(self.place(key)):
            try:
                body = self._client.get_object(**self._named(key))["Body"]
            except self._client.exceptions.ClientError as error:
                if is_absent(error):
                    return
                raise
            with body:
                # It raises if fewer bytes come than were announced.
                while chunk := body.read(CHUNK_BYTES):
                    yield chunk

    def listed(self, folder: str = "", *, after: str = "") -> Iterator[Listed]:
        with translated(self.url):
            behind = {"StartAfter": self._before + after} if after else {}
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self.bucket, Prefix=self._before + folder, **behind
            )
            for page in pages:
                for entry in page.get("Contents", ()):
                    key = entry["Key"].removeprefix(self._before)
                    yield Listed(key, int(entry["Size"]), str(entry.get("ETag", "")))

    def remove(self, key: str, tag: str | None = None) -> None:
        if tag is not None and not self._is_held(key, tag):
            return
        condition = {} if tag is None else {"IfMatch": tag}
        with translated(self.place(key)):
            try:
                self._client.delete_object(**self._named(key), **condition)
            except self._client.exceptions.ClientError as error:
                if condition and is_unknown(error):
                    self.remove(key)  # a store that has no conditional DELETE, and says so
                elif not is_absent(error):
                    raise

    def _is_held(self, key: str, tag: str) -> bool:
        """Looked at just before: there are stores that do not heed the condition of a DELETE.

        :raises TakenError: another one is.
        """
        seen = self.seen(key)
        if seen is not None and seen.tag != tag:
            raise TakenError(f"{self.place(key)}: the store holds something else under this key.")
        return seen is not None

    def abandon(self, keys: Iterable[str]) -> int:
        with translated(self.url):
            full = frozenset(self._before + key for key in keys)
            return abandon_uploads(self._client, self.bucket, self._before, full)

    def place(self, key: str) -> str:
        return f"{self.url}/{key}"

    def _named(self, key: str) -> dict[str, str]:
        return {"Bucket": self.bucket, "Key": self._before + key}
