# Two commands for a newcomer: `make demo` and `make check`. Each installs what it needs.

.DEFAULT_GOAL := help
SHELL := /bin/bash
VENV ?= build/venv
TOX := $(VENV)/bin/tox
DESTDIR ?=
MGR_DIR ?= /usr/share/ceph/mgr
MIXIN := monitoring/ceph-mixin/rocksdb_tuner

.PHONY: help demo check check-releases lint mypy unit integration smoke oracle bench mixin install install-dashboard \
  install-monitoring clean

help:
	@echo 'make demo     the main job on a real Pacific cluster, end to end (root, Debian 12)'
	@echo '              KEEP=1 leaves the cluster up'
	@echo 'make check    all tests: lint, mypy, unit, integration on real clusters of Pacific, and'
	@echo '              in short on Reef and Tentacle (root)'
	@echo 'make lint | mypy | unit | integration | smoke | oracle   one of them'
	@echo 'make check-releases   all integration tests on Pacific, Reef and Tentacle, and 3000 new'
	@echo '              option strings on the binaries of each'
	@echo 'make bench    measure the cost of a tick, of an answer of the model, and of a check'
	@echo 'make mixin    write the Grafana dashboard and the alert rules anew from their source'
	@echo 'make install DESTDIR=...   lay the module out for a package'
	@echo 'make install-dashboard DESTDIR=...   the same for the REST API in the Ceph Dashboard'
	@echo 'make install-monitoring DESTDIR=...   the same for the dashboard and the alert rules'

demo:
	qa/demo $(if $(KEEP),--keep)

$(TOX):
	qa/bootstrap $(VENV)

# The chroots of the other releases are made beside the first tests, which need none. A test that
# comes too early waits for its chroot, or makes it where that has failed, and says why.
check: $(TOX)
	@qa/cluster chroot build > build/chroots.log 2>&1 & trap "kill $$! 2>/dev/null; wait" EXIT; \
	$(TOX) run -e lint,mypy,py3,integration,smoke

check-releases: $(TOX)
	$(TOX) run -e integration,oracle,reef,tentacle

lint mypy integration smoke oracle: $(TOX)
	$(TOX) run -e $@

unit: $(TOX)
	$(TOX) run -e py3

bench:
	/usr/bin/python3 qa/bench/bench_tick.py
	/usr/bin/python3 qa/bench/bench_model.py speed
	/usr/bin/python3 qa/bench/bench_options.py

install:
	install -d '$(DESTDIR)$(MGR_DIR)/rocksdb_tuner'
	cd src/pybind/mgr/rocksdb_tuner && \
	  find . -type f \( -name '*.py' -o -name '*.json' \) -not -path './tests/*' \
	    -exec install -D -m 644 {} '$(DESTDIR)$(MGR_DIR)/rocksdb_tuner/{}' \;

mixin: $(TOX)
	$(TOX) run -e mixin

# Real files: the dashboard does not load a controller that is a link
install-dashboard:
	install -D -m 644 -t '$(DESTDIR)$(MGR_DIR)/dashboard/controllers' \
	  src/pybind/mgr/dashboard/controllers/*.py

# Where Ceph's own packages put theirs
install-monitoring:
	install -D -m 644 -t '$(DESTDIR)/etc/grafana/dashboards/ceph-dashboard' $(MIXIN)/dashboards_out/*.json
	install -D -m 644 $(MIXIN)/prometheus_alerts.yml '$(DESTDIR)/etc/prometheus/ceph/rocksdb_tuner_alerts.yml'

clean:
	rm -rf build .tox .mypy_cache .ruff_cache .pytest_cache .hypothesis
