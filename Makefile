# `make report` and `make test` are all a newcomer needs; both build the environment first.

PYTHON ?= python3
PYTEST_FLAGS ?= -n auto
PYTHONS ?= python3.11 python3.12 python3.13

# Tools are run as `python -m ...`: a script's first line does not survive a blank in the path.
py := .venv/bin/python
pip := $(py) -m pip --disable-pip-version-check --no-input
stamp := .venv/installed

# An editable install remembers its folder: install again when the clone was moved.
ifneq ("$(shell cat $(stamp) 2>/dev/null)","$(CURDIR)")
moved := FORCE
endif

.DEFAULT_GOAL := help
.PHONY: help setup report test test-all check bench docs docs-max studies site dist format clean FORCE

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 10

setup: $(stamp) ## make .venv/ with everything in it

$(stamp): pyproject.toml constraints.txt $(moved)
	@command -v "$(PYTHON)" >/dev/null || \
	    { echo "fmacost: no $(PYTHON) here; install Python 3.11 or newer, or say make PYTHON=..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "fmacost: Python 3.11 or newer is needed, not" \
	        "$$("$(PYTHON)" --version 2>&1) ($(PYTHON)); say make PYTHON=..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null || \
	    { echo "fmacost: $(PYTHON) lacks the venv module;" \
	        "on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "fmacost: installing into .venv/ (once, about a minute) ..." >&2
	@$(py) -m pip --version >/dev/null 2>&1 || "$(PYTHON)" -m venv --clear .venv
	@$(pip) install --quiet --quiet --constraint constraints.txt --editable '.[dev,plot,report]' >&2
	@pwd -P > $(stamp)

report: setup ## int8 against fp8 e4m3: the main job; ends with the path of a page
	@$(py) -m fmacost compare int8 e4m3fn
	@$(py) -m fmacost --quiet report int8 e4m3fn -o report \
	    $(addprefix --widths ,$(wildcard docs/studies/widths.csv))

test: setup ## the tests; with SLOW=1 the slow ones too, with SLOW=only just those
	$(py) -m pytest $(PYTEST_FLAGS) \
	    $(if $(SLOW),-m "not sweep$(if $(filter only,$(SLOW)), and slow)")

test-all: setup ## all tests, the slow ones and the sweeps (half an hour and more) too
	$(py) -m pytest $(PYTEST_FLAGS) -m ""

check: setup ## layout, lint, types, tests
	$(py) -m ruff format --check .
	$(py) -m ruff check .
	$(py) -m mypy
	$(py) -m pytest $(PYTEST_FLAGS)

bench: setup ## measure speeds against Verilator, Yosys, the cache and one worker
	@$(py) -m fmacost.reports.bench

docs: setup ## measure, and rewrite the numbers in README.md and docs/
	@$(py) -m fmacost.reports.documents

docs-max: setup ## the same for docs/max.md, the numbers at effort max: many minutes
	@$(py) -m fmacost.reports.documents --slow

dist: setup ## build sdist and wheel in dist/, try the wheel in clean environments of PYTHONS
	@$(pip) install --quiet --quiet --constraint constraints.txt build >&2
	@rm -rf dist && $(py) -m build --quiet
	@for python in $(PYTHONS); do .ci/try-wheel dist/*.whl "$$python" || exit; done
	@ls dist/*

site: setup ## build docs/ as a site in build/site/
	@$(pip) install --quiet --quiet --constraint constraints.txt --editable '.[docs]' >&2
	@$(py) -m sphinx --quiet --fail-on-warning --keep-going docs build/site
	@echo build/site/index.html

studies: setup ## measure and draw the studies, or one of them with STUDY=widths
	@$(py) -m fmacost.reports.documents.studies $(if $(STUDY),--study $(STUDY))

format: setup ## lay out the sources, mend what ruff can
	$(py) -m ruff format .
	$(py) -m ruff check --fix .

clean: ## remove .venv/ and all that was generated
	rm -rf .venv report build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info src/*.egg-info
	find sim hw reports tests src -name __pycache__ -type d -prune -exec rm -rf {} +
