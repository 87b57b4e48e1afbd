"""API keys."""

# What every key of this service begins with, so that scanners and our own logs recognise one.
KEY_PREFIX = "tct_"
