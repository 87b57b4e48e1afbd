"""A short form of each row of the bench: that it runs, and that its figures can be true.

How fast anything is says more of the machine on which tests run beside each other than of the code.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from ulid import ULID

from accounts.models import Account
from accounts.wallets import Wallet
from explorer.bench.held_back import hold_back, let_go
from explorer.bench.measures import NAMES
from explorer.bench.rows import Row
from explorer.bench.scratch import OWNER
from explorer.bench.status_growth import polled
from explorer.bench.table import as_object, lines, missed
from queries.management.many_queries import fill
from queries.models import Batch
from queries.pipeline.leases import claim_batch
from queries.statuses import BatchStatus
from tests.commands import Manage, clean_environment

POLLING = ("--few-queries=1000", "--many-queries=2000", "--seconds=0.2", "--turns=1")
CHAIN = ("--accounts=12", "--waited-for=2", "--batches=12", "--blocks=3")
SHORT = (
    *POLLING, *CHAIN, "--submissions=2", "--latencies=1", "--slow-latencies=1",
    "--memory-batches=10",
)  # fmt: skip
NPM_PINS = ("package.json", "package-lock.json")
MEMBERS = {"name", "ours", "reference", "ratio", "unit", "what", "target", "remarks"}


def bench(repository: Path, folder: Path, *rows: str, **variables: str) -> dict[str, Any]:
    """The rows by their names, on a database beside the one of these tests."""
    if connection.vendor == "postgresql":
        variables |= {"DATABASE_URL": os.environ["DATABASE_URL"]}
    ended = subprocess.run(
        [sys.executable, "manage.py", "bench", *rows, "--json", *SHORT],
        cwd=repository,
        env=clean_environment(folder, **variables),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.stdout, ended.stderr
    told = json.loads(ended.stdout)
    assert [each["name"] for each in told] == list(rows), ended.stderr
    assert (ended.returncode, _last_line(ended.stderr)) == _end_of(told)
    for each in told:
        assert set(each) == MEMBERS
        assert each["ours"] > 0
        assert each["ratio"] == pytest.approx(each["ours"] / each["reference"])
    return {each["name"]: each for each in told}


def _end_of(told: list[dict[str, Any]]) -> tuple[int, str]:
    """In so short a form a target may be met or not; whichever it is, is to be said."""
    missed = [each["name"] for each in told if (each["target"] or "").endswith("not met")]
    return (1, f"The target is not met: {', '.join(missed)}.") if missed else (0, "")


def _last_line(said: str) -> str:
    """Where it is a command's sentence on why it ends with a code."""
    head, _, sentence = said.splitlines()[-1].partition("CommandError: ")
    return "" if head else sentence


@pytest.mark.django_db
def test_polling(repository: Path, tmp_path: Path) -> None:
    found = bench(repository, tmp_path, "status_polling", "status_growth")
    remarks = "\n".join(found["status_polling"]["remarks"])
    for said in ("without key and limit", "p99 at half of what each bears", "details=1"):
        assert said in remarks
    assert found["status_growth"]["unit"] == "ms"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.django_db(transaction=True)
def test_different_batches_are_polled_from_all_over_the_table() -> None:
    fill(5_000)
    in_order = Batch.objects.order_by("pk").values_list("pk", flat=True)
    done, still_open = list(in_order.filter(status=BatchStatus.DONE)), in_order.filter(ended=None)
    asked = polled()
    assert asked == polled()
    ended, moving = asked[::2], asked[1::2]
    assert sorted(ended) == done
    places = [done.index(each) for each in ended[:20]]
    assert max(places) - min(places) > len(done) / 2
    assert len(set(moving)) > 5
    assert set(moving) <= set(still_open)


@pytest.mark.django_db
def test_submitting_takes_as_many_statements_for_many_accounts(
    repository: Path, tmp_path: Path
) -> None:
    found = bench(repository, tmp_path, "submit_1", "submit_100", "submit_500")
    statements = [each["remarks"][0].partition(" ")[0] for each in found.values()]
    assert len(set(statements)) == 1
    assert 1 <= int(statements[0]) <= 12
    often = [remark for each in found.values() for remark in each["remarks"][1:]]
    told = "one of ours is an INSERT that SQLite prepares once and runs for {} rows"
    counts = (100, 500) if connection.vendor == "sqlite" else ()
    assert often == [told.format(count) for count in counts]


@pytest.mark.either_database
@pytest.mark.django_db
def test_many_accounts_of_a_block(repository: Path, tmp_path: Path) -> None:
    """Together they take less gas than one by one, on whatever machine."""
    rows = ("thousand_accounts", "thousand_accounts_pipelined")
    for each in bench(repository, tmp_path, *rows).values():
        ours, script = each["remarks"][1].split(" gas an account, the script ")
        assert 20_000 < int(ours.replace(",", "")) < int(script.replace(",", ""))


@pytest.mark.django_db
def test_many_batches_with_one_prover_and_more(repository: Path, tmp_path: Path) -> None:
    rows = ("many_batches_1", "many_batches_2", "many_batches_4")
    found = bench(repository, tmp_path, *rows)
    one = found["many_batches_1"]["ours"]
    assert [found[each]["reference"] for each in rows[1:]] == [one, one]


@pytest.mark.django_db
def test_no_prover_begins_before_all_are_up() -> None:
    """What the first ones did meanwhile would count, and the time that they took would not."""
    owner, now = Account.objects.of_wallet(Wallet(OWNER))[0], timezone.now()
    Batch(pk=str(ULID()), owner=owner, destination=1, submitted=now, look_again=now).save()
    hold_back()
    assert claim_batch() is None
    let_go()
    lease = claim_batch()
    assert lease
    assert lease.row.look_again == now


@pytest.mark.either_database
@pytest.mark.django_db
def test_latency(repository: Path, tmp_path: Path) -> None:
    """Nothing is DONE before its transaction is in a block."""
    found = bench(repository, tmp_path, "latency_blocks")
    assert found["latency_blocks"]["ours"] > 0.2
    assert found["latency_blocks"]["target"].startswith("ours at most 3: ")


@pytest.mark.either_database
@pytest.mark.django_db
def test_memory(repository: Path, tmp_path: Path) -> None:
    for each in bench(repository, tmp_path, "memory_server", "memory_prover").values():
        assert each["unit"] == "MiB"
        assert 20 < each["ours"] < 1_000


@pytest.mark.no_database
def test_gas_is_the_floor(repository: Path, tmp_path: Path, corpus_folder: Path) -> None:
    """Which is counted, and the same everywhere."""
    file = "mainnet_21925176.json"
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / file).write_bytes((corpus_folder / file).read_bytes())
    ended = subprocess.run(
        [sys.executable, "manage.py", "bench", "gas", f"--corpus={tmp_path}/corpus", "--json"],
        cwd=repository,
        env=clean_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    (told,) = json.loads(ended.stdout)
    assert f"header + account of depth 8: {told['ours']:,} / " in told["remarks"][0]
    assert told["ratio"] == 1
    assert told["ours"] <= 175_000


@pytest.mark.no_database
def test_what_was_measured_before_a_row_failed_is_listed(manage: Manage) -> None:
    rows = ("submit_1", "gas", "--submissions=2", "--corpus=/nowhere")
    ended = manage("bench", *rows, "--json")
    assert [each["name"] for each in json.loads(ended.stdout)] == ["submit_1"]
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == "CommandError: There is no folder /nowhere."


@pytest.mark.no_database
def test_what_was_measured_before_an_interruption_is_listed(
    repository: Path, tmp_path: Path
) -> None:
    rows = ("submit_1", "submit_100", "--submissions=100")
    command = subprocess.Popen(
        [sys.executable, "manage.py", "bench", *rows, "--json"],
        cwd=repository,
        env=clean_environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert command.stderr
    while command.stderr.readline() not in {"… batches of 100 accounts\n", ""}:
        pass
    command.send_signal(signal.SIGINT)
    listed, said = command.communicate(timeout=60)
    assert [each["name"] for each in json.loads(listed)] == ["submit_1"]
    assert (command.returncode, said) == (130, "Ended before it was done.\n")


@pytest.mark.no_database
def test_without_the_block_that_gas_is_of_it_says_so(
    repository: Path, tmp_path: Path, corpus_folder: Path
) -> None:
    file = "goerli_7583802.json"
    (tmp_path / file).write_bytes((corpus_folder / file).read_bytes())
    ended = subprocess.run(
        [sys.executable, "manage.py", "bench", "gas", f"--corpus={tmp_path}"],
        cwd=repository,
        env=clean_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 1
    assert "lacks the block mainnet_21925176/" in ended.stderr


@pytest.mark.no_database
def test_what_is_asked_wrongly_is_told_in_a_sentence(manage: Manage) -> None:
    for asked, sentence in (
        (["nothing"], f"There is no row nothing. There are: {', '.join(NAMES)}."),
        (["--batches=0"], "--batches must be more than nothing."),
        (["gas", "--corpus=/nowhere"], "There is no folder /nowhere."),
    ):
        ended = manage("bench", *asked)
        assert ended.returncode == 1
        assert ended.stderr.splitlines()[-1] == f"CommandError: {sentence}"


# In the place of Python, and of the Python and npm that are set up with it.
FAKE = """\
#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then
    mkdir -p .venv/bin queries/contracts/node_modules
    cp "$0" .venv/bin/python
    cp "$0" .venv/bin/npm
fi
"""


@pytest.mark.no_database
@pytest.mark.parametrize(("asked", "passed_on"), [("1", "--json "), ("0", ""), ("", "")])
def test_make_prints_nothing_beside_the_list(
    repository: Path, tmp_path: Path, asked: str, passed_on: str
) -> None:
    """Of a fresh clone, which is set up first."""
    python, contracts = tmp_path / "python", tmp_path / "queries" / "contracts"
    contracts.mkdir(parents=True)
    for each in ("requirements-dev.txt", *(f"queries/contracts/{name}" for name in NPM_PINS)):
        (tmp_path / each).touch()
    shutil.copy(repository / "Makefile", tmp_path)
    python.write_text(FAKE)
    python.chmod(0o755)
    ended = subprocess.run(
        ["make", "bench", f"JSON={asked}", f"PYTHON={python}", "MANAGE=echo"],
        cwd=tmp_path,
        env=clean_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, f"bench {passed_on}--batches 5000\n")
    assert "Setting up Python packages in .venv, " in ended.stderr
    assert "Setting up the Solidity compiler and the local node …" in ended.stderr


@pytest.mark.no_database
def test_a_target_is_met_or_not() -> None:
    row = Row("a_row", "something", 3, 2, "s", least=1.2, most=1.4, remarks=("so",))
    assert as_object(row)["target"] == "at least 1.2 and at most 1.4: not met"
    head, *rest = lines(row)
    assert head.split() == ["a_row", "3.000", "2.000", "1.500", *f"s; {_said(row)}".split()]
    assert rest == ["  something", "  so"]


@pytest.mark.no_database
@pytest.mark.parametrize(("ours", "met"), [(3, "met"), (3.1, "not met")])
def test_a_figure_that_has_a_bound_of_its_own_is_held_to_it(ours: float, met: str) -> None:
    row = Row("a_row", "something", ours, 9, "blocks", allowed=3)
    assert as_object(row)["target"] == f"ours at most 3: {met}"


@pytest.mark.no_database
def test_what_is_not_met_is_named() -> None:
    met = Row("met", "something", 2, 1, "s", least=1.5)
    low, high = (Row(name, "something", 2, 1, "s", least=3, most=4) for name in ("low", "high"))
    free = Row("free", "something", 2, 1, "s")
    assert missed([met, free]) == ""
    assert missed([low, met, free, high]) == "The target is not met: low, high."


def _said(row: Row) -> str:
    return str(as_object(row)["target"])
