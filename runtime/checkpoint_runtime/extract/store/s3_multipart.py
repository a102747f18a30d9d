"""A large file in parts, with one checksum of the whole; and what killed uploads left."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from checkpoint_runtime.extract.crc import as_base64, crc64nvme
from checkpoint_runtime.extract.parts import Whole
from checkpoint_runtime.extract.store.body import Body

_LARGEST_COUNT = 10_000


def put_in_parts(
    client: Any,
    named: Mapping[str, str],
    content: memoryview,
    whole: Whole,
    *,
    part_bytes: int,
    condition: Mapping[str, str],
) -> None:
    """
    :param named: bucket and key, as the client takes them.
    :param condition: of the last request, which makes the object.
    :raises ClientError: as the client; the upload was aborted then.
    """
    # Ten thousand parts are the most there may be.
    part_bytes = max(part_bytes, -(-len(content) // _LARGEST_COUNT))
    upload = client.create_multipart_upload(
        **named, ChecksumAlgorithm="CRC64NVME", ChecksumType="FULL_OBJECT"
    )
    upload_id = upload["UploadId"]
    with ExitStack() as unless_done:
        unless_done.callback(_abort, client, named, upload_id)
        parts = []
        for number, begin in enumerate(range(0, len(content), part_bytes), start=1):
            part = content[begin : begin + part_bytes]
            checksum = as_base64(crc64nvme(part))
            answer = client.upload_part(
                **named,
                UploadId=upload_id,
                PartNumber=number,
                Body=Body(part),
                ContentLength=len(part),
                ChecksumAlgorithm="CRC64NVME",
                ChecksumCRC64NVME=checksum,
            )
            parts.append(
                {"PartNumber": number, "ETag": answer["ETag"], "ChecksumCRC64NVME": checksum}
            )
        client.complete_multipart_upload(
            **named,
            UploadId=upload_id,
            MultipartUpload={"Parts": parts},
            ChecksumCRC64NVME=as_base64(whole.crc64nvme),
            ChecksumType="FULL_OBJECT",
            **condition,
        )
        unless_done.pop_all()


def abandon_uploads(client: Any, bucket: str, prefix: str, keys: frozenset[str]) -> int:
    """Abort the uploads that nobody will complete; how many.

    Only those of ``keys``, which nobody else is uploading: the caller holds their shard. Were one
    alive all the same (two hosts given one shard), its next part would be refused, and it would
    begin again: nothing is lost by it.
    """
    pages = client.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, Prefix=prefix)
    count = 0
    for page in pages:
        for upload in page.get("Uploads", ()):
            if upload["Key"] in keys:
                named = {"Bucket": bucket, "Key": upload["Key"]}
                count += _abort(client, named, upload["UploadId"])
    return count


def _abort(client: Any, named: Mapping[str, str], upload_id: str) -> bool:
    """Whether it was there to abort. An error of the store leaves it for the next start."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        client.abort_multipart_upload(**named, UploadId=upload_id)
    except (ClientError, BotoCoreError):
        # What it was aborted for is what is told.
        return False
    return True
