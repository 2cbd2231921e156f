# Needs Python 3.11 or newer and make; the test bed finds or builds the rest by itself.
PYTHON ?= python3
IMAGE ?= imagerefresh:dev
LOCK_FLAGS ?=

# The tests start the operator hundreds of times: compile it once, whatever the environment asks for.
export PYTHONDONTWRITEBYTECODE :=

VENV := .venv
BIN := $(VENV)/bin
LOCKED := $(VENV)/.locked
STAMP := $(VENV)/.installed
UV_COMPILE = $(BIN)/uv pip compile --quiet --universal --generate-hashes \
	--custom-compile-command "make lock" $(LOCK_FLAGS)

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-unit proof bench check fmt crds lock image deploy undeploy clean

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(STAMP) ## Create .venv from the locked dependencies

$(STAMP): $(LOCKED) pyproject.toml operator/imagerefresh/__init__.py
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(LOCKED): requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=")'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements-dev.txt
	@touch $@

demo: $(STAMP) ## Tell the whole story on a real control plane, from nothing
	PYTHONPATH=tests $(BIN)/python demo/story.py

test: $(STAMP) ## Run all tests, those on a real control plane too (the first run compiles it)
	@PYTHONPATH=tests $(BIN)/python -m testbed build >/dev/null
	$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder tests

test-unit: $(STAMP) ## Run the tests that need no control plane
	$(BIN)/python -m pytest tests/unit

proof: $(STAMP) ## Prove in full what the tests only sample, and print the tables
	PYTHONPATH=tests $(BIN)/python -m proof contract
	PYTHONPATH=tests $(BIN)/python -m proof model
	PYTHONPATH=tests $(BIN)/python -m proof mutation
	PYTHONPATH=tests $(BIN)/python -m proof histories
	PYTHONPATH=tests $(BIN)/python -m proof faults
	PYTHONPATH=tests $(BIN)/python -m proof objects
	PYTHONPATH=tests $(BIN)/python -m proof soak

bench: $(STAMP) ## Measure speed and cost at 1, 100 and 1,000 policies
	PYTHONPATH=tests $(BIN)/python bench/bench.py

check: $(STAMP) ## Lint, formatting, types, layers, and whether crds/ is up to date
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m imagerefresh.crdgen --check

fmt: $(STAMP) ## Format the code and apply the safe fixes
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

crds: $(STAMP) ## Regenerate crds/ from the models
	$(BIN)/python -m imagerefresh.crdgen

lock: $(STAMP) ## Renew the locks after a change in pyproject.toml (LOCK_FLAGS=--upgrade for all)
	$(UV_COMPILE) --group dev pyproject.toml -o requirements-dev.txt
	$(UV_COMPILE) -c requirements-dev.txt pyproject.toml -o requirements.txt
	$(UV_COMPILE) -c requirements-dev.txt --group build -o requirements-build.txt

image: ## Build the container image (IMAGE=name:tag)
	docker build --tag $(IMAGE) .

deploy: ## Install CRD and operator into the current cluster (IMAGE=name:tag)
	kubectl kustomize deploy | sed 's|image: imagerefresh:dev|image: $(IMAGE)|' | kubectl apply -f -

undeploy: ## Remove what deploy installed
	kubectl delete --ignore-not-found -k deploy

clean: ## Remove what was made here, not the test bed's cache
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist
	find operator tests -name __pycache__ -type d -prune -exec rm -rf {} +
