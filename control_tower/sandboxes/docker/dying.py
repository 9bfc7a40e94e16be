"""Programs that are ended when the process that started them dies, however it dies."""

from __future__ import annotations

import os
import sys

_LAUNCH = """
import ctypes, os, signal, sys
parent, *command = sys.argv[1:]
if sys.platform == "linux":
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):
        sys.exit(1)
os.execvp(command[0], command)
"""


def dying_with_parent(command: list[str]) -> list[str]:
    """A command that becomes another, which gets SIGTERM when this process dies.

    The kernel sends it when the thread ends that started the command, so that thread has to wait
    for it. Elsewhere than on Linux the command outlives this process as any other does.

    Args:
        command: the program, looked for on the path, and its arguments.
    """
    return [sys.executable, "-I", "-S", "-c", _LAUNCH, str(os.getpid()), *command]
