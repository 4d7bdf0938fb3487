# Two commands for a newcomer: `make demo` and `make check`. Each installs what it needs.

.DEFAULT_GOAL := help
SHELL := /bin/bash
VENV ?= build/venv
TOX := $(VENV)/bin/tox
DESTDIR ?=
MGR_DIR ?= /usr/share/ceph/mgr
TAB := src/pybind/mgr/dashboard/rocksdb_tuner_tab
TAB_BUNDLE := build/dashboard/_rocksdb_tuner_tab.js
# What the browser tests look at the tab with
AXE := build/axe.min.js
# As the browser gets it, compressed: every page of the dashboard has it
TAB_BYTES_MAX := 61440
MIXIN := monitoring/ceph-mixin/rocksdb_tuner

.PHONY: help demo check chaos fuzz check-releases check-faults lint mypy unit integration faults-short dashboard smoke \
  campaign restarts experiment advice oracle mutation mutation-sample bench bench-choice measurements answers mixin tab install install-dashboard install-monitoring clean

help:
	@echo 'make demo     the main job on a real Pacific cluster, end to end (root, Debian 12)'
	@echo '              KEEP=1 leaves the cluster up'
	@echo 'make check    all tests: lint, mypy, unit, integration on real clusters of Pacific, and'
	@echo '              in short under faults, and on Reef and Tentacle (root)'
	@echo 'make lint | mypy | unit | chaos | integration | faults-short | campaign | restarts | experiment |'
	@echo '     dashboard | smoke |'
	@echo '     advice | oracle   one of them'
	@echo 'make fuzz     hostile input of every kind, ROCKSDB_TUNER_FUZZ_SECONDS (600) long'
	@echo 'make check-releases   all tests on real clusters of Pacific, Reef and Tentacle, and 3000 new'
	@echo '              option strings on the binaries of each'
	@echo 'make check-faults     rollouts on real clusters under every fault, with clients that verify, also'
	@echo '              on Reef and Tentacle; ROCKSDB_TUNER_FAULT_PART=K/N: one of N parts of it'
	@echo 'make mutation  score the tests: how many faults made in the source, one at a time, they notice;'
	@echo '              PACKAGES=options,operations, SHARD=1/4 or SAMPLE=100 (of each package) for a part of it'
	@echo 'make bench    measure the cost of a tick, of a decision, of answers of the model and of the dashboard,'
	@echo '              and of a check and of storing'
	@echo 'make bench-choice  hold limit, recommendation and predicted effect against real OSDs (root, an hour)'
	@echo 'make measurements  write doc/dev/rocksdb_tuner/measurements.rst from qa/bench/results'
	@echo 'make mixin    write the Grafana dashboard and the alert rules anew from their source'
	@echo 'make answers  write the JSON Schemas and the types of the tab anew from the answers of the module'
	@echo 'make tab      bundle the tab of the Ceph Dashboard (node and npm)'
	@echo 'make install DESTDIR=...   lay the module out for a package'
	@echo 'make install-dashboard DESTDIR=...   the same for the REST API and the tab in the Ceph Dashboard'
	@echo 'make install-monitoring DESTDIR=...   the same for the dashboard and the alert rules'

demo:
	qa/demo $(if $(KEEP),--keep)

$(TOX):
	qa/bootstrap $(VENV)

# What is wrong most often is said first: lint, types and the tests of the module, on both cores.
# Tests on clusters mostly wait, for OSDs that start and samples that come: two clusters at a time
# keep two cores busy, and leave some of them to the tests of the harness, to chaos, to hostile input
# and to a sample of mutants.
# The chroots of the other releases are made beside the first tests, which need none. A test that
# comes too early waits for its chroot, or makes it where that has failed, and says why.
# What is drawn at random is drawn alike here each time: a gate must not fail for what nobody changed.
# "make chaos", "make fuzz", "make oracle" and "make mutation-sample" draw anew.
check: export ROCKSDB_TUNER_CHAOS_SEED ?= check
check: export ROCKSDB_TUNER_FUZZ_SEED ?= 1
check: export ROCKSDB_TUNER_ORACLE_SEED ?= 1
check: $(TOX)
	@qa/cluster chroot build > build/chroots.log 2>&1 & trap "kill $$! 2>/dev/null; wait" EXIT; \
	$(TOX) run-parallel --parallel 2 --parallel-no-spinner -e lint,mypy,py3 || exit; \
	/usr/bin/python3 qa/coverage_bars.py || exit; \
	{ $(TOX) run -e harness && nice -n 19 $(TOX) run -e chaos,fuzz && nice -n 19 $(TOX) run -e mutation-sample -- --seed 1; } \
	  > build/beside.log 2>&1 & beside=$$!; \
	$(TOX) run-parallel --parallel 2 --parallel-no-spinner -e integration,faults-short,dashboard,smoke,campaign; \
	clusters=$$?; wait $$beside; beside=$$?; cat build/beside.log; exit $$((clusters + beside))

check-releases: $(TOX)
	$(TOX) run -e integration,campaign,restarts,experiment,experiment-reef,advice,oracle,dashboard,reef,dashboard-reef,tentacle,dashboard-tentacle

check-faults: $(TOX)
	$(TOX) run-parallel --parallel 2 --parallel-no-spinner -e faults,faults-reef,faults-tentacle

lint mypy chaos integration faults-short dashboard smoke campaign restarts experiment advice oracle: $(TOX)
	$(TOX) run -e $@

# Goes on where it was interrupted; what was run is kept under build/mutation
mutation: $(TOX)
	$(TOX) run -e mutation -- $(if $(PACKAGES),--packages $(PACKAGES)) $(if $(SHARD),--shard $(SHARD)) \
	  $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED)) $(if $(WORKERS),--workers $(WORKERS))

mutation-sample: $(TOX)
	$(TOX) run -e $@ $(if $(SEED),-- --seed $(SEED))

unit: $(TOX)
	$(TOX) run -e py3
	/usr/bin/python3 qa/coverage_bars.py
	$(TOX) run -e harness

bench:
	/usr/bin/python3 qa/bench/bench_tick.py
	/usr/bin/python3 qa/bench/bench_decision.py
	/usr/bin/python3 qa/bench/bench_model.py speed
	/usr/bin/python3 qa/bench/bench_options.py
	/usr/bin/python3 qa/bench/bench_store.py
	/usr/bin/python3 qa/bench/bench_rollout.py
	/usr/bin/python3 qa/bench/bench_dashboard.py

# Goes on where it was interrupted: each run is in qa/bench/results as soon as it is made
bench-choice:
	/usr/bin/python3 qa/bench/bench_choice_proof.py measure
	/usr/bin/python3 qa/bench/bench_choice_proof.py compare

measurements:
	/usr/bin/python3 qa/measurements.py

install:
	install -d '$(DESTDIR)$(MGR_DIR)/rocksdb_tuner'
	cd src/pybind/mgr/rocksdb_tuner && \
	  find . -type f \( -name '*.py' -o -name '*.json' \) -not -path './tests/*' \
	    -exec install -D -m 644 {} '$(DESTDIR)$(MGR_DIR)/rocksdb_tuner/{}' \;

# ROCKSDB_TUNER_FUZZ_SECONDS=7200 for hours
fuzz: $(TOX)
	nice -n 10 $(TOX) run -e fuzz

answers: $(TOX)
	$(TOX) run -e answers

mixin: $(TOX)
	$(TOX) run -e mixin

# Nothing of it is asked for at run time; the bundle is made anew when its source changes. Each in a
# folder of its own: two at once in one checkout would remove each other's.
tab: $(TAB_BUNDLE) $(AXE)

$(TAB_BUNDLE) $(AXE) &: $(addprefix $(TAB)/,package.json package-lock.json tsconfig.json build.mjs) $(wildcard $(TAB)/src/* $(TAB)/tests/*)
	mkdir -p build/dashboard
	scratch=$$(mktemp -d build/tab.XXXXXX) && trap 'rm -rf "$$scratch"' EXIT && \
	cp -R $(TAB)/. $$scratch && \
	(cd $$scratch && npm ci --no-audit --no-fund && npm run check && npm test && npm run build -- --outfile=$(notdir $(TAB_BUNDLE))) && \
	test $$(gzip -9 -c $$scratch/$(notdir $(TAB_BUNDLE)) | wc -c) -le $(TAB_BYTES_MAX) && \
	mv $$scratch/node_modules/axe-core/$(notdir $(AXE)) $(AXE) && touch $(AXE) && \
	mv $$scratch/$(notdir $(TAB_BUNDLE)) $(TAB_BUNDLE)

# Real files: the dashboard does not load a controller that is a link
install-dashboard: $(TAB_BUNDLE)
	install -D -m 644 -t '$(DESTDIR)$(MGR_DIR)/dashboard/controllers' \
	  src/pybind/mgr/dashboard/controllers/*.py $(TAB_BUNDLE)

# Where Ceph's own packages put theirs
install-monitoring:
	install -D -m 644 -t '$(DESTDIR)/etc/grafana/dashboards/ceph-dashboard' $(MIXIN)/dashboards_out/*.json
	install -D -m 644 $(MIXIN)/prometheus_alerts.yml '$(DESTDIR)/etc/prometheus/ceph/rocksdb_tuner_alerts.yml'

clean:
	rm -rf build .tox .mypy_cache .ruff_cache .pytest_cache .hypothesis
