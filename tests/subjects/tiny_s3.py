"""As much of an S3 client as the subjects here need: by the standard library, unsigned, no retry.

What boto3 does is tried elsewhere; a subject that imports it takes ten times as long to start.
"""

from __future__ import annotations

import http.client
import os
from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode, urlsplit
from xml.etree import ElementTree


class StoreError(Exception):
    """The store answered otherwise than asked."""

    def __init__(self, status: int, said: bytes) -> None:
        super().__init__(f"{status}: {said[:200].decode(errors='replace')}")
        self.status = status


class Bucket:
    """One bucket at ``$AWS_ENDPOINT_URL``. OSError where the connection fails."""

    def __init__(self, name: str, timeout_s: float = 30.0) -> None:
        self.name = name
        where = urlsplit(os.environ["AWS_ENDPOINT_URL"])
        assert where.hostname is not None
        self._connection = http.client.HTTPConnection(where.hostname, where.port, timeout=timeout_s)

    def put(self, key: str, body: bytes, headers: Mapping[str, str] | None = None) -> str:
        """The ETag that is answered."""
        return self.ask("PUT", key, body=body, headers=headers)[1].get("etag", "")

    def get(self, key: str) -> bytes:
        return self.ask("GET", key)[0]

    def head(self, key: str) -> dict[str, str] | None:
        """Its headers, lower-case names; None: there is no such object."""
        try:
            return self.ask("HEAD", key)[1]
        except StoreError as error:
            if error.status != 404:
                raise
            return None

    def delete(self, key: str) -> None:
        self.ask("DELETE", key)

    def list(self, prefix: str = "") -> dict[str, int]:
        """Key → size in bytes; up to a thousand."""
        body, _ = self.ask("GET", query={"list-type": "2", "prefix": prefix})
        found = {}
        for one in ElementTree.fromstring(body).iter():
            if one.tag.endswith("Contents"):
                told = {child.tag.rpartition("}")[2]: child.text or "" for child in one}
                found[told["Key"]] = int(told["Size"])
        return found

    def begin(self, key: str) -> str:
        """The id of an upload in parts."""
        body, _ = self.ask("POST", key, query={"uploads": ""})
        found = (one.text for one in ElementTree.fromstring(body) if one.tag.endswith("UploadId"))
        return next(found) or ""

    def part(self, key: str, upload: str, number: int, body: bytes) -> str:
        """Its ETag."""
        query = {"partNumber": str(number), "uploadId": upload}
        return self.ask("PUT", key, query=query, body=body)[1]["etag"]

    def complete(self, key: str, upload: str, tags: Sequence[str]) -> None:
        """``tags``: of the parts, in their order."""
        parts = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>"
            for number, tag in enumerate(tags, 1)
        )
        body = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
        self.ask("POST", key, query={"uploadId": upload}, body=body)

    def abort(self, key: str, upload: str) -> None:
        self.ask("DELETE", key, query={"uploadId": upload})

    def ask(
        self,
        method: str,
        key: str = "",
        *,
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> tuple[bytes, dict[str, str]]:
        """Body and headers of the answer. StoreError if its status is 300 or more."""
        target = f"/{self.name}" + (f"/{quote(key)}" if key else "")
        if query:
            target += f"?{urlencode(query)}"
        try:
            self._connection.request(method, target, body or None, dict(headers or {}))
            reply = self._connection.getresponse()
            said = reply.read()
        except BaseException as error:
            self._connection.close()  # the next request makes a new one, also after Ctrl-C
            if isinstance(error, http.client.HTTPException):
                raise ConnectionError(str(error)) from error
            raise
        if reply.status >= 300:
            raise StoreError(reply.status, said)
        return said, {name.lower(): value for name, value in reply.getheaders()}
