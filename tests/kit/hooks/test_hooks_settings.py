"""Every option's bad values: a sentence, exit 4, and nothing is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from checkpoint_contracts.evidence import Fault
from pytest_checkpoint.errors import UserError
from pytest_checkpoint.keeping.logbook import Begun, KeptLogbook
from pytest_checkpoint.keeping.places import KEPT
from pytest_checkpoint.keeping.sessions import KeptSession
from pytest_checkpoint.session import quantities
from pytest_checkpoint.session.settings import read_settings

if TYPE_CHECKING:
    from tests.kit.hooks.conftest import Project

pytest_plugins = ["pytester"]

IDS = ("state-never-corrupt", "resume-keeps-work")
BAD = {
    "--checkpoint-time-budget=soon": "--checkpoint-time-budget 'soon' is no duration: ",
    "--checkpoint-time-budget=0": "--checkpoint-time-budget '0' is no duration: ",
    "--checkpoint-max-states=0": "'0' is not a whole number of 1 or more",
    "--checkpoint-seed=-1": "'-1' is not a whole number of 0 or more",
    "--checkpoint-faults=kill,torm": "there is no fault 'torm'; there are: kill, torn",
    "--checkpoint-faults=": "there is no fault ''; there are: kill, torn",
    "--checkpoint-run-deadline=10x": "--checkpoint-run-deadline '10x' is no duration: ",
    "--checkpoint-deadline=nan": "--checkpoint-deadline 'nan' is no duration: ",
    "--checkpoint-workdir=gone": "gone: there is no such directory",
    "--checkpoint-keep=much": "--checkpoint-keep 'much' is no size: ",
    "--checkpoint-self-check=few": "'few' is not a whole number of 0 or more",
    "--checkpoint-attempts=0": "--checkpoint-attempts '0' is not a whole number of 1 or more",
    "--checkpoint-depth=0": "--checkpoint-depth '0' is not a whole number of 1 or more",
    "--checkpoint-restart-ratio=1.5": "--checkpoint-restart-ratio '1.5' is no share of a run",
    "--checkpoint-tolerate=failed": "'failed': only 'inconclusive' can be tolerated",
    "--checkpoint-replay=etl": "'etl' is not SUBJECT::CONTRACT@OP.VARIANT",
    "--checkpoint-replay=etl::x@1.kill": "there is no contract 'x'; there are: ",
    "--checkpoint-continue": "--checkpoint-continue: there is nothing to continue: no session ",
    "--checkpoint-check=true": "given without --checkpoint-run: which job is meant?",
    "--checkpoint-run=true {workspace}": "--checkpoint-run needs --checkpoint-check CMD",
    "--checkpoint-allow-outside=": "--checkpoint-allow-outside needs a path",
}


@pytest.mark.parametrize("option", BAD)
def test_a_bad_value_is_a_sentence(project: Project, option: str) -> None:
    project.subject("etl")

    result = project.run(option)

    assert result.ret == 4
    assert BAD[option] in result.stderr.str()
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert project.examined == []


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--checkpoint-capability=x",), "(--checkpoint-run): unknown capability x; there are: "),
        (("--checkpoint-outputs=/etc/*",), "'/etc/*' must be relative to the workspace"),
        (("--checkpoint-name=a/b",), "'a/b' cannot be a name"),
        (("--checkpoint-name=a::b",), "'a::b' cannot be a name"),
        (("--checkpoint-resume=./gone.sh",), "resume: command not found: "),
        (("--checkpoint-changed=true",), "changed[0] has no {workspace}: "),
        (
            ("--checkpoint-changed=true {workspace}", "--checkpoint-changed=./gone.sh {workspace}"),
            "changed[1]: command not found: ",
        ),
        (
            ("--checkpoint-capability=variants",),
            "the capability 'variants' is declared by commands of changed pipelines: changed=[…], ",
        ),
        (
            ("--checkpoint-continue", "--checkpoint-replay=true::state-never-corrupt@1.kill"),
            "--checkpoint-continue judges all that is left: give one of them",
        ),
        (
            ("--checkpoint-replay=x::state-never-corrupt@1.kill",),
            "is of subject 'x', but --checkpoint-run names 'true'",
        ),
    ],
)
def test_mistakes_in_the_command_form(
    project: Project, more: tuple[str, ...], sentence: str
) -> None:
    command = ("--checkpoint-run=true {workspace}", "--checkpoint-check=true {workspace}")

    result = project.run(*command, *more)

    assert result.ret == 4
    assert sentence in result.stderr.str()
    assert project.examined == []


def test_good_values_arrive(pytester: pytest.Pytester, plugin_arguments: list[str]) -> None:
    (pytester.path / "etl.py").write_text("")
    config = pytester.parseconfig(
        *plugin_arguments,
        "--checkpoint-time-budget=1.5m",
        "--checkpoint-max-states=10",
        "--checkpoint-exhaustive",
        "--checkpoint-faults=torn",
        "--checkpoint-keep=500MB",
        "--checkpoint-restart-ratio=80%",
        "--checkpoint-allow-outside=cache",
        f"--checkpoint-workdir={pytester.path}",
        "--checkpoint-run=python -u etl.py {workspace}",
        "--checkpoint-check=cat {workspace}/a",
        "--checkpoint-outputs=*.json",
        "--checkpoint-outputs=out/*",
        "--checkpoint-capability=stages",
        "--checkpoint-attempts=7",
        "--checkpoint-depth=3",
        "--checkpoint-changed=python etl.py {workspace} --new 'a b'",
        "--checkpoint-changed=python etl.py {workspace} --newer",
    )

    settings = read_settings(config, IDS)

    options, subject = settings.options, settings.subject
    assert options.time_budget_s == 90
    assert options.max_states == 10
    assert options.exhaustive
    assert options.faults == {Fault.TORN}
    assert options.keep_bytes == 500_000_000
    assert options.restart_ratio == pytest.approx(0.8)
    assert options.allow_outside == (pytester.path / "cache",)
    assert options.workdir == pytester.path
    assert subject is not None
    assert subject.name == "etl"
    assert subject.run == subject.resume == ("python", "-u", "etl.py", "{workspace}")
    assert subject.outputs == ("*.json", "out/*")
    assert subject.capabilities == {"stages", "variants"}
    assert subject.changed == (
        ("python", "etl.py", "{workspace}", "--new", "a b"),
        ("python", "etl.py", "{workspace}", "--newer"),
    )
    assert options.attempts == 7
    assert options.depth == 3
    assert subject.working_directory == pytester.path


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("2m", 120), ("1.5 h", 5400)]
)
def test_durations(text: str, seconds: float) -> None:
    assert quantities.seconds("--x", text) == seconds


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("1GiB", 1 << 30), ("500MB", 500_000_000), ("1.5KiB", 1536)]
)
def test_sizes(text: str, size: int) -> None:
    assert quantities.size_bytes("--x", text) == size


@pytest.mark.parametrize("text", ["", "-1", "1e3", "٣", "1 GiB more"])
def test_no_quantities(text: str) -> None:
    for read in (quantities.seconds, quantities.size_bytes, quantities.share):
        with pytest.raises(UserError, match="--x"):
            read("--x", text)


def test_what_can_be_continued_outlives_a_mistake_in_the_command(project: Project) -> None:
    """And a mere look at what there is to judge. Whatever judges something ends it."""
    project.subject("etl")
    rootdir = project.pytester.path
    interrupted = KeptSession(rootdir, "interrupted")
    interrupted.begin()
    (rootdir / KEPT / "etl").mkdir()
    begun = Begun(session="interrupted", subject="etl", definition={})
    KeptLogbook(rootdir / KEPT / "etl").begin(begun)
    interrupted.pause()

    for arguments, code in (
        (["--collect-only"], 0),
        (["etl::no-such-contract"], 4),
        (["-k", "nothing"], 4),
    ):
        assert project.run("--checkpoint-continue", *arguments).ret == code
        left = KeptSession.interrupted(rootdir)
        assert left.id == "interrupted"
        left.leave()

    assert project.run("--checkpoint-continue", "-k", "state-never-corrupt").ret == 0
    with pytest.raises(UserError, match="there is nothing to continue"):
        KeptSession.interrupted(rootdir)
