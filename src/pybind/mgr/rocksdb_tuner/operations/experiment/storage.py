"""Storage of experiments, so that they survive a manager failover."""

from __future__ import annotations

from typing import Callable, Optional

from ...judge.evidence import Block
from ...mgr.protocols import Store
from ...store.pieces import LongTexts
from ...store.quarantine import Quarantine
from ...store.spread import Spread
from .codec import LAYOUT, checked, decode_block, encode_block
from .records import ExperimentState

_PREFIX = 'experiment/'
#: The head of the experiment; its parts are under `PARTS`.
CURRENT = 'experiment/current'
PARTS = 'experiment/parts/'
#: Measurements, by period number and block number within it.
BLOCKS = 'experiment/blocks/'


class ExperimentStorage:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._texts = LongTexts(store)
        self._quarantine = Quarantine(store)
        self._spread = Spread(store, LAYOUT, CURRENT, PARTS)

    def problems(self) -> tuple[str, ...]:
        """One sentence for each quarantined text."""
        return tuple(text for text in self._quarantine.problems() if f'"{_PREFIX}' in text)

    def restore_readable(self, held: Callable[[ExperimentState], ExperimentState]) -> None:
        """Restore quarantined data that is readable again, as after a downgrade was undone.

        An unfinished experiment is converted by ``held``.
        """

        def restore(key: str, text: str) -> bool:
            if key == CURRENT:
                state = checked(self._spread.read(text))
                self._spread.save(state if state.ended else held(state))
                return True
            if key.startswith(BLOCKS):
                decode_block(self._texts.whole(key, text))
                self._store.set(key, text)
                return True
            return False

        self._quarantine.restore(restore)

    def load(self) -> Optional[ExperimentState]:
        """The last experiment; None before the first, or if it cannot be read."""
        return self._quarantine.read(CURRENT, lambda text: checked(self._spread.load(text)))

    def save(self, state: ExperimentState) -> None:
        """Raises CommandError: then either this or the previous state is stored."""
        self._spread.save(state)

    def load_blocks(self, experiment_id: str) -> dict[int, tuple[Block, ...]]:
        """The measurements of each period; unreadable blocks are omitted."""
        found: dict[int, tuple[Block, ...]] = {}
        for key in sorted(self._store.keys(BLOCKS)):
            known = self._block(key)
            if known is not None and known[0] == experiment_id:
                _, period, block = known
                found[period] = (*found.get(period, ()), block)
        return found

    def save_block(self, experiment_id: str, period: int, number: int, block: Block) -> None:
        """Raises CommandError."""
        text = encode_block(experiment_id, period, block)
        self._texts.set(f'{BLOCKS}{period}/{number:06d}', text)

    def forget_blocks(self) -> None:
        """Raises CommandError."""
        for key in self._store.keys(BLOCKS):
            self._texts.set(key, None)

    def _block(self, key: str) -> Optional[tuple[str, int, Block]]:
        return self._quarantine.read(key, lambda text: decode_block(self._texts.whole(key, text)))
