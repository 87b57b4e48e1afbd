"""What to do about a batch that was rejected, by its code."""

ADVICE = {
    # Found when the batch is settled
    "route_unsupported": (
        "The operator removed this route after the batch was accepted. Ask for a source and "
        "destination that GET /chain-connections lists."
    ),
    "block_beyond_head": (
        "Ask for a block that exists, or submit the batch again once the chain has come that far."
    ),
    "ens_unresolved": (
        "Check the spelling, or name the account by its address: a name is resolved at the proven "
        "block, which may be older than the name."
    ),
    "ens_off_chain": (
        "This name is resolved off chain. Resolve it yourself, and name the account by its address."
    ),
    "time_too_early": "Ask for a time after the chain's first block, or for a block by its number.",
    # Found while it is proven
    "fee_too_low": "Submit it again with the fee named above; POST /estimate shows it beforehand.",
    "block_out_of_reach": "Ask for a newer block: the first one that is possible is named above.",
    "another_block_accumulated": (
        "Nothing can be done here: this registry does not take back what it learned first. Ask "
        "for another block, and tell the operator."
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
    # Of the nodes that are asked
    "nodes_lie": (
        "Submit it again in a while. If it is rejected again, tell the operator: no node of "
        "this chain gave an answer that verifies, so another node is needed."
    ),
    "state_of_another_block": (
        "Ask for a newer block, or ask the operator to add an archive node of this chain: the "
        "present nodes answer with the state of another block."
    ),
    "registry_misread": (
        "Submit it again in a while. If it is rejected again, tell the operator: nodes of the "
        "destination do not agree on what its registry holds."
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
        "Tell the operator: the nodes of this chain do not understand what they are asked."
    ),
    "call_reverted": (
        "Tell the operator this batch's id: a contract on the chain reverted the call."
    ),
    "too_much_gas": (
        "Tell the operator: proving one of the facts takes more gas than the destination, or "
        "gas_cap in the routes file, allows for a transaction."
    ),
    "transaction_refused": (
        "Tell the operator this batch's id: the destination does not take the transaction at all."
    ),
}
# Any other code is what the batch waited for when it had become too old.
OTHERWISE = (
    "It could not be proven in time. Submit it again; if that does not help, tell the operator "
    "the code."
)
