"""The demo runs two chains and the service on this machine, as an operator and a user would."""
