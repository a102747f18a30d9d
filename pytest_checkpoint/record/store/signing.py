"""AWS Signature Version 4 for requests of one region, by the standard library alone.

What the job sends is signed for the proxy; what goes on to the store is signed anew, with
credentials that the job never sees.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

_ALGORITHM: Final = "AWS4-HMAC-SHA256"
_UNESCAPED: Final = "-_.~"


@dataclass(frozen=True, slots=True)
class Credentials:
    key: str
    secret: str
    region: str
    token: str = ""


def target(path: str, query: Mapping[str, str]) -> str:
    """Path and query in the one form that is signed."""
    pairs = sorted((quote(n, safe=_UNESCAPED), quote(v, safe=_UNESCAPED)) for n, v in query.items())
    text = "&".join(f"{name}={value}" for name, value in pairs)
    return quote(path, safe=f"/{_UNESCAPED}") + (f"?{text}" if text else "")


def signed(
    credentials: Credentials,
    method: str,
    at: str,
    headers: Mapping[str, str],
    body_sha256: str,
    now: datetime | None = None,
) -> dict[str, str]:
    """The headers, ``host`` among them, with those of the signature.

    ``at``: as :func:`target` gives it; ``body_sha256``: 64 hexadecimal digits.
    """
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    told = {**headers, "x-amz-date": stamp, "x-amz-content-sha256": body_sha256}
    if credentials.token:
        told["x-amz-security-token"] = credentials.token
    names = sorted(name for name in told if name == "host" or name.startswith("x-amz-"))
    path, _, query = at.partition("?")
    lines = "".join(f"{name}:{' '.join(told[name].split())}\n" for name in names)
    request = "\n".join((method, path, query, lines, ";".join(names), body_sha256))
    scope = f"{stamp[:8]}/{credentials.region}/s3/aws4_request"
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = "\n".join((_ALGORITHM, stamp, scope, digest))
    key = f"AWS4{credentials.secret}".encode()
    for part in (stamp[:8], credentials.region, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    told["authorization"] = (
        f"{_ALGORITHM} Credential={credentials.key}/{scope}, "
        f"SignedHeaders={';'.join(names)}, Signature={signature}"
    )
    return told
