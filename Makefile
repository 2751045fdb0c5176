# Everything a developer does here, one word each. `make help` lists the words.

SHELL := /bin/bash -euo pipefail
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WHEELS := target/wheels
# Its other files have names that change with their content.
VIEWER := python/msprobe/tensorboard/static/index.js
SOURCES := $(shell find rust python \( -name target -o -name static \) -prune -o -type f -not -name '*.so' -not -path '*/__pycache__/*' -print) \
	Cargo.toml Cargo.lock pyproject.toml $(wildcard $(VIEWER))

# A prerequisite that is missing fails by name, and says what it is for.
need = @command -v $(1) >/dev/null || { echo "$(1) is missing: $(2)" >&2; exit 1; }

.PHONY: help demo check faults test test-rust test-python plugin test-plugin fuzz fuzz-smoke bench wheel format lint licences clean

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: plugin $(VENV)/installed ## Build, install into .venv, compare two real dumps, say how to look at the result
	$(BIN)/pip install --quiet tensorboard
	$(BIN)/msprobe-rs graph_visualize -tp tests/data/dumps/llama_perturbed/target -gp tests/data/dumps/llama_perturbed/golden -o out/demo

check: lint licences test-rust ## Format, lints, types, licences, unit tests

test: check fuzz-smoke plugin test-python test-plugin ## Every check and every functional test

test-rust:
	$(call need,cargo,install Rust 1.89 or newer)
	cargo test --workspace --locked

test-python: $(VENV)/installed $(VENV)/check-tools $(VENV)/test-tools
	$(BIN)/python -m mypy.stubtest msprobe._native
	$(BIN)/python -m pytest -n auto

plugin: $(VIEWER) ## Build the TensorBoard plugin's front end into the package

$(VIEWER): $(shell find tb_plugin/src tb_plugin/public -type f) tb_plugin/package-lock.json tb_plugin/vite.config.ts
	$(call need,npm,install Node 20.19, 22.12 or newer)
	# Not `npm ci`: the lock file lacks an optional package for Windows, which npm cannot put there and `ci` insists on.
	cd tb_plugin && npm install --no-save --no-audit --no-fund && npm run build

# The oldest TensorBoard that is supported needs an older numpy, and pkg_resources of setuptools.
OLDEST := .venv-tensorboard-2.16

$(OLDEST)/installed: $(VENV)/installed
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/pip install --quiet 'tensorboard==2.16.*' 'numpy<2' 'setuptools<81'
	$(OLDEST)/bin/pip install --quiet --force-reinstall --no-deps $(WHEELS)/*.whl
	@touch $@

test-plugin: plugin $(VENV)/installed $(OLDEST)/installed ## Tests of the TensorBoard plugin, in a real TensorBoard and Chromium
	$(call need,chromium,install Debian's package chromium)
	cd tb_plugin && npm run check && npm test
	$(BIN)/pip install --quiet tensorboard
	node --test tests/browser/
	MSPROBE_PYTHON=$(OLDEST)/bin/python node --test tests/browser/viewer.test.mjs

lint: $(VENV)/check-tools
	$(call need,cargo,install Rust 1.89 or newer)
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

licences:
	$(PYTHON) scripts/third_party.py --check

format: $(VENV)/check-tools ## Format everything
	cargo fmt --all
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

faults: $(VENV)/installed $(VENV)/check-tools ## 200 faults and 200 controls for each recorded pair; takes minutes
	MSPROBE_FAULT_SEEDS=200 $(BIN)/python -m pytest -n auto tests/test_fault_injection.py

fuzz: ## Every fuzz target for a minute
	scripts/fuzz.sh 60

fuzz-smoke: ## Every fuzz target for ten seconds
	scripts/fuzz.sh 10

bench: $(VENV)/installed $(VENV)/test-tools ## The only place of timings: beside msProbe 26.2, into BENCHMARKS.md (BENCHES="reading .." for some)
	$(call need,cargo,install Rust 1.89 or newer)
	$(BIN)/python -m benches $(BENCHES)

wheel: $(VENV)/build-tools plugin ## Wheel and sdist for release, in dist/
	$(call need,cargo,install Rust 1.89 or newer)
	$(BIN)/pip install --quiet 'maturin[zig]'
	rm -rf dist
	# maturin asks the first Python it finds for zig.
	PATH="$(CURDIR)/$(BIN):$$PATH" maturin build --release --zig --compatibility manylinux2014 --out dist
	$(BIN)/maturin sdist --out dist

clean: ## Remove everything that was built
	rm -rf $(VENV) target dist out fuzz/target

$(VENV)/bin/python:
	$(call need,$(PYTHON),install Python 3.10 or newer)
	$(PYTHON) -m venv $(VENV) || { echo "$(PYTHON) cannot make a venv: install python3-venv" >&2; exit 1; }

$(VENV)/%-tools: requirements/%.txt | $(VENV)/bin/python
	$(BIN)/pip install --quiet -r $<
	@touch $@

$(VENV)/installed: $(SOURCES) | $(VENV)/build-tools
	$(call need,cargo,install Rust 1.89 or newer)
	@echo "compiling the engine: some minutes the first time"
	rm -rf $(WHEELS)
	$(BIN)/maturin build --quiet --release --out $(WHEELS)
	$(BIN)/pip install --quiet $(WHEELS)/*.whl
	$(BIN)/pip install --quiet --force-reinstall --no-deps $(WHEELS)/*.whl
	@touch $@
