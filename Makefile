# Two commands for a newcomer: `make demo` and `make check`. Each installs what it needs.

.DEFAULT_GOAL := help
SHELL := /bin/bash
VENV ?= build/venv
TOX := $(VENV)/bin/tox
DESTDIR ?=
MGR_DIR ?= /usr/share/ceph/mgr
TAB := src/pybind/mgr/dashboard/rocksdb_tuner_tab
TAB_BUNDLE := build/dashboard/_rocksdb_tuner_tab.js
# As the browser gets it, compressed: every page of the dashboard has it
TAB_BYTES_MAX := 61440
MIXIN := monitoring/ceph-mixin/rocksdb_tuner

.PHONY: help demo check chaos check-releases check-faults lint mypy unit integration faults-short dashboard smoke \
  campaign oracle bench mixin tab install install-dashboard install-monitoring clean

help:
	@echo 'make demo     the main job on a real Pacific cluster, end to end (root, Debian 12)'
	@echo '              KEEP=1 leaves the cluster up'
	@echo 'make check    all tests: lint, mypy, unit, integration on real clusters of Pacific, and'
	@echo '              in short under faults, and on Reef and Tentacle (root)'
	@echo 'make lint | mypy | unit | chaos | integration | faults-short | campaign | dashboard | smoke | oracle'
	@echo '              one of them'
	@echo 'make check-releases   all integration tests on Pacific, Reef and Tentacle, and 3000 new'
	@echo '              option strings on the binaries of each'
	@echo 'make check-faults     rollouts on a real cluster under every fault, with clients that verify;'
	@echo '              in short on Reef and Tentacle too'
	@echo 'make bench    measure the cost of a tick, of answers of the model and of the dashboard, and of a check'
	@echo 'make mixin    write the Grafana dashboard and the alert rules anew from their source'
	@echo 'make tab      bundle the tab of the Ceph Dashboard (node and npm)'
	@echo 'make install DESTDIR=...   lay the module out for a package'
	@echo 'make install-dashboard DESTDIR=...   the same for the REST API and the tab in the Ceph Dashboard'
	@echo 'make install-monitoring DESTDIR=...   the same for the dashboard and the alert rules'

demo:
	qa/demo $(if $(KEEP),--keep)

$(TOX):
	qa/bootstrap $(VENV)

# Tests on clusters mostly wait, for OSDs that start and samples that come: two clusters at a time
# keep two cores busy.
# The chroots of the other releases are made beside the first tests, which need none. A test that
# comes too early waits for its chroot, or makes it where that has failed, and says why.
check: $(TOX)
	@qa/cluster chroot build > build/chroots.log 2>&1 & trap "kill $$! 2>/dev/null; wait" EXIT; \
	$(TOX) run -e lint,mypy,py3,chaos && \
	$(TOX) run-parallel --parallel 2 --parallel-no-spinner -e integration,faults-short,dashboard,smoke,campaign

check-releases: $(TOX)
	$(TOX) run -e integration,campaign,oracle,dashboard,reef,dashboard-reef,tentacle,dashboard-tentacle

check-faults: $(TOX)
	$(TOX) run -e faults,faults-reef,faults-tentacle

lint mypy chaos integration faults-short dashboard smoke campaign oracle: $(TOX)
	$(TOX) run -e $@

unit: $(TOX)
	$(TOX) run -e py3

bench:
	/usr/bin/python3 qa/bench/bench_tick.py
	/usr/bin/python3 qa/bench/bench_model.py speed
	/usr/bin/python3 qa/bench/bench_options.py
	/usr/bin/python3 qa/bench/bench_dashboard.py

install:
	install -d '$(DESTDIR)$(MGR_DIR)/rocksdb_tuner'
	cd src/pybind/mgr/rocksdb_tuner && \
	  find . -type f \( -name '*.py' -o -name '*.json' \) -not -path './tests/*' \
	    -exec install -D -m 644 {} '$(DESTDIR)$(MGR_DIR)/rocksdb_tuner/{}' \;

mixin: $(TOX)
	$(TOX) run -e mixin

# Nothing of it is asked for at run time; the bundle is made anew when its source changes
tab: $(TAB_BUNDLE)

$(TAB_BUNDLE): $(TAB)/package-lock.json $(TAB)/tsconfig.json $(wildcard $(TAB)/src/*)
	rm -rf build/tab && mkdir -p build/tab build/dashboard
	cp -R $(TAB)/. build/tab
	cd build/tab && npm ci --no-audit --no-fund && npm run check && npm run build -- --outfile=$(notdir $@)
	test $$(gzip -9 -c build/tab/$(notdir $@) | wc -c) -le $(TAB_BYTES_MAX)
	mv build/tab/$(notdir $@) $@

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
