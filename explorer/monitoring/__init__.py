"""What the service tells whoever watches it: `/metrics`, a dashboard of it, and alerts."""
