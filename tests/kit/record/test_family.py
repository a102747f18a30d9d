"""The processes of a job: what they have used, whoever their parent is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner


def test_startup_is_what_all_have_used_until_the_first_operation(runner: Runner) -> None:
    """Here a child that still lives then, and is not ours."""
    result = runner.ok("""
import resource
ready, lasting = os.pipe(), os.pipe()
if not os.fork():
    os.close(lasting[1])
    while resource.getrusage(resource.RUSAGE_SELF).ru_utime < 0.1: sum(range(10000))
    os.write(ready[1], b".")
    os.read(lasting[0], 1)
    os._exit(0)
os.read(ready[0], 1)
put("first")
""").result
    assert result.startup_cpu_s >= 0.08  # the kernel counts in hundredths
