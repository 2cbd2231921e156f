"""Run a command that can't outlive whoever started it; executed as a script, never imported.

A child can ask the kernel for a signal at its parent's death only from inside, and code between
fork and exec isn't safe in a parent with threads: hence this step in between.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):  # it died before the request was made
        sys.exit(1)
    os.execv(command[0], command)  # noqa: S606
