"""What `import torch` runs in every process (entry point `torch.backends`).

It lies beside the entry point's own files, so that it is there whenever torch finds the entry point: whatever is wrong
with the rest of the installation, `import torch` goes on.
"""

from __future__ import annotations

import contextlib

__all__ = ["register"]


def register() -> None:
    """Make the backend `cais` known to torch.distributed, if anything can."""
    with contextlib.suppress(Exception):
        from cais_tools.training.autoload import register

        register()
