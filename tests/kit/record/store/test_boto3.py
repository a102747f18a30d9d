"""What boto3 stores comes back with a state as it was: bytes, metadata, ETags, uploads half way."""

from __future__ import annotations

import sys

from pytest_checkpoint.record.store.contents import fold
from pytest_checkpoint.record.store.faults import Kind, StoreFault
from tests.kit.record.conftest import Runner
from tests.kit.record.store.conftest import BUCKET, WITH_PACKAGES

CLIENT_OF_BOTO3 = f"""
import sys
{WITH_PACKAGES}
import base64, boto3, botocore.exceptions, hashlib, io, json, zlib
from boto3.s3.transfer import TransferConfig
B = {BUCKET!r}
S3 = boto3.client("s3")
def code(call, **named):
    try:
        call(Bucket=B, **named)
    except botocore.exceptions.ClientError as error:
        return error.response["Error"]["Code"]
def told(key):
    head = S3.head_object(Bucket=B, Key=key, ChecksumMode="ENABLED")
    left_out = ("ResponseMetadata", "LastModified")
    body = S3.get_object(Bucket=B, Key=key)["Body"].read()
    return {{k: v for k, v in head.items() if k not in left_out}}, hashlib.sha256(body).hexdigest()
def look():
    keys = [one["Key"] for one in S3.list_objects_v2(Bucket=B).get("Contents", ())]
    uploads = []
    for one in S3.list_multipart_uploads(Bucket=B).get("Uploads", ()):
        parts = S3.list_parts(Bucket=B, Key=one["Key"], UploadId=one["UploadId"]).get("Parts", ())
        uploads.append((one["Key"], one["UploadId"], [(p["PartNumber"], p["ETag"]) for p in parts]))
    print(json.dumps([[key, *told(key)] for key in keys] + uploads, sort_keys=True))
"""
_STORES = """
S3.put_object(Bucket=B, Key="plain", Body=b"x" * 1000)
S3.put_object(Bucket=B, Key="told/ä b", Body=b"y", Metadata={"who": "ann"}, ContentType="a/b")
sha = base64.b64encode(hashlib.sha256(b"z").digest()).decode()
S3.put_object(Bucket=B, Key="summed", Body=b"z", ChecksumSHA256=sha)
S3.copy_object(Bucket=B, Key="copied", CopySource={"Bucket": B, "Key": "told/ä b"})
config = TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20, use_threads=False,
                        preferred_transfer_client="classic")
S3.upload_fileobj(io.BytesIO(b"p" * (6 << 20)), B, "parts", Config=config)
upload = S3.create_multipart_upload(Bucket=B, Key="half", Metadata={"is": "half"})["UploadId"]
part = S3.upload_part(Bucket=B, Key="half", UploadId=upload, PartNumber=1, Body=b"q" * 9)
look()
"""
_FINISHES = """
(upload,) = S3.list_multipart_uploads(Bucket=B)["Uploads"]
names = dict(Bucket=B, Key="half", UploadId=upload["UploadId"])
parts = [{k: p[k] for k in ("PartNumber", "ETag")} for p in S3.list_parts(**names)["Parts"]]
S3.complete_multipart_upload(**names, MultipartUpload={"Parts": parts})
assert told("half")[0]["Metadata"] == {"is": "half"}
S3.delete_objects(Bucket=B, Delete={"Objects": [{"Key": "plain"}, {"Key": "parts"}]})
"""


def unwatched(runner: Runner, source: str) -> str:
    """What a program prints that is not under the filter, where boto3 takes long to be imported."""
    command = (sys.executable, "-B", "-c", source)
    result = runner.client.run(runner.request(command, recording=None, filtered=False))
    assert result.exit_code == 0, result.error_output
    return result.output


def the_same_comes_back(runner: Runner) -> None:
    """Whatever store stands behind."""
    stored = unwatched(runner, CLIENT_OF_BOTO3 + _STORES)
    log = runner.client.objects.read_bytes()
    contents = fold(log)
    assert sorted(contents.objects) == ["copied", "parts", "plain", "summed", "told/ä b"]
    assert [(one.key, sorted(one.parts)) for one in contents.uploads.values()] == [("half", [1])]
    runner.clear()
    assert unwatched(runner, CLIENT_OF_BOTO3 + "look()") == "[]\n"
    runner.client.objects.write_bytes(log)
    assert unwatched(runner, CLIENT_OF_BOTO3 + "look()") == stored
    runner.client.objects.write_bytes(log)
    finished = runner.ok(CLIENT_OF_BOTO3 + _FINISHES, fresh=False)
    held = fold(runner.client.objects.read_bytes())
    assert sorted(held.objects) == ["copied", "half", "summed", "told/ä b"]
    assert held.uploads == {}
    assert finished.recording.start_objects == log


def test_it_all_comes_back(runner: Runner) -> None:
    the_same_comes_back(runner)


def test_parts_that_the_store_spoils_are_put_together_all_the_same(runner: Runner) -> None:
    fault = StoreFault(kind=Kind.FLIPPED_BODY, operation="UploadPart")
    outcome = runner.ok(
        CLIENT_OF_BOTO3
        + """
names = dict(Bucket=B, Key="k")
names["UploadId"] = S3.create_multipart_upload(**names, ChecksumAlgorithm="CRC32")["UploadId"]
part = S3.upload_part(**names, PartNumber=1, Body=b"0123456789")
part = {"PartNumber": 1, "ETag": part["ETag"], "ChecksumCRC32": part["ChecksumCRC32"]}
assert part["ETag"].strip('"') == hashlib.md5(b"0123456789").hexdigest()
S3.complete_multipart_upload(**names, MultipartUpload={"Parts": [part]})
assert told("k")[1] == hashlib.sha256(b"0123446789").hexdigest()
""",
        store_faults=(fault,),
    )
    assert outcome.result.fired_at == 2


def test_what_is_refused(runner: Runner) -> None:
    runner.ok(
        CLIENT_OF_BOTO3
        + """
wrong = base64.b64encode(bytes(4)).decode()
assert code(S3.put_object, Key="k", Body=b"x", ChecksumCRC32=wrong) == "BadDigest"
assert code(S3.put_object, Key="k", Body=b"x", ContentMD5="AAAAAAAAAAAAAAAAAAAAAA==") == "BadDigest"
assert code(S3.put_object, Key="k", Body=b"x") is None
assert code(S3.put_object, Key="k", Body=b"x", IfNoneMatch="*") == "PreconditionFailed"
assert code(S3.put_bucket_versioning, VersioningConfiguration={"Status": "Enabled"}) \\
    == "NotImplemented"
assert code(S3.put_object_tagging, Key="k", Tagging={"TagSet": []}) == "NotImplemented"
assert code(S3.delete_bucket) == "NotImplemented"
B = "another"
assert code(S3.head_bucket) == "404"
assert code(S3.list_objects_v2) == code(S3.put_object, Key="k", Body=b"x") == "NoSuchBucket"
assert code(S3.create_bucket) == "AccessDenied"
"""
    )


def test_several_megabytes_in_reasonable_time(runner: Runner) -> None:
    outcome = runner.ok(
        CLIENT_OF_BOTO3
        + """
body = os.urandom(8 << 20)
S3.put_object(Bucket=B, Key="big", Body=body)
assert S3.get_object(Bucket=B, Key="big")["Body"].read() == body
assert S3.get_object(Bucket=B, Key="big", Range="bytes=5-9")["Body"].read() == body[5:10]
"""
    )
    assert outcome.result.wall_s < 20
