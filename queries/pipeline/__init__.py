"""How a batch is worked on. Every stage may run more than once."""
