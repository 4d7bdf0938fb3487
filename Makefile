# Three commands for a newcomer: `make test`, `make demo` and `make check`. Each installs what it needs.

.DEFAULT_GOAL := help
SHELL := /bin/bash
VENV ?= build/venv
TOX := $(VENV)/bin/tox
DESTDIR ?=
# A relative one begins here: recipes change their folder
DEST := $(if $(DESTDIR),$(if $(filter /%,$(DESTDIR)),$(DESTDIR),$(CURDIR)/$(DESTDIR)))
MGR_DIR ?= /usr/share/ceph/mgr
VERSION := $(shell sed -n "s/^VERSION = '\(.*\)'$$/\1/p" src/pybind/mgr/rocksdb_tuner/version.py)
MODULE := src/pybind/mgr/rocksdb_tuner
DROPIN := contrib/dashboard-dropin/dashboard/controllers
TAB := contrib/dashboard-dropin/tab
# What it draws with, where Ceph's frontend has it
PANEL := src/pybind/mgr/dashboard/frontend/src/app/ceph/cluster/osd/osd-rocksdb-tuner/panel
TAB_BUNDLE := build/dashboard/_rocksdb_tuner_tab.js
REPORT_SCRIPT := build/dashboard/report.js
# In a release tarball, where neither npm nor its registry is needed
TAB_RELEASED := $(TAB)/released/$(notdir $(TAB_BUNDLE))
REPORT_RELEASED := $(TAB)/released/$(notdir $(REPORT_SCRIPT))
TAB_TO_INSTALL := $(or $(wildcard $(TAB_RELEASED)),$(TAB_BUNDLE))
# Only reports need it: an installation from a checkout does without
REPORT_TO_INSTALL := $(firstword $(wildcard $(REPORT_RELEASED) $(REPORT_SCRIPT)))
PACKAGES_DIR := build/packages
DIST := ceph-rocksdb-tuner-$(VERSION)
DIST_TARBALL := $(PACKAGES_DIR)/$(DIST).tar.gz
PYZ := $(PACKAGES_DIR)/rocksdb-tuner.pyz
PYZ_TREE = $(PYZ:.pyz=)
# What the browser tests look at the tab with
AXE := build/axe.min.js
# As the browser gets it, compressed: every page of the dashboard has it
TAB_BYTES_MAX := 57344
MIXIN := monitoring/ceph-mixin/rocksdb_tuner

.PHONY: help demo check chaos fuzz check-releases check-faults check-cephadm lint mypy test coverage integration rollouts dashboard pages smoke \
  campaign experiment advice oracle mutation mutation-sample upstream frontend series bench results answers golden mixin size manual doc tab install \
  install-dashboard install-monitoring uninstall dist deb rpm pyz packages-check quick-start pictures clean

help:
	@echo 'make demo     the whole cycle on a real Pacific cluster (root, Debian 12)'
	@echo '              KEEP=1 leaves the cluster up'
	@echo 'make test     lint, types, unit and property tests: three minutes, no root, no Ceph'
	@echo 'make coverage  unit tests with coverage, by package'
	@echo 'make check    all tests: lint, mypy, unit, integration and short fault tests on real Pacific'
	@echo '              clusters, and smoke tests on Reef and Tentacle (root)'
	@echo 'make lint | mypy | chaos | integration | rollouts | campaign | experiment |'
	@echo '     dashboard | pages | smoke | advice | oracle   one part of the tests'
	@echo 'make fuzz     hostile input for ROCKSDB_TUNER_FUZZ_SECONDS (600)'
	@echo 'make check-releases   all tests on real clusters of Pacific, Reef and Tentacle, and 3000 new'
	@echo '              option strings on the binaries of each release'
	@echo 'make check-faults     rollouts on real clusters under every fault, with verifying clients, also'
	@echo '              on Reef and Tentacle'
	@echo 'make check-cephadm    on clusters under cephadm (podman): installation by mount and by image,'
	@echo '              rollouts, upgrades, unmanaged OSDs; 40 to 60 minutes (root)'
	@echo 'make mutation  mutation score: the share of single faults in the source that the tests detect;'
	@echo '              PACKAGES=options,operations, SHARD=1/4 or SAMPLE=100 (of each package) for a part'
	@echo 'make mutation-sample   the same with some faults, for minutes; SEED=N repeats a sample'
	@echo 'make bench    measure the cost of ticks, and compare the model with real runs'
	@echo 'make results  generate the results in README.md from qa/bench/results'
	@echo 'make upstream CEPH_SOURCE=DIR   lay the module over an unpacked source of Ceph 20.2.4 and run the'
	@echo '              checks of that tree'
	@echo 'make frontend CEPH_SOURCE=DIR   build the dashboard of that source with the tab in it, in'
	@echo '              build/frontend, and run its checks on the tab (node 20)'
	@echo 'make series CEPH_SOURCE=DIR   generate the series of patches for Ceph in build/series, and test each'
	@echo 'make mixin    generate the Grafana dashboards and the alert rules from their source'
	@echo 'make answers  generate the JSON Schemas and the types of the tab from the answers of the module'
	@echo 'make size     lower the recorded numbers of statements (qa/size.json), which make lint checks'
	@echo 'make golden   write the recorded texts, advice and verdicts of tests anew, for a review of changes'
	@echo 'make manual   write what the manual has of the module: commands, findings, options'
	@echo 'make doc      build the manual (build/doc/html) as Ceph builds its own; CEPH_SOURCE=DIR: with the'
	@echo '              extensions and the theme of an unpacked source of Ceph'
	@echo 'make pictures   take the pictures of the manual, in the dashboard of each release (root)'
	@echo 'make tab      bundle the tab for the Ceph Dashboard (node and npm)'
	@echo 'make install DESTDIR=...   install the module into a package root'
	@echo 'make install-dashboard DESTDIR=...   the same for the REST API and the tab of the Ceph Dashboard'
	@echo 'make install-monitoring DESTDIR=...   the same for the dashboards and the alert rules;'
	@echo '              HEALTH_CHECK_ALERTS=1: also those that repeat health checks'
	@echo 'make uninstall DESTDIR=...   remove all that the three have installed'
	@echo 'make dist     a release tarball with the built tab, in build/packages'
	@echo 'make deb | rpm   packages of it; installs what builds them (root, Debian)'
	@echo 'make pyz      one file that collects from a cluster without the module, and reports'
	@echo 'make quick-start   do what the quick start of the manual says from these packages, and time it;'
	@echo '              RELEASES="reef tentacle" for a part (root)'
	@echo 'make packages-check   install, upgrade, downgrade and remove them and the bare files on real'
	@echo '              clusters (root)'
	@echo 'make clean    remove everything that was built'

demo:
	qa/demo $(if $(KEEP),--keep)

$(TOX):
	qa/bootstrap $(VENV)

# Tests on clusters mostly wait, for OSDs that start and samples that come: three clusters at a time
# leave most of two cores to the tests that need none, which take what is left. `make test` is for
# who wants to know the most frequent failures within minutes.
# The chroots of the other releases are built meanwhile. A test that starts too early waits for its
# chroot, or builds it if that failed, and reports why.
# Random seeds are fixed here, so that a gate does not fail for unrelated changes, and numbers are
# small. "make chaos", "make fuzz", "make oracle" and "make mutation-sample" use new seeds and more.
check: export ROCKSDB_TUNER_CHAOS_SEED ?= check
check: export ROCKSDB_TUNER_CHAOS_SCHEDULES ?= 600
check: export ROCKSDB_TUNER_CHAOS_EXPERIMENTS ?= 120
check: export ROCKSDB_TUNER_FUZZ_SEED ?= 1
check: export ROCKSDB_TUNER_FUZZ_SECONDS ?= 30
check: export ROCKSDB_TUNER_MUTATION_SEED ?= 1
check: export ROCKSDB_TUNER_ORACLE_SEED ?= 1
check: export ROCKSDB_TUNER_ORACLE_STRINGS ?= 100
check: $(TOX)
	@$(TOX) run -e lint || exit; \
	qa/cluster chroot build > build/chroots.log 2>&1 & trap "kill $$! 2>/dev/null; wait" EXIT; \
	{ nice -n 5 $(TOX) run-parallel --parallel 2 --parallel-no-spinner -e py3,mypy,doc,harness && \
	  /usr/bin/python3 qa/coverage_bars.py && \
	  nice -n 19 $(TOX) run-parallel --parallel 2 --parallel-no-spinner -e chaos,beside,pages; } \
	  > build/beside.log 2>&1 & beside=$$!; \
	$(TOX) run-parallel --parallel 3 --parallel-no-spinner -e rollouts,integration,dashboard,smoke; \
	clusters=$$?; wait $$beside; beside=$$?; cat build/beside.log; exit $$((clusters + beside))

check-releases: $(TOX)
	$(TOX) run -e integration,rollouts,campaign,experiment,experiment-reef,advice,oracle,dashboard,reef,dashboard-reef,tentacle,dashboard-tentacle

check-faults: $(TOX)
	$(TOX) run-parallel --parallel 2 --parallel-no-spinner -e faults,faults-reef,faults-tentacle

check-cephadm: $(TOX)
	$(TOX) run-parallel --parallel 2 --parallel-no-spinner -e cephadm-reef,cephadm-tentacle

lint mypy chaos integration rollouts dashboard pages smoke campaign experiment advice oracle: $(TOX)
	$(TOX) run -e $@

mutation: $(TOX)
	$(TOX) run -e mutation -- $(if $(PACKAGES),--packages $(PACKAGES)) $(if $(SHARD),--shard $(SHARD)) \
	  $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED))

mutation-sample: $(TOX)
	$(TOX) run -e $@ $(if $(SEED),-- --seed $(SEED))

test: $(TOX)
	$(TOX) run-parallel --parallel 2 --parallel-no-spinner -e unit,mypy,lint

coverage: $(TOX)
	$(TOX) run -e py3
	/usr/bin/python3 qa/coverage_bars.py

bench:
	/usr/bin/python3 qa/bench/bench_tick.py
	/usr/bin/python3 qa/bench/bench_model.py

results:
	/usr/bin/python3 qa/readme_results.py

# In place of all that an older version has left there, at once: a manager may be starting
install:
	install -d '$(DEST)$(MGR_DIR)'
	cd '$(DEST)$(MGR_DIR)' && rm -rf .rocksdb_tuner.new .rocksdb_tuner.old
	cd $(MODULE) && find . -type f \( -name '*.py' -o -name '*.json' \) -not -path './tests/*' \
	  -exec install -D -m 644 {} '$(DEST)$(MGR_DIR)/.rocksdb_tuner.new/{}' \;
	$(if $(REPORT_TO_INSTALL),install -m 644 $(REPORT_TO_INSTALL) '$(DEST)$(MGR_DIR)/.rocksdb_tuner.new/offline/report.js')
	cd '$(DEST)$(MGR_DIR)' && if test -e rocksdb_tuner; then mv rocksdb_tuner .rocksdb_tuner.old; fi && \
	  mv .rocksdb_tuner.new rocksdb_tuner && rm -rf .rocksdb_tuner.old

# ROCKSDB_TUNER_FUZZ_SECONDS=7200 for hours
fuzz: $(TOX)
	nice -n 10 $(TOX) run -e fuzz

golden: $(TOX)
	$(TOX) run -e golden

answers: $(TOX)
	$(TOX) run -e answers

mixin: $(TOX)
	$(TOX) run -e mixin

size:
	python3 qa/size.py --lower

upstream: $(TOX)
	@test -n '$(CEPH_SOURCE)' || { echo 'make upstream CEPH_SOURCE=DIR: an unpacked source of Ceph 20.2.4' >&2; exit 2; }
	CEPH_SOURCE='$(abspath $(CEPH_SOURCE))' $(TOX) run -e upstream,upstream-tree

frontend:
	@test -n '$(CEPH_SOURCE)' || { echo 'make frontend CEPH_SOURCE=DIR: an unpacked source of Ceph 20.2.4' >&2; exit 2; }
	python3 qa/upstream/frontend_build.py '$(abspath $(CEPH_SOURCE))' build/frontend

series: $(TOX)
	@test -n '$(CEPH_SOURCE)' || { echo 'make series CEPH_SOURCE=DIR: an unpacked source of Ceph 20.2.4' >&2; exit 2; }
	CEPH_SOURCE='$(abspath $(CEPH_SOURCE))' $(TOX) run -e series

manual:
	/usr/bin/python3 qa/manual/build.py references

doc: $(TOX)
	$(if $(CEPH_SOURCE),CEPH_SOURCE='$(abspath $(CEPH_SOURCE))') $(TOX) run -e doc

pictures: export ROCKSDB_TUNER_PICTURES = 1
pictures: $(TOX)
	$(TOX) run -e dashboard,dashboard-reef,dashboard-tentacle -- qa/browser/test_pictures.py

# Nothing of it is asked for at run time; the bundle is made anew when its source changes. Each in a
# folder of its own: two at once in one checkout would remove each other's.
tab: $(TAB_BUNDLE) $(AXE)

$(TAB_BUNDLE) $(REPORT_SCRIPT) $(AXE) &: $(addprefix $(TAB)/,package.json package-lock.json tsconfig.json build.mjs) $(wildcard $(TAB)/src/* $(TAB)/tests/* $(PANEL)/*)
	@command -v npm > /dev/null || packaging/apt-install npm
	mkdir -p build/dashboard
	scratch=$$(mktemp -d build/tab.XXXXXX) && trap 'rm -rf "$$scratch"' EXIT && \
	cp -R $(TAB)/. $$scratch && cp -R $(PANEL) $$scratch/src/panel && \
	(cd $$scratch && npm ci --no-audit --no-fund && npm run check && npm test && npm run build -- --outfile=$(notdir $(TAB_BUNDLE)) && \
	  npm run build-report -- --outfile=$(notdir $(REPORT_SCRIPT))) && \
	test $$(gzip -9 -c $$scratch/$(notdir $(TAB_BUNDLE)) | wc -c) -le $(TAB_BYTES_MAX) && \
	mv $$scratch/node_modules/axe-core/$(notdir $(AXE)) $(AXE) && touch $(AXE) && \
	mv $$scratch/$(notdir $(REPORT_SCRIPT)) $(REPORT_SCRIPT) && \
	mv $$scratch/$(notdir $(TAB_BUNDLE)) $(TAB_BUNDLE)

CONTROLLERS := $(DEST)$(MGR_DIR)/dashboard/controllers
define REMOVE_CONTROLLERS
rm -f '$(CONTROLLERS)'/rocksdb_tuner.py '$(CONTROLLERS)'/_rocksdb_tuner*.py '$(CONTROLLERS)'/_rocksdb_tuner*.js
rm -f '$(CONTROLLERS)'/__pycache__/rocksdb_tuner.*.pyc '$(CONTROLLERS)'/__pycache__/_rocksdb_tuner*.pyc
endef

# Real files: the dashboard does not load a controller that is a link. rocksdb_tuner.py is that of
# the drop-in, which keeps a released dashboard from failing.
install-dashboard: $(TAB_TO_INSTALL)
	$(REMOVE_CONTROLLERS)
	install -D -m 644 -t '$(CONTROLLERS)' src/pybind/mgr/dashboard/controllers/_*.py $(DROPIN)/*.py $(TAB_TO_INSTALL)

# Where Ceph's own packages put theirs. HEALTH_CHECK_ALERTS=1: with alerts that repeat health checks
ALERTS := $(DEST)/etc/prometheus/ceph/rocksdb_tuner_alerts
install-monitoring:
	install -D -m 644 -t '$(DEST)/etc/grafana/dashboards/ceph-dashboard' $(MIXIN)/dashboards_out/*.json
	install -D -m 644 $(MIXIN)/prometheus_alerts.yml '$(ALERTS).yml'
	rm -f '$(ALERTS)_health_checks.yml'
	$(if $(HEALTH_CHECK_ALERTS),install -m 644 $(MIXIN)/prometheus_alerts_health_checks.yml '$(ALERTS)_health_checks.yml')

uninstall:
	rm -rf '$(DEST)$(MGR_DIR)/rocksdb_tuner'
	$(REMOVE_CONTROLLERS)
	cd $(MIXIN)/dashboards_out && for file in *.json; do \
	  rm -f '$(DEST)/etc/grafana/dashboards/ceph-dashboard'/"$$file"; done
	rm -f '$(ALERTS).yml' '$(ALERTS)_health_checks.yml'

# The same bytes for the same files: order, owners, modes and dates are fixed. The date is that of
# the last commit.
dist: $(TAB_BUNDLE) $(REPORT_SCRIPT)
	mkdir -p $(PACKAGES_DIR)
	set -o pipefail; scratch=$$(mktemp -d $(PACKAGES_DIR)/dist.XXXXXX) && trap 'rm -rf "$$scratch"' EXIT && \
	top="$$scratch/$(DIST)" && mkdir "$$top" && \
	git ls-files -z | tar -c --null --no-recursion -T - | tar -x -C "$$top" && \
	install -D -m 644 -t "$$top/$(TAB)/released" $(TAB_BUNDLE) $(REPORT_SCRIPT) && \
	tar -c --format=gnu --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w \
	  --mtime=@$$(git log -1 --format=%ct) -C "$$scratch" $(DIST) | gzip -9n > "$$scratch/tarball" && \
	mv "$$scratch/tarball" $(DIST_TARBALL)

deb rpm: dist
	packaging/build-package $@ $(DIST_TARBALL)

# With all that it needs besides Python: what it prints with, the collecting script and the page's.
pyz: $(TOX) $(TAB_TO_INSTALL)
	rm -rf '$(PYZ_TREE)' && mkdir -p '$(PYZ_TREE)' $(PACKAGES_DIR)
	$(MAKE) --no-print-directory install DESTDIR='$(PYZ_TREE)' MGR_DIR=
	$(VENV)/bin/python -m pip install --quiet --no-deps --no-compile --target '$(PYZ_TREE)' prettytable==3.6.0 wcwidth==0.2.13
	install -m 644 contrib/collect packaging/pyz/__main__.py '$(PYZ_TREE)'
	/usr/bin/python3 -m zipapp --compress --python '/usr/bin/env python3' --output $(PYZ) '$(PYZ_TREE)'

packages-check: $(TOX)
	$(TOX) run -e packages

quick-start: deb
	qa/quick-start $(RELEASES)

clean:
	rm -rf build .tox .mypy_cache .ruff_cache .pytest_cache .hypothesis
