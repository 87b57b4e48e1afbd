"""The bench: what the service bears, each figure beside a reference of the same run.

It stands in for an operator and for whoever asks, as the demo does. A file of it is one row of the
table, or a reference that a row is held against. References are what someone would write who has
no Tacitus, as well as they can; nothing in them waits or works without need.
"""
