"""The HTTP API: endpoints, their responses, and the description of both."""
