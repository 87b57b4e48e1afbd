"""What wakes workers. Losing a wake-up loses nothing, because workers also look."""
