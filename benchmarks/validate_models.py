"""Compare the persistence models of power loss with what real file systems leave on their device.

    python benchmarks/validate_models.py [--filesystems ext4,xfs,btrfs] [--seconds S] [--quick]
        [--writers NAME,NAME]

Small writers are carried out on a real file system whose block device writes down every write and
every flush. From that log come all states that the device may be in when the power goes; each is
mounted, which replays the journal, and read. What is found must be among what the models allow at
that moment. Wrong states, made up, must be rejected; what is known to happen must be seen again.

It takes root, /dev/fuse, loop devices and mkfs of each file system. All mounts are in a mount
namespace of their own and all else is in one temporary folder: nothing is left, however it ends.

Exit code: 0 if all is as it must be, 1 if not, 2 if it cannot run here: a sentence says why.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

KNOWN = ("ext4", "xfs", "btrfs")
SECONDS = 600.0
QUICK_SECONDS = 5.0


def main() -> int:
    # Behind what is installed: a checkout serves too, but is never taken instead.
    sys.path.append(str(Path(__file__).resolve().parent.parent))
    arguments = parse(sys.argv[1:])
    from benchmarks.real_filesystems.filesystems import MissingError
    from benchmarks.real_filesystems.stopping import note_signals
    from pytest_checkpoint.errors import HarnessError

    note_signals()
    try:
        return compare(arguments)
    except MissingError as missing:
        sys.stderr.write(f"validate_models does not run here: {missing}\n")
        return 2
    except HarnessError as failure:
        sys.stderr.write(f"validate_models gave up: {failure}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: all mounts and devices are released\n")
        return 2


def compare(arguments: argparse.Namespace) -> int:
    from benchmarks.real_filesystems.filesystems import FILE_SYSTEMS, MissingError
    from benchmarks.real_filesystems.report import report, say
    from benchmarks.real_filesystems.validation import all_writers, validate, workshop
    from benchmarks.real_filesystems.writers import small_writers

    with workshop() as shop:
        os.umask(0)  # the writers' modes are meant as they are
        systems = []
        for name in arguments.filesystems:
            try:
                FILE_SYSTEMS[name].check()
            except MissingError as missing:
                say(f"{name} is not tried: {missing}")
            else:
                systems.append(FILE_SYSTEMS[name])
        if not systems:
            raise MissingError("none of the file systems can be tried")
        if arguments.writers:
            writers = [writer for writer in small_writers() if writer.name in arguments.writers]
        elif arguments.quick:
            writers = [writer for writer in small_writers() if writer.quick]
        else:
            writers, missing_sqlite = all_writers(shop)
            if missing_sqlite is not None:
                say(f"SQLite is not tried: {missing_sqlite}")
        comparisons = []
        for system in systems:
            seconds = arguments.seconds / len(systems)
            say(f"{system.name}: {len(writers)} writers, about {seconds:.0f} s")
            comparisons.append(validate(shop, system, writers, seconds))
        return 1 if report(comparisons, shop.folder) else 0


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
    )
    parser.add_argument(
        "--filesystems",
        type=filesystems,
        default=list(KNOWN),
        help=f"some of {','.join(KNOWN)}; what is not installed is left out, and said",
    )
    parser.add_argument("--seconds", type=float, help=f"in all, about; {SECONDS:.0f} by default")
    parser.add_argument(
        "--writers", type=writers, default=[], help="some of the small ones alone, and no SQLite"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"three writers and no SQLite, {QUICK_SECONDS:.0f} s in all",
    )
    parsed = parser.parse_args(arguments)
    if parsed.seconds is None:
        parsed.seconds = QUICK_SECONDS if parsed.quick else SECONDS
    return parsed


def writers(text: str) -> list[str]:
    from benchmarks.real_filesystems.writers import small_writers

    names = text.split(",")
    known = [writer.name for writer in small_writers()]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(known)}")
    return names


def filesystems(text: str) -> list[str]:
    names = list(dict.fromkeys(text.split(",")))
    unknown = [name for name in names if name not in KNOWN]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(KNOWN)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
