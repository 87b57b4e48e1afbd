"""A source block: its header as it was hashed, where it is accumulated, who asked for it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from queries.models import BlockJob, Query, TransactionOfJob
from queries.proving.header_fields import HeaderField
from queries.proving.headers import Header, decode_header
from queries.proving.registry_calls import leaf_of
from queries.reading.lines import QueryLine, line_of, with_lines
from queries.reading.slices import Cursor, Slice, slice_of

MOST_DESTINATIONS = 100


@dataclass(frozen=True, slots=True)
class FieldView:
    """A header field: its bytes in hex, and the word that a registry would keep of it."""

    name: str
    hex: str
    word: str


@dataclass(frozen=True, slots=True)
class HeaderView:
    """A header as its chain hashed it."""

    hash: str
    parent: str
    timestamp: int
    state_root: str
    leaf: str  # what a registry keeps of it
    fields: tuple[FieldView, ...]


@dataclass(frozen=True, slots=True)
class InRegistry:
    """How far the block is in one destination's registry, by our record."""

    destination: int
    block_hash: str  # empty before the block is final, and where nothing of it was proven
    accumulated: bool
    transaction: str  # which brought it, where it was one of ours
    waits_for: str


@dataclass(frozen=True, slots=True)
class BlockView:
    """All but its queries. A block that nobody asked for has no registries."""

    chain: int
    number: int
    header: HeaderView | None
    registries: tuple[InRegistry, ...]
    is_open: bool = True  # somebody waits for a fact of it, or has just asked for one

    @property
    def parent_number(self) -> int:
        return self.number - 1


def block(chain: int, number: int) -> BlockView:
    """In two statements: its jobs, and the transactions that brought its header."""
    completed = Query.objects.filter(job=OuterRef("pk"), header_accumulated_completed__isnull=False)
    jobs = list(
        BlockJob.objects.filter(source=chain, block=number)
        .annotate(accumulated=Exists(completed))
        .order_by("destination")[:MOST_DESTINATIONS]
    )
    brought = _brought(jobs)
    encoded = next((job.header for job in jobs if job.header), b"")
    return BlockView(
        chain,
        number,
        _header(decode_header(encoded)) if encoded else None,
        tuple(
            InRegistry(
                job.destination,
                f"0x{job.block_hash}" if job.block_hash else "",
                bool(vars(job)["accumulated"]) or job.pk in brought,
                brought.get(job.pk, ""),
                job.waits_for,
            )
            for job in jobs
        ),
        is_open=not jobs or any(job.look_again for job in jobs),
    )


def queries_of_block(chain: int, number: int, cursor: Cursor | None, most: int) -> Slice[QueryLine]:
    rows = Query.objects.filter(source=chain, block=number)
    return slice_of(with_lines(rows), ("id",), cursor, most, line_of)


def _brought(jobs: Iterable[BlockJob]) -> Mapping[int, str]:
    """By job, the hash of the transaction of ours that proved its header."""
    keys = [job.pk for job in jobs]
    if not keys:
        return {}
    rows = TransactionOfJob.objects.filter(
        job__in=keys, proves_header=True, transaction__succeeded=True
    )
    return dict(rows.order_by("-pk").values_list("job", "transaction__mined_hash"))


def _header(header: Header) -> HeaderView:
    return HeaderView(
        hash=f"0x{header.hash.hex()}",
        parent=f"0x{header.parent_hash.hex()}",
        timestamp=header.timestamp,
        state_root=f"0x{header.state_root.hex()}",
        leaf=f"0x{leaf_of(header).hex()}",
        fields=tuple(_field(header, field) for field in HeaderField if header.has(field)),
    )


def _field(header: Header, field: HeaderField) -> FieldView:
    return FieldView(
        field.name, f"0x{header.payload(field).hex()}", f"0x{header.word(field).hex()}"
    )
