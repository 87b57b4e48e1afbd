"""The version of this client and of the service."""

__version__ = "0.1.0"
