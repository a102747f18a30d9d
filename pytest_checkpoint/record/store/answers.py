"""What a store says in its own words: errors as S3 shapes them, and successes that are none."""

from __future__ import annotations

import hashlib
import re
from http import HTTPStatus
from typing import Final
from xml.sax.saxutils import escape

from pytest_checkpoint.record.store.asked import Asked
from pytest_checkpoint.record.store.checksums import PREFIX
from pytest_checkpoint.record.store.http import Answer

_DECLARATION: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'
_REQUEST: Final = "CHECKPOINT0000000"
_XML: Final = ("Content-Type", "application/xml")
_ETAG: Final = re.compile(rb"(<ETag>)(.*?)(</ETag>)", re.DOTALL)
WRONG_ETAG: Final = '"00000000000000000000000000000000"'


def error(status: HTTPStatus, code: str, message: str, asked: Asked | None = None) -> Answer:
    """An error that S3 clients understand."""
    place = ""
    if asked is not None and asked.bucket:
        place = f"<BucketName>{escape(asked.bucket)}</BucketName><Key>{escape(asked.key)}</Key>"
    body = (
        f"{_DECLARATION}<Error><Code>{code}</Code><Message>{escape(message)}</Message>{place}"
        f"<RequestId>{_REQUEST}</RequestId><HostId>{_REQUEST}</HostId></Error>"
    )
    headers = (_XML, ("x-amz-request-id", _REQUEST))
    return Answer(status.value, headers, body.encode())


def bad_digest(asked: Asked, header: str) -> Answer:
    return error(
        HTTPStatus.BAD_REQUEST,
        "XAmzContentSHA256Mismatch" if header == "x-amz-content-sha256" else "BadDigest",
        f"The {header} you specified did not match what we received.",
        asked,
    )


def not_kept(asked: Asked) -> Answer:
    """What the kit could not put back with a crash state is not done at all."""
    what = asked.path.decode("utf-8", "replace")
    return error(
        HTTPStatus.NOT_IMPLEMENTED,
        "NotImplemented",
        f"checkpoint-contracts: {what} changes what is no part of a crash state (objects and "
        "multipart uploads are): set it up elsewhere",
        asked,
    )


def not_ours(asked: Asked, whose: str) -> Answer:
    return error(
        HTTPStatus.FORBIDDEN,
        "AccessDenied",
        f"checkpoint-contracts: only {whose} is the job's to change here, as it is declared",
        asked,
    )


def no_such_bucket(asked: Asked) -> Answer:
    message = "The specified bucket does not exist"
    return error(HTTPStatus.NOT_FOUND, "NoSuchBucket", message, asked)


def as_if_done(asked: Asked) -> Answer:
    """A success, and nothing has happened."""
    match asked.operation:
        case "PutObject" | "UploadPart":
            sums = [(k, v) for k, v in asked.headers.items() if k.startswith(PREFIX)]
            return Answer(200, (("ETag", etag_of(asked.body)), *sums))
        case "DeleteObject" | "AbortMultipartUpload":
            return Answer(204)
        case "DeleteObjects":
            return _xml("<DeleteResult></DeleteResult>")
        case "CopyObject":
            return _xml(f"<CopyObjectResult><ETag>{WRONG_ETAG}</ETag></CopyObjectResult>")
    return _xml(
        "<CompleteMultipartUploadResult>"
        f"<Bucket>{escape(asked.bucket)}</Bucket><Key>{escape(asked.key)}</Key>"
        f"<ETag>{WRONG_ETAG}</ETag></CompleteMultipartUploadResult>"
    )


def etag_of(body: bytes) -> str:
    return f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'


def with_etag(answer: Answer, etag: str) -> Answer:
    """The same with another ETag, in its header and in its body."""
    headers = tuple((k, etag if k.lower() == "etag" else v) for k, v in answer.headers)
    body = _ETAG.sub(rb"\g<1>" + etag.encode() + rb"\g<3>", answer.body)
    return Answer(answer.status, headers, body)


def of_the_whole(answer: Answer, asked: Asked) -> Answer:
    """The same as if the store held what was sent."""
    sums = {k: v for k, v in asked.headers.items() if k.startswith(PREFIX)}
    told = with_etag(answer, etag_of(asked.body))
    return Answer(told.status, (*told.without(*sums), *sums.items()), told.body)


def _xml(text: str) -> Answer:
    return Answer(200, (_XML,), (_DECLARATION + text).encode())
