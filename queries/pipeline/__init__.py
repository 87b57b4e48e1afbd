"""The order of the work. Every stage may be repeated, and none believes that it was not."""
