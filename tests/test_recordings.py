"""The recorded blocks and proofs are in the repository, and each says where it is from."""

from pathlib import Path

import pytest

from tests.recordings import read_json

pytestmark = pytest.mark.no_database


def test_the_readme_lists_each_recorded_file(corpus_folder: Path) -> None:
    readme = corpus_folder / "README.md"
    recorded = {file.name for file in corpus_folder.rglob("*") if file.is_file()} - {readme.name}
    listed = [line.split("`")[1] for line in readme.read_text().splitlines() if line[:3] == "| `"]
    assert sorted(listed) == sorted(recorded)


def test_each_block_says_where_it_is_from(corpus_folder: Path) -> None:
    folders = [corpus_folder / name for name in ("", "events", "eras", "eras/lists")]
    files = [file for folder in folders for file in folder.glob("*.json*")]
    sources = [read_json(file)["source"] for file in files]
    assert sources
    assert all(source["repo"] and source["commit"] and source["path"] for source in sources)
