# make demo · make test · the rest: make help
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.pgbpm-setup

.DEFAULT_GOAL := help
.PHONY: help setup demo corpus test test-all test-docker lint bench bench-peers wall delivery-trial migration baseline reference pins clean

help: ## what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

setup: $(STAMP) ## virtual environment with everything (needs Python 3.11+ and a package index)

$(STAMP): pyproject.toml requirements/dev.txt
	@sh scripts/setup.sh "$(PYTHON)" "$(VENV)"
	@touch $@

demo: setup ## the order process, 200 times, with runner and server killed on the way
	@$(BIN)/python -m tests.demo

corpus: setup ## make corpus DIR=folder: check, deploy and run every BPMN file in it, report in build/corpus/report.json
	@$(BIN)/python -m tests.corpus $(if $(DIR),"$(DIR)")

test: setup ## lint, a smoke run on the other server, then everything on one server
	@$(BIN)/python -m tests.run

test-all: setup ## lint and everything on every server version found here
	@$(BIN)/python -m tests.run --all

test-docker: ## the pgTAP suite inside the image of docker/ (needs docker)
	@docker/test.sh

lint: setup ## sqlfluff, ruff, mypy and the project's own rules
	@$(BIN)/python -m tests.lint

bench: setup ## throughput and flatness, written to build/bench/results.json
	@$(BIN)/python -m benchmarks

bench-peers: setup ## ours beside absurd, DBOS, pgqueuer and procrastinate (installed from a package index): build/bench/peers.json
	@$(BIN)/python -m benchmarks.peers

wall: setup ## the tenant wall: every function and view against another tenant, report in build/wall/report.json
	@$(BIN)/python -m tests.wall

delivery-trial: setup ## 10,000 commands to a receiver that misbehaves, runners killed on the way: build/delivery/report.json
	@$(BIN)/python -m tests.delivery_trial

migration: setup ## make migration NAME=what_it_does: write the next migration from sql/
	@$(BIN)/python -m pgbpm.devtools.migration "$(NAME)"

baseline: setup ## write migrations/ anew from sql/ (only until the first release)
	@$(BIN)/python -m pgbpm.devtools.baseline

reference: setup ## write docs/reference/functions.md from the contracts in sql/
	@$(BIN)/python -m pgbpm.devtools.reference

pins: setup ## write requirements/dev.txt anew
	@sh scripts/pins.sh "$(BIN)"

clean: ## remove what was built; data in .pgbpm/ stay
	@rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis $(VENV)
