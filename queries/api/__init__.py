"""The HTTP API: what a request over HTTP is, and what is answered."""
