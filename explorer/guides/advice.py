"""Advice for users whose batch was rejected or waits, or whose request was refused, by code."""

SUBMIT_AGAIN = "Submit it again. If that fails too, tell the operator this batch's id."
OLD_BLOCK = "Ask for a newer block, or ask the operator to add a node that keeps older receipts."
OLD_STATE = "Ask for a newer block, or ask the operator to add an archive node of this chain."
REPORT_ID = "Tell the operator this batch's id."

ADVICE = {
    # Found before proving
    "route_unsupported": "The route was removed. Ask for one that GET /chain-connections lists.",
    "block_beyond_head": "Submit it again once the chain has reached the block.",
    "block_unnamed": "Check the contract and the function under `block` in the request.",
    "ens_unresolved": "Check the spelling, or use the address; the block may predate the name.",
    "event_not_found": "Check the block and the index: `logIndex` counts through the block.",
    "event_exists": "It is in the block, so only its presence can be proven.",
    "bloom_inconclusive": "Ask for its absence from single receipts, with `transaction`.",
    "event_not_provable": "The message says what cannot be proven; ask for another item.",
    "ens_off_chain": "The name is resolved off chain. Resolve it, and use the address.",
    "time_too_early": "Ask for a time after the chain's first block, or for a block by its number.",
    # Found while proving
    "state_root_empty": "Ask for header fields alone.",
    "fee_too_low": "Submit it again with the fee named above; POST /estimate shows it beforehand.",
    "block_out_of_reach": "Ask for a newer block: the oldest possible one is named above.",
    "registry_stopped": "Ask the operator to replace the registry, or ask for an older block.",
    "another_block_accumulated": "Ask for another block, and tell the operator.",
    "beyond_horizon": "Ask for header fields alone, or for a block before the registry's horizon.",
    "registry_refuses": SUBMIT_AGAIN,
    "cancelled": "Submit it again if you want it after all.",
    "transaction_failed": SUBMIT_AGAIN,
    # Answers of nodes
    "invalid_answers": "Submit it again later. If that fails too, the operator has to add a node.",
    "state_of_another_block": OLD_STATE,
    "registry_misread": SUBMIT_AGAIN,
    "state_not_available": OLD_STATE,
    "proof_window_exceeded": OLD_STATE,
    "history_pruned": OLD_BLOCK,
    "method_missing": "Ask the operator to add a node of this chain that offers that method.",
    "parameters_rejected": "Tell the operator: the chain's nodes do not understand our requests.",
    "call_reverted": REPORT_ID,
    "too_much_gas": "Tell the operator: a fact needs more gas than the chain or gas_cap allows.",
    "transaction_refused": REPORT_ID,
}
# Other codes are wait reasons of batches that have expired.
DEFAULT_ADVICE = (
    "It could not be proven in time. Submit it again; if that does not help, tell the operator "
    "the code."
)

# Of waiting batches; with other codes they only have to wait.
OPERATOR_ACTS = dict.fromkeys(
    (
        "no_prover",
        "no_valid_output",
        "finality_unknown",
        "update_missing",
        "destination_removed",
        "internal_error",
        "database_unavailable",
        "insufficient_funds",
        "key_used_elsewhere",
        "nodes_refuse",
        "wrong_chain_id",
        "history_missing",
        "rollup_unreadable",
        "registry_absent",
    ),
    "Tell the operator, who has to act.",
)

# Of deliveries that wait or have failed; with other codes they only have to wait.
DELIVERY_ADVICE = {
    "contract_refuses": (
        "Read the reason in the message. If the contract will not accept the call later, correct "
        "either, and submit it again: what is proven costs nothing."
    ),
    "courier_missing": "Ask the operator to run `tacitus deploy_registry`.",
    "delivery_gas_spent": "Deliver less often, or ask the operator for a higher limit.",
    "fee_below_gas_price": "Submit it again with the fee of `POST /estimate`.",
    "too_much_gas": "Make the call cheaper, or the arguments shorter.",
    "transaction_failed": "Look at the transaction; the contract's state may have changed.",
    "transaction_refused": REPORT_ID,
    "argument_malformed": "Use a wider type, such as uint256 or bytes32.",
}

SPLIT = "Split the batch."
OWN_KEY = "Use a key of this server; the dashboard shows yours."

# Of refused requests; with other codes they have to be corrected, or sent again if retryable.
REQUEST_ADVICE = {
    "account_disabled": "Ask the operator.",
    "argument_malformed": "Correct it: `path` names it, and `error` what would be accepted.",
    "attestation_contradicted": "Check the signer's nodes, which reported two hashes.",
    "attestation_untrusted": "Check the registry, and the key of the signer.",
    "attestation_unwanted": "Nothing: attest the blocks that the server lists.",
    "batch_ended": "Read its status.",
    "batch_exceeds_daily_limit": "Ask for fewer facts, or ask the operator for a higher limit.",
    "batch_rejected": "Look up its `rejection.code`.",
    "batch_unknown": "Check the id, and that this is the server that gave it.",
    "body_too_large": SPLIT,
    "chain_unsupported": "Choose a route that `GET /chain-connections` lists.",
    "csrf_failed": "Load the page again.",
    "delivery_unknown": "Check the id: `GET /webhook-deliveries` lists yours.",
    "fact_not_provable": "Ask another gateway, or for another block.",
    "feed_ended": "Make another feed.",
    "feed_unknown": "Check the id: `GET /feeds` lists yours.",
    "fee_missing": "Send a fee; `POST /estimate` returns one.",
    "function_malformed": "Write it like `onBalance(address,uint256)`.",
    "host_unknown": "Use the server's own name, or ask the operator to add this one.",
    "https_needed": "Use https.",
    "idempotency_key_reused": "Send another Idempotency-Key with another batch.",
    "internal_error": "Send it again. If that fails too, tell the operator its `X-Request-ID`.",
    "key_missing": "Send your key in the header `api-key`; the dashboard shows it.",
    "key_revoked": OWN_KEY,
    "key_unknown": OWN_KEY,
    "method_not_allowed": "Use a method that the header `Allow` lists.",
    "not_found": "Check the address: /docs/api lists all of them.",
    "not_provable": "Ask for a newer block, or check the ENS name.",
    "proof_unavailable": "Submit the facts again, and download the proof of that batch.",
    "registry_unknown": "Ask the gateway of a server that has the registry.",
    "too_many_accounts": SPLIT,
    "too_many_blocks": SPLIT,
    "too_many_events": SPLIT,
    "too_many_feeds": "End one with `DELETE /feeds/{feed}`, or ask the operator for more.",
    "too_many_slots": SPLIT,
    "transaction_signed": "Let it end: its transaction is already paid for.",
    "unknown_placeholder": "Ask for the fact too, or submit one batch for each block.",
    "wrong_origin": "Open the page at the server's own address.",
}
