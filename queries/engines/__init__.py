"""Engines, which wake the workers. The database is the queue: wake-ups may be lost or repeated."""

PROVE, POST, WATCH = TASKS = "tacitus.prove", "tacitus.post", "tacitus.watch"
