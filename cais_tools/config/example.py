"""The commented example that `cais config init` writes."""

from __future__ import annotations

__all__ = ["EXAMPLE"]

EXAMPLE = """\
# cais.toml: switches, what they shall reduce, and settings.
#
# A flag comes before an environment variable (CAIS_CHUNK_SIZE, ...), that before this file, and that before the
# default. This file is --config FILE or CAIS_CONFIG, else ./cais.toml, else cais/cais.toml in $XDG_CONFIG_HOME
# (~/.config). `cais config check` tells what is wrong with it, `cais config show` what is in force and why.

# --- switches: `--device leaf1`, `--device leaf1,leaf2`, `--device all` ---

[devices.leaf1]
address = "127.0.0.1:9559"        # P4Runtime, HOST:PORT; 9559 where no port is given
# device_id = 1                   # without it, the one that is there: 0 (bmv2's) or 1
# tls = { ca = "ca.pem", cert = "client.pem", key = "client.key" }   # relative to this file; {}: the system's CAs
# link_gbps = 100                 # of the ranks' links; with rtt_us, windows that are too small for it are found
# rtt_us = 10

# What is printed on the front, and the switch's own number for it. Where they are the same, leave this out.
[devices.leaf1.ports]
swp1 = 1
swp2 = 2
swp3 = 3
swp4 = 4

# By which link the hosts reach it, in the order of ranks: rank r of a training job is behind the r-th of these ports.
# [devices.leaf1.links]
# swp1 = "eth1"                   # an interface of the host, or a cable to the embedded switch: "cable:9101:9001"
# swp2 = "eth1"

# [devices.leaf2]
# address = "10.0.0.12"

# --- the wanted state: `cais rules diff`, `cais rules apply` ---

[[groups]]
id = 0
ports = ["swp1", "swp2", "swp3", "swp4"]   # in the order of ranks; names from above or numbers, from 1 on
slots = 256                                # a power of two

[[rules]]
group = 0
op = "allreduce"                  # or allgather, broadcast, allreduce-max, allreduce-min, allreduce-product
layer = "any"                     # a number, "3-9" or "any"
chunk = "any"
# outputs = ["swp1", "swp2"]      # who gets the result; all members where it is left out
# inputs = ["swp1"]               # who gives payload; all members where it is left out

# --- the control plane ---

[controller]
address = "127.0.0.1"             # HOST, or HOST:PORT instead of controller_port

[defaults]
controller_port = 50051
chunk_size = 65536                # bytes of a chunk
offload_threshold = 0.2           # offload where the score is above: 0 to 1
timeout_ms = 50                   # wait this long for a result, then fall back
max_pending_chunks = 128          # chunks of a rank under way at a time
sram_usage_limit = 0.75           # share of the slots that may be given out: above, no new work is admitted
"""
