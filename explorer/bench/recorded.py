"""The recorded blocks that some rows are of: looked for before anything runs."""

from collections.abc import Iterable
from pathlib import Path

from explorer.bench.rows import BenchFailed
from queries.chain.gas.corpus import RecordedFile, read_corpus


def recorded(folder: Path, cases: Iterable[str]) -> list[RecordedFile]:
    """All files of the folder, with those among them that these cases are of."""
    files = read_corpus(folder)
    named = {file.name for file in files}
    for case in cases:
        block, _, _ = case.partition("/")
        if block not in named:
            raise BenchFailed(f"{folder} lacks {block}.json, the block of {case}.")
    return files
