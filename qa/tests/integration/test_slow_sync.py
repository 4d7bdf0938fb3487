"""The library that makes OSDs slower, under a clock that it is given."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness import Progress, packages, preload, slow_sync
from harness.host import Host

pytestmark = pytest.mark.integration

#: A disk whose every sync takes 10 ms and answers 7, and a clock that only it and sleep advance.
DISK = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>
static long long now_ns = 5000000000LL;
int fdatasync(int fd) { now_ns += 10000000; errno = ENOSPC; return 7; }
int clock_gettime(clockid_t clock, struct timespec *now)
{
    now->tv_sec = now_ns / 1000000000; now->tv_nsec = now_ns % 1000000000;
    return 0;
}
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left)
{
    now_ns = until->tv_sec * 1000000000LL + until->tv_nsec;
    errno = 0;
    return 0;
}
"""
#: Prints how long a sync took in microseconds, what it answered and with which error.
PROGRAM = r"""
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    struct timespec began, ended;
    clock_gettime(CLOCK_MONOTONIC, &began);
    int answer = fdatasync(1), error = errno;
    clock_gettime(CLOCK_MONOTONIC, &ended);
    long long took_us = (ended.tv_sec - began.tv_sec) * 1000000LL;
    took_us += (ended.tv_nsec - began.tv_nsec) / 1000;
    printf("%lld %d %d\n", took_us, answer, error == ENOSPC);
    return 0;
}
"""


@pytest.fixture
def built(tmp_path: Path) -> Path:
    packages.install(Host(), preload.PACKAGES, Progress())
    slow_sync.build(Host(), tmp_path)
    for name, source, flags in (
        ('disk.so', DISK, ('-shared', '-fPIC')),
        ('program', PROGRAM, ()),
    ):
        (tmp_path / 'source.c').write_text(source)
        argv = ['gcc', *flags, '-o', str(tmp_path / name), str(tmp_path / 'source.c')]
        subprocess.run(argv, check=True)
    return tmp_path


def sync(folder: Path) -> str:
    environment, *command = slow_sync.argv(folder, 'osd.1', [str(folder / 'program')])
    preload, file, program = command
    argv = [environment, f'{preload}:{folder / "disk.so"}', file, program]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def test_sync_delay_follows_the_last_setting_and_returns_the_result_of_the_disk(
    built: Path,
) -> None:
    found = [sync(built)]
    for percent in (20, 150, 0):
        slow_sync.slow_down(built, {0: 900, 1: percent})
        found.append(sync(built))
    slow_sync.slow_down(built, {})
    found.append(sync(built))
    assert found == [f'{took_us} 7 1' for took_us in (10000, 12000, 25000, 10000, 10000)]


def test_sync_takes_at_least_the_configured_time(built: Path) -> None:
    """One that the disk or the percentage makes longer than that stays as long as it is."""
    found = []
    for percent, least_ms in ((0, 25.5), (0, 4), (200, 25.5)):
        slow_sync.slow_down(built, {1: percent}, least_ms)
        found.append(sync(built))
    assert found == [f'{took_us} 7 1' for took_us in (25500, 10000, 30000)]
