"""What botocore raises, as our errors: what may go well next time, and what will not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from checkpoint_runtime.extract.errors import StoreError
from checkpoint_runtime.extract.store.failures import (
    TakenError,
    TransientStoreError,
    UnreachableError,
)
from checkpoint_runtime.texts import words_of

if TYPE_CHECKING:
    from botocore.exceptions import BotoCoreError, ClientError

_PASSING: Final = frozenset(
    {
        "SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", "Throttling",
        "ThrottlingException", "RequestLimitExceeded", "BandwidthLimitExceeded",
        # Two writers of one key at the same moment: nothing was stored.
        "ConditionalRequestConflict", "OperationAborted",
        # The body was damaged on its way, or an upload in parts was given up by somebody.
        "BadDigest", "XAmzContentChecksumMismatch", "InvalidDigest", "IncompleteBody",
        "NoSuchUpload", "InvalidPart",
    }
)  # fmt: skip
_DAMAGED: Final = frozenset({"BadDigest", "XAmzContentChecksumMismatch", "InvalidDigest"})
_WHAT_TO_DO: Final = {
    "NoSuchBucket": "there is no such bucket: create it, or give another --destination",
    "AccessDenied": "access is denied: s3:PutObject, s3:GetObject, s3:ListBucket, s3:DeleteObject "
    "and s3:AbortMultipartUpload are needed",
    "Forbidden": "access is denied: s3:GetObject and s3:ListBucket are needed",
    "InvalidAccessKeyId": "the store does not know the access key: AWS_ACCESS_KEY_ID is wrong",
    "SignatureDoesNotMatch": "the secret does not fit the access key: AWS_SECRET_ACCESS_KEY is "
    "wrong",
    "ExpiredToken": "the credentials have expired: get new ones, then start again",
    "InvalidToken": "the session token is not valid: AWS_SESSION_TOKEN is wrong",
    "RequestTimeTooSkewed": "the clock of this machine and the store's differ too much",
    "PermanentRedirect": "the bucket lies in another region: set AWS_REGION",
    "AuthorizationHeaderMalformed": "the bucket lies in another region: set AWS_REGION",
    "InvalidBucketName": "that is no name of a bucket",
}
_BY_STATUS: Final = {403: "Forbidden", 301: "PermanentRedirect"}


@contextmanager
def translated(place: str) -> Iterator[None]:
    """
    :param place: what was acted on, for the sentence: ``s3://bucket/prefix/key``.
    :raises StoreError: instead of what comes from botocore.
    """
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    try:
        yield
    except ClientError as error:
        raise answered(place, error) from error
    except ResponseParserError as error:
        raise TransientStoreError("no answer of S3", f"{place}: {words_of(error)}.") from error
    except BotoCoreError as error:
        raise _unanswered(place, error) from error


def is_absent(error: ClientError) -> bool:
    """404 of an object: of the bucket it is another matter."""
    return _code(error) in ("404", "NoSuchKey", "NotFound")


def is_unknown(error: ClientError) -> bool:
    """The store does not know such a request, or what a header of it asks for."""
    return _status(error) == HTTPStatus.NOT_IMPLEMENTED or _code(error) == "NotImplemented"


def is_damage(error: StoreError) -> bool:
    """The store found that a body does not fit the checksum beside it."""
    from botocore.exceptions import ClientError

    cause = error.__cause__
    return isinstance(cause, ClientError) and _code(cause) in _DAMAGED


def answered(place: str, error: ClientError) -> StoreError:
    code, status = _code(error), _status(error)
    if status == HTTPStatus.PRECONDITION_FAILED:
        return TakenError(f"{place}: the store holds something else under this key.")
    if code in _PASSING or status == HTTPStatus.TOO_MANY_REQUESTS:
        return _passing(place, error)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.NOT_IMPLEMENTED:
        return _passing(place, error)
    todo = _WHAT_TO_DO.get(code) or _WHAT_TO_DO.get(_BY_STATUS.get(status, ""))
    if todo is not None:
        return StoreError(f"{place}: {todo} ({code}).")
    message = error.response.get("Error", {}).get("Message", "")
    return StoreError(f"{place}: the store refuses it: {status} {code}: {message}")


def _passing(place: str, error: ClientError) -> TransientStoreError:
    code, status = _code(error), _status(error)
    kind = str(status) if code == str(status) else f"{status} {code}"
    return TransientStoreError(kind, f"{place}: the store answered {kind}.")


def _unanswered(place: str, error: BotoCoreError) -> StoreError:
    from botocore import exceptions as its

    if isinstance(
        error, its.NoCredentialsError | its.PartialCredentialsError | its.CredentialRetrievalError
    ):
        return StoreError(
            f"{place}: there are no credentials ({error}): set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE."
        )
    if isinstance(
        error,
        its.EndpointConnectionError | its.ConnectTimeoutError | its.ProxyConnectionError
        | its.SSLError,
    ):  # fmt: skip
        return UnreachableError("unreachable", f"{place}: the store cannot be reached: {error}.")
    if isinstance(error, its.ReadTimeoutError):
        return TransientStoreError("timeout", f"{place}: the store did not answer in time.")
    if isinstance(
        error,
        its.HTTPClientError | its.IncompleteReadError | its.ResponseStreamingError,
    ):
        return TransientStoreError("reset", f"{place}: the connection broke: {words_of(error)}.")
    return StoreError(f"{place}: {words_of(error)}")


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _status(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
