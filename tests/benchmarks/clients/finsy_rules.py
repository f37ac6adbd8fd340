"""finsy inserts rules; writes the seconds of the inserts and of reading them back.

finsy_rules.py ADDRESS DEVICE_ID ELECTION P4INFO PROGRAM COUNT
"""

# pyright: basic, reportMissingImports=false
# The client is not in the environment in which types are checked.

import asyncio
import sys
import time
from pathlib import Path

import finsy as fy

ADDRESS, DEVICE_ID, ELECTION, P4INFO, PROGRAM, COUNT = sys.argv[1:]
GROUPS = 4


def entry(number):
    layer = number // GROUPS
    return fy.P4TableEntry(
        "rules",
        match=fy.Match(group_id=number % GROUPS, op_type=0, layer_id=f"{layer}...{layer}", chunk_id="0...127"),
        action=fy.Action("aggregate", output_set=16),
        priority=452,
    )


async def main():
    options = fy.SwitchOptions(
        p4info=Path(P4INFO), p4blob=Path(PROGRAM), device_id=int(DEVICE_ID), initial_election_id=int(ELECTION) << 64
    )
    async with fy.Switch("switch", ADDRESS, options) as switch:
        begun = time.perf_counter()
        await switch.insert([entry(number) for number in range(int(COUNT))])
        inserted = time.perf_counter()
        found = [each async for each in switch.read([fy.P4TableEntry("rules")])]
        read = time.perf_counter()
    assert len(found) == int(COUNT), len(found)
    sys.stdout.write(f"{inserted - begun} {read - inserted}\n")


asyncio.run(main())
