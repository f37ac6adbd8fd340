"""What two servers are asked to see whether they answer alike: requests about data/rehearsal.p4, and bmv2's answers.

The answers are those of simple_switch_grpc (PI f96af95), code and text.
"""

from __future__ import annotations

from tests.integration.switch.questions.arrays import ARRAYS
from tests.integration.switch.questions.builders import CONFIG, Question
from tests.integration.switch.questions.profiles import PROFILES
from tests.integration.switch.questions.reads import READS
from tests.integration.switch.questions.replication import REPLICATION
from tests.integration.switch.questions.tables import TABLES

__all__ = ["CONFIG", "QUESTIONS", "Question"]

QUESTIONS = [*TABLES, *READS, *ARRAYS, *REPLICATION, *PROFILES]
