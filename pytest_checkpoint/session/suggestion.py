"""What is told where no subject was found: the three ways to name one, for this repository."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from pytest_checkpoint.session.likely_job import likely_job
from pytest_checkpoint.session.pyproject import FILE, header

_CHECK = "cat {workspace}/result.json"


def how_to_name_one(rootdir: Path, directory: Path, left: Sequence[str]) -> str:
    """``left``: subjects of pyproject.toml that were not asked for.

    ``directory``: where pytest was started.
    """
    if left:
        return (
            f"no subject found in what was given; {rootdir / FILE} names {', '.join(left)}: they "
            f"are judged if no path is given, or with the paths {FILE} or {left[0]}::CONTRACT"
        )
    job = likely_job(rootdir, directory)
    run = f"{job.command} {{workspace}}"
    function = re.sub(r"\W", "_", job.name)
    if not function.isidentifier():
        function = "job"
    return f"""\
no subject found: nothing names a job to judge. Name one by its commands:

    pytest --checkpoint-contracts --checkpoint-run {shlex.quote(run)} \\
        --checkpoint-check {shlex.quote(_CHECK)}

or in {FILE}:

    [{header(job.name)}]
    run = {_quoted(run)}
    check = {_quoted(_CHECK)}

or in a test module or a conftest.py:

    from pytest_checkpoint.api import CommandSubject, checkpoint_subject

    @checkpoint_subject
    def {function}():
        return CommandSubject(run={_quoted(run)}, check={_quoted(_CHECK)})

{{workspace}} is the directory that holds all the job's state; the check prints the job's result."""


def _quoted(text: str) -> str:
    """In Python and TOML alike."""
    return json.dumps(text, ensure_ascii=False)
