# Every command works on a fresh machine with python3 (3.11 or newer) and make; .venv is made when needed.

PYTHON ?= python3
BIN := .venv/bin
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check

# The tests start engines and interpreters, which need memory. So limit the number of workers.
WORKERS ?= 4
# Arguments for pytest, as in: make test PYTEST_ARGS="-k version"
PYTEST_ARGS ?=
# Which dependencies make test-dependencies installs, one after the other, and the tests it runs with each.
RESOLUTION ?= lowest-direct highest
CORE_TESTS ?= $(addprefix tests/,item entity plan requests query session transport cli tools)
# Arguments for the torture test, as in: make torture TORTURE_ARGS="--seconds 60 --processes 4 --seed 7"
TORTURE_ARGS ?=
# How often live tables are changed, as in: make torture-changes TORTURE_RUNS=100
TORTURE_RUNS ?= 20
# Arguments for the fuzzing machines, as in: make fuzz FUZZ_EXAMPLES=10000 FUZZ_ARGS="-k keys"
FUZZ_ARGS ?=
FUZZ_EXAMPLES ?= 2000
# Which wing, tests and mutants, as in: make mutate MUTATE_ARGS="query tests/requests tests/query --count 50 --seed 3"
MUTATE_ARGS ?= plan tests/requests tests/plan --count 100
# Which modules of entity, as in: make mutate-entity MUTATE_MODULES="template codec/value"
MUTATE_MODULES ?=
# Arguments for what stays flat, as in: make bench-scale SCALE_ARGS="--items 100000 --entities 10000 --write"
SCALE_ARGS ?=
# Arguments for the verification of exports, as in: make bench-exports EXPORTS_ARGS="--items 100000 --engine export2"
EXPORTS_ARGS ?=
# Arguments for the starts of a Lambda function, as in: make bench-lambda LAMBDA_ARGS="--sizes"
LAMBDA_ARGS ?=
# Arguments for the comparison with peers, as in: make bench-peers PEERS_ARGS="--rounds 5 --cold-rounds 3 --write"
PEERS_ARGS ?=

# Scan for the patterns of keys and tokens. High entropy and names would match KSUIDs and the word "token" everywhere.
SECRETS := $(addprefix --disable-plugin ,HexHighEntropyString Base64HighEntropyString KeywordDetector)
# A list of names, so that the scan does not need git.
SCANNED := $(wildcard .ci .github .gitignore .pre-commit-config.yaml *.md *.toml LICENSE Makefile benchmarks docs dynaorm examples tests tools)

.DELETE_ON_ERROR:
.PHONY: help demo test environments coverage test-browser test-owners test-spark bench-exports test-dependencies lint audit format async docs pictures golden torture torture-changes fuzz mutate mutate-entity mutate-endings bench bench-scale bench-fairness bench-lambda bench-peers bench-figures clean

help:
	@echo "make demo         three scenes on an in-memory DynamoDB: what each write does to the items"
	@echo "make test         format, lint, types, floors, tests"
	@echo "make coverage     run the tests, and list the lines that none of them runs"
	@echo "make test-browser test the page of a table in a Chromium that is on PATH"
	@echo "make test-owners  test dynaorm beside the libraries whose tables it maps"
	@echo "make test-spark   test the verification with Spark, which needs Java 17 on PATH"
	@echo "make test-dependencies  core tests with the lowest and with the newest dependencies (RESOLUTION=highest: only these)"
	@echo "make lint         the same without the tests"
	@echo "make audit        look for known vulnerabilities in the installed packages (asks pypi.org)"
	@echo "make format       apply the formatting and the fixes of ruff"
	@echo "make async        generate the asynchronous session from the synchronous one"
	@echo "make docs         build the documentation site in build/html, strictly, with both builders"
	@echo "make golden       write what the golden files of requests record; read it as a difference"
	@echo "make pictures     draw the pictures of documents, and the golden files of tests"
	@echo "make torture      run processes that compete, meet faults and are killed, and check what they stored"
	@echo "make torture-changes  change live tables with processes that are killed, and between two versions of a service"
	@echo "make fuzz         run the properties, state machines and sequences of events with many examples"
	@echo "make mutate       mutate the code of a wing, and list changes that no test notices (mutate-entity: of entity/)"
	@echo "make mutate-endings  put wrong steps into the table of how writes end, and list those that no sequence of events notices"
	@echo "make bench        count the instructions of what must be fast"
	@echo "make bench-scale  measure what must stay flat"
	@echo "make bench-fairness  measure how evenly a session serves many tasks and threads"
	@echo "make bench-exports  measure how fast exports are verified, and in how much memory"
	@echo "make bench-lambda measure how fast a Lambda function starts"
	@echo "make bench-peers  compare with other DynamoDB libraries"
	@echo "make bench-figures  count and compare, and write the figures"
	@echo "make clean        remove everything the other commands created"

demo: .venv/.demo
	@$(BIN)/dynaorm demo

# Two environments are installed at a time, because that is mostly waiting.
environments:
	@$(MAKE) --no-print-directory --jobs=2 .venv/.dev .venv-ministack/.installed

test: environments lint
	$(BIN)/python -m pytest --numprocesses=auto --maxprocesses=$(WORKERS) $(PYTEST_ARGS)

# Not part of make test: tracing doubles the CPU time. Interrupted runs leave data behind: erase it first.
coverage: .venv/.dev .venv-ministack/.installed
	@$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest --numprocesses=auto --maxprocesses=$(WORKERS) $(PYTEST_ARGS)
	@$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# Not part of make test: not every machine has a browser.
test-browser: .venv/.browser
	DYNAORM_BROWSER=1 $(BIN)/python -m pytest --numprocesses=auto --maxprocesses=$(WORKERS) tests/browser $(PYTEST_ARGS)

# Not part of make test, because the libraries of other programs are heavy. Their items are in the normal tests.
test-owners: .venv/.owners
	$(BIN)/pytest tests/owners $(PYTEST_ARGS)

test-spark: .venv/.spark
	$(BIN)/pytest tests/integrity/test_spark.py $(PYTEST_ARGS)

# Not part of make test, because it installs another environment. The reader of JSON needs pydantic 2.13, and falls back.
test-dependencies: $(addprefix test-dependencies-,$(RESOLUTION))

test-dependencies-%: .venv-uv/.installed .venv-ministack/.installed
	.venv-uv/bin/uv venv --quiet --clear --python $(PYTHON) .venv-$*
	.venv-uv/bin/uv pip install --quiet --python .venv-$*/bin/python --resolution $* --requirements pyproject.toml --extra dev
	.venv-uv/bin/uv pip install --quiet --python .venv-$*/bin/python --no-deps --editable .
	.venv-$*/bin/python -m pytest --numprocesses=auto --maxprocesses=$(WORKERS) \
		$(if $(filter lowest%,$*),--ignore=tests/entity/json_reader) $(CORE_TESTS) $(PYTEST_ARGS)

lint: .venv/.dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/python -m tools.user_code
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m pip check
	@echo "detect-secrets: every file except those that commands created"
	@find $(SCANNED) -type f -not -path "*/__pycache__/*" -exec $(BIN)/detect-secrets-hook --no-verify $(SECRETS) {} +

# Not part of make test, because it fails without a connection to pypi.org.
audit: .venv/.dev .venv-audit/.installed
	.venv-audit/bin/pip-audit --strict --skip-editable --progress-spinner=off \
		--path "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"

format: .venv/.dev
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

async: .venv/.dev
	$(BIN)/python tools/make_async.py

# MkDocs warns of its own end at every start. Zensical, its successor, builds the site that is published.
docs: .venv/.dev
	$(BIN)/python -m tools.site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --config-file build/mkdocs.yml --site-dir mkdocs
	cd build && ../$(BIN)/zensical build --strict --config-file mkdocs.yml

# Read it as a difference before you commit it. GOLDEN="save query" writes these files alone.
golden: .venv/.dev
	$(BIN)/python -m tests.requests $(GOLDEN)

pictures: .venv/.dev
	PYTHONPATH=. $(BIN)/python tools/make_pictures.py

torture: .venv/.dev .venv-ministack/.installed
	$(BIN)/python -m tests.torture $(TORTURE_ARGS)

torture-changes: .venv/.dev .venv-ministack/.installed
	TORTURE_RUNS=$(TORTURE_RUNS) $(BIN)/pytest -q -n2 tests/integrity/test_run_killed.py tests/integrity/test_deployment.py

# Long runs are expected here, so do not dump tracebacks of them.
fuzz: .venv/.dev
	HYPOTHESIS_PROFILE=fuzz FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) $(BIN)/pytest -o faulthandler_timeout=0 \
		tests/fuzz tests/world tests/faults/test_endings_in_worlds.py $(FUZZ_ARGS)

mutate: .venv/.dev
	$(BIN)/python -m tests.mutants $(MUTATE_ARGS)

# Importing a test module compiles its classes, before a function could be replaced. So each mutant needs a process.
mutate-entity: .venv-mutation/.installed
	.venv-mutation/bin/python tests/mutate_entity.py $(MUTATE_MODULES)

mutate-endings: .venv/.dev
	$(BIN)/python -m tests.faults.wrong_cells

bench: .venv/.dev
	$(BIN)/python -m benchmarks.instructions

bench-scale: .venv/.dev
	$(BIN)/python -m benchmarks.scale $(SCALE_ARGS)

bench-fairness: .venv/.dev
	$(BIN)/python -m benchmarks.fairness

bench-exports: .venv/.dev
	PYTHONPATH=. $(BIN)/python benchmarks/exports.py $(EXPORTS_ARGS)

bench-lambda: .venv/.dev
	$(BIN)/python benchmarks/lambda_start.py $(LAMBDA_ARGS)

bench-figures: .venv/.dev .venv-peers/.installed .venv-peers-aio/.installed
	$(BIN)/python -m benchmarks.instructions --write
	.venv-peers/bin/python -m benchmarks.peers.run --write $(PEERS_ARGS)

bench-peers: .venv-peers/.installed .venv-peers-aio/.installed
	.venv-peers/bin/python -m benchmarks.peers.run $(PEERS_ARGS)

clean:
	rm -rf .venv .venv-uv .venv-lowest-direct .venv-highest .venv-ministack .venv-audit .venv-mutation .venv-peers .venv-peers-aio .coverage .coverage.* build dist
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find dynaorm tests tools examples benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# Stamp files: install once, and again when the dependencies change.
.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dynaorm needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv

.venv/.demo: pyproject.toml | .venv/bin/python
	$(BIN)/python $(PIP_INSTALL) --editable ".[cli]"
	@touch $@

.venv/.dev: pyproject.toml | .venv/bin/python
	$(BIN)/python $(PIP_INSTALL) --editable ".[dev]"
	@touch $@ .venv/.demo

.venv/.owners: pyproject.toml | .venv/.dev
	$(BIN)/python $(PIP_INSTALL) --editable ".[owners]"
	@touch $@

.venv/.spark: pyproject.toml | .venv/.dev
	$(BIN)/python $(PIP_INSTALL) --editable ".[spark]"
	@touch $@

.venv/.browser: pyproject.toml | .venv/bin/python
	$(BIN)/python $(PIP_INSTALL) --editable ".[browser,dev]"
	@touch $@ .venv/.dev .venv/.demo

# ministack pins botocore, so it needs an environment of its own.
.venv-ministack/.installed:
	$(PYTHON) -m venv .venv-ministack
	.venv-ministack/bin/python $(PIP_INSTALL) "ministack>=1.5,<2"
	@touch $@

# The tool of mutate-entity, and all dependencies of the tests.
.venv-mutation/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-mutation
	.venv-mutation/bin/python $(PIP_INSTALL) --editable ".[mutation]"
	@touch $@

.venv-uv/.installed:
	$(PYTHON) -m venv .venv-uv
	.venv-uv/bin/python $(PIP_INSTALL) "uv>=0.9,<1"
	@touch $@

.venv-audit/.installed:
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/python $(PIP_INSTALL) "pip-audit>=2.10,<3"
	@touch $@

# The libraries that dynaorm is compared with. aiobotocore pins botocore, so it needs an environment of its own.
.venv-peers/.installed: benchmarks/peers/requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python $(PIP_INSTALL) --editable . --requirement $<
	@touch $@

.venv-peers-aio/.installed: benchmarks/peers/requirements-aio.txt
	$(PYTHON) -m venv .venv-peers-aio
	.venv-peers-aio/bin/python $(PIP_INSTALL) --requirement $<
	@touch $@
