"""Which handler carries out which call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Final

from pytest_checkpoint.record.caller import Caller
from pytest_checkpoint.record.calls import (
    closes,
    copies,
    creations,
    credentials,
    data,
    durability,
    metadata,
    names,
    network,
    opens,
    signalling,
    sizes,
    spaces,
)
from pytest_checkpoint.record.recorder import Recorder
from pytest_checkpoint.record.reply import Reply
from pytest_checkpoint.record.syscalls import Architecture, native

Handler = Callable[[Recorder, Caller, tuple[int, ...]], Reply]

HANDLERS: Final[dict[str, Handler]] = {
    "open": opens.open_,
    "creat": opens.creat,
    "openat": opens.openat,
    "openat2": opens.openat2,
    "write": data.write,
    "pwrite64": data.pwrite64,
    "writev": data.writev,
    "pwritev": data.pwritev,
    "pwritev2": data.pwritev2,
    "sendfile": copies.sendfile,
    "copy_file_range": copies.copy_file_range,
    "splice": copies.splice,
    "truncate": sizes.truncate,
    "ftruncate": sizes.ftruncate,
    "fallocate": sizes.fallocate,
    "rename": names.rename,
    "renameat": names.renameat,
    "renameat2": names.renameat2,
    "link": names.link,
    "linkat": names.linkat,
    "unlink": names.unlink,
    "unlinkat": names.unlinkat,
    "rmdir": names.rmdir,
    "mkdir": creations.mkdir,
    "mkdirat": creations.mkdirat,
    "symlink": creations.symlink,
    "symlinkat": creations.symlinkat,
    "mknod": creations.mknod,
    "mknodat": creations.mknodat,
    "bind": creations.bind,
    "chmod": metadata.chmod,
    "fchmod": metadata.fchmod,
    "fchmodat": metadata.fchmodat,
    "fchmodat2": metadata.fchmodat2,
    "chown": metadata.chown,
    "lchown": metadata.lchown,
    "fchown": metadata.fchown,
    "fchownat": metadata.fchownat,
    "utime": metadata.utime,
    "utimes": metadata.utimes,
    "futimesat": metadata.futimesat,
    "utimensat": metadata.utimensat,
    "setxattr": metadata.setxattr,
    "lsetxattr": metadata.lsetxattr,
    "fsetxattr": metadata.fsetxattr,
    "removexattr": metadata.removexattr,
    "lremovexattr": metadata.lremovexattr,
    "fremovexattr": metadata.fremovexattr,
    "fsync": durability.fsync,
    "fdatasync": durability.fdatasync,
    "sync": durability.sync,
    "syncfs": durability.syncfs,
    "mmap": durability.mmap,
    "mprotect": durability.mprotect,
    "msync": durability.msync,
    "connect": network.connect,
    "close": closes.close,
    "statfs": spaces.statfs,
    "fstatfs": spaces.fstatfs,
    "kill": signalling.kill,
    "tkill": signalling.to_first,
    "tgkill": signalling.to_thread,
    "rt_sigqueueinfo": signalling.to_first,
    "rt_tgsigqueueinfo": signalling.to_thread,
    "pidfd_send_signal": signalling.pidfd_send_signal,
    "umask": credentials.umask,
    "setuid": credentials.user,
    "setgid": credentials.user,
    "setreuid": credentials.user,
    "setregid": credentials.user,
    "setresuid": credentials.user,
    "setresgid": credentials.user,
    "setfsuid": credentials.user,
    "setfsgid": credentials.user,
    "setgroups": credentials.user,
    "setrlimit": credentials.file_size_limit,
    "prlimit64": credentials.file_size_limit,
}


def by_number(architecture: Architecture) -> dict[int, Handler]:
    """The handlers of the calls that this architecture has."""
    return {
        number: HANDLERS[name] for name, number in architecture.numbers.items() if name in HANDLERS
    }


@functools.cache
def of_this_machine() -> Mapping[int, Handler]:
    """Those of the architecture that this is."""
    return by_number(native())
