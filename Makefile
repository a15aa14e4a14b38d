# The commands of the project; `make` prints them. Each makes what it needs: only Python >= 3.11, make,
# git and a C compiler have to be there.

PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal
# What `make test` hands to pytest beyond this, e.g. make test ARGS="tests/ir -k parser"
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test lint types golden bench docs

help: ## print these lines
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.test ## fit a logistic regression to real data, explain it, export it to C
	$(BIN)/python examples/breast_cancer.py

test: $(VENV)/.test ## run the tests
	$(PYTEST) $(ARGS)

lint: $(VENV)/.dev ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev ## check types
	$(BIN)/mypy

golden: $(VENV)/.test ## rewrite the expected texts of the golden tests; review the diff
	GRADC_GOLDEN=rewrite $(PYTEST) $(ARGS)
	git diff --stat

bench: $(VENV)/.test ## run the measurements in benchmarks/
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

docs: $(VENV)/.test ## write the generated pages of docs/, then run every example of the docs
	$(BIN)/python tools/write_tables.py
	$(PYTEST) tests/test_docs.py

# An editable install with an extra of pyproject.toml; renewed when that file changes.
$(VENV)/.test $(VENV)/.dev: $(VENV)/.%: pyproject.toml
	@test -n "$(PYTHON)" || { echo "gradc needs Python 3.11 or newer; set PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@
