"""One request, whole: whether it is taken, what a fault makes of it, what the store holds then."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from pytest_checkpoint.record.store import answers
from pytest_checkpoint.record.store.answers import etag_of
from pytest_checkpoint.record.store.asked import Asked
from pytest_checkpoint.record.store.checksums import declared, decoded, wrong
from pytest_checkpoint.record.store.contents import (
    Part,
    Upload,
    fold,
    part_line,
    upload_gone_line,
    upload_line,
)
from pytest_checkpoint.record.store.faults import Kind, StoreFault, spoiled
from pytest_checkpoint.record.store.holding import (
    Holding,
    algorithm_of,
    new_upload_id,
    sent_part,
    upload_headers,
)
from pytest_checkpoint.record.store.http import Answer, Malformed
from pytest_checkpoint.record.store.requests import StoreRequest
from pytest_checkpoint.tree.image import printable

_CUT_OFF: Final = frozenset({Kind.RESET_BEFORE, Kind.RESET_IN_BODY})
_NUMBER: Final = re.compile(rb"<PartNumber>\s*(\d+)\s*</PartNumber>")


@dataclass(frozen=True, slots=True)
class Carried:
    """What came of a request."""

    asked: Asked
    """With its body decoded."""
    answer: Answer | None
    """None: there is none, and the connection is reset, or left open (:attr:`Kind.HANG`)."""
    lines: bytes = b""
    """What the store holds otherwise now."""
    fired: bool = False
    """The fault has shown."""

    def noted(self, step: int, at_s: float, fault: StoreFault | None) -> StoreRequest:
        """For the log of what was asked."""
        asked = self.asked
        cut_off = fault is not None and fault.kind in _CUT_OFF
        return StoreRequest(
            step=step,
            method=asked.method,
            operation=asked.operation,
            path=printable(asked.path),
            key=asked.key,
            size=len(asked.body),
            sha256=sha256(asked.body).hexdigest() if asked.body and not cut_off else "",
            status=self.answer.status if self.answer is not None else 0,
            at_s=at_s,
            fault=fault.kind.value if fault is not None and self.fired else "",
        )


@dataclass(slots=True)
class Carrier:
    """Of one execution."""

    holding: Holding
    file: Path
    """The ``objects`` file of the slot: what the store is to hold when the execution begins."""
    _is_ready: bool = field(default=False)
    _truths: dict[bytes, bytes] = field(default_factory=dict)
    """ETags and checksums of parts that were spoiled, as the job knows them → as they are: what is
    put together from them names them, and no store would take it."""

    def carry(self, asked: Asked, fault: StoreFault | None) -> Carried:
        """Carry out one whole request. HarnessError if the store is not there any more."""
        self._prepare()
        try:
            body, headers = decoded(asked.headers, asked.body)
        except Malformed as malformed:
            why = str(malformed)
            said = answers.error(HTTPStatus.BAD_REQUEST, "IncompleteBody", why, asked)
            return Carried(asked, said)
        asked = asked.with_body(body, headers)
        if fault is not None and fault.kind in _REFUSALS:
            return Carried(asked, _REFUSALS[fault.kind](asked), fired=True)
        if fault is not None and fault.kind in (Kind.HANG, Kind.RESET_BEFORE, Kind.RESET_IN_BODY):
            return Carried(asked, None, fired=True)
        refusal = self._refusal(asked)
        if refusal is not None:
            return Carried(asked, refusal, fired=fault is not None and fault.kind is Kind.SLOW)
        if fault is None or fault.kind is Kind.SLOW:
            return dataclasses.replace(self._carried_out(asked), fired=fault is not None)
        return self._faulted(asked, fault)

    def given_up(self, asked: Asked) -> Carried:
        """One that was kept waiting until whoever sent it was gone: it is not carried out."""
        with suppress(Malformed):
            body, headers = decoded(asked.headers, asked.body)
            asked = asked.with_body(body, headers)
        return Carried(asked, None, fired=True)

    def _prepare(self) -> None:
        """Not before it is needed: most executions of most jobs find the store as it was."""
        if not self._is_ready:
            self.holding.become(fold(self.file.read_bytes()))
            self._is_ready = True

    def _refusal(self, asked: Asked) -> Answer | None:
        """Why it goes no further, if it does not."""
        access = self.holding.upstream.access
        if asked.bucket in ("", access.bucket) and not asked.is_kept:
            return answers.not_kept(asked)
        if asked.operation == "CreateBucket" and asked.bucket != access.bucket:
            return answers.not_ours(asked, f"the bucket {access.bucket}")
        shared = asked.changes and asked.bucket == access.bucket and not access.embedded
        if shared and not all(key.startswith(access.prefix) for key in _keys(asked)):
            return answers.not_ours(asked, f"s3://{access.bucket}/{access.prefix}")
        if asked.bucket not in ("", access.bucket):
            return answers.no_such_bucket(asked)
        mismatch = wrong(asked.headers, asked.body) if asked.body or asked.stores else ""
        return answers.bad_digest(asked, mismatch) if mismatch else None

    def _faulted(self, asked: Asked, fault: StoreFault) -> Carried:
        match fault.kind:
            case Kind.SILENT_SUCCESS:
                return Carried(asked, answers.as_if_done(asked), fired=True)
            case Kind.TRUNCATED_BODY | Kind.FLIPPED_BODY if asked.body:
                return self._spoiled(asked, fault)
            case Kind.LOST_REPLY:
                return dataclasses.replace(self._carried_out(asked), answer=None, fired=True)
            case Kind.DUPLICATE_DELIVERY:
                first = self._carried_out(asked)
                second = self._carried_out(asked)
                return dataclasses.replace(first, lines=first.lines + second.lines, fired=True)
            case Kind.WRONG_ETAG:
                done = self._carried_out(asked)
                answer = done.answer and answers.with_etag(done.answer, answers.WRONG_ETAG)
                return dataclasses.replace(done, answer=answer, fired=True)
            case Kind.STALE_LIST:
                return self._stale(asked, fault.changes)
        return self._carried_out(asked)

    def _spoiled(self, asked: Asked, fault: StoreFault) -> Carried:
        """The answer is that of a store which lost the bytes only after it had looked at them."""
        kept = spoiled(fault, asked)
        done = self._carried_out(kept)
        answer = done.answer
        if answer is None or answer.status != HTTPStatus.OK:
            return dataclasses.replace(done, asked=asked)
        if asked.operation == "UploadPart":
            pairs = [(etag_of(asked.body).strip('"'), etag_of(kept.body).strip('"'))]
            pairs += [(declared(asked.headers)[k], v) for k, v in declared(kept.headers).items()]
            self._truths |= {told.encode(): true.encode() for told, true in pairs}
        return Carried(asked, answers.of_the_whole(answer, asked), done.lines, fired=True)

    def _stale(self, asked: Asked, changes: int) -> Carried:
        lines = self.file.read_bytes().splitlines(keepends=True)
        now = fold(b"".join(lines))
        self.holding.become(fold(b"".join(lines[:-changes])))
        answer = self.holding.upstream.send(asked)
        self.holding.become(now)
        return Carried(asked, answer, fired=True)

    def _carried_out(self, asked: Asked) -> Carried:
        holding = self.holding
        passed = holding.translated(asked)
        extra = algorithm_of(asked.headers) if asked.stores else {}
        body = passed.body
        if asked.operation == "CompleteMultipartUpload":
            for told, true in self._truths.items():
                body = body.replace(told, true)
        passed = passed.with_body(body, extra | dict(passed.headers))
        answer = holding.upstream.send(passed)
        lines = b""
        if asked.changes and asked.bucket == holding.upstream.access.bucket:
            answer, lines = self._changed(asked, answer)
        return Carried(asked, holding.translated_back(answer), lines)

    def _changed(self, asked: Asked, answer: Answer) -> tuple[Answer, bytes]:
        """What the store holds otherwise now, written down; and the answer."""
        done = answer.status < HTTPStatus.MULTIPLE_CHOICES
        if not done and answer.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            return answer, b""
        holding = self.holding
        lines = b""
        match asked.operation:
            case "CreateMultipartUpload" if done:
                upload = f"upload-{holding.contents.begun + 1:06d}"
                holding.note_upload(upload, new_upload_id(answer))
                headers = upload_headers(asked.headers)
                lines = upload_line(Upload(id=upload, key=asked.key, headers=headers))
            case "UploadPart" if done and asked.upload in holding.contents.uploads:
                lines = part_line(asked.upload, sent_part(asked, holding.bodies))
            case "AbortMultipartUpload" if done and asked.upload in holding.contents.uploads:
                lines = upload_gone_line(asked.upload)
            case "CompleteMultipartUpload":
                lines = self._completed(asked, done=done and b"<Error>" not in answer.body)
            case "PutObject" | "CopyObject" | "DeleteObject" | "DeleteObjects":
                lines = b"".join(holding.learn(key) for key in _keys(asked))
        if lines:
            holding.note(lines)
            with open(self.file, "ab") as log:
                log.write(lines)
        return answer, lines

    def _completed(self, asked: Asked, *, done: bool) -> bytes:
        upload = self.holding.contents.uploads.get(asked.upload)
        line = self.holding.learn(asked.key, _parts(asked, upload), upload)
        return line + upload_gone_line(asked.upload) if done and upload is not None else line


def _parts(asked: Asked, upload: Upload | None) -> tuple[Part, ...]:
    """Those that are named in the request to complete it."""
    if upload is None:
        return ()
    numbers = [int(number) for number in _NUMBER.findall(asked.body)]
    return tuple(upload.parts[number] for number in numbers if number in upload.parts)


def _keys(asked: Asked) -> list[str]:
    """Those that it changes."""
    if asked.operation != "DeleteObjects":
        return [asked.key]
    try:
        root = ElementTree.fromstring(asked.body)  # the job's own words, on this machine
    except ElementTree.ParseError:
        return []
    keys = (one.text or "" for one in root.iter() if one.tag.rpartition("}")[2] == "Key")
    return sorted(set(keys))


def _slow_down(asked: Asked) -> Answer:
    return answers.error(
        HTTPStatus.SERVICE_UNAVAILABLE, "SlowDown", "Please reduce your request rate.", asked
    )


def _internal(asked: Asked) -> Answer:
    return answers.error(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "InternalError",
        "We encountered an internal error. Please try again.",
        asked,
    )


def _forbidden(asked: Asked) -> Answer:
    return answers.error(HTTPStatus.FORBIDDEN, "AccessDenied", "Access Denied", asked)


_REFUSALS: Final[dict[Kind, Callable[[Asked], Answer]]] = {
    Kind.SLOW_DOWN: _slow_down,
    Kind.INTERNAL_ERROR: _internal,
    Kind.FORBIDDEN: _forbidden,
    Kind.NO_SUCH_BUCKET: answers.no_such_bucket,
}
