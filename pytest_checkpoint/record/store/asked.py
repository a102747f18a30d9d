"""One S3 request: which operation of the interface it is, on which key, with which bytes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from pytest_checkpoint.record.store.http import Head

_LISTS: Final = frozenset({"ListObjects", "ListObjectsV2"})
_STORES: Final = frozenset({"PutObject", "UploadPart"})
_CHANGES: Final = _STORES | {
    "CopyObject",
    "CreateMultipartUpload",
    "CompleteMultipartUpload",
    "AbortMultipartUpload",
    "UploadPartCopy",
    "DeleteObject",
    "DeleteObjects",
}
_UNKEPT: Final = "unkept"
_SUBRESOURCES: Final = frozenset(
    [
        "accelerate",
        "acl",
        "analytics",
        "attributes",
        "cors",
        "encryption",
        "intelligent-tiering",
        "inventory",
        "legal-hold",
        "lifecycle",
        "location",
        "logging",
        "metrics",
        "notification",
        "object-lock",
        "ownershipControls",
        "policy",
        "policyStatus",
        "publicAccessBlock",
        "replication",
        "requestPayment",
        "restore",
        "retention",
        "select",
        "tagging",
        "torrent",
        "versioning",
        "versions",
        "website",
    ]
)
"""What a bucket or an object has beside its bytes."""
_NO_PART_OF_IT: Final = ("x-amz-", "X-Amz-")
"""Parameters by which a URL is signed."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A whole request, its body decoded."""

    method: str
    bucket: str
    """Empty: about no bucket."""
    key: str
    """Empty: about the bucket."""
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Lower-case names."""
    body: bytes = b""

    @classmethod
    def of(cls, head: Head) -> Self:
        """By its head alone, the body still to come."""
        parts = urlsplit(head.target)
        bucket, _, key = parts.path.lstrip("/").partition("/")
        query = {
            name: value
            for name, value in parse_qsl(parts.query, keep_blank_values=True)
            if not name.startswith(_NO_PART_OF_IT)
        }
        return cls(head.method, unquote(bucket), unquote(key), query, head.headers)

    def with_body(self, body: bytes, headers: Mapping[str, str] | None = None) -> Self:
        return dataclasses.replace(
            self, body=body, headers=self.headers if headers is None else headers
        )

    @property
    def operation(self) -> str:
        """Its name in the S3 interface, ``PutObject`` say."""
        if self.key:
            return self._of_object()
        return self._of_bucket() if self.bucket else "ListBuckets"

    def _of_object(self) -> str:
        query, method = self.query, self.method
        part = "partNumber" in query and "uploadId" in query
        copies = "x-amz-copy-source" in self.headers
        upload = "uploadId" in query
        plain = not _SUBRESOURCES & query.keys()
        match method:
            case "GET" | "HEAD":
                return "ListParts" if upload else f"{method.capitalize()}Object"
            case "PUT" if part:
                return "UploadPartCopy" if copies else "UploadPart"
            case "PUT" if plain:
                return "CopyObject" if copies else "PutObject"
            case "POST" if "uploads" in query:
                return "CreateMultipartUpload"
            case "POST" if upload:
                return "CompleteMultipartUpload"
            case "DELETE" if upload:
                return "AbortMultipartUpload"
            case "DELETE" if plain:
                return "DeleteObject"
        return _UNKEPT

    def _of_bucket(self) -> str:
        query = self.query
        plain = not _SUBRESOURCES & query.keys()
        match self.method:
            case "GET" if "uploads" in query:
                return "ListMultipartUploads"
            case "GET" if plain:
                return "ListObjectsV2" if query.get("list-type") == "2" else "ListObjects"
            case "GET" | "HEAD":
                return "HeadBucket" if plain else "GetBucketProperty"
            case "PUT" if plain:
                return "CreateBucket"
            case "DELETE" if plain:
                return "DeleteBucket"
            case "POST" if "delete" in query:
                return "DeleteObjects"
        return _UNKEPT

    @property
    def is_kept(self) -> bool:
        """Whether what it would change is part of what a crash state holds."""
        return self.operation not in (_UNKEPT, "UploadPartCopy", "DeleteBucket")

    @property
    def lists(self) -> bool:
        return self.operation in _LISTS

    @property
    def stores(self) -> bool:
        """Whether its body is to be stored."""
        return self.operation in _STORES

    @property
    def changes(self) -> bool:
        """Whether the store holds something else afterwards, if it succeeds."""
        return self.operation in _CHANGES

    @property
    def upload(self) -> str:
        return self.query.get("uploadId", "")

    @property
    def part(self) -> int:
        text = self.query.get("partNumber", "")
        return int(text) if text.isascii() and text.isdigit() else 0

    @property
    def path(self) -> bytes:
        """What the operation is recorded as: ``PUT s3://bucket/key``, without chance parts."""
        text = f"{self.method} s3://{self.bucket}" + (f"/{self.key}" if self.key else "")
        return (text + self._suffix()).encode("utf-8", "surrogateescape")

    def _suffix(self) -> str:
        match self.operation:
            case "UploadPart" | "UploadPartCopy":
                return f"?partNumber={self.part}"
            case "CreateMultipartUpload" | "ListMultipartUploads":
                return "?uploads"
            case "CompleteMultipartUpload":
                return "?complete"
            case "AbortMultipartUpload":
                return "?abort"
            case "ListParts":
                return "?parts"
            case "DeleteObjects":
                return "?delete"
            case "ListObjects" | "ListObjectsV2":
                return f"/{self.query.get('prefix', '')}?list"
        return "".join(f"?{name}" for name in sorted(_SUBRESOURCES & self.query.keys()))
