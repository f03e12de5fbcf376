"""The boot clock and process identity, as recorded by hooks.

Loaded by hooks: only modules built into the interpreter are imported.
"""

import posix
import time

from holdfast.system.locate import first_line, read_start


def moment() -> tuple[str, int]:
    """Return the boot id and the nanoseconds since boot: an order that no clock change disturbs."""
    boot = first_line("/proc/sys/kernel/random/boot_id")
    return boot, time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def describe_process(pid: bytes) -> bytes:
    """Return `PID NAMESPACE STAT`, by which a reader can detect a reused pid."""
    stat = read_start(b"/proc/" + pid + b"/stat") if pid.isdigit() else b""
    return pid + b" " + namespaces() + b" " + stat.strip()


def namespaces() -> bytes:
    """Return the namespaces in which a pid and a start time are comparable."""
    return b"+".join(_link(b"/proc/self/ns/" + kind) for kind in (b"pid", b"time"))


def _link(path: bytes) -> bytes:
    try:
        return posix.readlink(path)
    except OSError:  # an older kernel, or not Linux
        return b"-"
