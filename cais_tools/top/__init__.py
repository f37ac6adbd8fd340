"""`cais top`: switches, live. The model is plain Python and sans I/O; `screen` is the Textual app over it.

live, replay  ->  Observation  ->  Model  ->  rows and columns  ->  plain (text, JSON) or screen
"""
