"""The backend `cais`, made known to torch in every process that imports it: it must be quick and can never fail."""

# torch is an extra, and a strict checker must pass without it.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import contextlib
from typing import Any

__all__ = ["register"]


def register() -> None:
    """Make the backend `cais` known to torch.distributed; nothing else is imported before somebody uses it."""
    with contextlib.suppress(Exception):
        import torch.distributed as dist

        if dist.is_available() and "CAIS" not in dist.Backend._plugins:
            dist.Backend.register_backend("cais", _create, extended_api=True, devices=["cpu", "cuda"])


def _create(options: Any, pg_options: Any = None) -> Any:
    from cais_tools.training.torch_backend import create

    return create(options, pg_options)
