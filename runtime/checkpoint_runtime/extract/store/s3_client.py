"""The client, pinned: what a version of boto3 would choose by itself is chosen here."""

from __future__ import annotations

import ipaddress
import os
from typing import Any
from urllib.parse import urlsplit

from checkpoint_runtime.extract.errors import StoreError
from checkpoint_runtime.extract.libraries import required
from checkpoint_runtime.extract.store.options import StoreOptions


def s3_client(options: StoreOptions) -> Any:
    """One for all threads. It has sent nothing yet.

    :raises ExtractInputError: boto3 is not installed.
    :raises StoreError: its configuration is wrong.
    """
    boto3 = required("boto3", "s3://")
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    endpoint = _endpoint(options)
    try:
        is_open = _is_open(endpoint)
    except ValueError as error:
        raise _unusable(error) from error
    s3: dict[str, Any] = {"payload_signing_enabled": is_open}
    if endpoint is not None:
        s3["addressing_style"] = "path"
    config = Config(
        # "max_attempts" would be those after the first one.
        retries={"mode": "standard", "total_max_attempts": options.attempts},
        connect_timeout=options.connect_timeout_s,
        read_timeout=options.read_timeout_s,
        max_pool_connections=options.connections,
        # Our own CRC-64/NVME is sent, and what is read is compared with it.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3=s3,
    )
    try:
        # A session of its own: the default one is shared with whoever else uses boto3 here.
        session = boto3.session.Session()
        region = session.region_name or "us-east-1"
        return session.client("s3", endpoint_url=endpoint, region_name=region, config=config)
    except (BotoCoreError, ValueError) as error:
        raise _unusable(error) from error


def _unusable(error: Exception) -> StoreError:
    return StoreError(f"The configuration of boto3 cannot be used: {error}.")


def _endpoint(options: StoreOptions) -> str | None:
    return (
        options.endpoint_url
        or os.environ.get("AWS_ENDPOINT_URL_S3")
        or os.environ.get("AWS_ENDPOINT_URL")
        or None
    )


def _is_open(endpoint: str | None) -> bool:
    """Whether a body could be changed on its way: no TLS, and not within this machine.

    Only then it is signed, which takes three times the time of all the rest.
    """
    if endpoint is None:
        return False
    parts = urlsplit(endpoint)
    if parts.scheme != "http":
        return False
    host = parts.hostname or ""
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"
