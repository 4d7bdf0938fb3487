"""Checks that the patch of the dashboard's frontend applies to the tree it is run in."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == '__main__':
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from upstream.overlay import CHECKOUT, VERSION, OverlayError, git_apply

PATCH = CHECKOUT / f'contrib/dashboard-frontend/ceph-{VERSION}.patch'


def main() -> int:
    try:
        git_apply(Path.cwd(), [PATCH], check=True)
    except OverlayError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
