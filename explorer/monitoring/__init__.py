"""Monitoring: `/metrics`, a dashboard for it, and alert rules."""
