"""The filter as the kernel would run it, by a very small machine of our own."""

from __future__ import annotations

import errno
import os
import resource
import struct

import pytest

from pytest_checkpoint.record import filter as seccomp_filter
from pytest_checkpoint.record import syscalls
from pytest_checkpoint.record.calls.table import HANDLERS, by_number
from pytest_checkpoint.record.filter import RET_ALLOW, RET_ERRNO, RET_NOTIFY
from pytest_checkpoint.record.syscalls import Architecture

X86_64 = Architecture("x86_64", 0xC000003E, 0x40000000, syscalls._X86_64)
AARCH64 = Architecture("aarch64", 0xC00000B7, None, syscalls._AARCH64)
BOTH = pytest.mark.parametrize("architecture", [X86_64, AARCH64], ids=lambda a: a.name)
SIGNALS = {
    "kill": 1,
    "tkill": 1,
    "tgkill": 2,
    "rt_sigqueueinfo": 1,
    "rt_tgsigqueueinfo": 2,
    "pidfd_send_signal": 1,
}
"""Which argument is the signal."""
LIMITS = {"setrlimit": 0, "prlimit64": 1}
"""Which argument is the resource."""
CONDITIONAL = {"open", "openat", "mmap", "mprotect", "ioctl", *SIGNALS, *LIMITS}
REFUSED = {"io_uring_setup", "io_setup", "setxattrat", "removexattrat"}
ON_REQUEST = {"close": "closes", "statfs": "free_space", "fstatfs": "free_space"}
READS = {
    "x86_64": {"read": 0, "close": 3, "fstat": 5, "lseek": 8, "pread64": 17, "execve": 59},
    "aarch64": {"read": 63, "close": 57, "fstat": 80, "lseek": 62, "pread64": 67, "execve": 221},
}


def judge(
    architecture: Architecture,
    number: int,
    *arguments: int,
    audit: int | None = None,
    **wanted: bool,
) -> int:
    """What the filter returns for a call."""
    full = [*arguments, *[0xDEADBEEF00000000] * (6 - len(arguments))]
    data = struct.pack("=iIQ6Q", number, audit or architecture.audit, 0, *full)
    code = list(struct.iter_unpack("=HBBI", seccomp_filter.program(architecture, **wanted)))
    assert len(code) <= 4096
    accumulator = position = 0
    while True:
        operation, if_true, if_false, value = code[position]
        position += 1
        if operation == 0x06:
            return int(value)
        if operation == 0x20:
            assert value % 4 == 0
            (accumulator,) = struct.unpack_from("=I", data, value)
            continue
        met = {
            0x15: accumulator == value,
            0x35: accumulator >= value,
            0x45: bool(accumulator & value),
        }[operation]
        position += if_true if met else if_false


@BOTH
def test_every_call_with_a_handler_is_notified_and_no_other(architecture: Architecture) -> None:
    for name, number in architecture.numbers.items():
        if name in CONDITIONAL | ON_REQUEST.keys():
            continue
        expected = RET_ERRNO | errno.ENOSYS if name in REFUSED else RET_NOTIFY
        assert judge(architecture, number) == expected, name
        assert (number in by_number(architecture)) == (name not in REFUSED), name
    known = set(architecture.numbers.values())
    for number in set(range(480)) - known:
        assert judge(architecture, number) == RET_ALLOW, number


@BOTH
@pytest.mark.parametrize("name", SIGNALS)
def test_signals_are_notified_but_for_the_one_that_only_asks(
    architecture: Architecture, name: str
) -> None:
    number = architecture.numbers[name]
    arguments = [4711] * SIGNALS[name]
    assert judge(architecture, number, *arguments, 15) == RET_NOTIFY
    assert judge(architecture, number, *arguments, 0) == RET_ALLOW
    assert number in by_number(architecture)


@BOTH
@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_notified_if_they_are_those_of_a_files_size(
    architecture: Architecture, name: str
) -> None:
    number = architecture.numbers[name]
    for limit in range(16):
        expected = RET_NOTIFY if limit == resource.RLIMIT_FSIZE else RET_ALLOW
        assert judge(architecture, number, *[4711] * LIMITS[name], limit) == expected
    assert number in by_number(architecture)


@BOTH
@pytest.mark.parametrize("name", ON_REQUEST)
def test_some_are_notified_only_where_that_is_asked_for(
    architecture: Architecture, name: str
) -> None:
    number = architecture.numbers[name]
    assert number in by_number(architecture)
    assert judge(architecture, number) == RET_ALLOW
    assert judge(architecture, number, **{ON_REQUEST[name]: True}) == RET_NOTIFY
    (other,) = set(ON_REQUEST.values()) - {ON_REQUEST[name]}
    assert judge(architecture, number, **{other: True}) == RET_ALLOW


@BOTH
def test_reads_never_stop(architecture: Architecture) -> None:
    for name, number in READS[architecture.name].items():
        assert judge(architecture, number) == RET_ALLOW, name


@BOTH
def test_opens_stop_only_if_they_can_create_or_cut(architecture: Architecture) -> None:
    opens = {"open": 1, "openat": 2}
    for name, index in opens.items():
        if name not in architecture.numbers:
            continue
        number = architecture.numbers[name]
        for flags in (os.O_CREAT, os.O_TRUNC | os.O_RDWR, os.O_TMPFILE | os.O_WRONLY):
            assert judge(architecture, number, *[0] * index, flags) == RET_NOTIFY
        for flags in (os.O_RDONLY, os.O_RDWR | os.O_CLOEXEC, os.O_DIRECTORY, os.O_APPEND):
            assert judge(architecture, number, *[0] * index, flags) == RET_ALLOW


@BOTH
def test_mappings_stop_if_shared_and_protections_if_writable(architecture: Architecture) -> None:
    mmap, mprotect = (architecture.numbers[name] for name in ("mmap", "mprotect"))
    assert judge(architecture, mmap, 0, 0, 3, 1) == RET_NOTIFY
    assert judge(architecture, mmap, 0, 0, 3, 3) == RET_NOTIFY  # MAP_SHARED_VALIDATE
    assert judge(architecture, mmap, 0, 0, 3, 0x22) == RET_ALLOW
    assert judge(architecture, mprotect, 0, 0, 2) == RET_NOTIFY
    assert judge(architecture, mprotect, 0, 0, 5) == RET_ALLOW


@BOTH
def test_clones_are_refused_as_by_a_file_system_without_them(architecture: Architecture) -> None:
    ioctl = architecture.numbers["ioctl"]
    for request in (0x40049409, 0x4020940D):
        assert judge(architecture, ioctl, 0, request) == RET_ERRNO | errno.EOPNOTSUPP
    assert judge(architecture, ioctl, 0, 0x5401) == RET_ALLOW


def test_foreign_architectures_are_refused() -> None:
    refused = RET_ERRNO | errno.ENOSYS
    assert judge(X86_64, 4, audit=0x40000003) == refused  # i386
    assert judge(X86_64, 0x40000001) == refused  # x32
    assert judge(AARCH64, 64, audit=0x40000028) == refused  # arm


def test_every_handler_belongs_to_a_call_of_some_architecture() -> None:
    assert set(HANDLERS) <= X86_64.numbers.keys()
    assert AARCH64.numbers.keys() <= X86_64.numbers.keys()
