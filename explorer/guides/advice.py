"""Advice for users whose batch was rejected, by code."""

ADVICE = {
    # Found before proving
    "route_unsupported": (
        "The operator removed this route after the batch was accepted. Ask for a source and "
        "destination that GET /chain-connections lists."
    ),
    "block_beyond_head": (
        "Ask for a block that exists, or submit the batch again once the chain has reached it."
    ),
    "ens_unresolved": (
        "Check the spelling, or use the account's address: a name is resolved at the proven block, "
        "which may be older than the name."
    ),
    "ens_off_chain": (
        "This name is resolved off chain. Resolve it yourself, and use the account's address."
    ),
    "time_too_early": "Ask for a time after the chain's first block, or for a block by its number.",
    # Found while proving
    "fee_too_low": "Submit it again with the fee named above; POST /estimate shows it beforehand.",
    "block_out_of_reach": "Ask for a newer block: the oldest possible one is named above.",
    "another_block_accumulated": (
        "The registry keeps the first block hash that it accepts. Ask for another block, and tell "
        "the operator."
    ),
    "beyond_horizon": (
        "Ask for header fields alone, or for a block before the registry's horizon; "
        "GET /chain-connections has its time."
    ),
    "registry_refuses": (
        "Submit it again. If the registry refuses it again, tell the operator this batch's id."
    ),
    "cancelled": "Submit it again if you want it after all.",
    "transaction_failed": (
        "Submit it again. If its transactions fail again, tell the operator this batch's id."
    ),
    # Answers of nodes
    "nodes_lie": (
        "Submit it again later. If it is rejected again, tell the operator: no node of this chain "
        "gave a valid answer, so another node is needed."
    ),
    "state_of_another_block": (
        "Ask for a newer block, or ask the operator to add an archive node of this chain: the "
        "present nodes return the state of another block."
    ),
    "registry_misread": (
        "Submit it again later. If it is rejected again, tell the operator: nodes of the "
        "destination disagree about the content of its registry."
    ),
    "state_not_available": (
        "Ask for a newer block, or ask the operator to add an archive node of this chain."
    ),
    "proof_window_exceeded": (
        "Ask for a newer block, or ask the operator to add a node whose proofs reach further back."
    ),
    "method_missing": (
        "Ask the operator to add a node of this chain that offers eth_getProof and the other "
        "methods that the guide to public networks lists."
    ),
    "question_refused": (
        "Tell the operator: the nodes of this chain do not understand our requests."
    ),
    "call_reverted": (
        "Tell the operator this batch's id: a contract on the chain reverted the call."
    ),
    "too_much_gas": (
        "Tell the operator: proving one of the facts takes more gas than the destination, or "
        "gas_cap in the routes file, allows for a transaction."
    ),
    "transaction_refused": (
        "Tell the operator this batch's id: the destination refuses the transaction."
    ),
}
# Other codes are wait reasons of batches that have expired.
DEFAULT_ADVICE = (
    "It could not be proven in time. Submit it again; if that does not help, tell the operator "
    "the code."
)
