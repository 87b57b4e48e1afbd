"""What proofs cost on chain, measured on a local node: the cases, and how each is run."""
