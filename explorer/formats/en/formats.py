"""Moments as Django's admin shows them: as everywhere else here, and with their zone."""

DATETIME_FORMAT = SHORT_DATETIME_FORMAT = r"Y-m-d H:i:s \U\T\C"
