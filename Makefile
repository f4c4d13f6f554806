# Every target sets up what it needs first. Arguments: make demo ARGS='--fast --exit'
PYTHON ?= python3
ARGS ?=

TARGETS := setup demo run test lint bench chaos fuzz
.PHONY: help $(TARGETS)

help:
	@echo "make demo     the whole bot on a replay, nothing to configure"
	@echo "make run      the bot for real; needs a config.toml"
	@echo "make test     everything the project checks"
	@echo "make lint     format, lint, types and layers only"
	@echo "make bench | chaos | fuzz     measurements, long fault runs, long fuzzing"
	@echo "make setup    .venv only"

$(TARGETS):
	@$(PYTHON) bootstrap.py $@ $(ARGS)
