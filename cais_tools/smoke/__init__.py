"""The smoke test: random tensors through a switch, every result checked.

plan, reference         what is run, and what must come out: NumPy alone
collective, rehearsal   how an operation travels: plans of the ranks, rules of the switch; the same without a network
process, fabric         the switch and its links: started or attached to, and put away
runner, pace, report    runs the plan; how patient it is; what it found
verify, refused, cause  where a result is wrong, and what most likely made it so
trace, capture          the frames behind a wrong result
generate, gloo          the traffic as a file (Scapy); the same tensors through torch.distributed
"""
