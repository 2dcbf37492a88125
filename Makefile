# Every target makes its own environment in .venv first; nothing but python3 (3.11 or later) has to be there.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
USER_STAMP := .venv/.installed-for-users
PEERS := .venv/.installed-peers
NATIVE := CMakeLists.txt $(wildcard native/*.[ch]pp native/*/*.[ch]pp)

# make sanitize: which watch is kept, over how many examples of each kernel.
SANITIZER ?= address
WATCHED := build/sanitize-$(SANITIZER)
ifeq ($(SANITIZER),thread)
WATCH := libtsan.so
else
WATCH := libasan.so
endif

# The seed of a soak, so that what it finds can be found again.
SEED ?= $(eval SEED := $(shell $(PYTHON) -c 'import secrets; print(secrets.randbelow(2**32))'))$(SEED)

.DEFAULT_GOAL := help
.PHONY: help demo gallery notebooks man site test test-all test-lowest coverage soak soak-serve sanitize check browser services format fuzz bench bench-before bench-engines quality quality-single quality-text page wheel clean

help: ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 15

# What a user needs. The project is installed as it stands in src, so that only a change in native or pyproject.toml
# installs anew and compiles.
$(USER_STAMP): pyproject.toml $(NATIVE)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=...")'
	@echo "Installing bayeskit into .venv and compiling its core: one to two minutes ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@scripts/compiler $(BIN)/python -m pip install --quiet --editable .
	@touch $@
	@echo "Installed."

# The developers' tools and the optional packages. bayeskit itself is installed by then, so nothing is compiled again.
$(STAMP): $(USER_STAMP)
	@echo "Installing the developers' tools into .venv: about a minute ..."
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --group dev 'bayeskit[charts,sql,onnx,serve]'
	@touch $@
	@echo "Installed."

# Those whom benchmarks compare with; tests do without them.
$(PEERS): $(STAMP)
	$(BIN)/python -m pip install --quiet --group bench
	touch $@

demo: $(USER_STAMP) ## the tour
	$(BIN)/python -m bayeskit.demo

test: $(STAMP) ## the tests, in five minutes: all behavior on fixed examples, docstrings and the short pages
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup

test-all: $(STAMP) ## every test: more examples, all pages, services where they are installed
	BAYESKIT_TESTS=all $(BIN)/python -m pytest -q -n 2 --dist loadgroup

test-lowest: $(STAMP) ## the fast tests on the oldest dependencies that pyproject.toml allows
	$(BIN)/python -m pip install --quiet --group lowest
	rm -rf build/lowest && $(PYTHON) -m venv build/lowest
	scripts/compiler $(BIN)/uv pip install --quiet --python build/lowest --resolution lowest-direct --editable '.[charts,sql,onnx]'
	$(BIN)/uv pip install --quiet --python build/lowest --group test
	build/lowest/bin/python -m pytest -q -n 2 --dist loadgroup

coverage: $(STAMP) ## which statements and branches the tests reach; pages in build/coverage/html
	mkdir -p build/coverage
	BAYESKIT_TESTS=all $(BIN)/python -m pytest -q -n 2 --dist loadgroup --cov --cov-report=term:skip-covered --cov-report=html

browser: ## Debian's Chromium, which tests open pages in; without it they are skipped
	scripts/browser

services: $(STAMP) ## what engines are tested on: Java, PostgreSQL, Spark, Dask; without them those tests are skipped
	$(BIN)/python -m pip install --quiet --group services
	scripts/services install

# The core once more with a sanitizer in it, beside the one in use. Debug: no NDEBUG, so that assertions hold.
$(WATCHED)/.installed: $(STAMP) $(NATIVE)
	rm -rf $(WATCHED)
	$(BIN)/python -m pip install --quiet --no-deps --target $(WATCHED) -C cmake.define.BAYESKIT_SANITIZE=$(SANITIZER) \
	  -C cmake.build-type=Debug -C build-dir=$(WATCHED)/build .
	touch $@

sanitize: EXAMPLES ?= 150
sanitize: $(WATCHED)/.installed ## the kernels' tests and hostile arrays under AddressSanitizer and UBSan; longer: EXAMPLES=2000
	BAYESKIT_TESTS=all BAYESKIT_CORE=$(WATCHED)/bayeskit BAYESKIT_EXAMPLES=$(EXAMPLES) \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096 \
	  UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS='halt_on_error=1 ignore_noninstrumented_modules=1' \
	  LD_PRELOAD="$$(gcc -print-file-name=$(WATCH)) $$(gcc -print-file-name=libstdc++.so)" \
	  $(BIN)/python -m pytest -q -n 2 tests/kernels

soak: EXAMPLES ?= 200
soak: $(STAMP) ## the laws on random examples, EXAMPLES=200 of each; prints the SEED
	@echo "make soak SEED=$(SEED) EXAMPLES=$(EXAMPLES)"
	BAYESKIT_SOAK=$(EXAMPLES) $(BIN)/python -m pytest -q -n 2 -m hypothesis --hypothesis-seed=$(SEED) tests
	@echo "nothing found by make soak SEED=$(SEED) EXAMPLES=$(EXAMPLES)"

soak-serve: KILLS ?= 1000
soak-serve: $(STAMP) ## a service that is killed KILLS=1000 times while it learns
	BAYESKIT_TESTS=all BAYESKIT_KILLS=$(KILLS) $(BIN)/python -m pytest -q -s tests/serve/test_killing.py

check: $(STAMP) ## format, lint, types, direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/clang-format --dry-run --Werror $(wildcard native/*.[ch]pp native/*/*.[ch]pp)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/stubs.py

format: $(STAMP) ## put the sources in form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(wildcard native/*.[ch]pp native/*/*.[ch]pp)

gallery: $(STAMP) ## draw the pictures of docs/gallery.md and of the course anew
	BAYESKIT_TESTS=all BAYESKIT_WRITE=1 $(BIN)/python -m pytest -q tests/test_gallery.py

notebooks: $(STAMP) ## the chapters of the course as executed notebooks in build/notebooks, and their pictures on one page
	$(BIN)/python -m pip install --quiet --group notebooks
	$(BIN)/python -m scripts.notebooks

man: $(USER_STAMP) ## manual pages of the commands in build/man, from their help: man -M build/man bayes-fit
	$(BIN)/python -m scripts.man

site: $(STAMP) ## the documentation as a site in build/site, with search and the API; it works without the net
	$(BIN)/python -m pip install --quiet --group site
	$(BIN)/python -m scripts.website.build

# For hours: make fuzz SECONDS=7200. A finding stops it, and lies in fuzz/crashes.
TARGET ?= loader bif formats query csv tokenizer
SECONDS ?= 60
fuzz: $(STAMP) ## what is read from strangers, fuzzed: TARGET="loader bif formats query csv tokenizer" SECONDS=60
	-$(BIN)/python -m pip install --quiet --group fuzz
	for target in $(TARGET); do $(BIN)/python -m fuzz.targets $$target $(SECONDS) || exit 1; done

bench: $(PEERS) ## side by side with peers
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python benchmarks/bench.py

bench-before: $(PEERS) ## is anything slower than at BEFORE=<commit>? PARTS="tables text" for some of it
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python benchmarks/before.py $(BEFORE) $(PARTS)

bench-engines: $(PEERS) ## Processes, Dask, Spark, databases beside one core, MLlib and our own scores; some minutes, after make services
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python benchmarks/bench.py engines
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python benchmarks/sql.py 2000000

quality: $(PEERS) ## accuracy and log loss beside peers, on the sets of BAYESKIT_DATA/tabular
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python benchmarks/quality.py

quality-single: $(PEERS) ## accuracy and log loss of the models beyond naive, on the same sets
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python benchmarks/quality_single.py

quality-text: $(PEERS) ## accuracy and log loss of the text recipes on the corpora of BAYESKIT_DATA
	$(BIN)/python benchmarks/text_quality.py
	$(BIN)/python benchmarks/text_peers.py

page: $(STAMP) ## the script and the style sheet of pages of models, tested and built from page
	$(BIN)/python -m pip install --quiet --group page
	$(BIN)/python -m tests.report.cases page/tests/cases.json
	cd page && PATH="$(CURDIR)/$(BIN):$$PATH" && npm ci --no-audit --no-fund && npm test && npm run build

wheel: $(STAMP) ## sdist and manylinux wheel in dist, each installed in a fresh environment and tried
	rm -rf dist build/wheel build/try
	$(BIN)/python -m pip install --quiet --group wheel
	TARGET=x86_64-linux-gnu.2.17 scripts/compiler $(BIN)/python -m build --outdir build/wheel
	PATH="$(BIN):$$PATH" $(BIN)/auditwheel repair --plat manylinux2014_x86_64 --wheel-dir dist build/wheel/*.whl
	mv build/wheel/*.tar.gz dist
	for made in dist/*; do \
	  rm -rf build/try && $(PYTHON) -m venv build/try && scripts/compiler build/try/bin/python -m pip install --quiet $$made && \
	  (cd build && try/bin/python -W error -c 'import bayeskit.kernels' && try/bin/bayes demo >/dev/null) || exit 1; \
	done

clean: ## away with everything that was made, the environment too
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache fuzz/corpus fuzz/crashes
	find src tests benchmarks fuzz -name __pycache__ -type d -prune -exec rm -rf {} +
