"""Engines, which wake the workers. The database is the queue: wake-ups may be lost or repeated."""
