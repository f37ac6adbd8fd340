"""The entities of P4Runtime 1.4, section 9: a module for each kind, and the store that finds the right one."""

from __future__ import annotations

from cais_tools.switch.server.entities.base import Ports, Undo
from cais_tools.switch.server.entities.store import EntityStore

__all__ = ["EntityStore", "Ports", "Undo"]
