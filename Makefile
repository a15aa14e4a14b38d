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
.PHONY: help demo test test-slow test-parallel test-cache lint types golden bench bench-old bench-calls bench-first bench-symbolic bench-sympy gradbench measure accuracy rules-audit gate gate-points docs pictures coefficients math-slow cross sanitize fuzz interop bench-interop bench-sparse targets demo-scale bytecode bench-scale bench-size bench-threads races

help: ## print these lines
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.test ## fit a logistic regression to real data, explain it, export it to C
	$(BIN)/python examples/breast_cancer.py

demo-scale: $(VENV)/.parallel ## fit over blocks of rows on a local cluster, with the bits of one process
	$(BIN)/python examples/fit_in_blocks.py

test: $(VENV)/.test bytecode ## run the tests
	$(PYTEST) -m "not slow" $(ARGS)

test-slow: $(VENV)/.test bytecode ## run the tests of random programs and measured errors
	$(PYTEST) -m slow $(ARGS)

test-parallel: $(VENV)/.parallel ## run functions, and sums over rows, on joblib, Dask, Ray and MPI
	$(BIN)/python -m pytest -m "slow or not slow" tests/gradc/test_pickles.py tests/gradc/test_notebook_cells.py \
		tests/gradc/test_distributed_engines.py "tests/test_docs.py::test_document[docs/scale-out.md]" $(ARGS)

test-cache: $(VENV)/.test ## run tests twice on a cache of their own: the second time nothing is traced
	$(BIN)/python tools/twice.py $(ARGS)

lint: $(VENV)/.dev ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev ## check types
	$(BIN)/mypy

golden: $(VENV)/.test ## rewrite the expected texts of the golden tests; review the diff
	GRADC_GOLDEN=rewrite $(PYTEST) $(ARGS)
	git diff --stat

bench: $(VENV)-bench/.bench ## measure gradc beside other tools; benchmarks/README.md says how
	$(VENV)-bench/bin/python -m benchmarks.run $(ARGS)

gradbench: $(VENV)-bench/.bench ## run the suite GradBench beside the tools built there: make gradbench SUITE=path
	$(VENV)-bench/bin/python -m benchmarks.gradbench.run $(SUITE) $(ARGS)

bench-old: $(VENV)/.test ## measure kernels beside another checkout's, by turns: make bench-old OLD=path
	$(BIN)/python benchmarks/old_and_new.py $(OLD) $(ARGS)

bench-symbolic: $(VENV)/.test ## measure kernels for any size beside those for one: make bench-symbolic ARGS=logistic
	$(BIN)/python -m benchmarks.symbolic_sizes $(ARGS)

bench-calls: $(VENV)-bench/.bench ## what one call of a small function costs, beside other tools
	OMP_NUM_THREADS=1 $(VENV)-bench/bin/python -m benchmarks.small_calls

bench-sympy: $(VENV)-bench/.bench ## from a SymPy expression to its value and gradient, beside SymEngine
	$(VENV)-bench/bin/python -m benchmarks.sympy_functions $(ARGS)

bench-size: $(VENV)/.test ## how many bytes exported kernels have, by default and for small machines: make bench-size ARGS=mlp
	$(BIN)/python -m benchmarks.code_size $(ARGS)

bench-first: $(VENV)/.test ## what first calls cost, in a first and in a second process
	$(BIN)/python benchmarks/first_call.py $(ARGS)

measure: $(VENV)/.test ## measure parts of gradc: calls, compile time, loops, tracing
	@for name in calls compile_time import_time loops math_functions straight_line tracing; do \
		echo "== $$name"; $(BIN)/python benchmarks/$$name.py || exit 1; done

math-slow: $(VENV)/.test ## prove the errors of the math functions, in f32 over every number: forty minutes
	$(BIN)/python tools/math_slow.py $(ARGS)

interop: $(VENV)-interop/.interop ## test adapters with the libraries they are for
	$(VENV)-interop/bin/python -m pytest -n auto -m "slow or not slow" tests/interop tests/test_docs.py $(ARGS)

bench-interop: $(VENV)-interop/.interop ## what a call through another library costs, beside that library's own
	OMP_NUM_THREADS=1 $(VENV)-interop/bin/python -m benchmarks.interop $(ARGS)

bench-sparse: $(VENV)-interop/.interop ## what sparse derivatives cost, beside CasADi's in C
	OMP_NUM_THREADS=1 $(VENV)-interop/bin/python -m benchmarks.sparse $(ARGS)

bench-scale: $(VENV)/.parallel ## how fast rows go by: in blocks and on workers of Dask's, beside NumPy there
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.scale_out $(ARGS)

bench-threads: $(VENV)-bench/.bench ## what two threads gain, beside numba-parallel and JAX, on two quiet cores
	OPENBLAS_NUM_THREADS=1 $(VENV)-bench/bin/python -m benchmarks.threads $(ARGS)

targets: $(VENV)-interop/.interop ## run kernels for other machines: qemu, wine, Node, wasmtime; and examples in other languages
	tools/install_cross --all
	$(VENV)-interop/bin/python -m pytest -n auto -m slow tests/gradc/test_export_targets.py tests/test_examples.py $(ARGS)

cross: $(VENV)/.test ## compare the bits of kernels for other machines, run by qemu-user
	tools/install_cross
	$(BIN)/python tools/cross.py $(ARGS)

sanitize: $(VENV)/.test ## run exported kernels between forbidden pages, in nests and through gradc.external
	$(BIN)/python tools/sanitize.py $(ARGS)

races: $(VENV)/.test ## look for data races in the pool of threads and in kernels, by ThreadSanitizer
	$(BIN)/python tools/races.py $(ARGS)

accuracy: $(VENV)/.test ## bits of error of values and gradients, beside naive NumPy
	$(BIN)/python -m benchmarks.accuracy.run $(ARGS)

rules-audit: $(VENV)/.test ## which cases of accuracy need which stable rule: leaves out each in turn
	$(BIN)/python -m benchmarks.accuracy.audit $(ARGS)

gate: $(VENV)/.test ## pairs of rules that meet at special values, for hours; ARGS="--part 3/100" for some
	$(BIN)/python tools/gate.py --cache .gate $(ARGS)

gate-points: $(VENV)/.test ## every rule at all special values, not at some: ten minutes
	$(BIN)/python -m tools.gate_points --cache .gate $(ARGS)

docs: $(VENV)/.test bytecode ## write the generated pages of docs/, then run every example of the docs
	$(BIN)/python tools/write_tables.py
	$(PYTEST) tests/test_docs.py

pictures: $(VENV)/.test ## write the pictures of docs/ anew, by chromium and chromedriver
	$(BIN)/python tools/write_pictures.py
	$(BIN)/python tools/write_curves.py

# Tests start many processes. Where Python is told to write no bytecode (PYTHONDONTWRITEBYTECODE),
# each of them would compile the packages again, which takes longer than all else it does.
bytecode: $(VENV)/.test
	@$(BIN)/python -m compileall -q gradc ir codegen tests tools benchmarks

coefficients: $(VENV)/.dev ## compute the coefficients of the math functions again; review the diff
	$(BIN)/python tools/coefficients.py
	git diff --stat codegen/gradc_codegen/math/emitted/coefficients.py

# An editable install with an extra of pyproject.toml; renewed when that file changes.
$(VENV)/.test $(VENV)/.dev $(VENV)/.parallel: $(VENV)/.%: pyproject.toml
	@test -n "$(PYTHON)" || { echo "gradc needs Python 3.11 or newer; set PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

# The libraries that adapters are for stay out of gradc's own environment. PyTorch is taken as it is
# built for processors alone, where such a build is found.
$(VENV)-interop/.interop: pyproject.toml
	@test -n "$(PYTHON)" || { echo "gradc needs Python 3.11 or newer; set PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)-interop
	$(VENV)-interop/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[interop]'
	$(VENV)-interop/bin/python -m pip install --quiet --disable-pip-version-check 'torch==2.13.0' \
		|| echo "without PyTorch: no build of it was found"
	@touch $@

# The tools to measure beside gradc stay out of its own environment. PyTorch is taken only where it is
# built for processors alone.
$(VENV)-bench/.bench: pyproject.toml benchmarks/peers/requirements.txt
	@test -n "$(PYTHON)" || { echo "gradc needs Python 3.11 or newer; set PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/python -m pip install --quiet --disable-pip-version-check --editable . \
		--requirement benchmarks/peers/requirements.txt
	$(VENV)-bench/bin/python -m pip install --quiet --disable-pip-version-check 'torch==2.13.0+cpu' \
		|| echo "without PyTorch: no build for processors alone was found"
	@touch $@
