"""The boot clock, and the identity of a process, as a hook records them.

Hooks load this, so it uses only modules that are built into the interpreter.
"""

import posix
import time

from holdfast.system.locate import first_line, read_start


def moment() -> tuple[str, int]:
    """The boot we are in and the nanoseconds since it: an order that no clock change can disturb."""
    boot = first_line("/proc/sys/kernel/random/boot_id")
    return boot, time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def describe_process(pid: bytes) -> bytes:
    """`PID NAMESPACE STAT`, so that a later reader can tell the same process from one that has its number."""
    stat = read_start(b"/proc/" + pid + b"/stat") if pid.isdigit() else b""
    return pid + b" " + namespaces() + b" " + stat.strip()


def namespaces() -> bytes:
    """Those in which a process number and a start time mean something: other ones cannot be compared."""
    return b"+".join(_link(b"/proc/self/ns/" + kind) for kind in (b"pid", b"time"))


def _link(path: bytes) -> bytes:
    try:
        return posix.readlink(path)
    except OSError:  # an older kernel, or none that is Linux
        return b"-"
