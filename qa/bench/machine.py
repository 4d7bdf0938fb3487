"""What a measurement says of the machine that it ran on."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def describe() -> str:
    """Cores, processor, memory and kernel."""
    names = [
        line.partition(':')[2].strip()
        for line in Path('/proc/cpuinfo').read_text(encoding='ascii').splitlines()
        if line.startswith('model name')
    ]
    memory_gib = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30
    return (
        f'{os.cpu_count()} cores ({names[0] if names else platform.machine()}), '
        f'{memory_gib:.0f} GiB of memory, Linux {platform.release().partition("-")[0]}'
    )
