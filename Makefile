# Two commands for everybody: `make demo` and `make test`. The rest is for contributors.
VENV ?= .venv
PYTHON := $(VENV)/bin/python
STAMP := $(VENV)/.installed-from-lock
FRAMEWORKS_VENV ?= .venv-frameworks
FRAMEWORKS_STAMP := $(FRAMEWORKS_VENV)/.installed-from-lock
DEMO_DIR ?= .demo
# The demo needs no tools of contributors; where their environment is there, it will do.
DEMO_VENV := $(if $(wildcard $(STAMP)),$(VENV),.venv-demo)
DEMO_LOCKS := $(patsubst %,requirements/%.txt,build extender agent cli)
CALLS := .api-calls
# The newest Kubernetes that is wired (docs/versions.md), and what runs on it beside the gate's.
NEWEST := 1.37.2
ON_NEWEST := tests/controlplane/queue/test_queued_path.py \
	$(patsubst %,tests/controlplane/placement/test_%.py,direct devices oracle_devices oracle_claims oracle_masks)

.DEFAULT_GOAL := help
PIP_OPTIONS := --quiet --disable-pip-version-check
# The project has no hash, so it comes second; nothing is downloaded for it.
ITSELF := --no-deps --no-build-isolation

.PHONY: help venv lock audit check format lint types imports test test-e2e test-frameworks reproduce docs demo clean

help: ## this list
	@sed -n 's/^\([a-z][a-z0-9-]*\):.*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{printf "  make %-15s %s\n", $$1, $$2}'

venv: $(STAMP) ## a virtual environment with exactly the files that requirements/dev.txt names by hash

$(STAMP): requirements/dev.txt pyproject.toml trainer/pyproject.toml
	@[ -x $(PYTHON) ] || python3 -m venv $(VENV)
	@echo "installing the packages of requirements/dev.txt into $(VENV): a few minutes the first time"
	@$(PYTHON) -m pip install $(PIP_OPTIONS) --require-hashes --requirement requirements/dev.txt
	@PYTHONWARNINGS=ignore $(PYTHON) -m pip install $(PIP_OPTIONS) $(ITSELF) --editable . --editable ./trainer
	@touch $@

.venv-demo/.installed-from-lock: $(DEMO_LOCKS) pyproject.toml trainer/pyproject.toml
	@[ -x .venv-demo/bin/python ] || python3 -m venv .venv-demo
	@echo "installing the packages of the demo into .venv-demo: a minute the first time"
	@.venv-demo/bin/python -m pip install $(PIP_OPTIONS) --require-hashes $(addprefix --requirement ,$(DEMO_LOCKS))
	@PYTHONWARNINGS=ignore .venv-demo/bin/python -m pip install $(PIP_OPTIONS) $(ITSELF) --editable . --editable ./trainer
	@touch $@

lock: $(STAMP) ## resolve requirements/ again; UPGRADE=1 takes the newest allowed versions
	PATH="$(abspath $(VENV))/bin:$$PATH" $(PYTHON) -m release lock $(if $(filter 1,$(UPGRADE)),--upgrade)

audit: $(STAMP) ## known vulnerabilities of the locked versions; skipped with the reason without a network
	@$(PYTHON) -m release audit

check: format lint types imports ## format, lint, types and import contracts (changes nothing)

format: $(STAMP) ## is every file formatted? (`.venv/bin/ruff format .` formats)
	$(VENV)/bin/ruff format --check .

lint: $(STAMP) ## ruff, every rule, exceptions with reasons
	$(VENV)/bin/ruff check .

types: $(STAMP) ## mypy, strict
	$(VENV)/bin/mypy

imports: $(STAMP) ## the import contracts of docs/architecture.md
	$(VENV)/bin/lint-imports --no-cache

test: $(STAMP) ## the gate: every test but the long ones; SINCE=REV runs what the change since REV can reach
	@$(PYTHON) -m tests.gate $(if $(SINCE),--since $(SINCE)) $(PYTEST_ARGS)

test-e2e: $(STAMP) ## the long ones: faults on the real control plane, real nodes, exact rights, every law with 2000 examples
	rm -rf $(CALLS)
	$(PYTHON) -m pytest -m e2e --record-api-calls $(CALLS) $(PYTEST_ARGS)
	$(if $(PYTEST_ARGS),,$(PYTHON) -m devcluster rights $(CALLS))
	$(PYTHON) -m pytest --kubernetes $(NEWEST) -m "controlplane and not e2e" $(ON_NEWEST) $(PYTEST_ARGS)
	HYPOTHESIS_PROFILE=nightly $(PYTHON) -m pytest tests/property tests/controlplane/placement/test_oracle_masks.py $(PYTEST_ARGS)

$(FRAMEWORKS_STAMP): requirements/frameworks.txt trainer/pyproject.toml
	@[ -x $(FRAMEWORKS_VENV)/bin/python ] || python3 -m venv $(FRAMEWORKS_VENV)
	$(FRAMEWORKS_VENV)/bin/python -m pip install $(PIP_OPTIONS) --require-hashes --requirement requirements/frameworks.txt
	$(FRAMEWORKS_VENV)/bin/python -m pip install $(PIP_OPTIONS) $(ITSELF) --editable ./trainer
	@touch $@

test-frameworks: $(FRAMEWORKS_STAMP) ## the trainer library with real PyTorch, Lightning, Keras, Hugging Face (6 GB)
	$(FRAMEWORKS_VENV)/bin/python -m pytest --config-file tests/frameworks/frameworks.ini --rootdir . \
	  --confcutdir tests/frameworks tests/frameworks $(PYTEST_ARGS)

reproduce: $(STAMP) ## the figures and tables of the four papers, by our own decision code (hours; SEEDS=4 for a look)
	$(VENV)/bin/shuntyard-sim reproduce all $(if $(SEEDS),--seeds $(SEEDS))
	$(VENV)/bin/shuntyard-sim page

docs: $(STAMP) ## the documentation as a site, in build/site
	@NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict --quiet
	@echo "build/site/index.html"

demo: $(DEMO_VENV)/.installed-from-lock ## a real control plane, our extender, real training; ONCE=1 ends by itself
	@$(DEMO_VENV)/bin/python -m devcluster.demo --dir $(DEMO_DIR) $(if $(filter 1,$(ONCE)),--once)

clean: ## caches, demo state and the virtual environments; not the built binaries
	rm -rf $(VENV) .venv-demo $(FRAMEWORKS_VENV) $(DEMO_DIR) $(CALLS) .durations .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
