"""Several switches at once: the same work on each, in parallel, and one verdict for each.

outcomes = run_on_each(config.select(["all"]), lambda session, device: session.program_info(), options=options)
worst(outcomes)
"""

from __future__ import annotations

from cais_tools.fleet.outcome import Outcome, worst
from cais_tools.fleet.run import Stop, options_for, run_on_each

__all__ = ["Outcome", "Stop", "options_for", "run_on_each", "worst"]
