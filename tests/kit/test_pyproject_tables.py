"""Subjects in pyproject.toml: what is read, where it stands, and what is told of a mistake."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path, PurePosixPath

import pytest

from pytest_checkpoint.api import (
    Bucket,
    CommandSubject,
    HeartbeatCommand,
    HeartbeatFile,
    Staging,
)
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.session.pyproject import read_tables
from pytest_checkpoint.session.tables import KEYS
from pytest_checkpoint.subject import BucketPlace, HeartbeatSource, StagingPlace, Subject

ROOT = Path(__file__).parents[2]
IDS = ("state-never-corrupt", "resume-keeps-work")
HEADER = "[tool.checkpoint-contracts.subjects.etl]"
COMMANDS = "run = 'true {workspace}'\ncheck = 'true {workspace}'\n"
INLINE = "{ run = 'true {workspace}', check = 'true {workspace}' }"
WORKSPACE = "{workspace}"

EVERYTHING = f"""
[project]
name = "etl"  # a line that is no header: [tool.checkpoint-contracts.subjects.etl]

{HEADER}
run = "true {WORKSPACE} --out 'a b'"
resume = ["true", "{WORKSPACE}", "--resume"]
check = "cat {WORKSPACE}/result.json"
setup = "true {WORKSPACE}"
changed = ["true {WORKSPACE} --new", ["true", "{WORKSPACE}", "--newer"]]
handoff = "handoff.json"
heartbeat = {{ command = "true {WORKSPACE}", stale_after_s = 30, stalled_after_s = 90.5 }}
s3 = {{ bucket = "talks", prefix = "run", markers = "*.done", reconcile = "true {WORKSPACE}" }}
staging = {{ path = "staging", bound_bytes = 8_000_000 }}
outputs = ["*.parquet"]
ephemeral = ["*.log"]
capabilities = ["acknowledges-exit", "stages"]
resume_attempts = 2
time_budget_s = 600
max_states = 250

[tool.checkpoint-contracts.subjects.etl.expected_failures]
resume-keeps-work = "we load no checkpoints yet"

[tool.checkpoint-contracts.subjects.etl.not_applicable]
state-never-corrupt = "it is a toy"

[tool.checkpoint-contracts.subjects."my load"] # the second
{COMMANDS}
heartbeat.glob = "beat"
heartbeat.stale_after_s = 3
"""


def read(folder: Path, text: str) -> list[Subject]:
    (folder / "pyproject.toml").write_text(text)
    return [table.subject(folder, IDS) for table in read_tables(folder)]


def mistake(folder: Path, text: str) -> str:
    with pytest.raises(UserError) as told:
        read(folder, text)
    return str(told.value)


def test_every_field(tmp_path: Path) -> None:
    assert set(KEYS) == {field.name for field in dataclasses.fields(CommandSubject)}
    for key in KEYS:
        assert f"\n{key} = " in EVERYTHING or f".{key}]" in EVERYTHING, key

    etl, load = read(tmp_path, EVERYTHING)

    file = tmp_path / "pyproject.toml"
    assert etl == Subject(
        name="etl",
        run=("true", WORKSPACE, "--out", "a b"),
        resume=("true", WORKSPACE, "--resume"),
        check=("cat", f"{WORKSPACE}/result.json"),
        setup=("true", WORKSPACE),
        changed=(("true", WORKSPACE, "--new"), ("true", WORKSPACE, "--newer")),
        handoff=PurePosixPath("handoff.json"),
        heartbeat=HeartbeatSource(
            command=("true", WORKSPACE), stale_after_s=30, stalled_after_s=90.5
        ),
        s3=BucketPlace(
            bucket="talks", prefix="run/", markers="*.done", reconcile=("true", WORKSPACE)
        ),
        staging=StagingPlace(path=PurePosixPath("staging"), bound_bytes=8_000_000),
        outputs=("*.parquet",),
        ephemeral=("*.log",),
        capabilities=frozenset(
            ("acknowledges-exit", "handoff", "heartbeat", "s3", "stages", "staging", "variants")
        ),
        expected_failures={"resume-keeps-work": "we load no checkpoints yet"},
        not_applicable={"state-never-corrupt": "it is a toy"},
        resume_attempts=2,
        time_budget_s=600,
        max_states=250,
        working_directory=tmp_path,
        defined_at=(file, 5),
    )
    assert load.name == "my load"
    assert load.heartbeat == HeartbeatSource(glob="beat", stale_after_s=3)
    assert load.defined_at == (file, 28)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"\n\n  [ tool . 'checkpoint-contracts'.subjects.\"etl\" ]  # it\n{COMMANDS}", 3),
        (f"[tool.checkpoint-contracts.subjects]\n\netl = {INLINE}", 1),
        (f"[tool]\nx = 1\n[tool.checkpoint-contracts]\nsubjects.etl = {INLINE}", 3),
        (f"[tool]\ncheckpoint-contracts.subjects.etl = {INLINE}", 1),
        (f"\n[tool.checkpoint-contracts.subjects.etl.not_applicable]\n{HEADER}\n{COMMANDS}", 2),
    ],
)
def test_the_line_of_a_table(tmp_path: Path, text: str, line: int) -> None:
    (subject,) = read(tmp_path, text)

    assert subject.defined_at == (tmp_path / "pyproject.toml", line)


@pytest.mark.parametrize("text", [None, "", "[tool.other]\n", "[tool.checkpoint-contracts]\n"])
def test_no_subjects(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)

    assert read_tables(tmp_path) == []


KEYS_OF_A_SUBJECT = f"(the keys are: {', '.join(KEYS)})"


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ("chek = 'x'", f"there is no key 'chek'; did you mean 'check'? {KEYS_OF_A_SUBJECT}"),
        ("expected-failures = {}", "no key 'expected-failures'; did you mean 'expected_failures'?"),
        (
            "acknowledges-exit = true",
            (
                "there is no key 'acknowledges-exit'; it is a capability: "
                "capabilities = ['acknowledges-exit'] (the keys are: "
            ),
        ),
        ("zzz = 1", f"there is no key 'zzz' {KEYS_OF_A_SUBJECT}"),
        ("resume = 3", "resume must be a string or a list of strings, not 3"),
        ("outputs = '*.json'", "outputs must be a list of strings, not '*.json'"),
        ("resume_attempts = 0", "resume_attempts must be 1 or more, not 0"),
        ("capabilities = ['stagess']", "variants; did you mean 'stages'?"),
        ("expected_failures = {resume-kepes-work = 'x'}", "; did you mean 'resume-keeps-work'?"),
        ("not_applicable = {nonsense = 'x'}", "not_applicable: unknown contract 'nonsense'; "),
        ("not_applicable = 'x'", "not_applicable must map contract ids to reasons, not be 'x'"),
        (
            "heartbeat = 'beat'",
            "heartbeat must be a table with the key 'stale_after_s' in it, not 'beat'",
        ),
        ("heartbeat = {glob = 'beat'}", "heartbeat: the key 'stale_after_s' is missing: "),
        ("heartbeat = {stale_after_s = 3}", "heartbeat needs one of two keys: glob, "),
        (
            "heartbeat = {glob = 'x', command = 'true {workspace}', stale_after_s = 3}",
            "heartbeat needs one of two keys: glob, ",
        ),
        (
            "heartbeat = {glob = 'x', stale_after_s = 3, stalled_after_s = 9}",
            "heartbeat: stalled_after_s: a file cannot say that a worker is stalled; ",
        ),
        (
            "heartbeat = {glob = 'x', stale_after_s = 'soon'}",
            "heartbeat: stale_after_s must be a number of seconds, not 'soon'",
        ),
        ("s3 = {prefix = 'x'}", "s3: the key 'bucket' is missing: bucket = 'talks', say"),
        ("s3 = {bucket = 'talks', marker = 'x'}", "s3: there is no key 'marker'; did you mean "),
        ("s3 = {bucket = 'B'}", "s3: 'B' is no name of a bucket: "),
        ("staging = {path = 's'}", "staging: the key 'bound_bytes' is missing: "),
        (
            "staging = {path = '/s', bound_bytes = 1}",
            "staging: '/s' must be relative to the workspace",
        ),
    ],
)
def test_a_mistake_in_a_table(tmp_path: Path, more: str, sentence: str) -> None:
    told = mistake(tmp_path, f"{HEADER}\n{COMMANDS}{more}\n")

    assert told.startswith(f"{HEADER} ({tmp_path}/pyproject.toml:1): ")
    assert sentence in told


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"{HEADER}\nrun = 'true {WORKSPACE}'", f"{HEADER} (FILE:1): the key 'check' is missing: "),
        (f"{HEADER}\n{COMMANDS}[broken", "FILE is no TOML, and it may name subjects: Expected "),
        (f"{HEADER}\n{COMMANDS}{HEADER}", "FILE is no TOML, and it may name subjects: Cannot "),
        (
            "[tool.checkpoint-contracts.subjects]\netl = 'true'",
            f"{HEADER} (FILE:1) must be a table with the keys 'run' and 'check' in it, not 'true'",
        ),
        (
            "[[tool.checkpoint-contracts.subjects]]\nname = 'etl'",
            f"FILE: subjects must hold a table for each subject, as in {HEADER}, and is [{{'name'",
        ),
        (
            "[tool]\ncheckpoint-contracts = 'etl'",
            "FILE: [tool.checkpoint-contracts] must be a table, not 'etl'",
        ),
        (
            "[tool.checkpoint-contracts.subject.etl]",
            (
                "FILE: [tool.checkpoint-contracts]: there is no key 'subject'; did you mean "
                "'subjects'? (the keys are: subjects)"
            ),
        ),
        (
            "[tool.checkpoint-contracts]\ntime-budget = 5",
            (
                "FILE: [tool.checkpoint-contracts]: 'time-budget' is an option, which is none of a "
                "subject: write it as checkpoint_time_budget where pytest is configured, in "
            ),
        ),
        (
            "[tool.checkpoint_contracts.subjects.etl]",
            (
                "FILE: [tool.checkpoint_contracts] is not read: its name is "
                "[tool.checkpoint-contracts]"
            ),
        ),
        (
            f"[tool.checkpoint-contracts.subjects.'a/b']\n{COMMANDS}",
            "[tool.checkpoint-contracts.subjects.\"a/b\"] (FILE:1): 'a/b' cannot be a name: ",
        ),
    ],
)
def test_a_mistake_around_a_table(tmp_path: Path, text: str, sentence: str) -> None:
    file = f"{tmp_path}/pyproject.toml"

    assert mistake(tmp_path, text).startswith(sentence.replace("FILE", file))


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"\xff\xfe")

    with pytest.raises(UserError, match=r"pyproject\.toml, which may name subjects, cannot be "):
        read_tables(tmp_path)


@pytest.mark.parametrize("page", ["README.md", "docs/subjects.md"])
def test_the_examples_of_the_documents(tmp_path: Path, page: str) -> None:
    text = (ROOT / page).read_text()
    (example,) = re.findall(r"```toml\n(\[tool\.checkpoint-contracts.*?)```", text, re.DOTALL)

    subjects = read(tmp_path, example)

    assert subjects[0].name == "train"
    assert subjects[0].expected_failures == {"resume-keeps-work": "we load no checkpoints yet"}


def test_the_documents_name_every_key() -> None:
    text = (ROOT / "docs/subjects.md").read_text()
    for kind in (CommandSubject, HeartbeatFile, HeartbeatCommand, Bucket, Staging):
        for field in dataclasses.fields(kind):
            assert f"`{field.name}`" in text
