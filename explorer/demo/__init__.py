"""The demo runs three chains and the service on this machine, as an operator and a user would."""
