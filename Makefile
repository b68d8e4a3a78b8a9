# The only definition of each task: people, CI and hooks call these.
# Every target sets up what it needs by itself.

SHELL := /bin/bash
.DEFAULT_GOAL := help
# Bytecode is what makes nodes start fast; a machine's wish not to write it costs minutes.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
INSTALLED := .venv/.installed
PEERS_INSTALLED := .venv-peers/.installed
BENCHES := $(filter-out benchmarks/bench_scaling.py,$(wildcard benchmarks/bench_*.py))
PACKAGES := rlcomponents agents launch experiments
FAST := --numprocesses=2 --dist=loadfile --cov --cov-report=html:build/coverage --cov-fail-under=85
export PYTHON

.PHONY: help install lock doctor demo test test-all lint format types imports docs bench bench-peers-env bench-docs bench-scaling results check

help:  ## Lists the tasks.
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

install: $(INSTALLED)  ## Makes .venv: Python 3.10, the locked packages, this project editable.

$(INSTALLED): requirements.lock pyproject.toml
	@tools/install

lock:  ## Resolves pyproject.toml anew and writes requirements.lock.
	@tools/lock

doctor: $(INSTALLED)  ## Says whether this machine can run everything, and what to do where it cannot.
	@$(BIN)/python -m rlcomponents.doctor

demo: $(INSTALLED)  ## Trains Gorila DQN on MinAtar Breakout and shows what it learned (4 minutes with the installation).
	@$(BIN)/python launch/demo.py

# The fast ring: no processes, no training, under three minutes on two cores.
test: $(INSTALLED)  ## Runs the fast tests and prints the coverage of rlcomponents.
	@$(BIN)/python -m pytest $(FAST)

test-all: $(INSTALLED)  ## Runs every test: fast, integration and learning.
	@$(BIN)/python -m pytest -m ""

lint: $(INSTALLED)  ## Checks style and formatting.
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

format: $(INSTALLED)  ## Repairs what lint complains about, where it can.
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

types: $(INSTALLED)  ## Checks types.
	@$(BIN)/mypy $(PACKAGES)

imports: $(INSTALLED)  ## Checks that imports point down the layers.
	@$(BIN)/lint-imports --no-logo

docs: $(INSTALLED)  ## Builds the documentation into build/docs; a warning, or a public name without a description, is an error.
	@$(BIN)/python tools/build_docs.py

bench-peers-env: $(PEERS_INSTALLED)  ## Makes .venv-peers: what the benchmarks compare with.

$(PEERS_INSTALLED): benchmarks/requirements-peers.txt
	@tools/install_peers

# All of them, also where one fails; BENCH_FLAGS=--quick only shows that they work.
bench: $(INSTALLED) $(PEERS_INSTALLED)  ## Runs the benchmarks one after another; results in build/benchmarks.json.
	@rm -f build/benchmarks.json; SECONDS=0; failed=0; for script in $(BENCHES); do \
	  echo "== $$script ($$SECONDS s)"; $(BIN)/python "$$script" $(BENCH_FLAGS) || failed=1; \
	done; $(BIN)/python tools/benchmark_table.py; echo "All of it took $$SECONDS s."; exit $$failed

bench-docs: $(INSTALLED)  ## Puts the results of the benchmarks into docs/benchmarks.md.
	@$(BIN)/python tools/benchmark_table.py --write

# Apart from bench: SCALING_FLAGS=--write also puts the results into docs/scaling.md.
bench-scaling: $(INSTALLED)  ## Measures 1 to 16 bundles (ten minutes), and predicts Gorila's 100 with a model.
	@$(BIN)/python benchmarks/bench_scaling.py $(BENCH_FLAGS)
	@$(BIN)/python benchmarks/predict_scaling.py build/scaling.json $(SCALING_FLAGS)

# The long ones last; each goes on where it stopped, also where others fail.
SCALING_GAME := --environment=minatar:breakout --score=3 --max_steps=400000 --evaluation_period_steps=20000
results: $(INSTALLED)  ## Runs the experiments behind docs/results, one after another (hours); goes on where it stopped.
	@failed=0; for call in learning_rates.py exploration.py scaling_workers.py \
	  "scaling_workers.py $(SCALING_GAME)" minatar_suites.py headlines.py atari_suites.py; do \
	  echo "== $$call"; $(BIN)/python experiments/$$call || failed=1; \
	done; exit $$failed

check: lint types imports docs test  ## Everything that a change must pass.
