"""What a request may say: bytes in, a valid batch or a refusal out. No database, no network."""
