"""Engines, which wake the workers. The database is the queue: wake-ups may be lost or repeated."""

PROVE, DELIVER, WATCH = TASKS = "tacitus.prove", "tacitus.deliver", "tacitus.watch"
