"""The demo: two chains, the service beside them, and who uses it, all on this machine.

It stands in for an operator, a wallet and a dApp, and does what they do in the way they do it.
"""
