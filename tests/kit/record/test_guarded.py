"""A resume that nobody records is watched as one that is: the same counts, the same files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_checkpoint.tree.compare import differences

if TYPE_CHECKING:
    from pytest_checkpoint.record.request import Result
    from tests.kit.record.conftest import Runner

_PROGRAM = """
import mmap
put("a"); put("t", b""); os.replace("a", "b"); os.rename("b", "../t/c"); os.rename("../t/c", "b")
with open("b", "ab") as file:
    file.write(b"more"); file.flush(); os.fsync(file.fileno()); os.ftruncate(file.fileno(), 3)
os.chmod("b", 0o6755); put("b", b"clears the bits")
os.mkdir("d"); os.symlink("../b", "d/s"); os.link("b", "d/l"); put("d/s", b"through the link")
raises(errno.ENOTEMPTY, os.rmdir, "d")
raises(errno.ENOENT, os.unlink, "none")
raises(errno.EISDIR, os.rename, "b", "d")
os.utime("b", (1, 1)); os.truncate("t", 100)
file = os.open("t", os.O_RDWR); view = mmap.mmap(file, 100)
view[:5] = b"store"; os.fdatasync(file)
put(OUT + "/new")
os.rename(OUT + "/new", "arrived"); put(OUT + "/kept", b"outside")
with open(EVENTS, "a") as events:
    events.write("start x\\n")
os.unlink("d/s"); os.unlink("d/l"); os.rmdir("d"); os.rename("b", OUT + "/gone")
"""


def _counts(result: Result) -> dict[str, object]:
    assert (result.exit_code, result.problem, result.refusal) == (0, None, None), result
    names = "operations steps workspace_bytes all_bytes created_outside reaches_out mapped"
    return {name: getattr(result, name) for name in names.split()}


def test_the_same_as_when_it_is_recorded(runner: Runner) -> None:
    recorded = runner.ok(_PROGRAM)
    for path in runner.outside.iterdir():
        path.unlink()
    guarded = runner.guarded(_PROGRAM)
    assert _counts(guarded) == _counts(recorded.result)
    assert recorded.result.operations >= 30
    assert differences(recorded.found, runner.look()) == []
