"""The smoke test: random tensors through a switch, every result checked.

plan, reference     what is run, and what must come out: NumPy alone
collective          how an operation travels: the plan of a rank, the rules of the switch
process, fabric     the switch and its links: started or attached to, and put away
runner, report      runs the plan; what it found
verify, cause       where a result is wrong, and what most likely made it so
trace, capture      the frames behind a wrong result
generate, gloo      the traffic as a file (Scapy); the same tensors through torch.distributed
"""
