"""A forked child does not keep its parent's connections alive."""

from __future__ import annotations

import os
import socket
import time

from cais_tools.training import forks


def test_the_other_end_hears_of_the_end_although_a_child_lives() -> None:
    ours, theirs = socket.socketpair()
    forks.keep(ours.fileno())
    child = os.fork()
    if child == 0:
        time.sleep(30)
        os._exit(0)
    try:
        forks.let_go(ours.fileno())
        ours.close()
        theirs.settimeout(10)
        assert theirs.recv(1) == b""
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        theirs.close()
