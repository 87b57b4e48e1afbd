"""What is kept as bytes comes back as bytes, and takes as many, on either database."""

from typing import Any

import pytest
from django.core import serializers
from django.db import connection
from django.utils import timezone

from queries.bytes_field import BytesField
from queries.models import BlockJob, KeptProof, SentTransaction

EVERY = bytes(range(256)) * 300  # long enough to be kept beside its row


@pytest.fixture
def kept() -> dict[type[Any], str]:
    job = BlockJob.objects.create(source=1, destination=1, block=1, header=EVERY)
    KeptProof.objects.create(job=job, call=EVERY)
    SentTransaction.objects.create(
        chain=1, sender="0x", nonce=0, raw=EVERY, max_fee="", gas_limit=0, most="",
        signed=timezone.now(),
    )  # fmt: skip
    return {BlockJob: "header", KeptProof: "call", SentTransaction: "raw"}


@pytest.mark.django_db
def test_bytes_come_back_as_they_were(kept: dict[type[Any], str]) -> None:
    for model, name in kept.items():
        (listed,) = model.objects.values_list(name, flat=True)
        for each in (getattr(model.objects.get(), name), listed):
            assert type(each) is bytes
            assert each == EVERY
        assert model.objects.filter(**{name: EVERY}).exists()
        assert not model.objects.filter(**{name: EVERY[1:]}).exists()


@pytest.mark.django_db
def test_a_byte_takes_a_byte(kept: dict[type[Any], str]) -> None:
    length = "octet_length" if connection.vendor == "postgresql" else "length"
    for model, name in kept.items():
        table = model._meta.db_table
        with connection.cursor() as cursor:
            cursor.execute(f'SELECT {length}("{name}") FROM {table}')  # noqa: S608
            assert cursor.fetchone() == (len(EVERY),)


@pytest.mark.django_db
def test_what_is_written_to_a_file_and_read_again_is_the_same(kept: dict[type[Any], str]) -> None:
    """As `dumpdata` and `loaddata` do."""
    rows = [model.objects.get() for model in kept]
    for row, name in zip(rows, kept.values(), strict=True):
        (again,) = serializers.deserialize("json", serializers.serialize("json", [row]))
        again.save()
        row.refresh_from_db()
        assert getattr(row, name) == EVERY


@pytest.mark.no_database
def test_a_driver_may_give_a_memoryview() -> None:
    given = BytesField().from_db_value(memoryview(b"\x00\xff"))
    assert (type(given), given) == (bytes, b"\x00\xff")
    assert BytesField().from_db_value(None) is None
