# Every command of the project. Each one installs first what it needs.
.DEFAULT_GOAL := help
# What `make test` and `make test-all` do side by side, on two cores.
.PHONY: .lint .pytest selection
.PHONY: test-all test-both test-lagging help install lint test demo serve bench security chaos docs lock clean
.PHONY: site pictures install-pages

BIN := .venv/bin
# Tests start a hundred processes, and without it each would compile all of Forge anew.
unexport PYTHONDONTWRITEBYTECODE

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: ## make .venv with everything, and .venv/bin/forge; at once when nothing changed
	@bin/install

lint: install ## style, format, types, layers and structure
	@$(MAKE) --no-print-directory .lint

.lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m tests.structure
	$(BIN)/pyrefly check --summary=none

# What a failed assertion compared is told where it is played alone; to prepare that takes each process ten seconds.
PYTEST = $(BIN)/pytest -n 4 --dist worksteal --inline-snapshot=disable --assert=plain

# What fails beside others and passes alone depends on the load: both runs name it, and that is to be mended.
.pytest:
	$(PYTEST) || $(BIN)/pytest -n 0 -v --inline-snapshot=disable --maxfail=1 --last-failed --last-failed-no-failures=none

test: install ## lint, and beside it the tests that a change should pass: everything CI checks
	@TEST_QUICK=1 $(MAKE) --no-print-directory -j 2 -k .lint .pytest

test-all: install ## every test on both databases, kills, floods and long searches by hypothesis among them
	@TEST_ALL=1 $(MAKE) --no-print-directory -j 2 -k .lint .pytest

test-both: install ## every story and every attack on both databases
	TEST_BOTH=1 $(PYTEST) tests/stories tests/threats

test-lagging: install ## every story while GitHub's API lags a second behind its webhooks
	TEST_LAG=1 $(PYTEST) tests/stories

# An hour or two. What a test reaches in a process of its own is not measured.
selection: install ## choose anew which stories and attacks `make test` leaves out
	rm -rf .selection && mkdir .selection
	TEST_SELECTION=.selection $(BIN)/python -m pytest -p tests.selection -n 3 --dist worksteal \
		tests/unit tests/contract tests/migrations tests/stories tests/threats
	$(BIN)/python -m tests.selection .selection

demo: install ## the main job against a local GitHub: no account, no key
	$(BIN)/forge demo

serve: install ## the server, with the settings of the environment or .env
	$(BIN)/forge serve

bench: install ## the benchmarks: ratios against a baseline of the same run
	$(BIN)/pytest tests/bench --capture=no --timeout=0

security: install ## what docs/threats.md lists, deep cases too, on both databases
	TEST_ALL=1 $(BIN)/pytest tests/threats -n 2 --dist worksteal

chaos: install ## long sweeps of kills and faults; CHAOS_ALL=1 dies at every point of an issue's run, too
	$(BIN)/pytest tests/chaos -n 2 --dist worksteal --timeout=0

# As root, with debootstrap, systemd-nspawn and slirp4netns; WAYS=systemd follows one of plain, systemd, docker, kubernetes.
install-pages: install ## follow README.md and docs/install.md to the letter, on clean machines; half an hour
	$(BIN)/python -m tests.install $(WAYS)

docs: install ## write the pages that are generated from the code
	$(BIN)/python -m bot.reference docs

site: ## the documentation as a site, in .site/html; strict: a dead link ends it
	@bin/site

pictures: install ## take the pictures of the documentation anew, with the system's Chromium
	$(BIN)/python -m tests.pictures docs/images

# From the public index only, for every platform. A pin stays unless told otherwise:
# make lock UPGRADE=--upgrade, or UPGRADE='--upgrade-package NAME'.
UPGRADE ?=
LOCK = $(BIN)/uv pip compile --no-config --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	--no-emit-index-url --annotation-style line $(UPGRADE)

lock: install ## write the requirement files anew from pyproject.toml
	@$(LOCK) pyproject.toml --output-file requirements.txt
	@$(LOCK) pyproject.toml --group dev --constraint requirements.txt --output-file requirements-dev.txt
	@$(LOCK) --group build --constraint requirements-dev.txt --output-file requirements-build.txt
	@$(LOCK) --group site --output-file requirements-site.txt

clean: ## remove .venv and every cache
	rm -rf .venv .selection .site dist .hypothesis .import_linter_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
