"""Parse and check request bodies. No database, no network."""
