"""What the store holds, as we have made it or seen it; and making it hold something else.

It is written down beside the slot after every change, so that the next execution, which another
process watches, has to change only what differs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from pytest_checkpoint.errors import HarnessError
from pytest_checkpoint.record.store.asked import Asked
from pytest_checkpoint.record.store.bodies import Bodies
from pytest_checkpoint.record.store.checksums import PREFIX, declared, wrong
from pytest_checkpoint.record.store.contents import (
    Contents,
    Part,
    StoredObject,
    Upload,
    fold,
    gone_line,
    object_line,
    part_line,
    upload_gone_line,
    upload_line,
)
from pytest_checkpoint.record.store.http import Answer
from pytest_checkpoint.record.store.upstream import Upstream

_KEPT_HEADERS: Final = frozenset(
    [
        "cache-control",
        "content-disposition",
        "content-encoding",
        "content-language",
        "content-type",
        "expires",
        "x-amz-storage-class",
        "x-amz-website-redirect-location",
    ]
)
_OF_UPLOADS: Final = frozenset({f"{PREFIX}algorithm", f"{PREFIX}type"})
_UPLOAD_ID: Final = re.compile(rb"<UploadId>(.*?)</UploadId>", re.DOTALL)
_HELD: Final = "held"
_REAL: Final = "real"


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Those that are part of an object, lower-case, in order."""
    return {
        name: value
        for name, value in sorted((name.lower(), value) for name, value in headers.items())
        if name in _KEPT_HEADERS or name.startswith("x-amz-meta-")
    }


def upload_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Those that a multipart upload is begun with."""
    return kept_headers(headers) | {
        name: value for name, value in headers.items() if name in _OF_UPLOADS
    }


def algorithm_of(headers: Mapping[str, str]) -> dict[str, str]:
    """The header without which the embedded store forgets a declared checksum."""
    names = [name.upper() for name in declared(headers)]
    return {"x-amz-sdk-checksum-algorithm": names[0]} if names else {}


def new_upload_id(answer: Answer) -> str:
    """Of the answer to CreateMultipartUpload."""
    found = _UPLOAD_ID.search(answer.body)
    return found[1].decode() if found else ""


@dataclass(slots=True)
class Holding:
    """Of one store. ``folder``: beside the slot, kept from execution to execution."""

    upstream: Upstream
    folder: Path
    bodies: Bodies
    contents: Contents = field(default_factory=Contents)
    real: dict[str, str] = field(default_factory=dict)
    """Upload id that the job knows → that of the store: which begins an upload anew for a state."""

    def __post_init__(self) -> None:
        held = self.folder / _HELD
        if held.exists():
            self.contents = fold(held.read_bytes())
        real = self.folder / _REAL
        if real.exists():
            self.real = json.loads(real.read_text())

    def note(self, lines: bytes) -> None:
        """The store has changed."""
        self.contents.apply(lines)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        with open(self.folder / _HELD, "ab") as held:
            held.write(lines)

    def note_upload(self, upload: str, real: str) -> None:
        """It was begun under this name."""
        self.real[upload] = real
        self.folder.mkdir(mode=0o700, exist_ok=True)
        (self.folder / _REAL).write_text(json.dumps(self.real))

    def become(self, wanted: Contents) -> None:
        """Make the store hold this. HarnessError if it does not take it."""
        if wanted.digest != self.contents.digest:
            self._change_to(wanted)
            self._write_down(wanted)
        self.contents = wanted

    def _write_down(self, contents: Contents) -> None:
        """In as few lines as it takes: what was held before is of no interest."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        (self.folder / _HELD).write_bytes(contents.dump())

    def _change_to(self, wanted: Contents) -> None:
        for upload in [*self.contents.uploads.values()]:
            if wanted.uploads.get(upload.id) != upload:
                self._abort(upload)
        for key in [*self.contents.objects]:
            if key not in wanted.objects:
                self._require(self.upstream.ask("DELETE", key), f"delete {key}")
                self.note(gone_line(key))
        for key, one in wanted.objects.items():
            if self.contents.objects.get(key) != one:
                self._put(one)
                self.note(object_line(one))
        for upload in wanted.uploads.values():
            if upload.id not in self.contents.uploads:
                self._begin(upload)

    def learn(self, key: str, parts: tuple[Part, ...] = (), upload: Upload | None = None) -> bytes:
        """Ask the store what it holds under a key: the line that says so, if it is news.

        ``parts``: what it was just put together from, by that upload.
        """
        answer = self.upstream.ask("GET", key, headers={"x-amz-checksum-mode": "ENABLED"})
        known = self.contents.objects.get(key)
        if answer.status == HTTPStatus.NOT_FOUND:
            return gone_line(key) if known is not None else b""
        self._require(answer, f"read {key}")
        headers = {name.lower(): value for name, value in answer.headers}
        begun = upload.headers if upload is not None else {}
        one = StoredObject(
            key=key,
            size=len(answer.body),
            sha256=self.bodies.put(answer.body),
            headers=kept_headers(headers)
            | _sums(headers)
            | {name: value for name, value in begun.items() if name in _OF_UPLOADS},
            parts=parts,
        )
        return b"" if one == known else object_line(one)

    def translated(self, asked: Asked) -> Asked:
        """With the store's own id of an upload in place of the one that the job knows."""
        real = self.real.get(asked.upload)
        if real is None:
            return asked
        query = {**asked.query, "uploadId": real}
        return Asked(asked.method, asked.bucket, asked.key, query, asked.headers, asked.body)

    def translated_back(self, answer: Answer) -> Answer:
        """The other way, in an answer that is XML."""
        body = answer.body
        for ours, real in self.real.items():
            body = body.replace(
                b"<UploadId>%s</UploadId>" % real.encode(),
                b"<UploadId>%s</UploadId>" % ours.encode(),
            )
        return answer if body == answer.body else Answer(answer.status, answer.headers, body)

    def _put(self, one: StoredObject) -> None:
        body = self.bodies.read(one.sha256)
        if one.parts:
            self._put_in_parts(one)
            return
        headers = kept_headers(one.headers) | _of_the_whole(one.headers)
        if not self.upstream.access.embedded and wrong(headers, body):
            headers = kept_headers(headers)  # a store that looks would refuse it
        headers |= algorithm_of(headers)
        self._require(
            self.upstream.ask("PUT", one.key, headers=headers, body=body), f"store {one.key}"
        )

    def _put_in_parts(self, one: StoredObject) -> None:
        """So that its ETag is what it was, and its checksums are."""
        whole = _of_the_whole(one.headers)
        real = self._created(one.key, one.headers)
        parts = "".join(
            _in_xml(part, self._put_part(one.key, real, part).header("etag")) for part in one.parts
        )
        body = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
        headers = whole | ({f"{PREFIX}type": "FULL_OBJECT"} if whole else {})
        answer = self.upstream.ask("POST", one.key, {"uploadId": real}, headers, body)
        self._require(answer, f"put {one.key} together")

    def _begin(self, upload: Upload) -> None:
        self.note_upload(upload.id, self._created(upload.key, upload.headers))
        self.note(upload_line(upload))
        for _, part in sorted(upload.parts.items()):
            self._put_part(upload.key, self.real[upload.id], part)
            self.note(part_line(upload.id, part))

    def _abort(self, upload: Upload) -> None:
        real = self.real.get(upload.id, upload.id)
        answer = self.upstream.ask("DELETE", upload.key, {"uploadId": real})
        if answer.status != HTTPStatus.NOT_FOUND:
            self._require(answer, f"abort {upload.id}")
        self.note(upload_gone_line(upload.id))

    def _created(self, key: str, headers: Mapping[str, str]) -> str:
        answer = self.upstream.ask("POST", key, {"uploads": ""}, headers=upload_headers(headers))
        self._require(answer, f"begin to upload {key}")
        return new_upload_id(answer)

    def _put_part(self, key: str, real: str, part: Part) -> Answer:
        query = {"partNumber": str(part.number), "uploadId": real}
        headers = dict(part.headers) | algorithm_of(part.headers)
        body = self.bodies.read(part.sha256)
        if not self.upstream.access.embedded and wrong(headers, body):
            headers = {}
        answer = self.upstream.ask("PUT", key, query, headers, body)
        self._require(answer, f"store part {part.number} of {key}")
        return answer

    def _require(self, answer: Answer, deed: str) -> None:
        if answer.status >= HTTPStatus.MULTIPLE_CHOICES:
            said = answer.body[:300].decode(errors="replace")
            raise HarnessError(f"the object store would not {deed} ({answer.status}): {said}")


def _sums(headers: Mapping[str, str]) -> dict[str, str]:
    return {PREFIX + name: value for name, value in sorted(declared(headers).items())}


def _of_the_whole(headers: Mapping[str, str]) -> dict[str, str]:
    """Checksums of the bytes: one that is put together from those of parts says so by a dash."""
    return {name: value for name, value in _sums(headers).items() if "-" not in value}


def _in_xml(part: Part, etag: str) -> str:
    sums = "".join(
        f"<Checksum{name.upper()}>{value}</Checksum{name.upper()}>"
        for name, value in declared(part.headers).items()
    )
    return f"<Part><PartNumber>{part.number}</PartNumber><ETag>{escape(etag)}</ETag>{sums}</Part>"


def sent_part(asked: Asked, bodies: Bodies) -> Part:
    """What a request for one part brings."""
    headers = {PREFIX + name: value for name, value in declared(asked.headers).items()}
    digest = bodies.put(asked.body, sha256(asked.body).hexdigest())
    return Part(number=asked.part, size=len(asked.body), sha256=digest, headers=headers)
