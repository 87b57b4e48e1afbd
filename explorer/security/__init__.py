"""What /docs/security tells: a walk through OWASP's ASVS, what bounds an attack, dependencies."""
