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
    { "inputs": [], "name": "describe", "outputs": [{ "name": "", "type": "bytes32" }, { "name": "", "type": "uint256" }, { "name": "", "type": "bytes32" }, { "name": "", "type": "uint256" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "field", "type": "uint8" }], "name": "headerField", "outputs": [{ "name": "value", "type": "bytes32" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "section", "type": "bytes" }], "name": "lowerHorizon", "outputs": [], "stateMutability": "nonpayable", "type": "function" },
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
export const factsLookupAbi = [
    { "inputs": [{ "name": "registry", "type": "address" }, { "name": "verifier", "type": "address" }, { "name": "urls_", "type": "string[]" }], "stateMutability": "nonpayable", "type": "constructor" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "age", "type": "uint256" }], "name": "BlockTooOld", "type": "error" },
    { "inputs": [{ "name": "target", "type": "address" }, { "name": "reason", "type": "bytes" }], "name": "CallReverted", "type": "error" },
    { "inputs": [], "name": "FactMismatch", "type": "error" },
    { "inputs": [{ "name": "field", "type": "uint8" }], "name": "FieldUnknown", "type": "error" },
    { "inputs": [{ "name": "kind", "type": "uint8" }], "name": "KindUnknown", "type": "error" },
    { "inputs": [{ "name": "registry", "type": "address" }], "name": "NoContract", "type": "error" },
    { "inputs": [], "name": "NoVerifier", "type": "error" },
    { "inputs": [{ "name": "sender", "type": "address" }, { "name": "urls", "type": "string[]" }, { "name": "callData", "type": "bytes" }, { "name": "callbackFunction", "type": "bytes4" }, { "name": "extraData", "type": "bytes" }], "name": "OffchainLookup", "type": "error" },
    { "inputs": [{ "name": "verifier", "type": "address" }], "name": "RegistryMismatch", "type": "error" },
    { "inputs": [], "name": "REGISTRY", "outputs": [{ "name": "", "type": "address" }], "stateMutability": "view", "type": "function" },
    { "inputs": [], "name": "VERIFIER", "outputs": [{ "name": "", "type": "address" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "response", "type": "bytes" }, { "name": "extraData", "type": "bytes" }], "name": "onProof", "outputs": [{ "name": "value", "type": "bytes32" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "response", "type": "bytes" }, { "name": "extraData", "type": "bytes" }], "name": "onRecentProof", "outputs": [{ "name": "value", "type": "bytes32" }, { "name": "blockNumber", "type": "uint256" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "account", "type": "address" }, { "name": "blockNumber", "type": "uint256" }, { "name": "field", "type": "uint8" }, { "name": "gateways", "type": "string[]" }], "name": "read", "outputs": [{ "name": "", "type": "bytes32" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "field", "type": "uint8" }, { "name": "gateways", "type": "string[]" }], "name": "readHeader", "outputs": [{ "name": "", "type": "bytes32" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "field", "type": "uint8" }, { "name": "maxAge", "type": "uint256" }, { "name": "gateways", "type": "string[]" }], "name": "readHeaderRecent", "outputs": [{ "name": "", "type": "bytes32" }, { "name": "", "type": "uint256" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "blockNumber", "type": "uint256" }, { "name": "transactionIndex", "type": "uint256" }, { "name": "logIndex", "type": "uint256" }, { "name": "gateways", "type": "string[]" }], "name": "readLog", "outputs": [{ "name": "", "type": "bytes32" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "account", "type": "address" }, { "name": "field", "type": "uint8" }, { "name": "maxAge", "type": "uint256" }, { "name": "gateways", "type": "string[]" }], "name": "readRecent", "outputs": [{ "name": "", "type": "bytes32" }, { "name": "", "type": "uint256" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "account", "type": "address" }, { "name": "blockNumber", "type": "uint256" }, { "name": "slot", "type": "bytes32" }, { "name": "gateways", "type": "string[]" }], "name": "readSlot", "outputs": [{ "name": "", "type": "bytes32" }], "stateMutability": "view", "type": "function" },
    { "inputs": [{ "name": "account", "type": "address" }, { "name": "slot", "type": "bytes32" }, { "name": "maxAge", "type": "uint256" }, { "name": "gateways", "type": "string[]" }], "name": "readSlotRecent", "outputs": [{ "name": "", "type": "bytes32" }, { "name": "", "type": "uint256" }], "stateMutability": "view", "type": "function" },
    { "inputs": [], "name": "urls", "outputs": [{ "name": "", "type": "string[]" }], "stateMutability": "view", "type": "function" },
];
export const registryContracts = {
    "native": "NativeRegistry",
    "optimism": "OptimismRegistry",
    "output": "OutputRegistry",
    "arbitrum": "ArbitrumRegistry",
    "beacon": "BeaconRegistry",
    "attested": "AttestedRegistry"
};
export const codeHashes = {
    "NativeRegistry": "0x1b34d37b5c7469e5d63f5274f069cfd0d173d66306d34cb4c1aea36ce628bf8f",
    "OptimismRegistry": "0x78de8e6e759ff91f89fdd58072bf39dc42d6b10c7dda19db3646d041e1642309",
    "OutputRegistry": "0x651a862b6dac57998d97361c8fbcc88c90a114a33c731b4713986843e5647d04",
    "ArbitrumRegistry": "0xe6914700e87487b9245fe94c3cb080e119332159786590fcc6bb93cf48ea6c9c",
    "BeaconRegistry": "0x01ff1f6a227c8d31c6b6ec8523318f75e8ad9318150b4a3144a4763e65d861f1",
    "AttestedRegistry": "0x76704111952143ac3ec71b1594806edecf00a3674b023c931ce574400f0496e1",
    "EventsVerifier": "0x95c30a03e8b68d30920173b46d11ff711864b27499d0b6873fa5234d0e0de1b4",
    "FactsLookup": "0x3b555f3db9229413fc2e17ce2363768e54a4ff3e9506a9b73ae6822b43564630"
};
export const beaconChains = {
    "1": {
        "genesis": [
            1606824023,
            12,
            "0x4b363db94e286120d76eb905340fdd4e54bfe9f06bf33ff6cf5ad27f511bfe95"
        ],
        "forks": [
            [
                8626176,
                "0x04000000",
                105,
                55,
                54,
                812
            ],
            [
                11649024,
                "0x05000000",
                169,
                87,
                86,
                812
            ],
            [
                13164544,
                "0x06000000",
                169,
                87,
                86,
                812
            ]
        ]
    },
    "100": {
        "genesis": [
            1638993340,
            5,
            "0xf5dcb5564e829aab27264b9becd5dfaa017085611224cb3036f573368dbb9d47"
        ],
        "forks": [
            [
                14237696,
                "0x04000064",
                105,
                55,
                54,
                812
            ],
            [
                21405696,
                "0x05000064",
                169,
                87,
                86,
                812
            ],
            [
                27435008,
                "0x06000064",
                169,
                87,
                86,
                812
            ]
        ]
    },
    "560048": {
        "genesis": [
            1742213400,
            12,
            "0x212f13fc4df078b6cb7db228f1c8307566dcecf900867401a92023d7ba99cb5f"
        ],
        "forks": [
            [
                0,
                "0x50000910",
                105,
                55,
                54,
                812
            ],
            [
                65536,
                "0x60000910",
                169,
                87,
                86,
                812
            ],
            [
                1622016,
                "0x70000910",
                169,
                87,
                86,
                812
            ]
        ]
    },
    "11155111": {
        "genesis": [
            1655733600,
            12,
            "0xd8ea171f3c94aea21ebc42a1ed61052acf3f9209c00e4efbaaddac09ed9b8078"
        ],
        "forks": [
            [
                4243456,
                "0x90000073",
                105,
                55,
                54,
                812
            ],
            [
                7118848,
                "0x90000074",
                169,
                87,
                86,
                812
            ],
            [
                8724480,
                "0x90000075",
                169,
                87,
                86,
                812
            ],
            [
                11296768,
                "0x90000076",
                735,
                2946,
                2945,
                2856
            ]
        ]
    }
};
export const maxCommitteeAge = 604800;
export const create2Prefix = "0xff4e59b44847b379578588920ca78fbf26c0b4956c5461636974757320726567697374727900000000000000000000000000000000";
/** Base of all errors: a sentence for people; for programs a code, and whether trying again can help. */
export class TacitusError extends Error {
    details;
    constructor(sentence, details = {}, cause) {
        super(sentence, { cause });
        this.details = details;
        Object.assign(this, { code: details.code, retryable: details.retryable ?? false });
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
/** The batch is DONE, but one of its deliveries has FAILED; `code` says why. */
export class DeliveryFailedError extends TacitusError {
    name = "DeliveryFailedError";
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
/** The server did not answer, and may have carried out the request; it is one that is not repeated. */
export class ResponseLostError extends TacitusError {
    name = "ResponseLostError";
    code = "response_lost";
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
/** @internal */
function hashHex(hex) {
    return toHex(keccak256(parseHex(hex)));
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
        return new _a(BigInt(hashHex(toHex(key) + this.word.slice(2))));
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
    /** Where the elements of a dynamic array begin, or the data of a `bytes` or `string` over 31 bytes. */
    dynamicData() {
        this.#checkStartsSlot("array");
        return new _a(BigInt(hashHex(this.word)));
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
/** Find a variable such as `points[4].y` in solc's storageLayout. */
export function findVariable({ storage, types }, expression) {
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
    for (const [, name, double, single, bare] of accesses) {
        const key = double ?? single ?? bare?.trim() ?? "";
        const member = types[kind].members?.find((entry) => entry.label === name);
        if (name && !member)
            throw new UsageError(`${types[kind].label} has no member ${name}.`);
        [position, kind] = member
            ? [position.member(BigInt(member.slot), member.offset), member.type]
            : element(types, kind, position, key);
    }
    return { position, size: Number(types[kind].numberOfBytes), type: types[kind].label };
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
        return mappingKey(name, text);
    const { label, numberOfBytes: size } = types[kind]; // not the type under it
    if (/^-?\d+$/.test(text))
        return mappingKey(`${text.startsWith("-") ? "int" : "uint"}${8 * size}`, text);
    const [, typeName, key] = /^(\w+):(.*)$/.exec(text) ?? [];
    if (typeName && key)
        return mappingKey(typeName, key);
    const examples = `such as bytes${size}:${text} or uint${8 * size}:${text}`;
    throw new UsageError(`The layout does not give the type under ${label}. Write it before the key, ${examples}.`);
}
/** Numbers as text, because JSON's are exact only to 2^53. */
function argument(value) {
    if (Array.isArray(value))
        return value.map(argument);
    return typeof value === "bigint" || typeof value === "number" ? `${value}` : value;
}
function deliveryBody({ to, function: called, args = [], gas, unless, errors }) {
    const condition = unless && { function: unless.function, args: (unless.args ?? []).map(argument) };
    const limit = gas === undefined ? {} : { gas: `${gas}` };
    return { to, function: called, args: args.map(argument), ...limit, ...(condition && { unless: condition }), ...(errors && { errors }) };
}
const BLOCK_LISTS = ["header", "logs", "receipts", "transactions", "withdrawals", "absent"];
/** Build a batch for `submit`, `estimate` and `witness`. */
export function buildBatch(destination, queries, { fee = 0, webhook, deliver = [] } = {}) {
    const data = {};
    for (const query of [queries].flat()) {
        const { source, block: number, timestamp, accounts = [], props = [], slots = [], ...lists } = query;
        const unknown = Object.keys(lists).filter((name) => !BLOCK_LISTS.includes(name));
        if (unknown.length)
            throw new UsageError(`Unknown members of a query: ${unknown.join(", ")}.`);
        const selector = timestamp === undefined ? `block:${number}` : `timestamp:${timestamp}`;
        const block = ((data[`${source}`] ??= {})[selector] ??= {});
        for (const [name, items] of Object.entries(lists)) {
            if (items)
                block[name] = [...(block[name] ?? []), ...items];
        }
        for (const account of accounts) {
            const entry = ((block.accounts ??= {})[account] ??= { props: [], slots: [] });
            entry.props.push(...props);
            const positions = slots.map((slot) => (typeof slot === "object" ? slot : new Position(BigInt(slot))));
            entry.slots.push(...positions.map(({ word }) => word));
        }
    }
    const options = { ...(webhook && { webhook }), ...(deliver.length && { deliver: deliver.map(deliveryBody) }) };
    return { destinationChainId: `${destination}`, fee: `${fee}`, data, ...options };
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
    const isValid = /^[0-9]{1,78}$/.test(`${originChainId}${block}`)
        && Object.values(values ?? {}).every((word) => /^0x[0-9a-f]{64}$/.test(word));
    if (!registry || !verifier || !values || !isValid) {
        throw new UnreadableResponseError("In the server's response, a query is malformed or has no route.");
    }
    return Object.entries(values).map(([name, word]) => {
        const common = { chain: originChainId, block: BigInt(block ?? 0), selector, registry, name, word };
        if (name.includes(":")) {
            const event = events.find((entry) => entry.name === name) ?? { name };
            return { ...common, kind: "event", eventKind: name.split(":")[0], verifier, event };
        }
        const kind = !account ? "header" : name.startsWith("0x") ? "slot" : "account";
        return { ...common, kind, number: numberOf(name, word), account, ens };
    });
}
/** Read a fact from its registry, through a client of yours; null if it is not proven there. */
export async function readFact(client, { registry, block, account = null, name }) {
    const fields = account ? accountFields : headerFields;
    const isSlot = account !== null && /^0x[0-9a-fA-F]{1,64}$/.test(name);
    const key = isSlot ? name : fields[name];
    if (key === undefined)
        throw new UsageError(`${name} is not a fact of ${account ? "an account" : "a header"}.`);
    const view = isSlot ? "tryAccountStorageSlotValues" : account ? "tryAccountField" : "tryHeaderField";
    const values = account ? [account, block, key] : [block, key];
    const result = await readProven(client, registry, factsRegistryAbi, view, values);
    return result && { word: result.value, number: numberOf(name, result.value) };
}
/** Read an event or an absence from its verifier, through a client of yours; null if it is not proven there. */
export async function readEvent(client, { verifier, block, name, event = {} }) {
    const [kind, index = "", second = "", third = ""] = name.split(":");
    const { address, topics, data } = event;
    if (kind === "LOG" && !(address && topics && data))
        throw new UsageError(`Pass the content of ${name} as event.`);
    const filter = third.split(",");
    const mask = filter.reduce((bits, topic, place) => bits + (topic ? 2 ** place : 0), 0);
    const views = {
        LOG: ["isLog", index, second, address, topics, data],
        RECEIPT: ["tryReceiptOf", index],
        TRANSACTION: ["tryTransactionHash", index],
        WITHDRAWAL: ["tryWithdrawalOf", index],
        ABSENT_TRANSACTION: ["isIndexAbsent", headerFields.TRANSACTIONS_ROOT, index],
        ABSENT_WITHDRAWAL: ["isIndexAbsent", headerFields.WITHDRAWALS_ROOT, index],
        ABSENT_LOG: ["isLogAbsent", index, second, mask, filter.filter(Boolean)],
        SILENT_BLOCK: ["isBlockSilent", Number(index.length === 66), index],
    };
    const [view, ...values] = views[kind] ?? [];
    if (!view)
        throw new UsageError(`${name} is not the name of an event.`);
    const result = await readProven(client, verifier, eventsVerifierAbi, view, [block, ...values]);
    return result && (kind === "LOG" ? { address, topics, data } : result);
}
/** As viem decodes a word: a number if it always fits into one. */
function decodeWord(type, word) {
    if (type === "address")
        return `0x${word.slice(24)}`;
    const bits = Number(/^uint(\d+)$/.exec(type)?.[1] ?? 0);
    return !bits ? `0x${word}` : bits > 48 ? BigInt(`0x${word}`) : Number(`0x${word}`);
}
/** Call a view, and return its outputs by their names; null if the first one is false. */
async function readProven(client, to, abi, view, values) {
    const { inputs, outputs } = abi.find((entry) => entry.name === view);
    let tails = "";
    const toDigits = (value) => toWord(value).slice(2);
    const heads = inputs.map(({ type }, index) => {
        const value = values[index];
        if (!/^bytes(32\[])?$/.test(type))
            return toDigits(value);
        const content = type === "bytes" ? value.slice(2) : value.map(toDigits).join("");
        const head = toDigits(32 * inputs.length + tails.length / 2);
        tails += toDigits(type === "bytes" ? content.length / 2 : value.length);
        tails += content.padEnd(64 * Math.ceil(content.length / 64), "0");
        return head;
    });
    const signature = `${view}(${inputs.map(({ type }) => type)})`;
    const selector = hashHex(toHex(new TextEncoder().encode(signature))).slice(0, 10);
    const call = { to, data: `${selector}${heads.join("")}${tails}` };
    const answer = await ("call" in client
        ? client.call(call)
        : client.request({ method: "eth_call", params: [call, "latest"] }));
    const words = `${answer?.data ?? answer}`.match(/[0-9a-f]{64}/g) ?? [];
    const members = outputs.flatMap((output) => output.components ?? [output]);
    if (words.length !== members.length || BigInt(`0x${words[0]}`) > 1n) {
        throw new UnreadableResponseError(`${to} does not answer as this contract of Tacitus does.`);
    }
    const decoded = members.map(({ name, type }, index) => [name, decodeWord(type, words[index])]);
    return BigInt(`0x${words[0]}`) ? Object.fromEntries(decoded.slice(1)) : null;
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
    const content = new Blob([body]);
    const signed = await new Blob([`${id}.${sent}.`, content]).arrayBuffer();
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const keyBytes = decodeBase64(secret.replace(/^whsec_/, ""));
    const key = await crypto.subtle.importKey("raw", keyBytes, algorithm, false, ["verify"]);
    for (const signature of header("webhook-signature").split(" ")) {
        const [version, text] = signature.split(",");
        const isBase64 = version === "v1" && /^[A-Za-z0-9+/]{43}=$/.test(text ?? "");
        if (isBase64 && (await crypto.subtle.verify(algorithm, key, decodeBase64(text), signed))) {
            return JSON.parse(await content.text());
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
const PROOF_TIMEOUT_FACTOR = 10; // of the timeout, because proof files are larger
const FIRST_RETRY_PAUSE = 0.5; // seconds; doubled after each attempt
const [FIRST_POLL_INTERVAL, POLL_BACKOFF, MAX_POLL_INTERVAL] = [0.5, 1.3, 5]; // seconds; back-off factor
/**
 * Whether a beacon registry has genesis, slot length and forks of the known beacon chain of `source`, and no longer
 * maximum age. Null if this version does not know that chain.
 */
function isOfKnownBeaconChain(source, constructorArguments) {
    const chains = beaconChains;
    const known = chains[`${BigInt(source)}`];
    if (!known)
        return null;
    const [, , time, seconds, root, , maxAge, offset, count, ...words] = constructorArguments.slice(2).toLowerCase().match(/.{1,64}/g) ?? [];
    const forks = words.join("").match(/.{1,384}/g) ?? []; // of six words each
    const encode = (members) => members.map((member) => typeof member === "number" ? toWord(member).slice(2) : member.slice(2).padEnd(64, "0")).join("");
    const knownForks = known.forks.map(encode);
    const first = knownForks.indexOf(forks[0] ?? "");
    return `0x${offset}${count}` === toWord(256) + toWord(forks.length).slice(2)
        && [time, seconds, root].join("") === encode(known.genesis)
        && `0x${maxAge}` <= toWord(maxCommitteeAge)
        && first >= 0 && forks.every((fork, index) => fork === knownForks[first + index]);
}
/** A client of one server, with your API key. */
export class Tacitus {
    url;
    #key;
    #timeout;
    /** `timeout` is in seconds, for one complete response. */
    constructor(url, key = "", { timeout = 60 } = {}) {
        if (!/^https?:\/\/[^\s/?#@\\]+(\/[^\s?#]*)?$/.test(url)) {
            throw new UsageError("The server must be a URL such as https://proofs.example.org.");
        }
        this.url = url.replace(/\/+$/, "");
        this.#key = key;
        this.#timeout = timeout;
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
    /**
     * Iterate over the batch's statuses as they change, until it is DONE and its deliveries have ended. Throws
     * BatchRejectedError, DeliveryFailedError or WaitTimeoutError.
     */
    async *progress(id, { timeout = 600, deliveries = true, signal } = {}) {
        const deadline = performance.now() + 1000 * timeout;
        for (let [interval, last] = [FIRST_POLL_INTERVAL, ""];;) {
            const status = await this.#status(id, { details: "0" }, { signal, deadline });
            const text = JSON.stringify(status);
            if (text !== last)
                yield status;
            last = text;
            if (isDone(status) && (!deliveries || hasDelivered(status)))
                return;
            const secondsLeft = (deadline - performance.now()) / 1000;
            if (secondsLeft <= 0) {
                const waiting = isDone(status) ? status.deliveries?.find(isOpen) : undefined;
                const subject = waiting ? "delivery of the batch" : "batch";
                const reason = (waiting ?? status).waitsFor ?? "";
                const sentence = `The ${subject} has not ended within ${timeout} seconds. ${reason}`;
                throw new WaitTimeoutError(sentence.trim(), { batchId: id });
            }
            await pause(Math.min(interval * jitter(), secondsLeft), signal);
            interval = Math.min(interval * POLL_BACKOFF, MAX_POLL_INTERVAL);
        }
    }
    /** Wait until the batch is DONE and its deliveries have ended. Throws as `progress` does. */
    async wait(id, options = {}) {
        let last;
        for await (const status of this.progress(id, options))
            last = status;
        return last;
    }
    /**
     * Return the proven facts, or those of one `kind`; a batch with `prove` false has none. Throws BatchNotDoneError,
     * BatchRejectedError or FactsLostError.
     */
    async facts(id, { kind, signal } = {}) {
        const facts = [];
        const routes = await this.routes({ signal });
        for (let fromQuery = 0;;) {
            const status = await this.#status(id, { fromQuery: `${fromQuery}` }, { signal });
            if (!isDone(status)) {
                throw new BatchNotDoneError(`The batch is ${status.status}; wait until it is DONE.`, { batchId: id });
            }
            if (status.prove === false)
                return [];
            for (const query of list(status.queries))
                facts.push(...factsOfQuery(query, status, routes));
            const next = status.nextQuery ?? null;
            if (next === null)
                return facts.filter((fact) => !kind || fact.kind === kind);
            if (!(next > fromQuery))
                throw new UnreadableResponseError("The server's pages of queries do not end.");
            fromQuery = next;
        }
    }
    /** Return the file with which anyone can verify the DONE batch without this server; save it as JSON. */
    async proof(id, { signal } = {}) {
        const timeout = PROOF_TIMEOUT_FACTOR * this.#timeout;
        return this.#send("GET", `/batch-queries/${encodeURIComponent(id)}/proof`, { timeout, signal });
    }
    /** Cancel a batch, if no transaction for it is signed yet. It ends REJECTED. */
    async cancel(id, { signal } = {}) {
        return this.#send("POST", `/batch-queries/${encodeURIComponent(id)}/cancel`, { signal });
    }
    /** Iterate over your batches, newest first; each page is requested when it is needed. */
    batches(options = {}) {
        return this.#items("/batch-queries", "batches", options);
    }
    /** Iterate over the webhooks of your batches, newest first, with their attempts. */
    webhookDeliveries(options = {}) {
        return this.#items("/webhook-deliveries", "deliveries", options);
    }
    /** Feeds: the same batch is submitted again whenever it is due. */
    feeds = {
        /** Make a feed; its batch may come from `buildBatch`. If the response is lost, it throws a ResponseLostError. */
        create: async (feed, { signal } = {}) => this.#send("POST", "/feeds", { body: feed, isUnique: true, signal }),
        /** Iterate over your feeds, newest first; each page is requested when it is needed. */
        list: (options = {}) => this.#items("/feeds", "feeds", options),
        /** Return a feed with its batch and its newest runs. */
        get: async (id, { signal } = {}) => this.#send("GET", feedPath(id), { signal }),
        /** Iterate over a feed's runs, newest first; each page is requested when it is needed. */
        runs: (id, options = {}) => this.#items(feedPath(id), "runs", options),
        pause: async (id, { signal } = {}) => this.#send("PATCH", feedPath(id), { body: { state: "PAUSED" }, signal }),
        /** Resume a paused feed. It makes up for missed runs by its `catchUp`. */
        resume: async (id, { signal } = {}) => this.#send("PATCH", feedPath(id), { body: { state: "ACTIVE" }, signal }),
        /** Set the maximum that the feed's runs may spend in 24 hours, in wei. */
        setBudget: async (id, budget, { signal } = {}) => this.#send("PATCH", feedPath(id), { body: { budget: `${budget}` }, signal }),
        /** Give the feed a name of at most 60 characters, or remove it with null. */
        rename: async (id, name, { signal } = {}) => this.#send("PATCH", feedPath(id), { body: { name }, signal }),
        /** End the feed for good. Its batches stay. */
        end: async (id, { signal } = {}) => this.#send("DELETE", feedPath(id), { signal }),
        /** Run the feed now, and return the run. If the response is lost, it throws a ResponseLostError. */
        runNow: async (id, { signal } = {}) => this.#send("POST", `${feedPath(id)}/runs`, { isUnique: true, signal }),
    };
    /** Return the server's routes with their registries. */
    async routes({ signal } = {}) {
        return list((await this.#send("GET", "/chain-connections", { signal })).connections);
    }
    /**
     * Whether registry, events verifier and lookup are this version's code with the route's constructor arguments, and a
     * beacon registry is of the known beacon chain of its source. Null if only that is unknown, because this version does
     * not know the beacon chain.
     */
    async isGenuine(route, { signal } = {}) {
        const { kind, registry, eventsVerifier, lookup, lookupArguments, constructorArguments } = route;
        const isAt = async (address, name, words) => {
            const { bytecode } = await this.#send("GET", `/contracts/${name}.json`, { signal });
            const initCode = `0x${bytecode}${words.slice(2)}`;
            if (!/^0x([0-9a-f]{2})+$/.test(initCode) || hashHex(`0x${bytecode}`) !== codeHashes[name])
                return false;
            return address.toLowerCase().slice(2) === hashHex(`${create2Prefix}${hashHex(initCode).slice(2)}`).slice(26);
        };
        const namesSource = !["native", "optimism"].includes(kind); // in its second argument
        const contracts = toWord(registry) + toWord(eventsVerifier).slice(2); // before the lookup's URLs
        const isOfChain = kind !== "beacon" || isOfKnownBeaconChain(route.originChainId, constructorArguments);
        return isOfChain !== false
            && (kind === "native") === (route.originChainId === route.destinationChainId)
            && (!namesSource || constructorArguments.slice(66, 130) === toWord(route.originChainId).slice(2))
            && (await isAt(registry, registryContracts[kind], constructorArguments))
            && (await isAt(eventsVerifier, "EventsVerifier", toWord(registry)))
            && (!lookup
                || (!!lookupArguments?.startsWith(contracts) && (await isAt(lookup, "FactsLookup", lookupArguments))))
            && isOfChain;
    }
    async #status(id, query, options) {
        return this.#send("GET", `/batch-query-status?${new URLSearchParams({ batchQueryId: id, ...query })}`, options);
    }
    async *#items(path, name, { signal, ...filters }) {
        const query = new URLSearchParams(JSON.parse(JSON.stringify(filters))); // leaves out what is undefined
        for (let hasMore = true; hasMore;) {
            const page = await this.#send("GET", `${path}?${query}`, { signal });
            yield* list(page[name]);
            query.set("cursor", page.cursor);
            hasMore = Boolean(page.cursor);
        }
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
                if (options.isUnique && !(error instanceof RequestRefusedError)) {
                    const sentence = `${error.message} It may have carried out the request: check before you repeat it.`;
                    throw new ResponseLostError(sentence, { ...error.details, retryable: false }, error);
                }
                const backOff = FIRST_RETRY_PAUSE * 2 ** Math.min(attempts - 1, 6) * jitter();
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
        const { signal, timeout = this.#timeout } = options;
        const headers = { ...options.headers };
        if (this.#key)
            headers["api-key"] = this.#key;
        if (options.body)
            headers["content-type"] = "application/json";
        const timer = AbortSignal.timeout(1000 * timeout);
        try {
            const response = await fetch(this.url + path, {
                method,
                headers,
                body: options.body ? JSON.stringify(options.body) : null,
                credentials: "omit",
                redirect: "manual", // a redirect would send the key to any host
                signal: signal ? AbortSignal.any([signal, timer]) : timer,
            });
            const content = await response.text();
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
function feedPath(id) {
    return `/feeds/${encodeURIComponent(id)}`;
}
function errorOfResponse({ status: httpStatus, headers }, content) {
    const retryAfter = Number(/^[0-9]{1,6}$/.exec(headers.get("retry-after") ?? "")) || undefined; // seconds
    try {
        const { error, code, path, retryable, detail } = parseObject(content);
        if (typeof error === "string" && typeof code === "string" && typeof retryable === "boolean") {
            const sentence = detail ? `${error.replace(/\.$/, "")}. ${detail}` : error;
            return new RequestRefusedError(sentence, { code, path: path ?? "", retryable, httpStatus, retryAfter });
        }
    }
    catch { } // not JSON
    const target = headers.get("location"); // of a redirect
    const sentence = target
        ? `The server redirects to ${target}. If you trust that URL, use it as the server.`
        : `The server responded with status ${httpStatus}, but not as Tacitus does.`;
    const retryable = httpStatus === 429 || httpStatus >= 500; // of a proxy in front
    return new UnreadableResponseError(sentence, { retryable, httpStatus, retryAfter });
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
function isOpen({ state }) {
    return ["WAITING", "SENT"].includes(state);
}
/** Throws DeliveryFailedError. */
function hasDelivered({ deliveries, internalId }) {
    const entries = deliveries === undefined ? [] : list(deliveries);
    if (entries.some(isOpen))
        return false;
    const failed = entries.find(({ state }) => state === "FAILED");
    if (!failed)
        return true;
    const sentence = `${failed.function} of ${failed.to} was not delivered: ${failed.error?.message ?? ""}`;
    throw new DeliveryFailedError(sentence, { code: failed.error?.code ?? "delivery_failed", batchId: internalId });
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
