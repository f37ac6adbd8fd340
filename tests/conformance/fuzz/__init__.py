"""Fuzzers of the embedded switch.

differential   random entries and packets into the engine and into bmv2, outputs compared (`python -m
               tests.conformance.fuzz --packets 100000 --programs 10 --seed 1`)
crash          damaged programs, packets and gRPC messages (`python -m tests.conformance.fuzz crash --seconds 60`)

Everything random comes from the seed. What differs is written as a case that `python -m tests.conformance.fuzz replay
FILE` runs again.
"""
