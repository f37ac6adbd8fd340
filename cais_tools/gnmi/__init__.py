"""gNMI as far as telling a temperature takes: messages, paths, values.

`gnmi.proto` has the public specification's package, names and numbers; gnmi_pb2 is compiled from it, and
tests/unit/gnmi says how. Its messages live in a descriptor pool of their own: other gNMI stubs (finsy's, pygnmi's) call
theirs the same, and in the pool that all share, whoever is imported second would fail.
"""

from __future__ import annotations

from cais_tools.gnmi import gnmi_pb2
from cais_tools.gnmi.paths import Elem, Path, from_message, in_text, parse_path, to_message
from cais_tools.gnmi.values import number

__all__ = ["Elem", "Path", "from_message", "gnmi_pb2", "in_text", "number", "parse_path", "to_message"]
