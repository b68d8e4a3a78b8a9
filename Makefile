# The only definition of each task: people, CI and hooks call these.
# Every target sets up what it needs by itself.

SHELL := /bin/bash
.DEFAULT_GOAL := help
# Bytecode is what makes nodes start fast; a machine's wish not to write it costs minutes.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
INSTALLED := .venv/.installed
PACKAGES := rlcomponents agents launch
export PYTHON

.PHONY: help install lock demo test test-all lint format types imports docs bench check

help:  ## Lists the tasks.
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

install: $(INSTALLED)  ## Makes .venv: Python 3.10, the locked packages, this project editable.

$(INSTALLED): requirements.lock pyproject.toml
	@tools/install

lock:  ## Resolves pyproject.toml anew and writes requirements.lock.
	@tools/lock
