# `make build`, `make demo` and `make test` are all that a fresh machine with Rust and Python 3.11 needs.

# The first Python that is new enough, for the virtual environment.
PYTHON ?= $(firstword $(foreach name,python3.13 python3.12 python3.11 python3.14 python3 python,\
	$(shell $(name) -c 'import sys; sys.version_info >= (3, 11) and print("$(name)")' 2>/dev/null)))

VENV := .venv
BIN := $(VENV)/bin
TOOLS := $(VENV)/.tools
INSTALLED := $(VENV)/.installed
INSTALLED_FOR_TESTS := $(VENV)/.installed-for-tests

# one Python for everything that cargo and maturin build
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1

LINT := cargo clippy --workspace --all-targets --locked -- -D warnings
ifdef LINT_WHILE_COMPILING
# Where nothing is there yet: what clippy does, but in the compiler that makes the programs, so that nothing is read twice. On a
# machine for development it would compile once more what `cargo test` has.
export RUSTC_WORKSPACE_WRAPPER := clippy-driver
export CLIPPY_ARGS := -D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
LINT := cargo test --workspace --all-targets --locked --no-run
endif

# whatever goes into the package
SOURCES := Cargo.toml Cargo.lock .cargo/config.toml pyproject.toml packaging/stratasim_build.py $(wildcard README.md LICENSE) \
	$(shell find crates -type f ! -path '*/tests/*' ! -path '*/benches/*' ! -path '*/target/*') \
	$(shell find python/stratasim -name '*.py' -o -name '*.pyi' -o -name py.typed)

.PHONY: help build release demo test test-rust test-python test-long fuzz format stubs bench docs clean
.DEFAULT_GOAL := help

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: $(INSTALLED) ## Build and install into .venv; leaves the command at .venv/bin/stratasim

release: $(TOOLS) ## The same tuned by what the benchmarks run: packets and flows up to a third faster; takes thrice as long
	$(BIN)/python packaging/tune.py
	@rm -f $(INSTALLED_FOR_TESTS)
	@touch $(INSTALLED)
	@echo 'The command is $(BIN)/stratasim, the package is in $(BIN)/python.'

demo: build ## Run LLaMA2-13B on 1,024 accelerators, without and with coherent memory
	STRATASIM=$(CURDIR)/$(BIN)/stratasim examples/06-llama2-13b/demo.sh

# what the half of Python needs comes while that of Rust compiles, which asks for an interpreter only
test: $(BIN)/python ## Run every lint and every test; what CI runs
	@$(MAKE) --no-print-directory $(TOOLS) & tools=$$!; \
	$(MAKE) --no-print-directory test-rust; rust=$$?; \
	wait $$tools && test $$rust = 0 && $(MAKE) --no-print-directory test-python

test-rust: $(BIN)/python ## The Rust half of `make test`
	cargo fmt --all --check
	$(LINT)
	cargo test --workspace --locked --quiet

test-python: $(INSTALLED_FOR_TESTS) ## The Python half of `make test`, on the installed package, compiled like the tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest stratasim --mypy-config-file pyproject.toml
	$(BIN)/python packaging/generate_stubs.py --check
	$(BIN)/python -m pytest

test-long: $(TOOLS) ## The Rust tests that take too long for every day, such as a hundred million flits
	cargo test --workspace --locked --quiet -- --ignored

ROUNDS ?= 20
fuzz: $(TOOLS) ## The Rust tests with other draws, ROUNDS=20 times or until one fails; each round says its seed
	@for seed in $$(shuf --input-range=1-4294967295 --head-count=$(ROUNDS)); do \
		echo "PROPTEST_RNG_SEED=$$seed"; \
		PROPTEST_RNG_SEED=$$seed cargo test --workspace --locked --quiet || exit 1; \
	done

format: $(TOOLS) ## Format Rust and Python
	cargo fmt --all
	$(BIN)/ruff check --fix --quiet
	$(BIN)/ruff format

stubs: $(INSTALLED_FOR_TESTS) ## Write the type stubs of all kinds again, after a change of a spec in Rust
	$(BIN)/python packaging/generate_stubs.py

bench: build ## Time benches/cases, beside the recorded figures of SimGrid
	benches/run --command $(BIN)/stratasim

docs: ## Build the book into docs/book; needs mdbook (cargo install mdbook)
	@command -v mdbook >/dev/null || { echo 'mdbook is missing: cargo install --locked mdbook' >&2; exit 1; }
	mdbook build docs

clean: ## Remove everything that was built
	cargo clean
	rm -rf $(VENV) results dist docs/book python/stratasim.data .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find python packaging tests -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/python:
	@test -n '$(PYTHON)' || { echo 'Python 3.11 or later is missing; where is it? make PYTHON=/path/to/python' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(TOOLS): packaging/requirements.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --requirement $<
	@touch $@

# without dependencies: the pinned ones are there; with the pinned maturin rather than a fresh one
$(INSTALLED): $(TOOLS) $(SOURCES)
	@echo 'Compiling; from clean this takes some minutes.'
	$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --no-index --force-reinstall .
	@rm -f $(INSTALLED_FOR_TESTS)
	@touch $@
	@echo 'The command is $(BIN)/stratasim, the package is in $(BIN)/python.'

# with what `cargo test` has compiled already
$(INSTALLED_FOR_TESTS): $(TOOLS) $(SOURCES)
	STRATASIM_PROFILE=dev $(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --no-index --force-reinstall .
	@rm -f $(INSTALLED)
	@touch $@
