# Every target does its own set-up: a fresh clone needs Python 3.11+, make, and (for speed) a
# C++ compiler. Without a compiler the build falls back to the NumPy twin and says so.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Two stamps: the second has all that the first has, and what tests, checks and documents need.
SMALL := $(VENV)/.small
STAMP := $(VENV)/.installed
PIP := PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check
SOURCES := pyproject.toml constraints.txt CMakeLists.txt src/unswayed/__init__.py \
	src/unswayed/_core/_selection.cpp $(wildcard src/unswayed/_core/kernel/*.hpp)
# An editable install knows the modules by name: a new or moved one wants a new install.
MODULES := build/modules.txt
$(shell mkdir -p build; find src -name '*.py' | sort > $(MODULES).new; \
	cmp -s $(MODULES).new $(MODULES) || cp $(MODULES).new $(MODULES))

# What depends on the versions of NumPy, SciPy, scikit-learn and the frame libraries.
OLDEST := $(addprefix tests/,certified certifiers core models paper plots report scale together)

DOCS := build/docs/html

# Tests start dozens of processes: where no bytecode may be kept, each compiles the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install demo docs proofs test test-fresh minimal oldest wheel bench bench-scale lint format clean
.DEFAULT_GOAL := help

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP)  ## set up .venv with everything, and build the kernel

$(BIN)/python:
	@echo "1 of 4  a new environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)

# Compiled to bytecode is what is imported, when it is: pip would compile all of it, one by one.
$(SMALL): $(SOURCES) $(MODULES) | $(BIN)/python
	@echo "2 of 4  unswayed, with its kernel: compiles C++, about 20 seconds"
	@$(PIP) --no-deps --editable .
	@echo "3 of 4  its packages: numpy, scipy, scikit-learn, pyarrow, altair, rich (500 MB)"
	@$(PIP) --no-compile "unswayed[cli,report]"
	@$(BIN)/python -m unswayed._core.kernels
	@touch $@

$(STAMP): $(SMALL)
	@echo "4 of 4  packages for tests, checks and documents: pandas, polars, pytest, sphinx (1 GB)"
	@$(PIP) "unswayed[dev]"
	@-$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib
	@touch $@

demo: $(SMALL)  ## set up what it needs, certify an embedded story, write unswayed-report.html
	@echo "4 of 4  unswayed demo"
	@$(BIN)/unswayed demo

test: install  ## run the tests, on the same examples everywhere
	$(BIN)/python -m pytest -n auto --quiet

test-fresh: SEED := $(or $(SEED),$(shell date +%s))
test-fresh: install  ## run the tests that draw examples on others; SEED=... draws them again
	@echo "to draw the same again: make test-fresh SEED=$(SEED)"
	$(BIN)/python -m pytest -n auto --quiet -m hypothesis --hypothesis-profile=fresh \
		--hypothesis-seed=$(SEED) tests

minimal:  ## run the demo in a fresh environment that has only the extras cli and report
	@rm -rf build/minimal && $(PYTHON) -m venv build/minimal
	@PIP_CONSTRAINT=constraints.txt build/minimal/bin/python -m pip install --quiet \
		--disable-pip-version-check ".[cli,report]"
	@build/minimal/bin/python -c "import importlib.util as u; assert not u.find_spec('pandas')"
	@cd build/minimal && bin/unswayed demo && test -s unswayed-report.html

oldest:  ## run the tests that matter most with the oldest supported versions
	@rm -rf build/oldest && $(PYTHON) -m venv build/oldest
	@PIP_CONSTRAINT=constraints-oldest.txt build/oldest/bin/python -m pip install --quiet \
		--disable-pip-version-check ".[cli,distributed,exact,experiments,frames,plots,report]" \
		hypothesis jsonschema pytest pytest-timeout pytest-xdist
	@# Old libraries warn about new ones, so warnings are no errors here.
	build/oldest/bin/python -m pytest -n auto --quiet -o filterwarnings=default $(OLDEST)

wheel:  ## build a wheel and an sdist, install both into new environments and try them
	@$(PYTHON) tools/packages.py

docs: install  ## build the site into build/docs/html, run its code, check its links
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs $(DOCS)
	UNSWAYED_SITE=$(DOCS) $(BIN)/python -m pytest --quiet tests/site
	@echo "open $(DOCS)/index.html"

proofs:  ## check the machine-checked proofs with Coq, if it is installed
	@sh proofs/compile.sh build/proofs

bench: install  ## measure speed and memory against their bars
	$(BIN)/python -m benchmarks.run

bench-scale: install  ## the same for data beyond memory: half an hour, four gigabytes on disk
	$(BIN)/python -m benchmarks.scale

lint: install  ## check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/docstrings.py

format: install  ## rewrite the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove everything that make made
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
