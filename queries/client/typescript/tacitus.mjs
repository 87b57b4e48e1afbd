// @ts-self-types="./tacitus.d.ts"
// The client of Tacitus 0.1.0.

var _a;
export const version = "0.1.0";
export const accountFields = {
    "NONCE": 0,
    "BALANCE": 1,
    "STORAGE_ROOT": 2,
    "CODE_HASH": 3
};
export const headerFields = {
    "PARENT_HASH": 0,
    "UNCLES_HASH": 1,
    "COINBASE": 2,
    "PROPOSER": 2,
    "STATE_ROOT": 3,
    "TRANSACTIONS_ROOT": 4,
    "RECEIPTS_ROOT": 5,
    "LOGS_BLOOM": 6,
    "DIFFICULTY": 7,
    "BLOCK_NUMBER": 8,
    "GAS_LIMIT": 9,
    "GAS_USED": 10,
    "TIMESTAMP": 11,
    "EXTRA_DATA": 12,
    "MIX_HASH": 13,
    "NONCE": 14,
    "BASE_FEE_PER_GAS": 15,
    "WITHDRAWALS_ROOT": 16,
    "BLOB_GAS_USED": 17,
    "EXCESS_BLOB_GAS": 18,
    "PARENT_BEACON_BLOCK_ROOT": 19,
    "REQUESTS_HASH": 20
};
export const factsRegistryAbi = [
    { "inputs": [{ "name": "account", "type": "address" }, { "name": "blockNumber", "type": "uint256" }], "name": "AccountContradicted", "type": "error" },
    { "inputs": [{ "name": "account", "type": "address" }, { "name": "blockNumber", "type": "uint256" }, { "name": "field", "type": "uint8" }], "name": "AccountFieldNotProven", "type": "error" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "blockHash", "type": "bytes32" }], "name": "AnotherBlockAccumulated", "type": "error" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "timestamp", "type": "uint256" }], "name": "BeyondHorizon", "type": "error" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "blockHash", "type": "bytes32" }, { "name": "stateRoot", "type": "bytes32" }], "name": "BlockNotAccumulated", "type": "error" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "blockHash", "type": "bytes32" }], "name": "BlockNotKnown", "type": "error" },
    { "inputs": [{ "name": "depth", "type": "uint256" }, { "name": "last", "type": "uint256" }], "name": "ChainWithoutNodes", "type": "error" },
    { "inputs": [], "name": "EvidenceMalformed", "type": "error" },
    { "inputs": [{ "name": "key", "type": "bytes32" }], "name": "FactContradicted", "type": "error" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "field", "type": "uint8" }], "name": "HeaderFieldNotProven", "type": "error" },
    { "inputs": [{ "name": "position", "type": "uint256" }], "name": "HeaderMalformed", "type": "error" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }], "name": "HopMalformed", "type": "error" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "slot", "type": "uint256" }], "name": "HopToNothing", "type": "error" },
    { "inputs": [{ "name": "index", "type": "uint256" }], "name": "KeyNotAbsent", "type": "error" },
    { "inputs": [{ "name": "index", "type": "uint256" }], "name": "KeysNotAscending", "type": "error" },
    { "inputs": [{ "name": "position", "type": "uint256" }], "name": "NoHeader", "type": "error" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }], "name": "NoParentProvided", "type": "error" },
    { "inputs": [{ "name": "index", "type": "uint256" }], "name": "NoSuchKey", "type": "error" },
    { "inputs": [{ "name": "first", "type": "uint256" }, { "name": "end", "type": "uint256" }], "name": "NotAlone", "type": "error" },
    { "inputs": [{ "name": "position", "type": "uint256" }], "name": "NotEmbedded", "type": "error" },
    { "inputs": [{ "name": "position", "type": "uint256" }, { "name": "length", "type": "uint256" }], "name": "NumberTooLong", "type": "error" },
    { "inputs": [{ "name": "depth", "type": "uint256" }], "name": "PathMissing", "type": "error" },
    { "inputs": [{ "name": "depth", "type": "uint256" }, { "name": "nibbles", "type": "uint256" }], "name": "PathTooLong", "type": "error" },
    { "inputs": [{ "name": "end", "type": "uint256" }, { "name": "expected", "type": "uint256" }], "name": "ProofEndMismatch", "type": "error" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }], "name": "StateNotContradicted", "type": "error" },
    { "inputs": [{ "name": "account", "type": "address" }, { "name": "blockNumber", "type": "uint256" }, { "name": "slot", "type": "bytes32" }], "name": "StorageSlotNotProven", "type": "error" },
    { "inputs": [{ "name": "timestamp", "type": "uint256" }], "name": "TimestampNotProven", "type": "error" },
    { "inputs": [{ "name": "timestamp", "type": "uint256" }, { "name": "from", "type": "uint256" }, { "name": "to", "type": "uint256" }], "name": "TimestampOutside", "type": "error" },
    { "inputs": [{ "name": "most", "type": "uint256" }], "name": "TooManyLevels", "type": "error" },
    { "inputs": [{ "name": "kind", "type": "uint256" }, { "name": "position", "type": "uint256" }], "name": "UnknownNode", "type": "error" },
    { "inputs": [{ "name": "kind", "type": "uint256" }, { "name": "position", "type": "uint256" }], "name": "UnknownSection", "type": "error" },
    { "anonymous": false, "inputs": [{ "indexed": true, "name": "account", "type": "address" }, { "indexed": true, "name": "blockNumber", "type": "uint256" }, { "indexed": false, "name": "fields", "type": "uint8" }], "name": "AccountProven", "type": "event" },
    { "anonymous": false, "inputs": [{ "indexed": true, "name": "blockNumber", "type": "uint256" }, { "indexed": false, "name": "blockHash", "type": "bytes32" }], "name": "HeaderAccumulated", "type": "event" },
    { "anonymous": false, "inputs": [{ "indexed": true, "name": "blockNumber", "type": "uint256" }, { "indexed": true, "name": "field", "type": "uint8" }, { "indexed": false, "name": "value", "type": "bytes32" }], "name": "HeaderFieldProven", "type": "event" },
    { "anonymous": false, "inputs": [{ "indexed": true, "name": "blockNumber", "type": "uint256" }, { "indexed": false, "name": "timestamp", "type": "uint256" }], "name": "HorizonLowered", "type": "event" },
    { "anonymous": false, "inputs": [{ "indexed": true, "name": "account", "type": "address" }, { "indexed": true, "name": "blockNumber", "type": "uint256" }, { "indexed": false, "name": "slot", "type": "bytes32" }, { "indexed": false, "name": "value", "type": "bytes32" }], "name": "SlotProven", "type": "event" },
    { "anonymous": false, "inputs": [{ "indexed": true, "name": "timestamp", "type": "uint256" }, { "indexed": true, "name": "blockNumber", "type": "uint256" }], "name": "TimestampProven", "type": "event" },
    { "inputs": [], "name": "HORIZON", "outputs": [{ "name": "", "type": "uint256" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "account", "type": "address" }, { "name": "blockNumber", "type": "uint256" }, { "name": "field", "type": "uint8" }], "name": "accountField", "outputs": [{ "name": "value", "type": "bytes32" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "account", "type": "address" }, { "name": "blockNumber", "type": "uint256" }, { "name": "slot", "type": "bytes32" }], "name": "accountStorageSlotValues", "outputs": [{ "name": "value", "type": "bytes32" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }], "name": "accumulated", "outputs": [{ "name": "", "type": "bytes32" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "timestamp", "type": "uint256" }], "name": "blockNumberAt", "outputs": [{ "name": "blockNumber", "type": "uint256" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "section", "type": "bytes" }], "name": "endedBy", "outputs": [], "stateMutability": "nonpayable", "type": "function" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "field", "type": "uint8" }], "name": "headerField", "outputs": [{ "name": "value", "type": "bytes32" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "calls", "type": "bytes[]" }], "name": "multicall", "outputs": [{ "name": "results", "type": "bytes[]" }], "stateMutability": "nonpayable", "type": "function" },
    { "inputs": [], "name": "prove", "outputs": [], "stateMutability": "nonpayable", "type": "function" },
    { "inputs": [], "name": "stateHorizon", "outputs": [{ "name": "", "type": "uint256" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "account", "type": "address" }, { "name": "blockNumber", "type": "uint256" }, { "name": "field", "type": "uint8" }], "name": "tryAccountField", "outputs": [{ "name": "proven", "type": "bool" }, { "name": "value", "type": "bytes32" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "account", "type": "address" }, { "name": "blockNumber", "type": "uint256" }, { "name": "slot", "type": "bytes32" }], "name": "tryAccountStorageSlotValues", "outputs": [{ "name": "proven", "type": "bool" }, { "name": "value", "type": "bytes32" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "timestamp", "type": "uint256" }], "name": "tryBlockNumberAt", "outputs": [{ "name": "proven", "type": "bool" }, { "name": "blockNumber", "type": "uint256" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "field", "type": "uint8" }], "name": "tryHeaderField", "outputs": [{ "name": "proven", "type": "bool" }, { "name": "value", "type": "bytes32" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "proof", "type": "bytes" }], "name": "verify", "outputs": [{ "components": [{ "components": [{ "name": "account", "type": "address" }, { "name": "blockNumber", "type": "uint256" }, { "name": "nonce", "type": "uint64" }, { "name": "balance", "type": "uint256" }, { "name": "storageRoot", "type": "bytes32" }, { "name": "codeHash", "type": "bytes32" }], "name": "accounts", "type": "tuple[]" }, { "components": [{ "name": "account", "type": "address" }, { "name": "blockNumber", "type": "uint256" }, { "name": "slot", "type": "bytes32" }, { "name": "value", "type": "bytes32" }], "name": "slots", "type": "tuple[]" }, { "components": [{ "name": "blockNumber", "type": "uint256" }, { "name": "field", "type": "uint8" }, { "name": "value", "type": "bytes32" }], "name": "headerFields", "type": "tuple[]" }, { "components": [{ "name": "timestamp", "type": "uint256" }, { "name": "blockNumber", "type": "uint256" }], "name": "timestamps", "type": "tuple[]" }], "name": "", "type": "tuple" }], "stateMutability": "view", "type": "function" },
];
export const eventsVerifierAbi = [
    { "inputs": [{ "name": "registry", "type": "address" }], "stateMutability": "nonpayable", "type": "constructor" },
    { "inputs": [], "name": "CountsMismatch", "type": "error" },
    { "inputs": [{ "name": "key", "type": "bytes32" }], "name": "FactContradicted", "type": "error" },
    { "inputs": [{ "name": "field", "type": "uint256" }], "name": "FieldMismatch", "type": "error" },
    { "inputs": [{ "name": "groups", "type": "uint256" }, { "name": "fields", "type": "uint256" }], "name": "GroupsMismatch", "type": "error" },
    { "inputs": [{ "name": "index", "type": "uint256" }], "name": "IndexNotAbsent", "type": "error" },
    { "inputs": [{ "name": "index", "type": "uint256" }], "name": "IndexesNotAscending", "type": "error" },
    { "inputs": [{ "name": "index", "type": "uint256" }, { "name": "logIndex", "type": "uint256" }], "name": "LogNotAbsent", "type": "error" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "transactionIndex", "type": "uint256" }, { "name": "logIndex", "type": "uint256" }], "name": "LogNotProven", "type": "error" },
    { "inputs": [{ "name": "registry", "type": "address" }], "name": "NoContract", "type": "error" },
    { "inputs": [{ "name": "position", "type": "uint256" }], "name": "NoSuchKey", "type": "error" },
    { "inputs": [{ "name": "position", "type": "uint256" }], "name": "NotEmbedded", "type": "error" },
    { "inputs": [{ "name": "item", "type": "bytes32" }], "name": "NotSilent", "type": "error" },
    { "inputs": [{ "name": "position", "type": "uint256" }, { "name": "length", "type": "uint256" }], "name": "NumberTooLong", "type": "error" },
    { "inputs": [{ "name": "depth", "type": "uint256" }, { "name": "nibbles", "type": "uint256" }], "name": "PathTooLong", "type": "error" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "transactionIndex", "type": "uint256" }], "name": "ReceiptNotProven", "type": "error" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "field", "type": "uint256" }, { "name": "root", "type": "bytes32" }], "name": "RootMismatch", "type": "error" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "transactionIndex", "type": "uint256" }], "name": "TransactionNotProven", "type": "error" },
    { "inputs": [{ "name": "index", "type": "uint256" }, { "name": "transactionType", "type": "uint256" }], "name": "TransactionTypeUnknown", "type": "error" },
    { "inputs": [{ "name": "kind", "type": "uint256" }, { "name": "position", "type": "uint256" }], "name": "UnknownNode", "type": "error" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "position", "type": "uint256" }], "name": "WithdrawalNotProven", "type": "error" },
    { "inputs": [{ "name": "end", "type": "uint256" }, { "name": "expected", "type": "uint256" }], "name": "WitnessEndMismatch", "type": "error" },
    { "anonymous": false, "inputs": [{ "indexed": true, "name": "blockNumber", "type": "uint256" }, { "indexed": true, "name": "item", "type": "bytes32" }, { "indexed": false, "name": "isTopic", "type": "bool" }], "name": "BlockSilent", "type": "event" },
    { "anonymous": false, "inputs": [{ "indexed": true, "name": "blockNumber", "type": "uint256" }, { "indexed": true, "name": "field", "type": "uint8" }, { "indexed": false, "name": "index", "type": "uint256" }], "name": "IndexAbsent", "type": "event" },
    { "anonymous": false, "inputs": [{ "indexed": true, "name": "blockNumber", "type": "uint256" }, { "indexed": true, "name": "transactionIndex", "type": "uint256" }, { "indexed": true, "name": "emitter", "type": "address" }, { "indexed": false, "name": "topicMask", "type": "uint8" }, { "indexed": false, "name": "topics", "type": "bytes32[]" }], "name": "LogAbsent", "type": "event" },
    { "anonymous": false, "inputs": [{ "indexed": true, "name": "blockNumber", "type": "uint256" }, { "indexed": true, "name": "transactionIndex", "type": "uint256" }, { "indexed": true, "name": "emitter", "type": "address" }, { "indexed": false, "name": "logIndex", "type": "uint256" }, { "indexed": false, "name": "logHash", "type": "bytes32" }], "name": "LogProven", "type": "event" },
    { "anonymous": false, "inputs": [{ "indexed": true, "name": "blockNumber", "type": "uint256" }, { "indexed": true, "name": "transactionIndex", "type": "uint256" }, { "indexed": false, "name": "status", "type": "uint8" }, { "indexed": false, "name": "transactionType", "type": "uint8" }, { "indexed": false, "name": "cumulativeGasUsed", "type": "uint64" }, { "indexed": false, "name": "logCount", "type": "uint16" }], "name": "ReceiptProven", "type": "event" },
    { "anonymous": false, "inputs": [{ "indexed": true, "name": "blockNumber", "type": "uint256" }, { "indexed": true, "name": "transactionIndex", "type": "uint256" }, { "indexed": true, "name": "transactionHash", "type": "bytes32" }, { "indexed": false, "name": "transactionType", "type": "uint8" }], "name": "TransactionProven", "type": "event" },
    { "anonymous": false, "inputs": [{ "indexed": true, "name": "blockNumber", "type": "uint256" }, { "indexed": true, "name": "position", "type": "uint256" }, { "indexed": true, "name": "recipient", "type": "address" }, { "indexed": false, "name": "withdrawalIndex", "type": "uint64" }, { "indexed": false, "name": "validatorIndex", "type": "uint64" }, { "indexed": false, "name": "amount", "type": "uint64" }], "name": "WithdrawalProven", "type": "event" },
    { "inputs": [], "name": "REGISTRY", "outputs": [{ "name": "", "type": "address" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "isTopic", "type": "bool" }, { "name": "item", "type": "bytes32" }], "name": "isBlockSilent", "outputs": [{ "name": "silent", "type": "bool" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "field", "type": "uint8" }, { "name": "index", "type": "uint256" }], "name": "isIndexAbsent", "outputs": [{ "name": "absent", "type": "bool" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "transactionIndex", "type": "uint256" }, { "name": "logIndex", "type": "uint256" }, { "name": "emitter", "type": "address" }, { "name": "topics", "type": "bytes32[]" }, { "name": "data", "type": "bytes" }], "name": "isLog", "outputs": [{ "name": "proven", "type": "bool" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "transactionIndex", "type": "uint256" }, { "name": "emitter", "type": "address" }, { "name": "topicMask", "type": "uint8" }, { "name": "topics", "type": "bytes32[]" }], "name": "isLogAbsent", "outputs": [{ "name": "absent", "type": "bool" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "transactionIndex", "type": "uint256" }, { "name": "logIndex", "type": "uint256" }], "name": "logHash", "outputs": [{ "name": "hash", "type": "bytes32" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "section", "type": "bytes" }, { "name": "witness", "type": "bytes" }], "name": "prove", "outputs": [], "stateMutability": "nonpayable", "type": "function" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "transactionIndex", "type": "uint256" }], "name": "receiptOf", "outputs": [{ "components": [{ "name": "blockNumber", "type": "uint256" }, { "name": "transactionIndex", "type": "uint256" }, { "name": "status", "type": "uint8" }, { "name": "transactionType", "type": "uint8" }, { "name": "cumulativeGasUsed", "type": "uint64" }, { "name": "logCount", "type": "uint16" }], "name": "receipt", "type": "tuple" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "transactionIndex", "type": "uint256" }], "name": "transactionHash", "outputs": [{ "name": "hash", "type": "bytes32" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "transactionIndex", "type": "uint256" }, { "name": "logIndex", "type": "uint256" }], "name": "tryLogHash", "outputs": [{ "name": "proven", "type": "bool" }, { "name": "hash", "type": "bytes32" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "transactionIndex", "type": "uint256" }], "name": "tryReceiptOf", "outputs": [{ "name": "proven", "type": "bool" }, { "components": [{ "name": "blockNumber", "type": "uint256" }, { "name": "transactionIndex", "type": "uint256" }, { "name": "status", "type": "uint8" }, { "name": "transactionType", "type": "uint8" }, { "name": "cumulativeGasUsed", "type": "uint64" }, { "name": "logCount", "type": "uint16" }], "name": "receipt", "type": "tuple" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "transactionIndex", "type": "uint256" }], "name": "tryTransactionHash", "outputs": [{ "name": "proven", "type": "bool" }, { "name": "hash", "type": "bytes32" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "position", "type": "uint256" }], "name": "tryWithdrawalOf", "outputs": [{ "name": "proven", "type": "bool" }, { "components": [{ "name": "blockNumber", "type": "uint256" }, { "name": "position", "type": "uint256" }, { "name": "withdrawalIndex", "type": "uint64" }, { "name": "validatorIndex", "type": "uint64" }, { "name": "recipient", "type": "address" }, { "name": "amount", "type": "uint64" }], "name": "withdrawal", "type": "tuple" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "section", "type": "bytes" }, { "name": "witness", "type": "bytes" }], "name": "verify", "outputs": [{ "components": [{ "components": [{ "name": "blockNumber", "type": "uint256" }, { "name": "transactionIndex", "type": "uint256" }, { "name": "logIndex", "type": "uint256" }, { "name": "emitter", "type": "address" }, { "name": "topics", "type": "bytes32[]" }, { "name": "data", "type": "bytes" }, { "name": "logHash", "type": "bytes32" }], "name": "logs", "type": "tuple[]" }, { "components": [{ "name": "blockNumber", "type": "uint256" }, { "name": "transactionIndex", "type": "uint256" }, { "name": "status", "type": "uint8" }, { "name": "transactionType", "type": "uint8" }, { "name": "cumulativeGasUsed", "type": "uint64" }, { "name": "logCount", "type": "uint16" }], "name": "receipts", "type": "tuple[]" }, { "components": [{ "name": "blockNumber", "type": "uint256" }, { "name": "transactionIndex", "type": "uint256" }, { "name": "transactionType", "type": "uint8" }, { "name": "transactionHash", "type": "bytes32" }], "name": "transactions", "type": "tuple[]" }, { "components": [{ "name": "blockNumber", "type": "uint256" }, { "name": "position", "type": "uint256" }, { "name": "withdrawalIndex", "type": "uint64" }, { "name": "validatorIndex", "type": "uint64" }, { "name": "recipient", "type": "address" }, { "name": "amount", "type": "uint64" }], "name": "withdrawals", "type": "tuple[]" }, { "components": [{ "name": "blockNumber", "type": "uint256" }, { "name": "field", "type": "uint8" }, { "name": "index", "type": "uint256" }], "name": "absentIndexes", "type": "tuple[]" }, { "components": [{ "name": "blockNumber", "type": "uint256" }, { "name": "transactionIndex", "type": "uint256" }, { "name": "emitter", "type": "address" }, { "name": "topicMask", "type": "uint8" }, { "name": "topics", "type": "bytes32[]" }], "name": "absentLogs", "type": "tuple[]" }, { "components": [{ "name": "blockNumber", "type": "uint256" }, { "name": "isTopic", "type": "bool" }, { "name": "item", "type": "bytes32" }], "name": "silentBlocks", "type": "tuple[]" }], "name": "", "type": "tuple" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "position", "type": "uint256" }], "name": "withdrawalOf", "outputs": [{ "components": [{ "name": "blockNumber", "type": "uint256" }, { "name": "position", "type": "uint256" }, { "name": "withdrawalIndex", "type": "uint64" }, { "name": "validatorIndex", "type": "uint64" }, { "name": "recipient", "type": "address" }, { "name": "amount", "type": "uint64" }], "name": "withdrawal", "type": "tuple" }], "stateMutability": "view", "type": "function" },
];
/** Base of all errors: a sentence for people; a code and `retryable` for programs. */
export class TacitusError extends Error {
    constructor(sentence, details = {}, cause) {
        super(sentence, { cause });
        Object.assign(this, { code: details.code, retryable: details.retryable ?? false, details });
    }
}
/** The server refused the request; the codes are listed in its /docs/status. */
export class RequestRefusedError extends TacitusError {
    name = "RequestRefusedError";
}
/** The batch ended without being proven. If `retryable`, submit it again. */
export class BatchRejectedError extends TacitusError {
    name = "BatchRejectedError";
}
/** The batch has no facts yet. */
export class BatchNotDoneError extends TacitusError {
    name = "BatchNotDoneError";
    code = "not_done";
    retryable = true;
}
/** A reorg removed facts of the DONE batch, and they could not be proven again. */
export class FactsLostError extends TacitusError {
    name = "FactsLostError";
    code = "facts_lost";
}
/** The server did not send a complete response. */
export class ServerUnreachableError extends TacitusError {
    name = "ServerUnreachableError";
    code = "unreachable";
    retryable = true;
}
/** The batch did not end within the timeout; the server continues to work on it. */
export class WaitTimeoutError extends TacitusError {
    name = "WaitTimeoutError";
    code = "timed_out";
    retryable = true;
}
/** The response is not one of a Tacitus server, or of a registry. */
export class UnreadableResponseError extends TacitusError {
    name = "UnreadableResponseError";
    code = "unreadable_response";
}
/** The webhook call is not one of the server, or it is too old. */
export class WebhookNotGenuineError extends TacitusError {
    name = "WebhookNotGenuineError";
    code = "webhook_not_genuine";
}
/** An argument is invalid; nothing was sent. */
export class UsageError extends TacitusError {
    name = "UsageError";
    code = "invalid_usage";
}
/** Whether the error is one of this client, and not an abort or a bug. */
export function isTacitusError(error) {
    return error instanceof TacitusError;
}
const RATE = 136; // of Keccak-256: bytes a block
const LANE = 2n ** 64n - 1n;
/** Ethereum's hash. Web Crypto has no SHA-3, whose padding differs anyway. */
export function keccak256(content) {
    const padded = new Uint8Array(content.length + RATE - (content.length % RATE));
    padded.set(content);
    padded[content.length] |= 0x01;
    padded[padded.length - 1] |= 0x80;
    const view = new DataView(padded.buffer);
    let lanes = new Array(25).fill(0n);
    for (let start = 0; start < padded.length; start += RATE) {
        for (let lane = 0; lane < RATE / 8; lane++)
            lanes[lane] ^= view.getBigUint64(start + 8 * lane, true);
        lanes = permute(lanes);
    }
    const hash = new DataView(new ArrayBuffer(32));
    lanes.slice(0, 4).forEach((lane, index) => hash.setBigUint64(8 * index, lane, true));
    return new Uint8Array(hash.buffer);
}
/** Keccak-f[1600], named as in FIPS 202; the lane A[x, y] has index x + 5y. */
function permute(lanes) {
    let register = 1;
    for (let round = 0; round < 24; round++) {
        // theta
        const columns = [0, 1, 2, 3, 4].map((x) => [0, 5, 10, 15, 20].reduce((sum, y) => sum ^ lanes[x + y], 0n));
        lanes = lanes.map((lane, x) => lane ^ columns[(x + 4) % 5] ^ rotateLeft(columns[(x + 1) % 5], 1));
        // rho and pi
        let [x, y, lane] = [1, 0, lanes[1]];
        for (let t = 1; t < 25; t++) {
            [x, y] = [y, (2 * x + 3 * y) % 5];
            [lane, lanes[x + 5 * y]] = [lanes[x + 5 * y], rotateLeft(lane, (t * (t + 1)) / 2)];
        }
        // chi
        const mixed = lanes;
        lanes = mixed.map((lane, index) => {
            const row = index - (index % 5);
            return lane ^ (~mixed[row + ((index + 1) % 5)] & mixed[row + ((index + 2) % 5)] & LANE);
        });
        // iota
        for (let bit = 0; bit < 7; bit++) {
            register = ((register << 1) ^ ((register >> 7) * 0x71)) % 256;
            lanes[0] ^= BigInt((register >> 1) & 1) << ((1n << BigInt(bit)) - 1n);
        }
    }
    return lanes;
}
function rotateLeft(lane, bits) {
    const shift = BigInt(bits % 64);
    return ((lane << shift) | (lane >> (64n - shift))) & LANE;
}
/** @internal */
function parseHex(text) {
    if (!/^0x([0-9a-fA-F]{2})*$/.test(text))
        throw new UsageError(`'${text}' is not 0x-hex, two digits for each byte.`);
    return Uint8Array.from(text.slice(2).match(/../g) ?? [], (digits) => parseInt(digits, 16));
}
/** @internal */
function toHex(bytes) {
    return `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
/** @internal The number as 32 bytes in hex. */
function toWord(value) {
    return `0x${BigInt.asUintN(256, BigInt(value)).toString(16).padStart(64, "0")}`;
}
const WORD = 32; // bytes
/**
 * Where Solidity stores a variable: its slot, and its lowest byte in the slot. Each method steps into it:
 * the position of `points[4].y` is `new Position(7).dynamicArrayElement(4, 64).member(1)`.
 */
export class Position {
    byteOffset;
    slot;
    constructor(slot, byteOffset = 0) {
        this.byteOffset = byteOffset;
        this.slot = BigInt(slot);
        if (this.slot !== BigInt.asUintN(256, this.slot) || !(byteOffset >= 0 && byteOffset < WORD)) {
            throw new UsageError(`There is no byte ${byteOffset} of slot ${slot}.`);
        }
    }
    /** The slot as 32 bytes in hex. */
    get word() {
        return toWord(this.slot);
    }
    /** A struct's member, at its offsets in the compiler's layout. */
    member(slotOffset, byteOffset = 0) {
        this.#checkStartsSlot("struct");
        if (slotOffset < 0)
            throw new UsageError(`A struct has no member at slot ${slotOffset}.`);
        return this.#after(BigInt(slotOffset), byteOffset);
    }
    /** A mapping's value for a key encoded by `mappingKey`. */
    mapping(key) {
        this.#checkStartsSlot("mapping");
        return new _a(BigInt(toHex(keccak256(parseHex(toHex(key) + this.word.slice(2))))));
    }
    /**
     * An element of `T[n]`, where a T takes `size` bytes. Elements of at most half a word share slots; none
     * spans two. A longer T, and any struct or array, takes whole slots: its size is a multiple of 32.
     */
    fixedArrayElement(index, size = WORD) {
        this.#checkStartsSlot("array");
        if (index < 0)
            throw new UsageError(`An array has no element ${index}.`);
        if (size < 1 || !Number.isInteger(size) || (size > WORD && size % WORD)) {
            throw new UsageError(`No element takes ${size} bytes.`);
        }
        if (size > WORD)
            return this.#after(BigInt(index) * BigInt(size / WORD));
        const perSlot = BigInt(Math.floor(WORD / size));
        return this.#after(BigInt(index) / perSlot, Number(BigInt(index) % perSlot) * size);
    }
    /** An element of `T[]`; the array's own slot holds its length. */
    dynamicArrayElement(index, size = WORD) {
        return this.dynamicData().fixedArrayElement(index, size);
    }
    /** The first element of a dynamic array, or the data of a `bytes` or `string` over 31. */
    dynamicData() {
        this.#checkStartsSlot("array");
        return new _a(BigInt(toHex(keccak256(parseHex(this.word)))));
    }
    #after(slots, byteOffset = 0) {
        return new _a(BigInt.asUintN(256, this.slot + slots), byteOffset);
    }
    #checkStartsSlot(kind) {
        if (this.byteOffset)
            throw new UsageError(`A ${kind} begins a slot, not at byte ${this.byteOffset}.`);
    }
}
_a = Position;
/** @internal */
const TYPE_NAME = /^(address|bool|string|bytes\d*|u?int\d*)$/;
/** Encode a mapping's key as Solidity hashes it; `kind` is its type, such as uint64. */
export function mappingKey(kind, key) {
    const text = String(key);
    const digits = kind.replace(/^[a-z]*/, "");
    const size = Number(digits || 256);
    switch (kind.slice(0, kind.length - digits.length)) {
        case "address":
            return parseHex(`0x${toHex(parseAddress(text)).slice(2).padStart(2 * WORD, "0")}`);
        case "string":
            return new TextEncoder().encode(text);
        case "bool":
            if (/^(true|false)$/i.test(text))
                return mappingKey("uint", Number(/true/i.test(text)));
            break;
        case "bytes":
            if (!digits)
                return parseHex(text);
            if (size >= 1 && size <= WORD && parseHex(text).length === size)
                return parseHex(text.padEnd(2 + 2 * WORD, "0"));
            break;
        case "uint":
        case "int": {
            const number = parseInteger(text);
            const fitted = kind.startsWith("u") ? BigInt.asUintN(size, number) : BigInt.asIntN(size, number);
            if (size % 8 === 0 && size >= 8 && size <= 256 && fitted === number)
                return parseHex(toWord(number));
        }
    }
    throw new UsageError(`${text} is not a key of type ${kind}.`);
}
/** Encode a key such as `uint64:5`, or an address, 32 bytes, a number, true or false. */
export function parseTypedKey(text) {
    const [kind = "", ...rest] = text.split(":");
    if (rest.length && TYPE_NAME.test(kind))
        return mappingKey(kind, rest.join(":"));
    const shapes = { address: "0x.{40}", bytes32: "0x.{64}", bool: "true|false", uint: "\\d+", int: "-\\d+" };
    for (const [guess, shape] of Object.entries(shapes)) {
        if (new RegExp(`^(${shape})$`).test(text))
            return mappingKey(guess, text);
    }
    throw new UsageError(`Name the type of the key ${text}, such as string:${text} or bytes4:0x….`);
}
/** @internal */
function parseInteger(text) {
    if (/^-?(\d+|0x[0-9a-fA-F]+)$/.test(text))
        return text.startsWith("-") ? -BigInt(text.slice(1)) : BigInt(text);
    throw new UsageError(`'${text}' is not a whole number in decimal or 0x-hex.`);
}
/** Check the EIP-55 checksum: a mistyped address would give a wrong slot without an error. */
function parseAddress(text) {
    const address = parseHex(text);
    if (address.length !== 20)
        throw new UsageError(`An address has 20 bytes, not ${address.length} as ${text} has.`);
    const [digits, lower] = [text.slice(2), text.slice(2).toLowerCase()];
    const hash = toHex(keccak256(new TextEncoder().encode(lower))).slice(2);
    const checksum = [...lower].map((digit, index) => (hash[index] >= "8" ? digit.toUpperCase() : digit)).join("");
    if ([lower, lower.toUpperCase(), checksum].includes(digits))
        return address;
    throw new UsageError(`${text} has a wrong checksum (EIP-55); its digits give 0x${checksum}.`);
}
/** Find a variable such as `points[4].y` in solc's storageLayout, or in its whole output. */
export function findVariable(content, expression, contract = "") {
    try {
        return resolveExpression(selectLayout(content, contract), expression.trim());
    }
    catch (error) {
        if (error instanceof UsageError)
            throw error;
        throw new UsageError("This is not a storage layout of solc.", {}, error);
    }
}
/** Return the layout of `contract`, or the only layout. */
function selectLayout(content, contract) {
    const output = content.output ?? content;
    if (!output.contracts)
        return output.storageLayout ?? output;
    const layouts = new Map();
    for (const [file, contracts] of Object.entries(output.contracts)) {
        for (const [name, { storageLayout }] of Object.entries(contracts)) {
            if (storageLayout?.storage.length)
                layouts.set(`${file}:${name}`, storageLayout);
        }
    }
    const names = [...layouts.keys()];
    const matches = names.filter((name) => ["", name, name.split(":").at(-1)].includes(contract));
    if (matches.length === 1)
        return layouts.get(matches[0]);
    const known = names.join(", ") || "none (select storageLayout in solc's outputSelection)";
    throw new UsageError(`Choose one of the contracts with variables: ${known}.`);
}
function resolveExpression({ storage, types }, expression) {
    const name = /^[A-Za-z_$][\w$]*/.exec(expression)?.[0] ?? "";
    const entries = storage.filter((entry) => entry.label === name);
    if (entries.length !== 1) {
        const labels = storage.map((entry) => entry.label).join(", ");
        throw new UsageError(`'${expression}' is not a unique name. The layout has: ${labels}.`);
    }
    const rest = expression.slice(name.length);
    const accesses = [...rest.matchAll(/\.([A-Za-z_$][\w$]*)|\[(?:"([^"]*)"|'([^']*)'|([^\]"']+))\]/g)];
    if (accesses.map(([text]) => text).join("") !== rest) {
        throw new UsageError(`'${expression}' is not written like points[4].y or names['a'].`);
    }
    let position = new Position(BigInt(entries[0].slot), entries[0].offset);
    let kind = entries[0].type;
    for (const [, member, double, single, bare] of accesses) {
        const key = double ?? single ?? bare?.trim() ?? "";
        [position, kind] = member ? structMember(types, kind, position, member) : element(types, kind, position, key);
    }
    const { encoding, numberOfBytes, label } = types[kind];
    const data = ["dynamic_array", "bytes"].includes(encoding) ? position.dynamicData() : null;
    return { position, size: Number(numberOfBytes), type: label, data };
}
function structMember(types, kind, position, name) {
    const member = types[kind].members?.find((entry) => entry.label === name);
    if (!member)
        throw new UsageError(`${types[kind].label} has no member ${name}.`);
    return [position.member(BigInt(member.slot), member.offset), member.type];
}
function element(types, kind, position, key) {
    const container = types[kind];
    if (container.encoding === "mapping") {
        return [position.mapping(keyOfType(types, container.key, key)), container.value];
    }
    if (!container.base)
        throw new UsageError(`${container.label} has no elements.`);
    const [index, size] = [parseInteger(key), Number(types[container.base].numberOfBytes)];
    if (container.encoding === "dynamic_array")
        return [position.dynamicArrayElement(index, size), container.base];
    const count = /\)(\d+)_storage$/.exec(kind)?.[1];
    if (count && index >= BigInt(count))
        throw new UsageError(`${container.label} has no element ${index}.`);
    return [position.fixedArrayElement(index, size), container.base];
}
/** Encode a key by the compiler's name of its type, such as t_uint64. */
function keyOfType(types, kind, text) {
    const stem = (/^t_(\w+)/.exec(kind)?.[1] ?? "").replace(/_(memory_ptr|storage|calldata_ptr).*/, "");
    const name = { contract: "address", enum: "uint8", address_payable: "address" }[stem] ?? stem;
    if (name !== "userDefinedValueType")
        return TYPE_NAME.test(name) ? mappingKey(name, text) : parseTypedKey(text);
    const { label, numberOfBytes: size } = types[kind]; // not the type under it
    if (/^-?\d+$/.test(text))
        return mappingKey(`${text.startsWith("-") ? "int" : "uint"}${8 * size}`, text);
    if (text.includes(":") && TYPE_NAME.test(text.split(":")[0]))
        return parseTypedKey(text);
    throw new UsageError(`The layout does not give the type under ${label}. Write it before the key, such as ` +
        `bytes${size}:${text} or uint${8 * size}:${text}.`);
}
const BLOCK_LISTS = ["header", "logs", "receipts", "transactions", "withdrawals", "absent"];
/** Build a batch for `submit`, `estimate` and `witness`; `fee` is the maximum to spend on it, in wei. */
export function buildBatch(destination, queries, { fee = 0, webhook } = {}) {
    const data = {};
    for (const query of [queries].flat()) {
        if ("block" in query && "timestamp" in query) {
            throw new UsageError("Name a block either by its number or by a timestamp.");
        }
        const selector = "block" in query ? `block:${query.block}` : `timestamp:${query.timestamp}`;
        const block = ((data[`${query.source}`] ??= {})[selector] ??= {});
        for (const list of BLOCK_LISTS) {
            if (query[list])
                block[list] = [...(block[list] ?? []), ...query[list]];
        }
        for (const account of query.accounts ?? []) {
            const entry = ((block.accounts ??= {})[account] ??= { props: [], slots: [] });
            entry.props.push(...(query.props ?? []));
            const positions = query.slots?.map((slot) => (typeof slot === "object" ? slot : new Position(BigInt(slot))));
            entry.slots.push(...(positions ?? []).map(({ word }) => word));
        }
    }
    return { destinationChainId: `${destination}`, fee: `${fee}`, data, ...(webhook && { webhook }) };
}
const NUMERIC_FIELDS = [
    "NONCE", "BALANCE", "DIFFICULTY", "BLOCK_NUMBER", "GAS_LIMIT", "GAS_USED", "TIMESTAMP",
    "BASE_FEE_PER_GAS", "BLOB_GAS_USED", "EXCESS_BLOB_GAS",
];
/** @internal */
function numberOf(name, word) {
    return name.startsWith("0x") || NUMERIC_FIELDS.some((field) => field === name) ? BigInt(word) : null;
}
/** @internal The facts of a DONE batch's query. */
function factsOfQuery({ originChainId, block, selector, account, name: ens, values, events = [] }, { destinationChainId }, routes) {
    if (values === null)
        throw new FactsLostError("A reorg removed facts of the batch; its page says more.");
    const { registry, eventsVerifier: verifier } = routes.find((route) => route.originChainId === originChainId && route.destinationChainId === destinationChainId) ?? {};
    if (!registry || !verifier || !values || !/^[0-9]{1,78}$/.test(`${originChainId}${block}`)) {
        throw new UnreadableResponseError("In the server's response, a query is malformed or has no route.");
    }
    return Object.entries(values).map(([name, word]) => {
        if (!/^0x[0-9a-f]{64}$/.test(word)) {
            throw new UnreadableResponseError("In the server's response, a value is not 32 bytes.");
        }
        const common = { chain: BigInt(originChainId), block: BigInt(block ?? 0), selector, registry, name, word };
        if (name.includes(":")) {
            const event = events.find((entry) => entry.name === name) ?? { name };
            return { ...common, kind: "event", verifier, event };
        }
        const kind = !account ? "header" : name.startsWith("0x") ? "slot" : "account";
        return { ...common, kind, number: numberOf(name, word), account, ens };
    });
}
/** Read a fact from its registry, through a client of yours; null if it is not proven there. */
export async function readFact(client, { registry, block, account = null, name }) {
    const fields = account ? accountFields : headerFields;
    const isSlot = account !== null && /^0x[0-9a-fA-F]{1,64}$/.test(name);
    const key = isSlot ? BigInt(name) : fields[name];
    if (key === undefined)
        throw new UsageError(`${name} is not a fact of ${account ? "an account" : "a header"}.`);
    const view = isSlot
        ? "tryAccountStorageSlotValues(address,uint256,bytes32)"
        : account ? "tryAccountField(address,uint256,uint8)" : "tryHeaderField(uint256,uint8)";
    const selector = toHex(keccak256(new TextEncoder().encode(view))).slice(0, 10);
    const parameters = [...(account ? [account] : []), block, key].map((value) => toWord(BigInt(value)).slice(2));
    const answer = await client.call({ to: registry, data: `${selector}${parameters.join("")}` });
    const data = (typeof answer === "string" ? answer : answer.data) ?? "0x";
    const [, isProven, digits] = /^0x0{63}([01])(.{64})$/.exec(data) ?? [];
    if (!digits)
        throw new UnreadableResponseError(`${registry} does not answer as a registry does.`);
    const word = `0x${digits}`;
    return isProven === "1" ? { word, number: numberOf(name, word) } : null;
}
const TOLERANCE = 300; // seconds
/**
 * Check the signature of a webhook call, and return its event. Throws WebhookNotGenuineError. `body` must be
 * the bytes or the text as received; `secret` is that of GET /webhook-secret.
 */
export async function verifyWebhook(body, headers, secret) {
    const header = (name) => String((headers instanceof Headers ? headers.get(name) : headers[name]) ?? "");
    const [id, sent] = [header("webhook-id"), header("webhook-timestamp")];
    if (!/^[0-9]{1,12}$/.test(sent) || Math.abs(Date.now() / 1000 - Number(sent)) > TOLERANCE) {
        throw new WebhookNotGenuineError("The call was not sent within the last five minutes.");
    }
    const content = typeof body === "string" ? new TextEncoder().encode(body) : body;
    const start = new TextEncoder().encode(`${id}.${sent}.`);
    const signed = new Uint8Array(start.length + content.length);
    signed.set(start);
    signed.set(content, start.length);
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const keyBytes = decodeBase64(secret.replace(/^whsec_/, ""));
    const key = await crypto.subtle.importKey("raw", keyBytes, algorithm, false, ["verify"]);
    for (const signature of header("webhook-signature").split(" ")) {
        const [version, text] = signature.split(",");
        const isBase64 = version === "v1" && /^[A-Za-z0-9+/]{43}=$/.test(text ?? "");
        if (isBase64 && (await crypto.subtle.verify(algorithm, key, decodeBase64(text), signed))) {
            return JSON.parse(new TextDecoder().decode(content));
        }
    }
    throw new WebhookNotGenuineError("The call has no valid signature.");
}
function decodeBase64(text) {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}
const jitter = () => 0.8 + 0.4 * Math.random(); // spreads out clients that started at the same time
const MAX_ATTEMPTS = 4;
const MAX_PAUSE = 120; // seconds; a longer Retry-After throws the error instead of waiting
const [FIRST_POLL_INTERVAL, POLL_BACKOFF, MAX_POLL_INTERVAL] = [0.5, 1.3, 5]; // seconds; back-off factor
const RETRYABLE_PROXY_STATUSES = [429, 500, 502, 503, 504]; // of responses that are not Tacitus's own
/** A server and your API key. */
export class Tacitus {
    url;
    #key;
    #timeout;
    #fetch;
    #pollSpacing = 0; // seconds between polls that keep within the key's limit
    constructor(url, key = "", { timeout = 60, fetch = globalThis.fetch } = {}) {
        if (!/^https?:\/\/[^\s/?#@\\]+(\/[^\s?#]*)?$/.test(url)) {
            throw new UsageError("The server must be a URL such as https://proofs.example.org.");
        }
        if (!/^[!-~]*$/.test(key)) {
            throw new UsageError("This is not an API key: it must consist of visible ASCII characters.");
        }
        this.url = url.replace(/\/+$/, "");
        this.#key = key;
        this.#timeout = timeout;
        this.#fetch = (...request) => fetch(...request); // browsers refuse it as a method
    }
    /** Submit the batch. All requests with the same `idempotencyKey` store one batch. */
    async submit(batch, { idempotencyKey, signal } = {}) {
        // Not randomUUID, which pages that came over plain http lack.
        const headers = { "idempotency-key": idempotencyKey ?? crypto.getRandomValues(new Uint32Array(4)).join("-") };
        return this.#send("POST", "/submit-batch-query", { body: batch, headers, signal });
    }
    /** Return what a batch would cost now. */
    async estimate(batch, { signal } = {}) {
        return this.#send("POST", "/estimate", { body: batch, signal });
    }
    /** Return a proof for each source chain, to verify in a transaction of your own. */
    async witness(batch, { signal } = {}) {
        return list((await this.#send("POST", "/witness", { body: batch, signal })).witnesses);
    }
    /** Return the batch's status. */
    async status(id, { signal } = {}) {
        return this.#status(id, {}, { signal });
    }
    /** Iterate over the batch's statuses as they change. Throws BatchRejectedError or WaitTimeoutError. */
    async *progress(id, options = {}) {
        const { timeout = 600, details = false, signal } = options;
        const deadline = performance.now() + 1000 * timeout;
        for (let [interval, last] = [FIRST_POLL_INTERVAL, ""];;) {
            const status = await this.#status(id, { details: Number(details) }, { signal, deadline });
            const text = JSON.stringify(status);
            if (text !== last)
                yield status;
            last = text;
            if (isDone(status))
                return status;
            const secondsLeft = (deadline - performance.now()) / 1000;
            if (secondsLeft <= 0) {
                const sentence = `The batch has not ended within ${timeout} seconds. ${status.waitsFor ?? ""}`;
                throw new WaitTimeoutError(sentence.trim(), { batchId: id });
            }
            await pause(Math.min(Math.max(interval * jitter(), this.#pollSpacing), secondsLeft), signal);
            interval = Math.min(interval * POLL_BACKOFF, MAX_POLL_INTERVAL);
        }
    }
    /** Wait until the batch is DONE. Throws as `progress` does. */
    async wait(id, options = {}) {
        const statuses = this.progress(id, options);
        let result;
        do
            result = await statuses.next();
        while (!result.done);
        return result.value;
    }
    /** Return the proven facts. Throws BatchNotDoneError, BatchRejectedError or FactsLostError. */
    async facts(id, { signal } = {}) {
        const facts = [];
        const routes = await this.routes({ signal });
        for (let fromQuery = 0;;) {
            const status = await this.#status(id, { fromQuery }, { signal });
            if (!isDone(status)) {
                throw new BatchNotDoneError(`The batch is ${status.status}; wait until it is DONE.`, { batchId: id });
            }
            for (const query of list(status.queries))
                facts.push(...factsOfQuery(query, status, routes));
            const next = status.nextQuery ?? null;
            if (next === null)
                return facts;
            if (!(next > fromQuery))
                throw new UnreadableResponseError("The server's pages of queries do not end.");
            fromQuery = next;
        }
    }
    /** Cancel a batch, if no transaction for it is signed yet. It ends REJECTED. */
    async cancel(id, { signal } = {}) {
        return this.#send("POST", `/batch-queries/${encodeURIComponent(id)}/cancel`, { signal });
    }
    /** Iterate over your batches, newest first; each page is requested when it is needed. */
    batches(options = {}) {
        const { status, ...page } = options;
        return this.#items("/batch-queries", "batches", page, { status });
    }
    /** Iterate over the webhooks of your batches, newest first, with their attempts. */
    deliveries(options = {}) {
        return this.#items("/webhook-deliveries", "deliveries", options);
    }
    /** Return the server's routes with their registries. */
    async routes({ signal } = {}) {
        return list((await this.#send("GET", "/chain-connections", { signal })).connections);
    }
    async #status(id, query, options) {
        return this.#send("GET", "/batch-query-status", { ...options, query: { batchQueryId: id, ...query } });
    }
    async *#items(path, name, page, filters = {}) {
        let { cursor, limit, signal } = page;
        do {
            const items = await this.#send("GET", path, { signal, query: { ...filters, limit, cursor } });
            yield* list(items[name]);
            cursor = items.cursor;
        } while (cursor);
    }
    /** Send a request. Retry if that can help: a few times, or until `deadline`. */
    async #send(method, path, options) {
        for (let attempts = 1;; attempts++) {
            try {
                return (await this.#sendOnce(method, path, options));
            }
            catch (error) {
                if (!(error instanceof TacitusError) || !error.retryable)
                    throw error;
                const backOff = FIRST_POLL_INTERVAL * 2 ** Math.min(attempts - 1, 6) * jitter();
                const seconds = error.details.retryAfter || backOff;
                const isLast = options.deadline === undefined
                    ? attempts === MAX_ATTEMPTS
                    : performance.now() + 1000 * seconds > options.deadline;
                if (isLast || seconds > MAX_PAUSE)
                    throw error;
                await pause(seconds, options.signal);
            }
        }
    }
    async #sendOnce(method, path, options) {
        const { signal } = options;
        const body = options.body ? JSON.stringify(options.body) : null;
        const url = new URL(this.url + path);
        for (const [name, value] of Object.entries(options.query ?? {})) {
            if (value !== undefined)
                url.searchParams.set(name, `${value}`);
        }
        const headers = { ...options.headers };
        if (this.#key)
            headers["api-key"] = this.#key;
        if (body)
            headers["content-type"] = "application/json";
        const timeout = AbortSignal.timeout(1000 * this.#timeout);
        try {
            const response = await this.#fetch(url, {
                method,
                headers,
                body,
                credentials: "omit",
                redirect: "manual", // a redirect would send the key to any host
                signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
            });
            const content = await response.text();
            this.#pollSpacing = pollSpacing(response.headers);
            if (response.ok)
                return parseObject(content);
            throw errorOfResponse(response, content);
        }
        catch (cause) {
            signal?.throwIfAborted();
            if (cause instanceof TacitusError)
                throw cause;
            throw new ServerUnreachableError(`${this.url} does not answer. Check that it is running.`, {}, cause);
        }
    }
}
function errorOfResponse(response, content) {
    const httpStatus = response.status;
    if (response.type === "opaqueredirect" || (httpStatus >= 300 && httpStatus < 400)) {
        const target = response.headers.get("location") ?? "another URL";
        const sentence = `The server redirects to ${target}. If you trust that URL, use it as the server.`;
        return new UnreadableResponseError(sentence, { httpStatus });
    }
    const retryAfter = headerSeconds(response.headers, "retry-after");
    try {
        const { error, code, path, retryable, detail } = parseObject(content);
        if (typeof error === "string" && typeof code === "string" && typeof retryable === "boolean") {
            const sentence = detail ? `${error.replace(/\.$/, "")}. ${detail}` : error;
            return new RequestRefusedError(sentence, { code, path: path ?? "", retryable, httpStatus, retryAfter });
        }
    }
    catch { } // not JSON
    const retryable = RETRYABLE_PROXY_STATUSES.includes(httpStatus);
    const sentence = `The server responded with status ${httpStatus}, but not as Tacitus does.`;
    return new UnreadableResponseError(sentence, { retryable, httpStatus, retryAfter });
}
function headerSeconds(headers, name) {
    const seconds = headers.get(name) ?? "";
    return /^[0-9]{1,6}$/.test(seconds) ? Number(seconds) : undefined;
}
function pollSpacing(headers) {
    const remaining = headerSeconds(headers, "ratelimit-remaining");
    const reset = headerSeconds(headers, "ratelimit-reset") ?? 0;
    return remaining === undefined ? 0 : Math.min(reset / (remaining + 1), MAX_PAUSE);
}
function pause(seconds, signal) {
    return new Promise((resolve, reject) => {
        const end = () => {
            clearTimeout(timer);
            signal?.removeEventListener("abort", end);
            if (signal?.aborted)
                reject(signal.reason);
            else
                resolve();
        };
        const timer = setTimeout(end, 1000 * seconds);
        signal?.addEventListener("abort", end);
        if (signal?.aborted)
            end();
    });
}
function parseObject(content) {
    try {
        const body = JSON.parse(content);
        if (typeof body === "object" && body !== null && !Array.isArray(body))
            return body;
    }
    catch { } // not JSON
    throw new UnreadableResponseError("The server's response is not a JSON object.");
}
function list(value) {
    if (Array.isArray(value))
        return value;
    throw new UnreadableResponseError("In the server's response, a list is missing.");
}
/** Throws BatchRejectedError. */
function isDone({ queryStatus, internalId, rejection }) {
    if (!["IN_PROGRESS", "DONE", "REJECTED"].includes(queryStatus)) {
        throw new UnreadableResponseError("In the server's response, queryStatus is missing or malformed.");
    }
    if (queryStatus !== "REJECTED")
        return queryStatus === "DONE";
    const { message = "The batch was rejected.", code = "rejected", retryable = false, step } = rejection ?? {};
    throw new BatchRejectedError(message, { code, retryable, step: step ?? "", batchId: internalId });
}
