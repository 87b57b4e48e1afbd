"""Before a batch is rejected for what nodes say, each of them was asked first, and two answer.

Much of what they say nothing can check, and one that stands first would end every batch. So a look
that would reject counts as a failure, and after each failure another node of each chain is asked
first: by the number of the failure, because the next look may be another worker's. What counts is
how many of one kind come in a row, so what failed otherwise before is none of them.
"""

from collections.abc import Collection
from random import SystemRandom

from queries.pipeline.chains import Chains
from queries.wait_reasons import Reason, WaitCode

COUNTED_UP_TO = 7  # failures; where nodes were away for long, they are counted no further
# With one node that answers, where there are more: some four minutes.
LOOKS_WITH_ONE = 10
HEARD_AGAIN = Reason(
    WaitCode.OTHER_NODES_ASKED, "What a node says would end this; the others are asked as well."
)


_random = SystemRandom()


def turn_after(failures: int) -> int:
    """Whose turn it is to be asked first: each one's, and then anyone's. After the first one too:
    a node that says now this and now that would else begin anew and be the next one every time.
    """
    return failures if 1 < failures <= COUNTED_UP_TO else _random.randrange(2**16)


def is_heard_from_all(chains: Chains, looks: int, asked: Collection[int]) -> bool:
    """`looks`: how many of one kind came in a row, at these chains. The first two began with any
    node, and each after these with the next one.
    """
    listed = [chains.routes.chains[each] for each in asked if each in chains.routes.chains]
    most = max((len(each.nodes) for each in listed), default=1)
    if most == 1:
        return True
    if looks <= most + 1:
        return False
    return looks >= LOOKS_WITH_ONE or all(chains.source(each.id).two_answer() for each in listed)
