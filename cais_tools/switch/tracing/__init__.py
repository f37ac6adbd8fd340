"""What happened to a packet: traces that variants of the generated functions tell, as values, as JSON and as text."""

from __future__ import annotations

from cais_tools.switch.tracing.events import Event, Outcome, PassTrace, unprogrammed
from cais_tools.switch.tracing.text import text_of
from cais_tools.switch.tracing.tracer import Tracer

__all__ = ["Event", "Outcome", "PassTrace", "Tracer", "text_of", "unprogrammed"]
