"""Whether proof files that are missing, not whole or of other blocks are found."""

import json

import pytest

from tests.chaos.proof_checks import of_proof, of_proofs
from tests.chaos.run import Ended
from tests.chaos.tampering import changed

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("chaos")]


def test_a_proof_of_another_batch_is_found(ended: Ended) -> None:
    look = ended.look()
    it = look.done[0]
    headers = {"api-key": look.scene.owners[it.owner].api_key}
    page = look.scene.page(f"/batch-queries/{it.id}/proof", **headers)
    assert not list(of_proof(look, it, page.text))
    other = next(each for each in look.done if set(look.facts_of(each)) - set(look.facts_of(it)))
    assert any("and proven as None" in each.what for each in of_proof(look, other, page.text))


def test_a_changed_proof_is_found(ended: Ended) -> None:
    look = ended.look()
    it = look.done[0]
    headers = {"api-key": look.scene.owners[it.owner].api_key}
    page = look.scene.page(f"/batch-queries/{it.id}/proof", **headers)
    bundle = json.loads(page.text)
    bundle["blocks"][0]["facts"][0]["word"] = f"0x{7:064x}"
    found = [each.what for each in of_proof(look, it, json.dumps(bundle))]
    assert any("is refused" in each for each in found)


def test_a_batch_without_a_proof_is_found(ended: Ended) -> None:
    it = ended.look().done[0]
    look = ended.look()
    assert look.done[0].id == it.id
    with changed(ended, "batch", it.id, "status", "REJECTED"):
        assert any(f"of {it.id} there is none" in each.what for each in of_proofs(look))
