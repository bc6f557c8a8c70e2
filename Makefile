# What a learner and an author run. It needs make and Python 3.11 or newer, and brings the rest.
#   make lab                 start the course
#   make test                everything CI holds
#   make lab PYTHON=python3.12            with an interpreter of your choice
#   make lab LAB_OPTIONS=--no-browser     with options for JupyterLab
VENV ?= .venv
PY := $(VENV)/bin/python
# Interpreters to try, the one you use by default first.
PYTHONS := $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 python)
# Two processes of one thread: that is what a small machine has cores for. What runs when, and what
# stays in one process, conftest.py says. Notebooks and browser tests run apart, because no other
# event loop can start in a process that drives a browser; those wait for pages, so there are three.
PYTEST := OMP_NUM_THREADS=1 $(PY) -m pytest
ORDERED := -n 2 --dist loadgroup --no-loadscope-reorder
# What nbval runs is kept: `make book` then has nothing left to run.
NBVAL := -p coursekit.nbval_text -p coursekit.nbval_record --nbval \
         --nbval-sanitize-with tests/notebooks/sanitize.cfg
LAB_OPTIONS ?=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help lab test test-unit test-exercises test-notebooks test-browser test-colab lint book \
        slides slides-pdf editions bench weights chromium clean

help: ## this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

# The environment. A stamp remembers what was installed, so a second run costs nothing.

$(VENV)/.made:
	@for python in $(PYTHONS); do \
	  if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	  then found="$$python"; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "attnlab needs Python 3.11 or newer with its venv module. Tried: $(PYTHONS)." >&2; \
	  echo "Install one (on Debian or Ubuntu also its -venv package), or name it: make lab PYTHON=/path/to/python3.12" >&2; \
	  exit 1; \
	fi; \
	echo "Making $(VENV) with $$("$$found" --version)"; \
	"$$found" -m venv "$(VENV)"
	@$(PY) -m pip install --quiet --upgrade "pip>=24.1"
	@touch $@

$(VENV)/.course: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing the course into $(VENV): some minutes the first time"
	@$(PY) -m pip install --quiet -e ".[course]" -c constraints.txt
	@touch $@

$(VENV)/.test: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing the course and its tools into $(VENV): some minutes the first time"
	@$(PY) -m pip install --quiet -e ".[course,test]" -c constraints.txt
	@touch $(VENV)/.course $@

# For learners.

lab: $(VENV)/.course ## open your own copies of the chapters, my_notebooks/, in JupyterLab
	$(VENV)/bin/attnlab start my_notebooks -- $(LAB_OPTIONS)

# For authors.

editions: $(VENV)/.test ## write the student and solutions notebooks from the sources
	$(PY) -m coursekit build

book: $(VENV)/.test ## build the website into build/site, and the slides with it
	$(PY) -m coursekit book

slides: $(VENV)/.test ## build the lecture slides into build/slides
	$(PY) -m coursekit slides

slides-pdf: chromium ## print the lecture slides, one PDF per chapter, into build/slides
	$(PY) -m coursekit slides-pdf

bench: $(VENV)/.test chromium book ## print speed, memory and page weight against their bars
	$(PY) -m benchmarks

weights: $(VENV)/.test ## make the weights in assets/ again, by the commands in its MANIFEST.json
	$(PY) training/__main__.py

# Tests.

lint: $(VENV)/.test ## ruff and mypy
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

test: lint chromium ## lint, drift, unit, exercises, notebooks, website, slides, browser
	$(PY) -m coursekit check
	$(PYTEST) $(ORDERED) $(NBVAL) notebooks/solutions tests/unit tests/exercises tests/notebooks
	$(MAKE) test-browser

test-unit: $(VENV)/.test ## the library, the widgets' Python side, the tooling, the packaging
	$(PYTEST) $(ORDERED) tests/unit

test-exercises: $(VENV)/.test ## every checker against right and wrong answers
	$(PYTEST) $(ORDERED) tests/exercises

test-notebooks: $(VENV)/.test ## drift of the editions, and the solutions run again (nbval)
	$(PY) -m coursekit check
	$(PYTEST) $(ORDERED) $(NBVAL) notebooks/solutions tests/notebooks

test-browser: chromium book ## live figures, website, slides and JupyterLab in Chromium
	$(PYTEST) -n 3 --dist loadgroup tests/browser

test-colab: $(VENV)/.test ## the notebooks with the versions Colab has, set-up line included
	$(PYTEST) -n 2 --dist load tests/colab

# Finds Chromium or installs it; says what to do where it can do neither.
chromium: $(VENV)/.test
	@$(PY) tests/browser/chromium.py

clean: ## remove what was built and the tools' caches; the environment and your work stay
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks training notebooks -name __pycache__ -type d -prune -exec rm -rf {} +
