"""A network that has loopback and nothing else, so that nothing a client tries can leave the machine.

A holder process lives in a network namespace of its own. It opens listening sockets there and hands them out, so the
tests serve inside the cage while they stay outside of it; clients are started through `nsenter`.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys

HOLDER = """
import socket, sys
door = socket.socket(fileno=int(sys.argv[1]))
door.send(b"!")
while door.recv(1):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        socket.send_fds(door, [b"."], [listening.fileno()])
"""
PATIENCE = 30.0


class NoCage(Exception):
    """Network namespaces cannot be made here; the message says why."""


class Cage:
    """`with Cage() as cage:`; it goes with the holder, and the holder goes with us."""

    def __init__(self) -> None:
        for tool in ("unshare", "nsenter", "ip"):
            if shutil.which(tool) is None:
                raise NoCage(f"there is no `{tool}`")
        own = os.geteuid() == 0
        self._enter = ["--net"] if own else ["--user", "--preserve-credentials", "--net"]
        self._door, theirs = socket.socketpair()
        self._door.settimeout(PATIENCE)
        line = ["unshare", *([] if own else ["--map-root-user"]), "--net", "--", "sh", "-c"]
        number = str(theirs.fileno())
        self._holder = subprocess.Popen(
            [*line, 'ip link set lo up && exec "$@"', "sh", sys.executable, "-I", "-S", "-c", HOLDER, number],
            pass_fds=[theirs.fileno()],
            stderr=subprocess.PIPE,
        )
        theirs.close()
        if self._door.recv(1) != b"!":
            _, said = self._holder.communicate(timeout=PATIENCE)
            self._door.close()
            raise NoCage(f"a network namespace is refused: {said.decode().strip()}")

    def listen(self) -> socket.socket:
        """A new listening socket on the cage's loopback."""
        self._door.send(b"?")
        _, (number,), _, _ = socket.recv_fds(self._door, 1, 1)
        return socket.socket(fileno=number)

    def inside(self, *command: str) -> list[str]:
        """The command line that runs a command in the cage; the process keeps its number."""
        return ["nsenter", f"--target={self._holder.pid}", *self._enter, "--", *command]

    def close(self) -> None:
        self._door.close()
        self._holder.communicate(timeout=PATIENCE)

    def __enter__(self) -> Cage:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
