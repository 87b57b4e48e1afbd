"""What has due rows worked on. The database is the queue, so wake-ups may be lost or repeated."""
