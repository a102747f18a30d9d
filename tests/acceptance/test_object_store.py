"""Sessions about a job that uploads: the bucket is part of crash states, and of what is kept."""

from __future__ import annotations

import shlex
import sys

import pytest

from pytest_checkpoint.record.store import embedded
from tests.acceptance.sessions import RESUME_EQUALS, Workplace
from tests.subjects.matrix import FOLDER, IDEMPOTENT

pytest.importorskip("moto", reason="the kit's object store: extra s3")

_JOB = """
import os, sys
sys.path.insert(0, sys.argv[1])
from tiny_s3 import Bucket, StoreError
os.chdir(sys.argv[3])
bucket = Bucket("talks")
if sys.argv[2] == "check":
    print(bucket.get("said") if os.path.exists("done") else "nothing", os.environ["AWS_REGION"])
elif not os.path.exists("done"):
    {first}
    {second}
elif {again!r}:
    bucket.put("said", os.urandom(8))
"""
_MARK, _UPLOAD = 'os.mkdir("done")', 'bucket.put("said", b"hello")'


def _commands(workplace: Workplace, first: str, second: str, again: str = "") -> list[str]:
    path = workplace.write("job.py", _JOB.format(first=first, second=second, again=again))
    words = shlex.join([sys.executable, "-I", "-S", "-B", str(path), str(FOLDER)])
    return [
        *("--checkpoint-run", f"{words} run {{workspace}}"),
        *("--checkpoint-check", f"{words} check {{workspace}}"),
        *("--checkpoint-s3", "s3://talks", "--checkpoint-faults=kill"),
    ]


def test_a_mark_before_the_upload_is_found_and_kept(workplace: Workplace) -> None:
    arguments = _commands(workplace, _MARK, _UPLOAD)
    session = workplace.judge(*arguments, f"job::{RESUME_EQUALS}")
    item = session.item(RESUME_EQUALS)
    assert item.verdict == "failed", session.output
    assert "killed at step 1 (mkdir done)" in item.text
    assert "PUT s3://talks/said (5 bytes) → 200" in item.text
    assert "b'hello' us-east-1" in item.text  # what the kit gives the job is no secret
    (wreck,) = session.kept.glob(f"*/wrecks/{RESUME_EQUALS}-*")
    assert (wreck / "objects" / "list.txt").read_text() == ""
    assert [path.read_bytes() for path in session.kept.glob("*/bodies/*")] == [b"hello"]
    # After the upload it is whole: the bucket of that moment is put back from what was kept.
    whole = workplace.judge(*arguments, "--checkpoint-replay", f"job::{RESUME_EQUALS}@2.kill")
    assert whole.item(RESUME_EQUALS).verdict == "passed", whole.output


def test_what_a_finished_job_uploads_again_must_be_the_same(workplace: Workplace) -> None:
    arguments = _commands(workplace, _UPLOAD, _MARK, again="always")
    session = workplace.judge(*arguments, f"job::{IDEMPOTENT}")
    item = session.item(IDEMPOTENT)
    assert item.verdict == "failed", session.output
    assert "s3://talks/said: 5 bytes, then 8" in item.text


def test_a_store_that_is_declared_and_never_asked(workplace: Workplace) -> None:
    run = workplace.shell("echo x > a")
    session = workplace.judge_job(run, "cat {workspace}/a", "--checkpoint-s3=s3://talks/said")
    assert "the bucket 'talks' is declared, but the undisturbed run asked nothing" in (
        session.inconclusive()
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--checkpoint-s3=talks", "one looks like s3://bucket or s3://bucket/prefix"),
        ("--checkpoint-s3=s3://T", "'T' is no name of a bucket: 3 to 63 of a-z"),
        ("--checkpoint-s3-markers=*.done", "given without --checkpoint-s3 s3://BUCKET/PREFIX"),
        ("--checkpoint-capability=s3", "is declared by the bucket that it is: s3=Bucket("),
        ("--checkpoint-s3-endpoint=here", "one looks like http://127.0.0.1:8333"),
        ("--checkpoint-s3-endpoint=http://127.0.0.1:99999", "one looks like http://127.0.0.1:8333"),
        ("--checkpoint-s3-endpoint=http://[::1", "one looks like http://127.0.0.1:8333"),
        ("--checkpoint-s3-endpoint=http://x:1", "AWS_SECRET_ACCESS_KEY is not set"),
    ],
)
def test_what_is_known_before_anything_runs(
    workplace: Workplace, words: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY", raising=False)
    session = workplace.judge_job(workplace.shell("echo x > a"), "cat {workspace}/a", words)
    assert session.ret == pytest.ExitCode.USAGE_ERROR, session.output
    assert sentence in session.output


def test_without_moto(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "find_spec", lambda _: None)
    session = workplace.judge(*_commands(workplace, _UPLOAD, _MARK))
    assert session.ret == pytest.ExitCode.USAGE_ERROR, session.output
    assert "install checkpoint-contracts[s3]" in session.output


def test_a_store_of_ones_own_that_is_not_there(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    arguments = _commands(workplace, _UPLOAD, _MARK)
    session = workplace.judge(*arguments, "--checkpoint-s3-endpoint=http://127.0.0.1:1")
    assert "the object store at 127.0.0.1:1 does not answer" in session.inconclusive()
