"""`cais.toml`: devices, groups, rules, the controller, and the defaults of the original's `cais_config`.

    config = read_config(find_config(None))
    config.select(["leaf1,leaf2"]), config.settings()["chunk_size"]

A flag comes before an environment variable, that before the file, and that before the default.
"""

from __future__ import annotations

from cais_tools.config.address import DEFAULT_PORT, Target, parse_target
from cais_tools.config.config import FILE_NAME, Config, check_config, find_config, read_config
from cais_tools.config.devices import ALL, DEFAULT_ADDRESS, HIGHEST_PORT, Device, TlsFiles
from cais_tools.config.document import Lines, Location, parse_document, read_text
from cais_tools.config.locate import KeyPath
from cais_tools.config.nearest import did_you_mean
from cais_tools.config.section import Finding, Section, root_section
from cais_tools.config.settings import SETTINGS, Setting, SettingKind
from cais_tools.config.tls import check_tls

__all__ = [
    "ALL",
    "DEFAULT_ADDRESS",
    "DEFAULT_PORT",
    "FILE_NAME",
    "HIGHEST_PORT",
    "SETTINGS",
    "Config",
    "Device",
    "Finding",
    "KeyPath",
    "Lines",
    "Location",
    "Section",
    "Setting",
    "SettingKind",
    "Target",
    "TlsFiles",
    "check_config",
    "check_tls",
    "did_you_mean",
    "find_config",
    "parse_document",
    "parse_target",
    "read_config",
    "read_text",
    "root_section",
]
