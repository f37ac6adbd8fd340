"""p4runtime-shell inserts rules; writes the seconds of the inserts and of reading them back.

shell_rules.py ADDRESS DEVICE_ID ELECTION P4INFO PROGRAM COUNT
"""

# pyright: basic, reportMissingImports=false
# The client is not in the environment in which types are checked.

import sys
import time

import p4runtime_sh.shell as sh

ADDRESS, DEVICE_ID, ELECTION, P4INFO, PROGRAM, COUNT = sys.argv[1:]
GROUPS = 4

sh.setup(
    device_id=int(DEVICE_ID),
    grpc_addr=ADDRESS,
    election_id=(int(ELECTION), 0),
    config=sh.FwdPipeConfig(P4INFO, PROGRAM),
    verbose=False,
)
begun = time.perf_counter()
for number in range(int(COUNT)):
    layer = number // GROUPS
    entry = sh.TableEntry("CaisIngress.aggregation.rules")(action="CaisIngress.aggregation.aggregate")
    entry.match["hdr.cais.group_id"] = str(number % GROUPS)
    entry.match["hdr.cais.op_type"] = "0"
    entry.match["hdr.cais.layer_id"] = f"{layer}..{layer}"
    entry.match["hdr.cais.chunk_id"] = "0..127"
    entry.action["output_set"] = "16"
    entry.priority = 452
    entry.insert()
inserted = time.perf_counter()
found = list(sh.TableEntry("CaisIngress.aggregation.rules").read())
read = time.perf_counter()
assert len(found) == int(COUNT), len(found)
sh.teardown()
sys.stdout.write(f"{inserted - begun} {read - inserted}\n")
