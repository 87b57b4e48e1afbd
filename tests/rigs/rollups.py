"""The contracts of rollups on their L1, and the claims about blocks that they accept."""

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from tests.rigs.anvil import Chain, call_data

SUPER_CANNON_KONA, AGGREGATE_VERIFIER = 9, 621  # types of games
DELAY = 3600  # seconds until a game that is won counts
MESSAGE_PASSER = "0x4200000000000000000000000000000000000016"
SEND_ROOT = bytes(32)  # the extra data of a local node's headers, as of a chain without messages


class DisputeGames:
    """The portal and the dispute games of an OP-stack chain on its L1."""

    def __init__(self, l2: Chain, l1: Chain) -> None:
        self.l2, self.l1 = l2, l1
        self.address = self.registry = self._deploy()
        l2.set_slot(MESSAGE_PASSER, 0, 1)

    def _deploy(self) -> str:
        """Deploy the contracts of a chain; games of this second are retired."""
        address = self.l1.deploy("DisputeGamesStandIn", ["uint256"], [self.l2.id])
        self.l1.send(address, call_data("setDelay(uint256)", DELAY))
        self.l1.reach_time(self.time + 1)
        return address

    def migrate(self, shared: str = "") -> str:
        """Have the portal share games with other chains: of this contract, or of a new one. Return
        its address.
        """
        self.registry = shared or self._deploy()
        call = call_data("migrateToSharedDisputeGame(address,address)", self.address, self.registry)
        self.l1.send(self.address, call)
        return self.registry

    def output(self, block: int) -> bytes:
        """The hash of the block's output."""
        header = self.l2.header(block)
        passer = self.l2.rpc("eth_getProof", MESSAGE_PASSER, [], hex(block))["storageHash"]
        words = (header["stateRoot"], passer, header["hash"])
        return keccak(bytes(32) + b"".join(bytes.fromhex(word[2:]) for word in words))

    def propose(self, block: int) -> str:
        """Start a dispute game for this block; return its address."""
        return self.start_game(self.output(block), block.to_bytes(32))

    def propose_super_root(self, time: int, outputs: list[tuple[int, bytes]]) -> str:
        """Start one about the outputs of these chains at this time."""
        entries = b"".join(chain.to_bytes(32) + output for chain, output in outputs)
        super_root = b"\1" + time.to_bytes(8) + entries
        return self.start_game(keccak(super_root), super_root, SUPER_CANNON_KONA)

    def propose_segment(self, first: int, last: int) -> str:
        """Start one as Base does: about the last block, with an output for each ten before it."""
        outputs = [self.output(block) for block in range(first + 10, last + 1, 10)]
        extra = last.to_bytes(32) + bytes(20) + b"".join(outputs)
        return self.start_game(outputs[-1], extra, AGGREGATE_VERIFIER)

    def start_game(
        self, claim: bytes, extra: bytes, game_type: int = 0, *, respected: bool = True
    ) -> str:
        self.send("setRespectedGameType(uint32)", game_type if respected else game_type + 1)
        count = int.from_bytes(self.l1.call(self.registry, "gameCount()"))
        self.send("propose(uint32,bytes32,bytes)", game_type, claim, extra)
        return to_checksum_address(self.l1.call(self.registry, "games(uint256)", count)[12:])

    def resolve(self, game: str, *, valid: bool = True) -> None:
        """End the game; if it is won, let its delay pass."""
        self.send("settle(address,bool)", game, valid)
        if valid:
            delay = int.from_bytes(self.l1.call(self.registry, "disputeGameFinalityDelaySeconds()"))
            self.l1.reach_time(self.time + delay + 1)

    def set_expected_resolution(self, game: str, time: int) -> None:
        """Make it a game of Base, which says when its proofs let it end."""
        self.l1.send(game, call_data("setExpectedResolution(uint64)", time))

    @property
    def time(self) -> int:
        """The time of the L1."""
        return int(self.l1.header("latest")["timestamp"], 16)

    def send(self, signature: str, *values: object) -> None:
        """Call a function of the AnchorStateRegistry or the factory."""
        self.l1.send(self.registry, call_data(signature, *values))


class Assertions:
    """The rollup and outbox of an Arbitrum chain on its L1."""

    def __init__(self, l2: Chain, l1: Chain) -> None:
        self.l2, self.l1 = l2, l1
        self.address = l1.deploy("RollupStandIn", ["uint256"], [l2.id])
        self.set_confirm_period(1_000_000)
        l1.mine(20)  # their pace tells how long that is

    def set_confirm_period(self, blocks: int) -> None:
        self.l1.send(self.address, call_data("setConfirmPeriod(uint64)", blocks))

    def create(self, block: int, send_root: bytes = SEND_ROOT) -> None:
        """Make an assertion about the block."""
        self._send("create", block, send_root)

    def confirm(self, block: int, send_root: bytes = SEND_ROOT) -> None:
        self._send("confirm", block, send_root)

    def _send(self, name: str, block: int, send_root: bytes) -> None:
        block_hash = bytes.fromhex(self.l2.header(block)["hash"][2:])
        self.l1.send(self.address, call_data(f"{name}(bytes32,bytes32)", send_root, block_hash))
