export const version = "0.1.0" as const;

export const accountFields = {
  "NONCE": 0,
  "BALANCE": 1,
  "STORAGE_ROOT": 2,
  "CODE_HASH": 3
} as const;

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
} as const;

export const factsRegistryAbi = [
  {"inputs":[{"name":"account","type":"address"},{"name":"blockNumber","type":"uint256"}],"name":"AccountContradicted","type":"error"},
  {"inputs":[{"name":"account","type":"address"},{"name":"blockNumber","type":"uint256"},{"name":"field","type":"uint8"}],"name":"AccountFieldNotProven","type":"error"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"blockHash","type":"bytes32"}],"name":"AnotherBlockAccumulated","type":"error"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"timestamp","type":"uint256"}],"name":"BeyondHorizon","type":"error"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"blockHash","type":"bytes32"},{"name":"stateRoot","type":"bytes32"}],"name":"BlockNotAccumulated","type":"error"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"blockHash","type":"bytes32"}],"name":"BlockNotKnown","type":"error"},
  {"inputs":[{"name":"depth","type":"uint256"},{"name":"last","type":"uint256"}],"name":"ChainWithoutNodes","type":"error"},
  {"inputs":[],"name":"EvidenceMalformed","type":"error"},
  {"inputs":[{"name":"key","type":"bytes32"}],"name":"FactContradicted","type":"error"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"field","type":"uint8"}],"name":"HeaderFieldNotProven","type":"error"},
  {"inputs":[{"name":"position","type":"uint256"}],"name":"HeaderMalformed","type":"error"},
  {"inputs":[{"name":"blockNumber","type":"uint256"}],"name":"HopMalformed","type":"error"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"slot","type":"uint256"}],"name":"HopToNothing","type":"error"},
  {"inputs":[{"name":"index","type":"uint256"}],"name":"KeyNotAbsent","type":"error"},
  {"inputs":[{"name":"index","type":"uint256"}],"name":"KeysNotAscending","type":"error"},
  {"inputs":[{"name":"position","type":"uint256"}],"name":"NoHeader","type":"error"},
  {"inputs":[{"name":"blockNumber","type":"uint256"}],"name":"NoParentProvided","type":"error"},
  {"inputs":[{"name":"index","type":"uint256"}],"name":"NoSuchKey","type":"error"},
  {"inputs":[{"name":"first","type":"uint256"},{"name":"end","type":"uint256"}],"name":"NotAlone","type":"error"},
  {"inputs":[{"name":"position","type":"uint256"}],"name":"NotEmbedded","type":"error"},
  {"inputs":[{"name":"position","type":"uint256"},{"name":"length","type":"uint256"}],"name":"NumberTooLong","type":"error"},
  {"inputs":[{"name":"depth","type":"uint256"}],"name":"PathMissing","type":"error"},
  {"inputs":[{"name":"depth","type":"uint256"},{"name":"nibbles","type":"uint256"}],"name":"PathTooLong","type":"error"},
  {"inputs":[{"name":"end","type":"uint256"},{"name":"expected","type":"uint256"}],"name":"ProofEndMismatch","type":"error"},
  {"inputs":[{"name":"blockNumber","type":"uint256"}],"name":"StateNotContradicted","type":"error"},
  {"inputs":[{"name":"account","type":"address"},{"name":"blockNumber","type":"uint256"},{"name":"slot","type":"bytes32"}],"name":"StorageSlotNotProven","type":"error"},
  {"inputs":[{"name":"timestamp","type":"uint256"}],"name":"TimestampNotProven","type":"error"},
  {"inputs":[{"name":"timestamp","type":"uint256"},{"name":"from","type":"uint256"},{"name":"to","type":"uint256"}],"name":"TimestampOutside","type":"error"},
  {"inputs":[{"name":"most","type":"uint256"}],"name":"TooManyLevels","type":"error"},
  {"inputs":[{"name":"kind","type":"uint256"},{"name":"position","type":"uint256"}],"name":"UnknownNode","type":"error"},
  {"inputs":[{"name":"kind","type":"uint256"},{"name":"position","type":"uint256"}],"name":"UnknownSection","type":"error"},
  {"anonymous":false,"inputs":[{"indexed":true,"name":"account","type":"address"},{"indexed":true,"name":"blockNumber","type":"uint256"},{"indexed":false,"name":"fields","type":"uint8"}],"name":"AccountProven","type":"event"},
  {"anonymous":false,"inputs":[{"indexed":true,"name":"blockNumber","type":"uint256"},{"indexed":false,"name":"blockHash","type":"bytes32"}],"name":"HeaderAccumulated","type":"event"},
  {"anonymous":false,"inputs":[{"indexed":true,"name":"blockNumber","type":"uint256"},{"indexed":true,"name":"field","type":"uint8"},{"indexed":false,"name":"value","type":"bytes32"}],"name":"HeaderFieldProven","type":"event"},
  {"anonymous":false,"inputs":[{"indexed":true,"name":"blockNumber","type":"uint256"},{"indexed":false,"name":"timestamp","type":"uint256"}],"name":"HorizonLowered","type":"event"},
  {"anonymous":false,"inputs":[{"indexed":true,"name":"account","type":"address"},{"indexed":true,"name":"blockNumber","type":"uint256"},{"indexed":false,"name":"slot","type":"bytes32"},{"indexed":false,"name":"value","type":"bytes32"}],"name":"SlotProven","type":"event"},
  {"anonymous":false,"inputs":[{"indexed":true,"name":"timestamp","type":"uint256"},{"indexed":true,"name":"blockNumber","type":"uint256"}],"name":"TimestampProven","type":"event"},
  {"inputs":[],"name":"HORIZON","outputs":[{"name":"","type":"uint256"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"account","type":"address"},{"name":"blockNumber","type":"uint256"},{"name":"field","type":"uint8"}],"name":"accountField","outputs":[{"name":"value","type":"bytes32"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"account","type":"address"},{"name":"blockNumber","type":"uint256"},{"name":"slot","type":"bytes32"}],"name":"accountStorageSlotValues","outputs":[{"name":"value","type":"bytes32"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"blockNumber","type":"uint256"}],"name":"accumulated","outputs":[{"name":"","type":"bytes32"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"timestamp","type":"uint256"}],"name":"blockNumberAt","outputs":[{"name":"blockNumber","type":"uint256"}],"stateMutability":"view","type":"function"},
  {"inputs":[],"name":"describe","outputs":[{"name":"","type":"bytes32"},{"name":"","type":"uint256"},{"name":"","type":"bytes32"},{"name":"","type":"uint256"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"field","type":"uint8"}],"name":"headerField","outputs":[{"name":"value","type":"bytes32"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"section","type":"bytes"}],"name":"lowerHorizon","outputs":[],"stateMutability":"nonpayable","type":"function"},
  {"inputs":[{"name":"calls","type":"bytes[]"}],"name":"multicall","outputs":[{"name":"results","type":"bytes[]"}],"stateMutability":"nonpayable","type":"function"},
  {"inputs":[],"name":"prove","outputs":[],"stateMutability":"nonpayable","type":"function"},
  {"inputs":[],"name":"stateHorizon","outputs":[{"name":"","type":"uint256"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"account","type":"address"},{"name":"blockNumber","type":"uint256"},{"name":"field","type":"uint8"}],"name":"tryAccountField","outputs":[{"name":"proven","type":"bool"},{"name":"value","type":"bytes32"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"account","type":"address"},{"name":"blockNumber","type":"uint256"},{"name":"slot","type":"bytes32"}],"name":"tryAccountStorageSlotValues","outputs":[{"name":"proven","type":"bool"},{"name":"value","type":"bytes32"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"timestamp","type":"uint256"}],"name":"tryBlockNumberAt","outputs":[{"name":"proven","type":"bool"},{"name":"blockNumber","type":"uint256"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"field","type":"uint8"}],"name":"tryHeaderField","outputs":[{"name":"proven","type":"bool"},{"name":"value","type":"bytes32"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"proof","type":"bytes"}],"name":"verify","outputs":[{"components":[{"components":[{"name":"account","type":"address"},{"name":"blockNumber","type":"uint256"},{"name":"nonce","type":"uint64"},{"name":"balance","type":"uint256"},{"name":"storageRoot","type":"bytes32"},{"name":"codeHash","type":"bytes32"}],"name":"accounts","type":"tuple[]"},{"components":[{"name":"account","type":"address"},{"name":"blockNumber","type":"uint256"},{"name":"slot","type":"bytes32"},{"name":"value","type":"bytes32"}],"name":"slots","type":"tuple[]"},{"components":[{"name":"blockNumber","type":"uint256"},{"name":"field","type":"uint8"},{"name":"value","type":"bytes32"}],"name":"headerFields","type":"tuple[]"},{"components":[{"name":"timestamp","type":"uint256"},{"name":"blockNumber","type":"uint256"}],"name":"timestamps","type":"tuple[]"}],"name":"","type":"tuple"}],"stateMutability":"view","type":"function"},
] as const;

export const eventsVerifierAbi = [
  {"inputs":[{"name":"registry","type":"address"}],"stateMutability":"nonpayable","type":"constructor"},
  {"inputs":[],"name":"CountsMismatch","type":"error"},
  {"inputs":[{"name":"key","type":"bytes32"}],"name":"FactContradicted","type":"error"},
  {"inputs":[{"name":"field","type":"uint256"}],"name":"FieldMismatch","type":"error"},
  {"inputs":[{"name":"groups","type":"uint256"},{"name":"fields","type":"uint256"}],"name":"GroupsMismatch","type":"error"},
  {"inputs":[{"name":"index","type":"uint256"}],"name":"IndexNotAbsent","type":"error"},
  {"inputs":[{"name":"index","type":"uint256"}],"name":"IndexesNotAscending","type":"error"},
  {"inputs":[{"name":"index","type":"uint256"},{"name":"logIndex","type":"uint256"}],"name":"LogNotAbsent","type":"error"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"transactionIndex","type":"uint256"},{"name":"logIndex","type":"uint256"}],"name":"LogNotProven","type":"error"},
  {"inputs":[{"name":"registry","type":"address"}],"name":"NoContract","type":"error"},
  {"inputs":[{"name":"position","type":"uint256"}],"name":"NoSuchKey","type":"error"},
  {"inputs":[{"name":"position","type":"uint256"}],"name":"NotEmbedded","type":"error"},
  {"inputs":[{"name":"item","type":"bytes32"}],"name":"NotSilent","type":"error"},
  {"inputs":[{"name":"position","type":"uint256"},{"name":"length","type":"uint256"}],"name":"NumberTooLong","type":"error"},
  {"inputs":[{"name":"depth","type":"uint256"},{"name":"nibbles","type":"uint256"}],"name":"PathTooLong","type":"error"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"transactionIndex","type":"uint256"}],"name":"ReceiptNotProven","type":"error"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"field","type":"uint256"},{"name":"root","type":"bytes32"}],"name":"RootMismatch","type":"error"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"transactionIndex","type":"uint256"}],"name":"TransactionNotProven","type":"error"},
  {"inputs":[{"name":"index","type":"uint256"},{"name":"transactionType","type":"uint256"}],"name":"TransactionTypeUnknown","type":"error"},
  {"inputs":[{"name":"kind","type":"uint256"},{"name":"position","type":"uint256"}],"name":"UnknownNode","type":"error"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"position","type":"uint256"}],"name":"WithdrawalNotProven","type":"error"},
  {"inputs":[{"name":"end","type":"uint256"},{"name":"expected","type":"uint256"}],"name":"WitnessEndMismatch","type":"error"},
  {"anonymous":false,"inputs":[{"indexed":true,"name":"blockNumber","type":"uint256"},{"indexed":true,"name":"item","type":"bytes32"},{"indexed":false,"name":"isTopic","type":"bool"}],"name":"BlockSilent","type":"event"},
  {"anonymous":false,"inputs":[{"indexed":true,"name":"blockNumber","type":"uint256"},{"indexed":true,"name":"field","type":"uint8"},{"indexed":false,"name":"index","type":"uint256"}],"name":"IndexAbsent","type":"event"},
  {"anonymous":false,"inputs":[{"indexed":true,"name":"blockNumber","type":"uint256"},{"indexed":true,"name":"transactionIndex","type":"uint256"},{"indexed":true,"name":"emitter","type":"address"},{"indexed":false,"name":"topicMask","type":"uint8"},{"indexed":false,"name":"topics","type":"bytes32[]"}],"name":"LogAbsent","type":"event"},
  {"anonymous":false,"inputs":[{"indexed":true,"name":"blockNumber","type":"uint256"},{"indexed":true,"name":"transactionIndex","type":"uint256"},{"indexed":true,"name":"emitter","type":"address"},{"indexed":false,"name":"logIndex","type":"uint256"},{"indexed":false,"name":"logHash","type":"bytes32"}],"name":"LogProven","type":"event"},
  {"anonymous":false,"inputs":[{"indexed":true,"name":"blockNumber","type":"uint256"},{"indexed":true,"name":"transactionIndex","type":"uint256"},{"indexed":false,"name":"status","type":"uint8"},{"indexed":false,"name":"transactionType","type":"uint8"},{"indexed":false,"name":"cumulativeGasUsed","type":"uint64"},{"indexed":false,"name":"logCount","type":"uint16"}],"name":"ReceiptProven","type":"event"},
  {"anonymous":false,"inputs":[{"indexed":true,"name":"blockNumber","type":"uint256"},{"indexed":true,"name":"transactionIndex","type":"uint256"},{"indexed":true,"name":"transactionHash","type":"bytes32"},{"indexed":false,"name":"transactionType","type":"uint8"}],"name":"TransactionProven","type":"event"},
  {"anonymous":false,"inputs":[{"indexed":true,"name":"blockNumber","type":"uint256"},{"indexed":true,"name":"position","type":"uint256"},{"indexed":true,"name":"recipient","type":"address"},{"indexed":false,"name":"withdrawalIndex","type":"uint64"},{"indexed":false,"name":"validatorIndex","type":"uint64"},{"indexed":false,"name":"amount","type":"uint64"}],"name":"WithdrawalProven","type":"event"},
  {"inputs":[],"name":"REGISTRY","outputs":[{"name":"","type":"address"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"isTopic","type":"bool"},{"name":"item","type":"bytes32"}],"name":"isBlockSilent","outputs":[{"name":"silent","type":"bool"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"field","type":"uint8"},{"name":"index","type":"uint256"}],"name":"isIndexAbsent","outputs":[{"name":"absent","type":"bool"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"transactionIndex","type":"uint256"},{"name":"logIndex","type":"uint256"},{"name":"emitter","type":"address"},{"name":"topics","type":"bytes32[]"},{"name":"data","type":"bytes"}],"name":"isLog","outputs":[{"name":"proven","type":"bool"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"transactionIndex","type":"uint256"},{"name":"emitter","type":"address"},{"name":"topicMask","type":"uint8"},{"name":"topics","type":"bytes32[]"}],"name":"isLogAbsent","outputs":[{"name":"absent","type":"bool"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"transactionIndex","type":"uint256"},{"name":"logIndex","type":"uint256"}],"name":"logHash","outputs":[{"name":"hash","type":"bytes32"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"section","type":"bytes"},{"name":"witness","type":"bytes"}],"name":"prove","outputs":[],"stateMutability":"nonpayable","type":"function"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"transactionIndex","type":"uint256"}],"name":"receiptOf","outputs":[{"components":[{"name":"blockNumber","type":"uint256"},{"name":"transactionIndex","type":"uint256"},{"name":"status","type":"uint8"},{"name":"transactionType","type":"uint8"},{"name":"cumulativeGasUsed","type":"uint64"},{"name":"logCount","type":"uint16"}],"name":"receipt","type":"tuple"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"transactionIndex","type":"uint256"}],"name":"transactionHash","outputs":[{"name":"hash","type":"bytes32"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"transactionIndex","type":"uint256"},{"name":"logIndex","type":"uint256"}],"name":"tryLogHash","outputs":[{"name":"proven","type":"bool"},{"name":"hash","type":"bytes32"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"transactionIndex","type":"uint256"}],"name":"tryReceiptOf","outputs":[{"name":"proven","type":"bool"},{"components":[{"name":"blockNumber","type":"uint256"},{"name":"transactionIndex","type":"uint256"},{"name":"status","type":"uint8"},{"name":"transactionType","type":"uint8"},{"name":"cumulativeGasUsed","type":"uint64"},{"name":"logCount","type":"uint16"}],"name":"receipt","type":"tuple"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"transactionIndex","type":"uint256"}],"name":"tryTransactionHash","outputs":[{"name":"proven","type":"bool"},{"name":"hash","type":"bytes32"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"position","type":"uint256"}],"name":"tryWithdrawalOf","outputs":[{"name":"proven","type":"bool"},{"components":[{"name":"blockNumber","type":"uint256"},{"name":"position","type":"uint256"},{"name":"withdrawalIndex","type":"uint64"},{"name":"validatorIndex","type":"uint64"},{"name":"recipient","type":"address"},{"name":"amount","type":"uint64"}],"name":"withdrawal","type":"tuple"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"section","type":"bytes"},{"name":"witness","type":"bytes"}],"name":"verify","outputs":[{"components":[{"components":[{"name":"blockNumber","type":"uint256"},{"name":"transactionIndex","type":"uint256"},{"name":"logIndex","type":"uint256"},{"name":"emitter","type":"address"},{"name":"topics","type":"bytes32[]"},{"name":"data","type":"bytes"},{"name":"logHash","type":"bytes32"}],"name":"logs","type":"tuple[]"},{"components":[{"name":"blockNumber","type":"uint256"},{"name":"transactionIndex","type":"uint256"},{"name":"status","type":"uint8"},{"name":"transactionType","type":"uint8"},{"name":"cumulativeGasUsed","type":"uint64"},{"name":"logCount","type":"uint16"}],"name":"receipts","type":"tuple[]"},{"components":[{"name":"blockNumber","type":"uint256"},{"name":"transactionIndex","type":"uint256"},{"name":"transactionType","type":"uint8"},{"name":"transactionHash","type":"bytes32"}],"name":"transactions","type":"tuple[]"},{"components":[{"name":"blockNumber","type":"uint256"},{"name":"position","type":"uint256"},{"name":"withdrawalIndex","type":"uint64"},{"name":"validatorIndex","type":"uint64"},{"name":"recipient","type":"address"},{"name":"amount","type":"uint64"}],"name":"withdrawals","type":"tuple[]"},{"components":[{"name":"blockNumber","type":"uint256"},{"name":"field","type":"uint8"},{"name":"index","type":"uint256"}],"name":"absentIndexes","type":"tuple[]"},{"components":[{"name":"blockNumber","type":"uint256"},{"name":"transactionIndex","type":"uint256"},{"name":"emitter","type":"address"},{"name":"topicMask","type":"uint8"},{"name":"topics","type":"bytes32[]"}],"name":"absentLogs","type":"tuple[]"},{"components":[{"name":"blockNumber","type":"uint256"},{"name":"isTopic","type":"bool"},{"name":"item","type":"bytes32"}],"name":"silentBlocks","type":"tuple[]"}],"name":"","type":"tuple"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"position","type":"uint256"}],"name":"withdrawalOf","outputs":[{"components":[{"name":"blockNumber","type":"uint256"},{"name":"position","type":"uint256"},{"name":"withdrawalIndex","type":"uint64"},{"name":"validatorIndex","type":"uint64"},{"name":"recipient","type":"address"},{"name":"amount","type":"uint64"}],"name":"withdrawal","type":"tuple"}],"stateMutability":"view","type":"function"},
] as const;

export const factsLookupAbi = [
  {"inputs":[{"name":"registry","type":"address"},{"name":"verifier","type":"address"},{"name":"urls_","type":"string[]"}],"stateMutability":"nonpayable","type":"constructor"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"age","type":"uint256"}],"name":"BlockTooOld","type":"error"},
  {"inputs":[{"name":"target","type":"address"},{"name":"reason","type":"bytes"}],"name":"CallReverted","type":"error"},
  {"inputs":[],"name":"FactMismatch","type":"error"},
  {"inputs":[{"name":"field","type":"uint8"}],"name":"FieldUnknown","type":"error"},
  {"inputs":[{"name":"kind","type":"uint8"}],"name":"KindUnknown","type":"error"},
  {"inputs":[{"name":"registry","type":"address"}],"name":"NoContract","type":"error"},
  {"inputs":[],"name":"NoVerifier","type":"error"},
  {"inputs":[{"name":"sender","type":"address"},{"name":"urls","type":"string[]"},{"name":"callData","type":"bytes"},{"name":"callbackFunction","type":"bytes4"},{"name":"extraData","type":"bytes"}],"name":"OffchainLookup","type":"error"},
  {"inputs":[{"name":"verifier","type":"address"}],"name":"RegistryMismatch","type":"error"},
  {"inputs":[],"name":"REGISTRY","outputs":[{"name":"","type":"address"}],"stateMutability":"view","type":"function"},
  {"inputs":[],"name":"VERIFIER","outputs":[{"name":"","type":"address"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"response","type":"bytes"},{"name":"extraData","type":"bytes"}],"name":"onProof","outputs":[{"name":"value","type":"bytes32"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"response","type":"bytes"},{"name":"extraData","type":"bytes"}],"name":"onRecentProof","outputs":[{"name":"value","type":"bytes32"},{"name":"blockNumber","type":"uint256"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"account","type":"address"},{"name":"blockNumber","type":"uint256"},{"name":"field","type":"uint8"},{"name":"gateways","type":"string[]"}],"name":"read","outputs":[{"name":"","type":"bytes32"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"field","type":"uint8"},{"name":"gateways","type":"string[]"}],"name":"readHeader","outputs":[{"name":"","type":"bytes32"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"field","type":"uint8"},{"name":"maxAge","type":"uint256"},{"name":"gateways","type":"string[]"}],"name":"readHeaderRecent","outputs":[{"name":"","type":"bytes32"},{"name":"","type":"uint256"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"blockNumber","type":"uint256"},{"name":"transactionIndex","type":"uint256"},{"name":"logIndex","type":"uint256"},{"name":"gateways","type":"string[]"}],"name":"readLog","outputs":[{"name":"","type":"bytes32"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"account","type":"address"},{"name":"field","type":"uint8"},{"name":"maxAge","type":"uint256"},{"name":"gateways","type":"string[]"}],"name":"readRecent","outputs":[{"name":"","type":"bytes32"},{"name":"","type":"uint256"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"account","type":"address"},{"name":"blockNumber","type":"uint256"},{"name":"slot","type":"bytes32"},{"name":"gateways","type":"string[]"}],"name":"readSlot","outputs":[{"name":"","type":"bytes32"}],"stateMutability":"view","type":"function"},
  {"inputs":[{"name":"account","type":"address"},{"name":"slot","type":"bytes32"},{"name":"maxAge","type":"uint256"},{"name":"gateways","type":"string[]"}],"name":"readSlotRecent","outputs":[{"name":"","type":"bytes32"},{"name":"","type":"uint256"}],"stateMutability":"view","type":"function"},
  {"inputs":[],"name":"urls","outputs":[{"name":"","type":"string[]"}],"stateMutability":"view","type":"function"},
] as const;

export const registryContracts = {
  "native": "NativeRegistry",
  "optimism": "OptimismRegistry",
  "output": "OutputRegistry",
  "arbitrum": "ArbitrumRegistry",
  "beacon": "BeaconRegistry",
  "attested": "AttestedRegistry"
} as const;

export const codeHashes = {
  "NativeRegistry": "0x1b34d37b5c7469e5d63f5274f069cfd0d173d66306d34cb4c1aea36ce628bf8f",
  "OptimismRegistry": "0x78de8e6e759ff91f89fdd58072bf39dc42d6b10c7dda19db3646d041e1642309",
  "OutputRegistry": "0x651a862b6dac57998d97361c8fbcc88c90a114a33c731b4713986843e5647d04",
  "ArbitrumRegistry": "0xe6914700e87487b9245fe94c3cb080e119332159786590fcc6bb93cf48ea6c9c",
  "BeaconRegistry": "0x01ff1f6a227c8d31c6b6ec8523318f75e8ad9318150b4a3144a4763e65d861f1",
  "AttestedRegistry": "0x76704111952143ac3ec71b1594806edecf00a3674b023c931ce574400f0496e1",
  "EventsVerifier": "0x95c30a03e8b68d30920173b46d11ff711864b27499d0b6873fa5234d0e0de1b4",
  "FactsLookup": "0x3b555f3db9229413fc2e17ce2363768e54a4ff3e9506a9b73ae6822b43564630"
} as const;

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
} as const;

export const maxCommitteeAge = 604800 as const;

export const create2Prefix = "0xff4e59b44847b379578588920ca78fbf26c0b4956c5461636974757320726567697374727900000000000000000000000000000000" as const;
