"""Submit a batch for a client of an API that has no fees."""

from collections.abc import Mapping

from accounts.http.errors import RefusalError
from accounts.models import ApiKey
from queries.config.chains import Chain
from queries.error_codes import EndpointCode
from queries.intake.submit import submit_batch
from queries.models import Batch
from queries.schema.batch_checks import BatchLimits
from queries.sources import Routes

UNLIMITED_FEE = 2**256 - 1  # wei


def submit_without_fee(
    key: ApiKey, content: Mapping[str, object], chain: Chain, routes: Routes, limits: BatchLimits
) -> Batch:
    """Submit a request without a fee or destination as a batch for `chain`.

    The fee is 0 if the chain is free, and unlimited otherwise. Raises `RefusalError` if the chain
    is not free and has no daily budget.
    """
    if not chain.free and chain.daily_budget is None:
        raise RefusalError(
            EndpointCode.FEE_MISSING,
            f"Proving on {chain.name} costs money, and requests of this form offer no fee. Submit "
            "it to /submit-batch-query, or ask the operator for a daily budget (`daily_budget`).",
            path="destination_chain_id",
        )
    fee = "0" if chain.free else str(UNLIMITED_FEE)
    with_fee = {**content, "destinationChainId": str(chain.id), "fee": fee}
    return submit_batch(key.owner, with_fee, None, routes, limits)
