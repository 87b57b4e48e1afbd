"""What no row can be called, sent to the operator's pages: nothing there, or a refused form."""

import pytest
from django.conf import LazySettings

from accounts.models import Account
from tests.accounts.test_operators import wallet_operator

pytestmark = pytest.mark.django_db
BEYOND_A_COLUMN = str(2**63)


@pytest.mark.parametrize("place", ["", "change/", "history/", "delete/"])
@pytest.mark.parametrize("list_of", ["account", "apikey"])
def test_no_row_has_a_nul_in_its_name(settings: LazySettings, list_of: str, place: str) -> None:
    client = wallet_operator(settings).client
    assert client.get(f"/admin/accounts/{list_of}/%00/{place}").status_code == 404


@pytest.mark.parametrize(
    ("list_of", "action", "row"),
    [
        ("account", "disable", BEYOND_A_COLUMN),
        ("account", "disable", f"-{BEYOND_A_COLUMN}1"),
        ("account", "disable", "\0"),
        ("account", "disable", "somebody"),
        ("apikey", "revoke", "\0"),
    ],
)
def test_a_form_that_chooses_what_cannot_be_is_refused(
    settings: LazySettings, list_of: str, action: str, row: str
) -> None:
    operator = wallet_operator(settings)
    own = Account.objects.get()
    chosen = [own.pk if list_of == "account" else own.keys.get().pk, row]
    form = {
        "action": action,
        "_selected_action": chosen,
        "csrfmiddlewaretoken": operator.client.cookies["visit"].value,
    }
    browser = {"Accept": "text/html"}
    answer = operator.client.post(f"/admin/accounts/{list_of}/", form, headers=browser)
    assert answer.status_code == 400
    assert "Nothing was changed." in answer.text
    assert own.keys.get().revoked is None


@pytest.mark.parametrize(
    "asked",
    [
        f"account/?id__in={BEYOND_A_COLUMN}",
        f"account/?chain_id__in={BEYOND_A_COLUMN}",
        "account/?created__year=99999999",
        "account/?address__regex=(",
        "account/?address__in=%00",
        "account/?password__startswith=pbkdf2",
        f"apikey/?owner__id__in={BEYOND_A_COLUMN}",
        "apikey/?id__in=%00",
        "apikey/?digest__gt=%00",
    ],
)
def test_a_list_is_filtered_by_what_it_offers_alone(settings: LazySettings, asked: str) -> None:
    """Or it would tell of a column that no page shows, by which rows are left."""
    client = wallet_operator(settings).client
    assert client.get(f"/admin/accounts/{asked}").status_code == 400


@pytest.mark.parametrize(
    "asked",
    ["account/?is_active__exact=1", "apikey/?state=working", "apikey/?q=%00", "account/?o=-1&p=1"],
)
def test_what_a_list_offers_is_taken(settings: LazySettings, asked: str) -> None:
    client = wallet_operator(settings).client
    assert client.get(f"/admin/accounts/{asked}").status_code == 200
