"""`manage.py proof_speed`: how fast account proofs are checked, beside the `trie` package."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from queries.chain.gas.corpus import CorpusUnreadable, RecordedFile, read_corpus
from queries.management.proof_race import (
    TIMES_AS_FAST,
    ProofToCheck,
    RaceResult,
    made_proofs,
    race,
    second_opinion_installed,
)

ROUNDS = 15


class Command(BaseCommand):
    help = "Checks account proofs in turn with our code and the `trie` package's, and times both."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--corpus", type=Path, help="a folder of *.json files; else made tries")
        parser.add_argument("--json", action="store_true", help="one object and no table")

    def handle(self, **options: Any) -> None:
        if not second_opinion_installed():
            raise CommandError(
                "The trie package is not installed: there is nothing to compare with. "
                "Run this in a clone, with .venv/bin/python, after make setup."
            )
        folder: Path | None = options["corpus"]
        try:
            proofs = made_proofs() if folder is None else _recorded_proofs(folder)
        except CorpusUnreadable as error:
            raise CommandError(str(error)) from error
        result = race(proofs, ROUNDS)
        met = result.ratio >= TIMES_AS_FAST
        if options["json"]:
            self.stdout.write(json.dumps({**asdict(result), "target": TIMES_AS_FAST, "met": met}))
            return
        source = "made tries of mainnet's shape" if folder is None else str(folder)
        for line in _lines(result, source, met=met):
            self.stdout.write(line)


def _lines(result: RaceResult, source: str, *, met: bool) -> Iterator[str]:
    yield f"{result.accounts:,} accounts of {source}, medians of {result.rounds} rounds in turn"
    yield ""
    yield f"{'':42} {'accounts/s':>10}  {'ratio':>5}"
    yield _row("trie, HexaryTrie.get_from_proof", result.theirs, 1)
    yield _row("trie, its nodes decoded beforehand", result.theirs_decoded, result.ratio_decoded)
    yield _row("ours, check_account_proof", result.ours, result.ratio)
    yield _row("ours, nodes shared by a block", result.ours_sharing, result.ratio_sharing)
    yield ""
    yield "Each begins at an answer's JSON. trie: hex, RLP of each node, look-up. Ours: hex, every"
    yield "node on the path checked strictly, the account read and compared with what is stated."
    yield "All hash with the same function."
    yield ""
    ending = "met" if met else "not met"
    yield f"Target: check_account_proof at least {TIMES_AS_FAST} times as fast as trie: {ending}"


def _row(name: str, speed: float, ratio: float) -> str:
    return f"  {name:40} {speed:10,.0f}  {ratio:5.2f}"


def _recorded_proofs(folder: Path) -> list[ProofToCheck]:
    """Every present account of the folder; `trie` has no answer for an absent one."""
    return [proof for file in read_corpus(folder) for proof in _file_proofs(folder, file)]


def _file_proofs(folder: Path, file: RecordedFile) -> list[ProofToCheck]:
    document = json.loads((folder / f"{file.name}.json").read_text())
    proofs = []
    for account in document.get("accounts", []):
        if account.get("account") is None:
            continue
        name = account.get("address") or account["addressHash"]
        answer = {**account["account"], "accountProof": account["accountProof"]}
        proofs.append(ProofToCheck(file.block.state_root, bytes.fromhex(name[2:]), answer))
    return proofs
