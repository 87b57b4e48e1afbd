# Every target sets up what it needs on its first call and again when the pins change.

PYTHON ?= python3
PORT ?= 8000
WORKERS ?= auto
ARGS ?=
COUNT ?= 5000
SEED ?=
BIN := .venv/bin
# Each marker lies in what it speaks of, so that it goes when that is deleted.
PYTHON_READY := .venv/python-ready
NPM_READY := queries/contracts/node_modules/.tacitus-ready
MANAGE := $(BIN)/python manage.py
# `-n0` where one test is looked at, for example make test ARGS="-k health -n0"
PYTEST := $(BIN)/python -m pytest -n $(WORKERS)

# On a developer's machine; production sets its own (see the README).
export DEVELOPMENT ?= 1
NPM_BIN := queries/contracts/node_modules/.bin
export PATH := $(CURDIR)/$(BIN):$(CURDIR)/$(NPM_BIN):$(PATH)

.PHONY: help demo test fuzz lint format serve screenshots contracts pins setup clean
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

help: ## this list
	@echo "Tacitus: past blockchain state, proven to a contract"
	@echo
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r target says; do printf '%-18s %s\n' "$$target" "$$says"; done

demo: setup ## the service on this machine, at http://127.0.0.1:8000 (PORT=8001 for another port)
	@$(MANAGE) migrate --verbosity 0
	@LOG_LEVEL=$${LOG_LEVEL:-WARNING} exec $(MANAGE) serve --port "$(PORT)" --workers 1

test: setup ## all tests (DATABASE_URL=postgres://… for PostgreSQL, ARGS="-k name" for some)
	@$(PYTEST) $(ARGS)

FUZZED := $(addprefix tests/queries/, contracts/test_differential.py \
	contracts/test_reader_is_the_contracts_mirror.py proving/test_no_lie_is_read.py)
# Without SEED= each run takes new ones.
fuzz: setup ## COUNT=5000 random tries and broken witnesses (SEED=… repeats a run)
	@FUZZ_COUNT=$(COUNT) FUZZ_SEED=$(SEED) $(BIN)/python -m pytest -n0 -q $(FUZZED)

lint: setup ## ruff check, ruff format --check, mypy
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy .

format: setup ## write the code as lint wants it
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

serve: setup ## the development server, which restarts when the code changes
	@$(MANAGE) migrate --verbosity 0
	@DEBUG=1 exec $(MANAGE) runserver $(PORT)

screenshots: setup ## the README's pictures again, of a service that runs and proves here (needs Chromium)
	@$(BIN)/python -m tests.screenshots

contracts: setup ## the contracts' committed build output again, from the Solidity sources
	@$(MANAGE) build_contracts

# The pins are made for every platform and Python that pyproject.toml allows, with hashes and
# without the address of an index.
COMPILE := $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 \
	--generate-hashes --no-header --no-annotate --extra postgres --extra celery
pins: setup ## the pinned requirements again, from pyproject.toml and package.json
	@$(COMPILE) --upgrade --output-file requirements.txt
	@$(COMPILE) --upgrade --constraint requirements.txt --group dev --output-file requirements-dev.txt
	@cd queries/contracts && npm install --package-lock-only >/dev/null
	@$(BIN)/python -c "$$STRIP_FUNDING" queries/contracts/package-lock.json

# npm writes the packages' funding pages into the lock; a pin holds no address.
define STRIP_FUNDING
import json, pathlib, sys
file = pathlib.Path(sys.argv[1])
lock = json.loads(file.read_text())
for package in lock["packages"].values():
    package.pop("funding", None)
file.write_text(json.dumps(lock, indent=2, ensure_ascii=False) + "\n")
endef
export STRIP_FUNDING

# One at a time: a second first call waits for the first, which holds a lock on this file.
setup:
	@exec 9<Makefile; \
	if command -v flock >/dev/null && ! flock --nonblock 9; then \
		echo "Another make is setting up this folder; waiting for it …"; flock 9; \
	fi; \
	$(MAKE) --silent --no-print-directory $(PYTHON_READY) $(NPM_READY) 9<&-

$(PYTHON_READY): requirements-dev.txt
	@[ -w . ] || { echo "Tacitus cannot write in this folder: $(CURDIR)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tacitus needs Python 3.11 or newer; this is %d.%d. Name another: make PYTHON=python3.12" % sys.version_info[:2])'
	@echo "Setting up Python packages in .venv …"
	@$(PYTHON) -m venv --clear .venv || { echo "Python could not make .venv. On Debian: apt-get install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-dev.txt
	@touch $@

# `npm install` and not `npm ci`: a lock made where an index offers anvil for one platform only
# lacks the others, which `npm ci` refuses even where they are not needed. The lock's integrity
# hashes hold in both.
$(NPM_READY): queries/contracts/package.json queries/contracts/package-lock.json $(PYTHON_READY)
	@echo "Setting up the Solidity compiler and the local node …"
	@cd queries/contracts && npm install --no-save --loglevel=error >/dev/null
	@touch $@

clean: ## removes what the first call set up and what the tools keep; var/, with the database, stays
	rm -rf .venv queries/contracts/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
