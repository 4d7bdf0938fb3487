# Two commands for a newcomer: `make demo` and `make check`. Each installs what it needs.

.DEFAULT_GOAL := help
SHELL := /bin/bash
VENV ?= build/venv
TOX := $(VENV)/bin/tox
DESTDIR ?=
MGR_DIR ?= /usr/share/ceph/mgr

.PHONY: help demo check check-releases check-faults lint mypy unit integration smoke oracle bench install clean

help:
	@echo 'make demo     the main job on a real Pacific cluster, end to end (root, Debian 12)'
	@echo '              KEEP=1 leaves the cluster up'
	@echo 'make check    all tests: lint, mypy, unit, integration on real clusters of Pacific, and'
	@echo '              in short on Reef and Tentacle (root)'
	@echo 'make lint | mypy | unit | integration | smoke | oracle   one of them'
	@echo 'make check-releases   all integration tests on Pacific, Reef and Tentacle, and 3000 new'
	@echo '              option strings on the binaries of each'
	@echo 'make check-faults     rollouts on a real cluster under every fault, with clients that verify'
	@echo 'make bench    measure the cost of a tick, of an answer of the model, and of a check'
	@echo 'make install DESTDIR=...   lay the module out for a package'

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

check-faults: $(TOX)
	$(TOX) run -e faults

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

clean:
	rm -rf build .tox .mypy_cache .ruff_cache .pytest_cache .hypothesis
