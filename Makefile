# Everything a person or CI types. `make help` lists it.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check


.DEFAULT_GOAL := help
.PHONY: help chat install test lint format bench bench-memory bench-session lock clean

help:  ## list these targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 22

chat: install  ## talk to the agent `main` in this terminal (installs what is missing)
	@$(BIN)/scrubjay chat

install: $(VENV)/.ready  ## set up .venv with what running needs

test: $(VENV)/.ready-test lint  ## everything that CI runs
	$(BIN)/python -m pytest -q -n logical --dist loadfile

lint: $(VENV)/.ready-test  ## format check, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.ready-test  ## rewrite the sources in the house's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.ready-test .venv-run/bench  ## measure throughput, delay, memory and start, beside a bare bot
	BENCH_PYTHON=.venv-run/bin/python $(BIN)/python -m bench $(NAMES)

bench-memory: $(VENV)/.ready-test  ## measure what memory finds and costs; LOCOMO=FOLDER adds its conversations
	$(BIN)/python -m bench memory

bench-session: $(VENV)/.ready-test  ## measure what a long conversation costs and what it keeps
	$(BIN)/python -m bench session

lock: $(VENV)/.ready-test  ## resolve the dependencies anew and write the lock files
	./requirements/lock

clean:  ## remove .venv and caches
	rm -rf $(VENV) .venv-run .mypy_cache .pytest_cache .ruff_cache tests/emulators/node/node_modules

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Scrubjay needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: $(BIN)/python requirements/run.txt pyproject.toml
	@echo "Setting up $(VENV): about 60 packages, once…"
	@$(PIP) install --quiet --require-hashes -r requirements/run.txt
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# What people run, without the tests' packages: some libraries load more where they find more.
.venv-run/bench: requirements/run.txt pyproject.toml
	@$(PYTHON) -m venv .venv-run
	@.venv-run/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes -r requirements/run.txt
	@.venv-run/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.ready-test: $(VENV)/.ready requirements/test.txt tests/emulators/node/package-lock.json
	@echo "Setting up what the tests need: about 40 packages and Node, once…"
	@$(PIP) install --quiet --require-hashes -r requirements/test.txt
	@cd tests/emulators/node && PATH="$(CURDIR)/$(BIN):$$PATH" npm ci --no-audit --no-fund --silent
	@touch $@
