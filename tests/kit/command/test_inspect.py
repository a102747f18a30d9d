"""``checkpoint-contracts inspect``, for real: whatever the job does, DIR is never touched."""

from __future__ import annotations

import dataclasses
import json
import os
import select
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_checkpoint.command.inspecting.footprint import footprint
from pytest_checkpoint.command.main import main
from pytest_checkpoint.record.room import system
from pytest_checkpoint.tree.capture import capture
from pytest_checkpoint.tree.compare import differences

_JOB = """
import json, os, shutil, signal, sys
workspace = sys.argv[2]
state = f"{workspace}/state.json"

def say(line):
    with open(os.environ["CHECKPOINT_EVENTS"], "a") as events:
        events.write(line + "\\n")

def goes_on():
    done, home = json.load(open(state))
    for step in range(done + 1, 5):
        say(f"start {step}")
        open(f"{workspace}/checkpoints/{step}.pt", "w").write(str(step))
        json.dump([step, home], open(state, "w"))
        say(f"done {step}")

def starts_over():
    json.dump([0, ""], open(state, "w"))
    shutil.rmtree(f"{workspace}/checkpoints")
    os.mkdir(f"{workspace}/checkpoints")
    goes_on()

def deletes_its_home():
    shutil.rmtree(json.load(open(state))[1])

def hangs():
    print("here I am", flush=True)
    os.write(os.open(os.environ["FIFO"], os.O_WRONLY), b"x")
    signal.pause()

def with_its_own_events():
    open(f"{workspace}/events", "a").write("start 2\\n")
    open(f"{workspace}/looked", "w").close()
    os.chmod(f"{workspace}/looked", 0)
    json.dump([4, ""], open(state, "w"))

def check():
    done, _ = json.load(open(state))
    sys.exit(f"only {done} of 4 steps are done") if done < 4 else print("sum", 10)

def writing_check():
    open(f"{workspace}/looked", "a").write("x")
    say("start 1")
    check()

globals()[sys.argv[1]]()
"""


@dataclasses.dataclass
class Dead:
    """A job that died after its second step of four."""

    folder: Path
    home: Path
    capsys: pytest.CaptureFixture[str]

    def command(self, what: str, workspace: str = "{workspace}") -> str:
        return shlex.join([sys.executable, "-SE", str(self.folder / "job.py"), what, workspace])

    def arguments(self, resume: str, *options: str, check: str = "check") -> list[str]:
        return [
            "inspect",
            str(self.home),
            *("--resume", self.command(resume)),
            *("--check", self.command(check)),
            *("--events", str(self.folder / "events")),
            *("--workdir", str(self.folder / "copies")),
            *options,
        ]

    def inspect(self, resume: str, *options: str, check: str = "check") -> tuple[int, str, str]:
        """It is seen that nothing was touched, and that nothing is left behind."""
        before, image = footprint(self.home), capture(self.home).image
        code = main(self.arguments(resume, *options, check=check))
        said = self.capsys.readouterr()
        assert differences(image, capture(self.home).image) == []
        assert footprint(self.home) == before
        if "--keep" not in options:
            assert os.listdir(self.folder / "copies") == []
        return code, said.out, said.err

    def told(self, resume: str, *options: str, check: str = "check") -> dict[str, Any]:
        code, out, _ = self.inspect(resume, "--json", *options, check=check)
        told: dict[str, Any] = json.loads(out)
        assert told["exit_code"] == code
        return told


@pytest.fixture
def dead(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Dead:
    home = tmp_path / "run7"
    (home / "checkpoints").mkdir(parents=True)
    (home / "state.json").write_text(json.dumps([2, str(home)]))
    for step in (1, 2):
        (home / "checkpoints" / f"{step}.pt").write_text(f"step {step}")
    (tmp_path / "events").write_text("start 1\ndone 1\nstart 2\ndone 2\nstart 3\n")
    (tmp_path / "job.py").write_text(_JOB)
    (tmp_path / "copies").mkdir()
    return Dead(tmp_path, home, capsys)


def test_one_that_resumes(dead: Dead) -> None:
    code, out, err = dead.inspect("goes_on", check="writing_check")
    assert code == 0
    assert out.startswith("It resumes: the resume exits 0 after ")
    assert "the check exits 1 and says: only 2 of 4 steps are done\n" in out
    assert "then the check exits 0 and says: sum 10\n" in out
    assert "1 of 1 file at the top would be rewritten\n        state.json  " in out
    assert "2 files under checkpoints/ would be new\n" in out
    assert "none of it would run again\n" in out
    assert f"the path {dead.home} stands in state.json" in out
    assert "checkpoint-contracts: copying 3 files, " in err


def test_one_that_starts_over(dead: Dead) -> None:
    told = dead.told("starts_over", "--keep", check="writing_check")
    assert told["exit_code"] == 1
    assert told["verdict"].startswith("It loses work: 1, 2 had been done, and would run again")
    assert (told["acknowledged"], told["again"]) == (["1", "2"], ["1", "2"])
    fates = {one["path"]: one["fate"] for one in told["changed"]}
    assert fates == {
        "state.json": "rewritten",
        "checkpoints/1.pt": "rewritten",
        "checkpoints/2.pt": "rewritten",
        "checkpoints/3.pt": "new",
        "checkpoints/4.pt": "new",
    }
    assert "the check writes: the resume was given a copy of its own" in told["notes"]
    kept = Path(told["kept"])
    assert sorted(os.listdir(kept)) == ["checkpoints", "looked", "state.json"]
    assert (kept / "looked").read_text() == "x"
    assert kept.is_relative_to(dead.folder / "copies")


def test_one_that_deletes_the_directory_by_its_absolute_path(dead: Dead) -> None:
    """In its place stands the copy, which cannot go itself; all in it would have been deleted."""
    told = dead.told("deletes_its_home")
    if not told["in_place"]:
        pytest.skip("; ".join(told["notes"]))
    assert told["exit_code"] == 3
    assert f"tried to remove {dead.home} itself, which is mounted here" in told["verdict"]
    assert [one["fate"] for one in told["changed"]] == ["deleted"] * 3


def test_it_is_refused_where_the_copy_lies_elsewhere(dead: Dead) -> None:
    told = dead.told("deletes_its_home", "--no-mount")
    assert (told["exit_code"], told["in_place"], told["changed"]) == (3, False, [])
    assert f"{dead.home}/" in told["verdict"]
    assert "because nothing there may change" in told["verdict"]


def test_where_nothing_may_be_mounted_the_copy_lies_elsewhere(dead: Dead) -> None:
    """In a user namespace of the test's own in which no mount namespace may be made."""
    done = _limited(dead.arguments("goes_on", "--json"))
    told = json.loads(done.stdout)
    assert (done.returncode, told["in_place"]) == (0, False)
    assert any("cannot be mounted in the place of" in note for note in told["notes"])
    fixed = dead.command("goes_on", str(dead.home))
    done = _limited(
        ["inspect", str(dead.home), "--resume", fixed, "--check", dead.command("check")]
    )
    assert done.returncode == 2
    assert "--resume has no {workspace}" in done.stderr


def _limited(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        user, group = os.geteuid(), os.getegid()
        try:
            system.unshare(system.NEW_USER)
            system.keep_ids(user, group)
            Path("/proc/sys/user/max_mnt_namespaces").write_text("0")
        except OSError:
            return  # none is to be had here anyway

    return subprocess.run(
        [sys.executable, "-m", "pytest_checkpoint.command.main", *arguments],
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )


def test_lines_in_the_events_file_itself_count(dead: Dead) -> None:
    """A job may write to it by a path of its own; and files that the copy has cannot be read."""
    os.rename(dead.folder / "events", dead.home / "events")
    told = dead.told("with_its_own_events", "--events", str(dead.home / "events"))
    assert (told["exit_code"], told["again"], told["lines_written"]) == (1, ["2"], 1)


def test_the_deadline_ends_it(dead: Dead, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIFO", os.devnull)
    told = dead.told("hangs", "--deadline", "0.5s")
    assert told["exit_code"] == 3
    assert "the resume had not ended after 0.5 s" in told["verdict"]
    assert told["resume"]["output"] == "here I am\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_nothing_is_left(dead: Dead, number: signal.Signals) -> None:
    """No process, no copy; told by the fifo, which the job has open while it lives."""
    path = dead.folder / "fifo"
    os.mkfifo(path)
    before = footprint(dead.home)
    fifo = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest_checkpoint.command.main", *dead.arguments("hangs")],
        env={**os.environ, "FIFO": str(path)},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert select.select([fifo], [], [], 60)[0], "the job did not begin"
        assert os.read(fifo, 1) == b"x"
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert os.read(fifo, 1) == b""  # nobody has it open any more
    finally:
        os.close(fifo)
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert not out
    assert err.endswith("interrupted: the job's processes are ended, and the copy is removed.\n")
    assert os.listdir(dead.folder / "copies") == []
    assert footprint(dead.home) == before


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({1: "{home}/none"}, "run7/none does not exist: name the directory that holds"),
        ({1: "{home}/state.json"}, "state.json is not a directory"),
        ({3: "no-such-program {{workspace}}"}, "--resume: command not found: no-such-program"),
        ({3: "{{workspace}}/none"}, "--resume: command not found: {home}/none"),
        ({3: "true", 10: "--no-mount"}, "--resume has no {{workspace}}: write it where"),
        ({1: ""}, "DIR is empty: name the directory"),
        ({5: ""}, "--check is empty"),
        ({7: "/none"}, "--events /none: there is no such file"),
        ({7: "{home}"}, "--events {home}: this is no file"),
        ({9: "/none"}, "--workdir /none: there is no such directory"),
        ({9: ""}, "--workdir needs a directory"),
        ({9: "{home}/checkpoints"}, "the copy would lie in {home} itself"),
        ({10: "--deadline=soon"}, "--deadline 'soon' is no duration"),
        ({10: "--allow-outside="}, "--allow-outside needs a path"),
    ],
)
def test_bad_input_is_told_in_a_sentence(dead: Dead, change: dict[int, str], sentence: str) -> None:
    arguments = dead.arguments("goes_on", "--json")
    for place, text in change.items():
        arguments[place] = text.format(home=dead.home)
    before = footprint(dead.home)
    assert main(arguments) == 2
    said = dead.capsys.readouterr()
    assert not said.out
    assert said.err.startswith("checkpoint-contracts: ")
    assert "copying" not in said.err
    assert sentence.format(home=dead.home) in said.err
    assert footprint(dead.home) == before
