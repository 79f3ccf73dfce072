# make demo: install grice into .venv, and show what it finds in a log that ships with it.
# make test: run the tests of every change, in some three minutes.
# make test-all: run all tests, those that are slow, of the documentation and of research as well,
# and of the pages in a browser if chromium is on the path.
# make test-rest: run those that make test leaves out, and the properties with more examples.
# make portability: are scores what is promised with every instruction set of this processor?
# make check: format, lint, types, and all tests with their floor of 95 % of the lines, in one run.
# make coverage: run all tests without data sets, and fail if they reach under 95 % of the lines.
# make mutants: change the code in small ways, and see which changes no test notices (some minutes;
# nightly in CI: MUTANTS="--minutes 150 --least 0.8" has time for all that are drawn, and fails).
# make release: build twice, compare, check, and write dist/ with bill of materials and hashes.
# make first-screen: after make release, install grice as the README says, three times, and run the demo.
# make site: build the documentation into site/, run its notebooks; open site/index.html by a server.
# make lock: write packaging/requirements.lock, the versions with hashes that CI installs if it can.
# make locked: install those versions into .venv.
# make oldest: do the tests pass with the oldest versions allowed, and are scores the same?
# make results: record what docs/results holds of other versions again, the cheapest first; can be resumed.
# make licences: list the licence of each dependency. make audit: look for known vulnerabilities.
# make picture: take the picture of the report that the README shows, with chromium.
# make fuzz SECONDS=300: read damaged files of every format; what breaks a reader is kept as a test.
# All need Python >= 3.11, nothing else; they make their own environment in .venv.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

LOCK := packaging/requirements.lock
NAMES := grice-models grice grice-tasks grice-annotate grice-research
EDITABLE := $(patsubst %,--editable packages/%,$(NAMES:grice='grice[dev]'))

define SAME
import json, sys
first, second = ([json.loads(line)["value"] for line in open(name)] for name in sys.argv[1:])
furthest = max(abs(a - b) for a, b in zip(first, second, strict=True))
sys.exit(furthest > 1e-6 and f"scores differ by {furthest:.2g}")
endef
export SAME

.PHONY: audit bench check clean coverage demo docs first-screen fuzz licences lint lock locked mutants oldest picture portability release results site test test-all test-rest

demo: $(VENV)/.user
	$(BIN)/grice demo

test: $(VENV)/.developer
	$(BIN)/python -m pytest -q

test-all: $(VENV)/.developer $(VENV)/.browser site
	$(BIN)/python -m pytest -q -m "" --hypothesis-profile=all

test-rest: $(VENV)/.developer
	$(BIN)/python -m pytest -q -m "slow or docs or research or hypothesis" --hypothesis-profile=all

lint: $(VENV)/.developer
	$(BIN)/ruff format --check conftest.py packages bench
	$(BIN)/ruff check conftest.py packages bench
	$(BIN)/mypy

check: lint
	$(BIN)/python -m pytest -q -m "" --cov --cov-report=term

docs: $(VENV)/.developer
	$(BIN)/python docs/generate.py
	$(BIN)/python bench/imports.py --write docs/concepts/architecture.md

# Each bench is kept when it is done: call it again after an abort. GRICE_DATA names the folder of data.
results: $(VENV)/.developer
	$(BIN)/grice bench outdated --record docs/results --page docs/results.md

bench: $(VENV)/.developer
	$(BIN)/python bench/run.py

portability: $(VENV)/.developer
	$(BIN)/python bench/portability.py

# The data sets are left out: whoever has none sees the same figure.
coverage: $(VENV)/.developer
	GRICE_DATA= $(BIN)/python -m pytest -q -m "" --cov --cov-report=term

mutants: $(VENV)/.developer
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'mutmut>=3.8.1'
	$(BIN)/python bench/mutants.py --write docs/mutation.md $(MUTANTS)

# Not --quiet: that hides the warnings that strict is to count.
site: $(VENV)/.writer
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

release: $(VENV)/.releaser
	$(BIN)/python bench/release.py dist

first-screen: $(VENV)/pyvenv.cfg
	$(BIN)/python bench/first_screen.py dist

picture: $(VENV)/.developer
	$(BIN)/grice demo -o build/report.html
	chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1100,760 \
		--screenshot=docs/report.png build/report.html

fuzz: $(VENV)/.developer
	$(BIN)/python bench/fuzz.py --seconds $(or $(SECONDS),300)

lock: build/tools/made
	printf -- '-e packages/%s\n' $(NAMES:grice='grice[dev]') | build/tools/bin/uv pip compile --quiet \
		--upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--no-emit-index-url $(patsubst %,--no-emit-package %,$(NAMES)) --output-file $(LOCK) -

locked: $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(LOCK)

oldest: $(VENV)/.developer build/tools/made
	build/tools/bin/uv venv --quiet --clear --seed --python $(BIN)/python build/oldest
	build/tools/bin/uv pip install --quiet --python build/oldest/bin/python --resolution lowest-direct $(EDITABLE)
	build/oldest/bin/python -m pytest -q
	for each in $(VENV) build/oldest; do $$each/bin/grice score examples/chatbots.jsonl --no-cache --no-resume \
		-o build/$$(basename $$each).jsonl > build/summary.txt || exit; done
	$(BIN)/python -c "$$SAME" build/$(notdir $(VENV)).jsonl build/oldest.jsonl

licences: $(VENV)/.developer build/tools/made
	build/tools/bin/pip-licenses --python $(BIN)/python --order license --packages $$(sed -n 's/==.*//p' $(LOCK))

audit: build/tools/made
	@build/tools/bin/pip-audit --strict --disable-pip --progress-spinner off --requirement $(LOCK) \
		2> build/audit.txt && status=0 || status=$$?; cat build/audit.txt >&2; ! grep -q ^ERROR build/audit.txt || \
		echo "make audit: not checked, no database of vulnerabilities has these packages; run it with a connection"; exit $$status

build/tools/made:
	$(PYTHON) -m venv build/tools
	build/tools/bin/python -m pip install --quiet --disable-pip-version-check pip-audit pip-licenses uv
	@touch $@

$(VENV)/.releaser: $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build cyclonedx-bom twine
	@touch $@

$(VENV)/.browser: $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'axe-playwright-python>=0.1.8' 'playwright>=1.49'
	@touch $@

$(VENV)/.writer: $(VENV)/pyvenv.cfg packages/grice/pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable packages/grice-models --editable 'packages/grice[docs]'
	@touch $@ $(VENV)/.user

$(VENV)/pyvenv.cfg:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.user: $(VENV)/pyvenv.cfg packages/grice/pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--editable packages/grice-models --editable packages/grice
	@touch $@

$(VENV)/.developer: $(VENV)/pyvenv.cfg $(wildcard packages/*/pyproject.toml)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(EDITABLE)
	@touch $@ $(VENV)/.user

clean:
	rm -rf $(VENV) build dist site mutants src grice-demo.html .coverage*
