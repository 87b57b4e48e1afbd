"""Wake sleeping workers. A lost wake-up is harmless, because workers also poll the database."""
