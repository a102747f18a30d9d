"""As much of an S3 client as the subjects here need: by a socket, unsigned, no retry.

What boto3 does is tried elsewhere; a subject that imports it takes ten times as long to start, and
one that imports http.client twice as long: that matters, they are started some hundred times.
"""

from __future__ import annotations

import io
import os
import re
import socket
from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode, urlsplit

_LISTED = re.compile(rb"<Contents>.*?</Contents>", re.DOTALL)


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
        self._host = f"{where.hostname}:{where.port}"
        self._address = (where.hostname, where.port)
        self._timeout_s = timeout_s
        self._connection: socket.socket | None = None

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
        found = (one[0] for one in _LISTED.finditer(body))
        return {_of(one, "Key"): int(_of(one, "Size")) for one in found}

    def begin(self, key: str) -> str:
        """The id of an upload in parts."""
        body, _ = self.ask("POST", key, query={"uploads": ""})
        return _of(body, "UploadId")

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
        told = {"host": self._host, "content-length": len(body), **(headers or {})}
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {told[name]}" for name in told), "", ""]
        try:
            status, found, said = self._exchanged("\r\n".join(lines).encode() + body, method)
        except BaseException:
            self._close()  # the next request makes a new one, also after Ctrl-C
            raise
        if found.get("connection") == "close":
            self._close()
        if status >= 300:
            raise StoreError(status, said)
        return said, found

    def _exchanged(self, request: bytes, method: str) -> tuple[int, dict[str, str], bytes]:
        if self._connection is None:
            self._connection = socket.create_connection(self._address, self._timeout_s)
        self._connection.sendall(request)
        with self._connection.makefile("rb") as answer:
            status = int(_line(answer).split(" ")[1])
            headers = {}
            while line := _line(answer):
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            size = 0 if method == "HEAD" else int(headers.get("content-length", "0"))
            said = answer.read(size)
        if len(said) < size:
            raise ConnectionError("the answer ends too early")
        return status, headers, said

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _line(answer: io.BufferedReader) -> str:
    line = answer.readline()
    if not line.endswith(b"\n"):
        raise ConnectionError("the answer ends too early")
    return line.decode("latin-1").rstrip()


def _of(body: bytes, tag: str) -> str:
    """The text of the first such element."""
    text = body.partition(f"<{tag}>".encode())[2].partition(b"<")[0].decode()
    for name, character in (("lt", "<"), ("gt", ">"), ("quot", '"'), ("apos", "'"), ("amp", "&")):
        text = text.replace(f"&{name};", character)
    return text
