# Two commands do everything on a fresh machine with Python 3.11 or newer:
#   make reproduce   install into .venv, simulate, draw every figure into figures/out/;
#                    what is up to date is not made again
#   make test        install what the tests need and run them
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
COMMIT ?= HEAD

.PHONY: reproduce gallery test test-all test-changed test-lowest test-newest test-adapters release-check faults lint docs site site-check measure bench bench-against gpu validate clean

$(VENV)/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "jaxsel needs Python 3.11 or newer; run: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[all]"
	touch $@

$(VENV)/tools: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

reproduce: $(VENV)/installed
	$(BIN)/python -m figures --all

# The pictures of docs/gallery that show something else than the code draws, drawn anew.
# JAXSEL_DATA names the folder of the data files that four of them need.
gallery: $(VENV)/installed
	$(BIN)/python -m figures.gallery

# Tests of one file run in one worker: they share compiled programs and fixtures.
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder
test: $(VENV)/tools
	$(PYTEST) -m "not rare"

# What make test leaves out: the bench against other processes and commits, a Dask cluster,
# trainings, a small run of make gpu, simulations of five figures, a plan.
test-all: $(VENV)/tools
	$(PYTEST) -m rare

# Only what the difference to a commit can reach: make test-changed COMMIT=main
test-changed: $(VENV)/tools
	$(PYTEST) -m "not rare" --changed $(COMMIT)

# Each planted fault alone, in a copy of the tree: which claim or test sees it.
faults: $(VENV)/tools
	$(BIN)/python -m tests.faults --jobs $(WORKERS)

# Before a release: the lowest and the newest versions that pyproject.toml allows.
test-lowest test-newest: test-%:
	$(PYTHON) -m tests.versions $*

# With the libraries that audits and searches adapt to, in three environments: a missing one is a
# failure. Opacus brings PyTorch.
test-adapters:
	$(PYTHON) -m tests.versions newest --extra libraries --extra optuna --folder .venv-libraries \
	  tests/adapters/test_libraries.py tests/adapters/test_optuna.py
	$(PYTHON) -m tests.versions newest --extra opacus --folder .venv-opacus tests/adapters/test_opacus.py
	$(PYTHON) -m tests.versions newest --extra diffprivlib --folder .venv-diffprivlib tests/adapters/test_diffprivlib.py

# Wheel and source, built and tried alone on each supported Python that is found.
release-check: $(VENV)/tools
	$(BIN)/python -m tests.built

lint: $(VENV)/tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml

validate: $(VENV)/installed
	$(BIN)/jaxsel validate --all

# How near the worst case comes to every bound, or to those of some: make measure ID="PS-Thm2"
measure: $(VENV)/installed
	$(BIN)/python -m jaxsel.catalogue.measuring $(ID)

bench: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	$(BIN)/jaxsel bench

# Every mechanism here and at a commit, by turns: make bench-against COMMIT=main
bench-against: $(VENV)/installed
	$(BIN)/python -m benchmarks.against $(COMMIT)

# On a machine with a GPU; a run that is killed, or bounded by MINUTES, goes on.
MINUTES ?= inf
gpu: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable ".[cuda]"
	$(BIN)/python -m sims.gpu --minutes $(MINUTES)

docs: $(VENV)/installed
	$(BIN)/python -m jaxsel.catalogue.document docs/catalogue
	$(BIN)/python docs/_ext/tuning_cost.py

# The documentation site, docs/_build/html/index.html; a warning is a failure. It is built anew,
# since the tables of the catalogue come from code that Sphinx does not watch.
site: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable ".[site]"
	rm -rf docs/_build
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --doctree-dir docs/_build/doctrees docs docs/_build/html

# Every page of the site in a browser, wide and narrow: what is cut, scrolls or is broken.
# CHROMIUM names the browser.
site-check: site
	$(BIN)/python -m pip install --quiet playwright
	$(BIN)/python -m tests.site_check

clean:
	rm -rf $(VENV) figures/out sims/out docs/_build
