"""Interfaces of other services, for clients and contracts that were written for those."""
