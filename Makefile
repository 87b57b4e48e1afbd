# Every target sets up what it needs on its first call and again when the pins change.

PYTHON ?= python3
PORT ?= 8000
# Three for two processors: many tests wait for a chain or a program. Five take as long and more CPU time.
WORKERS ?= $(shell echo $$(($$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN) * 3 / 2)))
ARGS ?=
SECONDS ?=
DATABASE ?=
ENGINE ?=
COUNT ?=
SMALL ?=
CORPUS ?= tests/corpus
SEED ?=
ROWS ?=
JSON ?=
BIN := .venv/bin
# Each marker lies inside the folder it stands for, so both are deleted together.
PYTHON_READY := .venv/python-ready
ANALYSER := .venv-analyser
ANALYSER_READY := $(ANALYSER)/python-ready
NPM_READY := queries/contracts/node_modules/.tacitus-ready
TEST_NPM_READY := tests/js/node_modules/.tacitus-ready
WEB3_READY := .venv-web3/.tacitus-ready
MANAGE := $(BIN)/python manage.py
# Use `-n0` to run one test, for example make test ARGS="-k probes -n0"
# Tests of one file stay with one worker, because many share what they start.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# On a developer's machine; installations set their own (explorer/docs/running.md).
export DEVELOPMENT ?= 1
unexport PYTHONDONTWRITEBYTECODE  # a test run would compile all tests again, once a worker
NPM_BIN := queries/contracts/node_modules/.bin
export PATH := $(CURDIR)/$(BIN):$(CURDIR)/$(NPM_BIN):$(PATH)

.PHONY: help demo test bench gas chaos fuzz analyse lint format serve screenshots packages contracts client pins setup clean
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

help: ## this list
	@echo "Tacitus: past blockchain state, proven to a contract"
	@echo
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r target says; do printf '%-18s %s\n' "$$target" "$$says"; done
	@echo
	@echo "The service's own commands, such as migrate and check_setup: $(MANAGE) help"

demo: setup ## three chains and the service on this machine, and a tour (PORT=8001, ONCE=1 to end after it)
	@exec $(MANAGE) demo --port "$(PORT)" $(if $(filter-out 0,$(ONCE)),--once)

test: SHELL := bash
test: setup $(TEST_NPM_READY) $(WEB3_READY) ## all tests (DATABASE_URL=postgres://… for PostgreSQL, ARGS="-k name" for some)
	@TIMEFORMAT="%R s; the processors worked for %U s (user) and %S s (sys)"; time $(PYTEST) $(ARGS)

FUZZED_PROOFS := $(addprefix tests/queries/contracts/, test_differential.py test_no_untrue_fact.py \
	test_no_untrue_event.py test_beacon_agreement.py)
FUZZED_REQUESTS := tests/explorer/test_fuzzed_pages.py tests/queries/api/test_surface.py
# Without SEED= each run takes a new one. With SECONDS= contracts and proofs are tried for so long, in
# rounds of 500 with a new seed each, without the search for planted faults; the first finding ends it.
# Each test prints its seed.
fuzz: setup ## COUNT=5000 random tries, witnesses, calls and requests (SEED=… repeats; SECONDS=3600 rounds)
ifeq ($(SECONDS),)
	@FUZZ_COUNT=$(or $(COUNT),5000) FUZZ_SEED=$(SEED) $(BIN)/python -m pytest -n0 -q $(FUZZED_REQUESTS) $(FUZZED_PROOFS)
else
	@until=$$(($$(date +%s) + $(SECONDS))); while [ $$(date +%s) -lt $$until ]; do \
		FUZZ_COUNT=500 $(BIN)/python -m pytest -n0 -q -k "not is_found" $(FUZZED_PROOFS) || exit 1; done
endif

analyse: setup $(ANALYSER_READY) ## Slither over the contracts: tests/analysis explains each finding
	@exec $(BIN)/python -m tests.analysis

bench: setup ## benchmark the service, next to reference values (ROWS="many_batches_1", JSON=1, COUNT=5000 batches, SMALL=1)
	@exec $(BIN)/python -m tests.bench $(ROWS) $(if $(filter-out 0,$(JSON)),--json) \
		$(if $(filter-out 0,$(SMALL)),--small) $(if $(COUNT),--batches "$(COUNT)") $(ARGS)

gas: setup $(TEST_NPM_READY) ## what recorded proofs cost on chain, beside the targets (CORPUS=DIR, JSON=1)
	@exec $(BIN)/python -m tests.bench.gas --corpus "$(CORPUS)" $(if $(filter-out 0,$(JSON)),--json)

# One run for each database and engine, unless DATABASE or ENGINE names one. DATABASE_URL and
# CELERY_BROKER name servers other than those of this machine.
chaos: setup ## the service under faults (SECONDS=600, SEED=…, DATABASE=sqlite|postgres, ENGINE=embedded|celery)
	@exec $(BIN)/python -m tests.chaos --seed "$(SEED)" $(if $(SECONDS),--seconds $(SECONDS)) \
		--database "$(DATABASE)" --engine "$(ENGINE)"

lint: setup ## ruff check, ruff format --check, mypy, lint-imports, writers of states, the map of modules, no addresses in npm's locks
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy .
	@$(BIN)/lint-imports --no-logo --no-cache
	@$(BIN)/python -m tests.state_writers
	@$(BIN)/python -m tests.module_map
	@! grep -nE '"(resolved|funding)"|://' queries/contracts/package-lock.json tests/js/package-lock.json

format: setup ## write the code as lint wants it
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/python -m tests.module_map --write

serve: setup ## the development server, which restarts when the code changes
	@$(MANAGE) migrate --verbosity 0
	@DEBUG=1 exec $(MANAGE) runserver $(PORT)

screenshots: setup ## take the README's picture and the preview card again (needs Chromium)
	@$(BIN)/python -m tests.screenshots

packages: setup ## build what is published, in dist: the wheel of the service
	@$(BIN)/uv build --quiet --wheel --out-dir dist && ls dist/*

contracts: setup ## rebuild the contracts' committed build output
	@$(MANAGE) build_contracts

client: setup $(TEST_NPM_READY) ## rebuild the TypeScript client's committed build output
	@$(MANAGE) build_client

# The pins are made for every platform and Python that pyproject.toml allows, with hashes and
# without the address of an index.
COMPILE_GROUP := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate
COMPILE := $(COMPILE_GROUP) pyproject.toml --extra postgres --extra celery
pins: setup ## renew the pinned requirements from pyproject.toml and package.json
	@$(COMPILE) --upgrade --output-file requirements.txt
	@$(COMPILE) --upgrade --constraint requirements.txt --extra mcp --group dev --output-file requirements-dev.txt
	@$(COMPILE_GROUP) --upgrade --group analyser --output-file requirements-analyser.txt
	@for folder in queries/contracts tests/js; do \
		(cd $$folder && npm install --package-lock-only >/dev/null) && \
		$(BIN)/python -c "$$STRIP_FUNDING" $$folder/package-lock.json || exit 1; done

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
# It prints to stderr, because the target may print JSON to stdout: make bench JSON=1.
setup: ## install only what the other targets need
	@exec 9<Makefile >&2; \
	if command -v flock >/dev/null && ! flock --nonblock 9; then \
		echo "Another make is setting up this folder; waiting for it …"; flock 9; \
	fi; \
	$(MAKE) --silent --no-print-directory $(PYTHON_READY) $(NPM_READY) 9<&-

$(PYTHON_READY): requirements-dev.txt
	@[ -w . ] || { echo "Tacitus cannot write in this folder: $(CURDIR)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tacitus needs Python 3.11 or newer; this is %d.%d. Name another: make PYTHON=python3.12" % sys.version_info[:2])'
	@echo "Setting up Python packages in .venv, which takes a minute or two …"
	@rm -rf .venv && $(PYTHON) -m venv .venv || { echo "Python could not make .venv. On Debian: apt-get install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install --quiet --retries 2 --disable-pip-version-check --require-hashes --requirement requirements-dev.txt || { echo "The Python packages could not be installed. Is PyPI, or your pip index, reachable?"; exit 1; }
	@ln -s ../../manage.py $(BIN)/tacitus
	@touch $@

$(ANALYSER_READY): requirements-analyser.txt $(PYTHON_READY)
	@echo "Setting up the analyser of contracts in $(ANALYSER) …"
	@rm -rf $(ANALYSER) && $(PYTHON) -m venv $(ANALYSER)
	@$(ANALYSER)/bin/python -m pip install --quiet --retries 2 --disable-pip-version-check --require-hashes --requirement requirements-analyser.txt || { echo "The analyser could not be installed. Is PyPI, or your pip index, reachable?"; exit 1; }
	@touch $@

# `npm install` and not `npm ci`: a lock made where an index offers anvil for one platform only
# lacks the others, which `npm ci` refuses even where they are not needed. The lock's integrity
# hashes hold in both.
$(NPM_READY): queries/contracts/package.json queries/contracts/package-lock.json $(PYTHON_READY)
	@echo "Setting up the Solidity compiler and the local node …"
	@cd queries/contracts && npm install --no-save --loglevel=error >/dev/null || { echo "The compiler and the node could not be installed. Is npm's registry reachable?"; exit 1; }
	@touch $@

$(TEST_NPM_READY): tests/js/package.json tests/js/package-lock.json tests/js/chromium.mjs $(PYTHON_READY)
	@echo "Setting up forge, a browser, a second EVM and the generator of TypeScript clients …"
	@cd tests/js && npm install --no-save --loglevel=error >/dev/null || { echo "They could not be installed. Is npm's registry reachable?"; exit 1; }
	@node tests/js/chromium.mjs
	@touch $@

$(WEB3_READY): requirements-web3.txt $(PYTHON_READY)
	@echo "Setting up web3.py 8 for a test …"
	@$(BIN)/python -m pip install --quiet --retries 2 --disable-pip-version-check --require-hashes --no-deps --upgrade --target .venv-web3 --requirement $< || { echo "It could not be installed. Is PyPI, or your pip index, reachable?"; exit 1; }
	@touch $@

clean: ## removes what the first call set up and what the tools keep; var/, with the database, stays
	rm -rf .venv $(ANALYSER) queries/contracts/node_modules tests/js/node_modules .venv-web3 .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
