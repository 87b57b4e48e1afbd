"""Check and build proofs of headers, tries and accounts, from bytes alone.

This package imports neither Django nor other packages of Tacitus, and uses no network or clock. An
audit of what Tacitus calls proven reads this folder and two small libraries.
"""
