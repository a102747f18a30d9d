"""Compare jobs on a real tmpfs that runs full with the same jobs under a quota of that size.

    python benchmarks/full_disk.py [--boundaries N] [--seed N] [--jobs N] [NAME …]

Every subject that comes with this repository, and needs no more than a workspace, is run with so
few blocks or inodes, from what lies there already up to one more than it needs, and resumed with as
few after kills: each once on a tmpfs that is mounted for it, and once with the virtual quota. They
agree if they end alike (exit code or signal), if something was refused in both or in neither, if
they leave the same names, types and numbers of blocks, and if the check says the same afterwards. A
pair that does not agree is tried again, up to six times in all: a job with threads, or with times
in its files, does not do the same twice.

Exit code: 0 if all agree, 1 if not, 2 if no tmpfs can be mounted here.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.small_rooms.subjects import Commands
    from benchmarks.small_rooms.sweep import Tally

HEADINGS = ("subject", "boundaries", "refused", "ended well", "agree", "repeated", "same bytes")
FAST = Path("/dev/shm")


def main() -> int:
    # Behind what is installed: a checkout serves too, but is never taken instead.
    sys.path.append(str(Path(__file__).resolve().parent.parent))
    arguments = parse(sys.argv[1:])
    from benchmarks.small_rooms.subjects import bundled
    from benchmarks.small_rooms.sweep import NoRealRoomError
    from pytest_checkpoint.errors import HarnessError

    subjects = [one for one in bundled() if not arguments.names or one.name in arguments.names]
    if not subjects:
        sys.stderr.write(f"no subject is called {' or '.join(arguments.names)}\n")
        return 2
    try:
        tallies = sweep_all(subjects, arguments)
    except NoRealRoomError as missing:
        sys.stderr.write(f"full_disk does not run here: {missing}\n")
        return 2
    except HarnessError as failure:
        sys.stderr.write(f"full_disk gave up: {failure}\n")
        return 2
    report(tallies)
    return 1 if any(tally.disagreements for tally in tallies) else 0


def sweep_all(subjects: list[Commands], arguments: argparse.Namespace) -> list[Tally]:
    from benchmarks.small_rooms.sweep import sweep

    root = str(FAST) if FAST.is_dir() else None
    with (
        tempfile.TemporaryDirectory(prefix="full-disk-", dir=root) as folder,
        ThreadPoolExecutor(arguments.jobs) as pool,
    ):

        def one(subject: Commands) -> Tally:
            base = Path(folder, subject.name)
            return sweep(subject, base, arguments.boundaries, arguments.seed)

        return list(pool.map(one, subjects))


def report(tallies: list[Tally]) -> None:
    rows = [(tally.name, *numbers(tally)) for tally in tallies]
    rows.append(("all", *map(sum, zip(*map(numbers, tallies), strict=True))))
    table = [HEADINGS, *[tuple(map(str, row)) for row in rows]]
    widths = [max(len(row[index]) for row in table) for index in range(len(HEADINGS))]
    for row in table:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  ".join(cells))
    for tally in tallies:
        for line in tally.disagreements:
            print(f"{tally.name}: {line}")


def numbers(tally: Tally) -> tuple[int, ...]:
    """In the order of the headings."""
    agreed = (tally.agreed, tally.repeated, tally.same_bytes)
    return (tally.boundaries, tally.refused, tally.survived, *agreed)


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="of subjects; all, if none")
    parser.add_argument("--boundaries", type=int, default=50, help="of each subject, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="subjects at the same time")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
