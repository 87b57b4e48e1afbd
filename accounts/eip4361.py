"""The `siwe` package. What it is built on warns, when it is first imported, of what it does itself;
nobody who runs the service can change that, so it is not said to them.
"""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from siwe import SiweMessage
    from siwe.siwe import ISO8601Datetime

__all__ = ["ISO8601Datetime", "SiweMessage"]
