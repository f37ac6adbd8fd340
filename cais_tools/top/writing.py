"""The one change that `cais top --write` makes: a group goes back to its endpoints."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cais_tools.config import Device
from cais_tools.errors import Refused, UsageError
from cais_tools.fleet import options_for
from cais_tools.session import SessionOptions, connect
from cais_tools.session.cais import CaisSwitch, State, Wanted
from cais_tools.session.cais.wanted import wanted_of
from cais_tools.session.cais.writing import as_toml, merged_tables

__all__ = ["GroupRemover", "Removed"]


@dataclass(frozen=True, slots=True)
class Removed:
    """How many rules were removed, and the file that puts them back."""

    rules: int
    kept_in: Path


class GroupRemover:
    """Removes the rules of a group, so that its operations go through the endpoints; the group itself stays.

    The session is open for no longer than that: nobody else is kept from being primary meanwhile.
    """

    def __init__(self, devices: Sequence[Device], options: SessionOptions, folder: Path | None = None) -> None:
        self._devices = {device.name: device for device in devices}
        self._options = SessionOptions(device_id=options.device_id, timeout=options.timeout, tls=options.tls)
        self._folder = folder or Path()

    def remove_rules(self, device_name: str, group_id: int) -> Removed:
        """Raises Refused (no such group, no rules), NotPrimary, Unreachable, and UsageError where the rules could not
        be kept in a file first.
        """
        device = self._devices[device_name]
        with connect(device.address, options_for(device, self._options)) as session, session.changing:
            switch = CaisSwitch(session)
            session.require_primary(f"remove the rules of group {group_id}")
            state = switch.state()
            rules = [rule for rule in state.rules if rule.group_id == group_id]
            if not rules:
                raise Refused(f"group {group_id} of {device_name} has no rules: its operations go by the endpoints")
            kept_in = self._keep(state, device_name, group_id)
            for rule in rules:
                switch.delete_rule(rule.group_id, rule.op, rule.layer, rule.chunk, keep_group=True)
        return Removed(len(rules), kept_in)

    def _keep(self, state: State, device_name: str, group_id: int) -> Path:
        wanted = wanted_of(state)
        mine = Wanted(
            {key: group for key, group in wanted.groups.items() if key == group_id},
            tuple(rule for rule in wanted.rules if rule.group_id == group_id),
        )
        path = self._folder / f"cais-top-group-{group_id}-{time.strftime('%Y%m%d-%H%M%S')}.toml"
        comment = f"Group {group_id} of {device_name}, removed by cais top; back with: cais rules apply --keep-others"
        try:
            path.write_text(as_toml(merged_tables({device_name: mine}), f"{comment} {path.name}") + "\n", "utf-8")
        except OSError as error:
            raise UsageError(f"the rules could not be kept in {path}, nothing was removed: {error.strerror}") from None
        return path
