"""Libraries that a daemon preloads, made from a C source of the checkout."""

from __future__ import annotations

from pathlib import Path

from .host import Host

#: Debian packages that making one needs.
PACKAGES = ('gcc', 'libc6-dev')


def build(host: Host, source: Path, library: Path) -> None:
    """Make ``library``; it needs no more of the C library than any release's daemons have."""
    host.run(['gcc', '-O2', '-Wall', '-shared', '-fPIC', '-o', str(library), str(source)])
