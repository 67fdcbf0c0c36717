# Commands for people and for CI. Each target prints what it installs before it does.
.PHONY: help audit arm64 helm-test packages-arm64 packages-helm console-tools schemathesis proofs interop call-flows-all attack-soak p4c-check build release release-switch release-lab install uninstall dist dist-test demo demo-switch test package call-flows-switch soak count chaos chaos-sets guest-test differential channels-test lint docs lab lab-test lab-switch lab-positioning lab-positioning-guest release-positioning reproduce fuzz fuzz-stateful bench bench-update bench-update-debug function-order \
	clean packages-build packages-switch packages-demo \
	packages-test packages-fuzz packages-guest packages-lab packages-bench packages-channels packages-dist lab-upf oracles

CARGO ?= cargo
PYTHON_ORACLES := $(CURDIR)/target/oracles
# The checkers that `make lint` installs.
LINT := $(CURDIR)/target/lint
# Namespaces, TUN devices and raw sockets need root: only what runs the tests is raised, never the build.
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo "sudo -E")
RUNNER := $(if $(AS_ROOT),--config "target.'cfg(all())'.runner='$(AS_ROOT)'",)
SECONDS ?= 30
SEED ?= 1
KILLS ?= 1000
ROUNDS ?= 1000
SETS ?= 2000
PREFIX ?= /usr/local

help: ## Show what there is to make
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

packages-build:
	@bash deploy/install/packages.sh build
packages-switch:
	@bash deploy/install/packages.sh switch
packages-fuzz:
	@bash deploy/install/packages.sh fuzz
packages-demo:
	@bash deploy/install/packages.sh demo
packages-test:
	@bash deploy/install/packages.sh test
packages-guest:
	@bash deploy/install/packages.sh guest
packages-lab:
	@bash deploy/install/packages.sh lab
packages-bench:
	@bash deploy/install/packages.sh bench
packages-channels:
	@bash deploy/install/packages.sh channels
packages-dist:
	@bash deploy/install/packages.sh dist
packages-arm64:
	@bash deploy/install/packages.sh arm64
packages-helm:
	@bash deploy/install/packages.sh helm

# Optimised programs have names of functions with their types, by which cli/layout orders the code.
release release-switch release-lab release-positioning install dist dist-test demo demo-switch \
	function-order lab lab-upf lab-switch lab-positioning lab-positioning-guest reproduce bench \
	bench-update: export RUSTFLAGS ?= -Csymbol-mangling-version=v0

build: packages-switch ## Build everything, unoptimised
	$(CARGO) build --workspace --locked

# In one build, so that a dependency of both has the same features for all who build them.
CORE = -p martlet -p martlet-ran

release: packages-build ## Build target/release/martlet and martlet-ran, its simulator of gNBs and UEs, as `make demo` does
	$(CARGO) build --release --locked $(CORE)

release-switch: packages-switch ## Build target/release/martlet-switch, the programmable switch (needs DPDK)
	$(CARGO) build --release --locked -p martlet-switch-target

release-lab: packages-build ## Build target/release/martlet-lab, the experiments
	$(CARGO) build --release --locked -p martlet-lab -p martlet-lab-endpoint

# The switch and the lab are installed where they have been built.
install: release ## Install martlet with its unit, martlet-ran, configuration, manual pages and completions, libmartlet_fabric (C) and what else is built below PREFIX (/usr/local), after DESTDIR
	$(CARGO) build --release --locked -p martlet-fabric-c
	DESTDIR="$(DESTDIR)" deploy/install/files.sh install target/release "$(PREFIX)"
	DESTDIR="$(DESTDIR)" fabric/c/install.sh target/release "$(PREFIX)"

uninstall: ## Remove what `make install` installed; configuration and data stay
	DESTDIR="$(DESTDIR)" deploy/install/files.sh uninstall target/release "$(PREFIX)"

# FROM=target/debug packs the programs of another build, which is not built then.
FROM = target/dist
# `martlet version --verbose` names the commit of a package. Other builds do not have it: each commit
# would build them again.
dist: export MARTLET_COMMIT ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
dist: packages-dist packages-switch ## Make Debian packages and an OCI image, with SBOMs, licences, symbols and checksums, in dist
ifeq ($(FROM),target/dist)
	$(CARGO) build --profile dist --locked $(CORE)
	$(CARGO) build --profile dist --locked -p martlet-switch-target
	$(CARGO) build --profile dist --locked -p martlet-lab -p martlet-lab-endpoint
	$(CARGO) build --profile dist --locked -p martlet-fabric-c
endif
	CARGO="$(CARGO)" deploy/dist/make.sh "$(FROM)"

dist-test: packages-dist ## Install the packages of dist in a fresh Debian 12 and Ubuntu 24.04 (where mirrors answer), upgrade, remove, purge; run the image; attach a UE to both (uses root)
	$(AS_ROOT) env FROM="$(FROM)" deploy/deb/test.sh dist
	$(AS_ROOT) deploy/deb/boot.sh dist
	$(AS_ROOT) deploy/oci/test.sh dist/martlet_*.oci.tar "$(FROM)/martlet"

# FROM=target/debug uses another build. PROGRAMS is the folder of the others' programs. GUEST=1 runs
# them in a guest whose kernel has SCTP.
interop: $(if $(GUEST),packages-guest) ## Run other vendors' programs (PROGRAMS=DIR) against a core, and write the matrix of docs/interop.md (uses root, or a guest with GUEST=1)
	$(if $(filter target/release,$(FROM)),$(CARGO) build --release --locked $(CORE))
ifdef GUEST
	deploy/interop/guest.sh "$(FROM)/martlet" "$(PROGRAMS)"
else
	$(AS_ROOT) deploy/interop/run.py --martlet "$(FROM)/martlet" --write docs/interop.md \
		$(if $(PROGRAMS),--programs "$(PROGRAMS)")
endif

arm64: packages-arm64 ## Build all but the DPDK switch for arm64 (target/aarch64-unknown-linux-gnu/release), and run its unit tests under qemu-user
	CARGO="$(CARGO)" deploy/arm64/build.sh build
	CARGO="$(CARGO)" deploy/arm64/build.sh test

helm-test: packages-helm ## Check the Helm chart: helm lint, its schema, Kubernetes' schemas, the rendered manifests (builds helm with Go)
	deploy/helm/test.sh

demo: packages-demo ## Build, start a core, attach a simulated UE, send its traffic, show a summary and write its picture, target/martlet-demo.svg (uses root for namespaces)
	$(CARGO) build --release --locked $(CORE)
	@echo "The demo makes network namespaces and interfaces and removes them again: it runs as root."
	MARTLET_DEMO_PICTURE=target/martlet-demo.svg $(AS_ROOT) deploy/demo/run.sh target/release/martlet

demo-switch: packages-demo release release-switch ## Run the demo with a programmable switch: a UE's download moves onto it while it runs
	$(AS_ROOT) deploy/demo/switch.sh target/release/martlet

oracles: packages-test
	@test -x $(PYTHON_ORACLES)/bin/python || echo "Martlet installs pycrate, the OpenAPI validators and p4runtime-shell from PyPI, and oapi-codegen from the Go module proxy, into target/oracles."
	@test -x $(PYTHON_ORACLES)/bin/python || python3 -m venv $(PYTHON_ORACLES)
	@$(PYTHON_ORACLES)/bin/python -c 'import pycrate_asn1rt, openapi_schema_validator, yaml, p4runtime_sh' 2>/dev/null || \
		$(PYTHON_ORACLES)/bin/pip install --quiet pycrate==0.8.1 openapi-schema-validator==0.9.0 PyYAML==6.0.3 p4runtime-shell==0.0.6
	@$(PYTHON_ORACLES)/bin/python -c 'import schemathesis, openapi_spec_validator, openapi_python_client' 2>/dev/null || \
		$(PYTHON_ORACLES)/bin/pip install --quiet schemathesis==4.32.5 openapi-spec-validator==0.9.0 openapi-python-client==0.29.1
	@test -x $(PYTHON_ORACLES)/bin/oapi-codegen || ! command -v go > /dev/null || \
		(cd console/tests/openapi_go && go mod download && go build -o $(PYTHON_ORACLES)/bin/oapi-codegen github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen)

console-tools: packages-test
	@mkdir -p target/console-tools && cp console/tests/package.json console/tests/package-lock.json target/console-tools/
	@cmp -s console/tests/package-lock.json target/console-tools/node_modules/.martlet-lock || \
		(cd target/console-tools && npm ci --silent --no-audit --no-fund && cp package-lock.json node_modules/.martlet-lock)

schemathesis: oracles ## Send random requests to the northbound API for SECONDS (600)
	MARTLET_SCHEMATHESIS_SECONDS=$(if $(filter 30,$(SECONDS)),600,$(SECONDS)) MARTLET_PYTHON=$(PYTHON_ORACLES)/bin/python \
		$(CARGO) test --workspace --locked --test processes $(RUNNER) -- --nocapture openapi_is_valid

# Repeats failed tests alone and reports them as unsteady.
STEADY = deploy/test/steady.py

# With --workspace, so that nothing is built again with other features.
CALL_FLOWS = MARTLET_PYTHON=$(PYTHON_ORACLES)/bin/python $(STEADY) $(CARGO) test --workspace --test call_flows --locked --no-fail-fast $(RUNNER)

# Tests start the switch program of the same build. Two at a time, since each takes much memory.
# ENGINE=-xdp runs its pipeline in XDP.
ENGINE =
SWITCH_CALL_FLOWS = $(CARGO) build --workspace --bin martlet-switch --locked && MARTLET_TEST_DATAPATH=switch$(ENGINE) $(CALL_FLOWS) -- --test-threads 2

# Sessions of every kind, and all that a switch does with them. Without a tunnel to a socket on
# loopback (`session::pdu_session_resource_modify_indication`), where no packet of a switch arrives.
SWITCH_SELECTION = user_plane:: session::pdu_session_establishment:: session::pdu_session_resource_notify:: \
	session::user_plane_activation:: establishment:: modification:: release:: branching:: charging:: \
	connection:: handover::n2_handover:: handover::xn_handover:: handover::packet_loss:: \
	handover::handover_preparation:: handover::handover_cancel:: handover::leaks:: \
	n4::malformed:: registration::implicit_deregistration:: registration::slice_selection:: ue_lifecycle::

# The same pipeline in XDP: a part that reaches each of its paths.
SWITCH_XDP_SELECTION = user_plane::switch:: pdu_session_establishment:: session::user_plane_activation:: \
	_requested_modification:: pdu_session_release:: connection:: user_plane::error_indication:: \
	user_plane::downlink_data_notification:: \
	handover::n2_handover:: handover::xn_handover::

# `make call-flows-all` has the whole matrix of datapaths and bindings.
test: packages-test oracles console-tools ## Run all tests, in stages that all run, and list their results (uses root)
	CARGO="$(CARGO)" AS_ROOT="$(AS_ROOT)" MARTLET_PYTHON=$(PYTHON_ORACLES)/bin/python \
		SWITCH_SELECTION="$(SWITCH_SELECTION)" SWITCH_XDP_SELECTION="$(SWITCH_XDP_SELECTION)" \
		deploy/test/stages.sh

call-flows-all: packages-test oracles ## Run the call flows with each datapath and each binding of the SBI
	MARTLET_TEST_DATAPATH=kernel $(CALL_FLOWS)
	MARTLET_TEST_DATAPATH=xdp $(CALL_FLOWS)
	MARTLET_TEST_SBI=local $(CALL_FLOWS)
	MARTLET_TEST_SBI=fabric $(CALL_FLOWS)
	MARTLET_TEST_SBI=http $(CALL_FLOWS)
	$(SWITCH_CALL_FLOWS)
	MARTLET_TEST_DATAPATH=switch-xdp $(CALL_FLOWS) -- --test-threads 2

call-flows-switch: packages-test oracles ## Run the call flows with a programmable switch beside each UPF (ENGINE=-xdp: with its pipeline in XDP)
	$(SWITCH_CALL_FLOWS)

soak: packages-test ## Let UEs perform random actions for SECONDS (30) from SEED (1), on each binding; then kill KILLS (1000) processes of the fabric
	MARTLET_SOAK_SECONDS=$(SECONDS) MARTLET_SOAK_SEED=$(SEED) $(CARGO) test --locked -p martlet-tests --test soak $(RUNNER) -- --nocapture --test-threads 1
	MARTLET_KILLS=$(KILLS) $(CARGO) test -p martlet-sbi-fabric --locked --test process_deaths -- --nocapture

count: packages-switch ## Send random packets by random rules through XDP for SECONDS (30) from SEED (1): the counters have to add up to the packet
	MARTLET_COUNT_SECONDS=$(SECONDS) MARTLET_SEED=$(SEED) $(CARGO) test --locked -p martlet-upf-xdp --test telemetry $(RUNNER) counters_add_up_while_rules_change -- --nocapture

ATTACKS = ends_paging aborts_a_procedure takes_a_gnb_identity second_association \
	path_switch_of_a_foreign_ue sends_in_the_tunnel_of_a_ue uplink_before_and_after
attack-soak: packages-test ## Run each attack that depends on timing ROUNDS (1000) times against a running core
	MARTLET_ATTACK_ROUNDS=$(ROUNDS) $(CARGO) test --workspace --locked --test call_flows $(RUNNER) -- $(ATTACKS) --nocapture --test-threads 1

chaos: packages-test ## Kill, suspend and disconnect parts of a split core for SECONDS (30) from SEED (1) while UEs perform random actions
	MARTLET_CHAOS_SECONDS=$(SECONDS) MARTLET_CHAOS_SEED=$(SEED) $(CARGO) test --locked -p martlet --test processes $(RUNNER) chaos -- --nocapture --test-threads 1

guest-test: packages-guest ## Run what needs the kernel's SCTP or TLS, XDP on an older kernel, and our kernel module, in a guest with Debian's kernel (QEMU, no KVM needed)
	CARGO="$(CARGO)" deploy/guest/test.sh
	CARGO="$(CARGO)" deploy/guest/xdp.sh
	CARGO="$(CARGO)" deploy/guest/xdp.sh linux-image-6.12-amd64
	CARGO="$(CARGO)" deploy/guest/lcs.sh

chaos-sets: packages-test ## Cut off, suspend and kill members of sets for SECONDS (30) from SEED (1), while PostgreSQL fails and clocks are set; check the history of takeovers
	MARTLET_CHAOS_SECONDS=$(SECONDS) MARTLET_CHAOS_SEED=$(SEED) $(CARGO) test --locked -p martlet-context-store --test leases $(RUNNER) -- --nocapture --test-threads 1
	MARTLET_CHAOS_SECONDS=$(SECONDS) MARTLET_CHAOS_SEED=$(SEED) $(CARGO) test --locked -p martlet --test processes $(RUNNER) chaos_sets -- --nocapture --test-threads 1

p4c-check: ## Give the switch's P4 programs to the reference compiler in P4C=FOLDER (p4test, p4c-bm2-ss, p4c-bm2-psa, p4c-dpdk)
	deploy/test/p4c.sh "$(P4C)"

differential: packages-switch ## Give SETS (2000) random sets of rules from SEED (1), with packets, to all datapaths and the switch's pipeline, and compare the results
	MARTLET_DIFFERENTIAL=$(SETS) MARTLET_SEED=$(SEED) $(CARGO) test --locked -p martlet-upf-xdp -p martlet-upf-offload --lib $(RUNNER) _agree_

lab-test: packages-build ## Test the comparison of `martlet-lab sbi` with iceoryx2, which other builds leave out
	$(CARGO) test -p martlet-lab --features iceoryx2 --locked $(RUNNER) sbi::iceoryx

channels-test: packages-channels ## Run the conformance suite of secure channels over the TLS libraries in C too (wolfSSL is GPL: not for release)
	$(CARGO) test --locked -p martlet-lab-channels --features openssl,wolfssl,mbedtls,msquic $(RUNNER)

# Clippy and the documentation cover the switch and all tests, so they need what these build with.
lint: packages-test ## Check the form of code and pages: formatting, clippy, docs, spelling, widths, links, commit subjects; licences, duplicates and sources of dependencies
	@bash deploy/lint/tools.sh
	$(CARGO) fmt --check
	@PATH="$(LINT)/bin:$$PATH" bash deploy/lint/run.sh
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

audit: packages-build ## Check all dependencies with cargo-deny: known vulnerabilities, and what `make lint` checks of them (compiles it once)
	@bash deploy/lint/tools.sh audit
	PATH="$(LINT)/bin:$$PATH" cargo-deny --log-level error check

package: packages-build ## Package the crates that can be published by themselves, and build what was packaged
	$(CARGO) package --locked $(addprefix -p ,$(shell python3 deploy/lint/packages.py --list))

docs: packages-build ## Build the documentation site in target/book, with a reference made by the program, and check its links
	@bash deploy/lint/tools.sh docs
	$(CARGO) build --locked $(CORE) -p martlet-lab
	deploy/docs/generate.sh target/debug/martlet

lab: packages-build ## Measure the control plane, its service calls beside iceoryx2, and an idle core: report, raw data and plots in lab-results (uses root for a namespace)
	$(CARGO) build --release --locked $(CORE)
	$(CARGO) build --release --locked -p martlet-lab --features iceoryx2
	$(AS_ROOT) target/release/martlet-lab --log warn control-plane
	$(AS_ROOT) target/release/martlet-lab --log warn sbi
	$(AS_ROOT) target/release/martlet-lab --log warn idle

# BASE is a commit, or the path of a built martlet. Without a release: the commit before.
BASE ?= $(shell git describe --tags --abbrev=0 2>/dev/null || git rev-parse HEAD~1)
bench: packages-bench ## Compare the release build with BASE (the last release): latency, CPU time, memory, in pairs; count instructions (ten minutes, uses root)
	CARGO="$(CARGO)" AS_ROOT="$(AS_ROOT)" deploy/bench/run.sh "$(BASE)"

bench-update: packages-bench ## Count instructions and write lab/instructions.tsv; the commit says why a count rises
	CARGO="$(CARGO)" AS_ROOT="$(AS_ROOT)" deploy/bench/run.sh --update

bench-update-debug: packages-test ## Do the same for the build of the tests: lab/instructions-debug.tsv, which `make test` compares with
	$(CARGO) test --workspace --locked --no-run
	deploy/bench/debug.sh --update

function-order: release release-lab ## Record which functions of martlet run, by which later builds order its code: cli/layout/functions.txt (needs perf, uses root)
	$(AS_ROOT) cli/layout/record.py --lab target/release/martlet-lab --martlet target/release/martlet

lab-upf: packages-lab ## Measure the user plane: costs, links, N4, and the study of a satellite board; report, raw data and plots in lab-results (uses root)
	$(CARGO) build --release --locked -p martlet-lab
	$(AS_ROOT) target/release/martlet-lab --log warn upf

lab-switch: release-switch release-lab ## Measure the programmable switch in memory and over interfaces, after RFC 2544 (two and a half hours): report, raw data and plots in lab-results (uses root for a namespace)
	$(AS_ROOT) target/release/martlet-lab --log warn switch --interfaces

# The core has no TLS library in C, so it is built by itself.
BUILD_POSITIONING = $(CARGO) build --release --locked -p martlet --target-dir target/positioning && \
	$(CARGO) build --release --locked -p martlet-lab -p martlet-lab-endpoint \
		--features martlet-lab/openssl,martlet-lab/wolfssl,martlet-lab/mbedtls,martlet-lab/msquic --target-dir target/positioning

release-positioning: packages-channels ## Build target/positioning/release/martlet-lab with the TLS libraries in C (wolfSSL is GPL: not for release)
	$(BUILD_POSITIONING)

lab-positioning: release-positioning ## Measure LCS-UPP over every secure channel, and under the radio model (a quarter of an hour), in a build of its own (wolfSSL is GPL: not for release)
	$(AS_ROOT) env LD_LIBRARY_PATH="$$(echo target/positioning/release/build/msquic-*/out/lib)" \
		target/positioning/release/martlet-lab --log warn lcs-upp
	$(AS_ROOT) env LD_LIBRARY_PATH="$$(echo target/positioning/release/build/msquic-*/out/lib)" \
		target/positioning/release/martlet-lab --log warn lcs-upp --path radio --radio loss=0.005 --realtime \
		--channels wolfssl_default,wolfssl,mbedtls,msquic,rustls,quinn,quinn_keep_alive

lab-positioning-guest: release-positioning packages-guest ## Measure all three types of LCS-UPP data path beside wolfSSL, with ROUNDS (1000) in a guest with Debian's kernel (wolfSSL is GPL: not for release)
	ROUNDS=$(ROUNDS) deploy/guest/lcs.sh target/positioning/release/martlet-lab

# OUT, AGAIN, QUICK, ROUNDS and TRIAL are described there.
reproduce: packages-lab packages-guest ## Make the 17 figures of the four papers in one report, lab-results/reproduce (hours; QUICK=1: minutes), and keep what is already measured
	MAKE="$(MAKE)" AS_ROOT="$(AS_ROOT)" deploy/reproduce/run.sh

fuzz: packages-fuzz ## Run every fuzz target for SECONDS each (30), with a nightly toolchain or, without one, the stable one
	fuzz/run.sh $(SECONDS)

proofs: packages-build ## Prove properties of the fabric's rings and pool within bounds, with loom, and run their tests under Miri where it is installed
	CARGO="$(CARGO)" fabric/core/verify.sh

# BINDING is local (one process), fabric or http.
BINDING ?= fabric
fuzz-stateful: packages-test ## Send sequences of messages from a grammar to a core for SECONDS (30) from SEED (1) on BINDING (fabric), while other UEs have to be served
	MARTLET_FUZZ_SECONDS=$(SECONDS) MARTLET_FUZZ_SEED=$(SEED) MARTLET_FUZZ_BINDING=$(BINDING) $(CARGO) test --locked -p martlet --test processes $(RUNNER) fuzz_stateful -- --nocapture --test-threads 1

clean: ## Remove what was built
	$(CARGO) clean
