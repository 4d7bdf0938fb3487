"""Signals of one OSD from its windows: rates, means and sizes, and whether it keeps its pace."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Optional

from ..mgr.protocols import CounterReader
from ..mgr.records import OsdInfo
from ..notes import Among, Amount, Count
from .deep import RocksdbTimes
from .report_interval import DEFAULT, ReportInterval
from .sample import ALL_OPERATIONS, Sample
from .window import OsdHistory, Window, WrittenBytes


class Signals(NamedTuple):
    """Rates, means and sizes of one OSD over its newest window.

    None is "unknown": the counter was never reported, is stale, or was reset in the window. A mean
    (``*_ms``, ``*_avg``, ``*_per_client_byte``) is also None without any event in the window; a
    rate is then 0.0.

    ``*_iops`` and ``*_bytes_per_s`` count client operations to this OSD as a primary; BlueFS and
    kv_sync signals include its work as a replica.
    """

    osd_id: int
    window_s: Annotated[
        Optional[Amount], 'Length of the window of the rates and means, in seconds.'
    ] = None
    #: Time of the newest report, on the mgr's clock.
    sampled_s: Optional[float] = None

    kv_sync_ms: Annotated[
        Optional[Amount], 'Mean duration of one round of the kv_sync thread, in milliseconds.'
    ] = None
    kv_sync_busy: Annotated[Optional[Amount], 'Time inside kv_sync over wall time, 0..1.'] = None
    kv_flush_ms: Annotated[
        Optional[Amount], 'Mean duration of the device flush in kv_sync, in milliseconds.'
    ] = None
    commit_ms: Annotated[
        Optional[Amount], 'Mean time until a transaction is durable, in milliseconds.'
    ] = None

    write_iops: Annotated[Optional[Amount], 'Client writes per second.'] = None
    read_iops: Annotated[Optional[Amount], 'Client reads per second.'] = None
    rw_iops: Annotated[Optional[Amount], 'Client read-write class calls per second.'] = None
    write_bytes_per_s: Annotated[Optional[Amount], 'Bytes of client writes per second.'] = None
    read_bytes_per_s: Annotated[Optional[Amount], 'Bytes of client reads per second.'] = None
    rw_bytes_per_s: Annotated[
        Optional[Amount], 'Bytes per second written by client class calls.'
    ] = None
    write_bytes_avg: Annotated[Optional[Amount], 'Mean size of a client write, in bytes.'] = None
    read_bytes_avg: Annotated[Optional[Amount], 'Mean size of a client read, in bytes.'] = None
    op_w_latency_ms: Annotated[
        Optional[Amount], 'Mean latency of a client write, in milliseconds.'
    ] = None
    recovery_ops_per_s: Annotated[Optional[Amount], 'Recovery operations per second.'] = None
    recovery_bytes_per_s: Annotated[Optional[Amount], 'Recovery bytes per second.'] = None

    wal_bytes_per_s: Annotated[
        Optional[Amount], "Bytes per second that BlueFS wrote to RocksDB's WAL."
    ] = None
    sst_bytes_per_s: Annotated[
        Optional[Amount], 'Bytes per second that BlueFS wrote to SST files.'
    ] = None
    slow_bytes_per_s: Annotated[
        Optional[Amount], 'Bytes per second of WAL and SST files written to the slow device.'
    ] = None
    wal_bytes_per_client_byte: Annotated[
        Optional[Amount], 'WAL bytes per byte of client writes.'
    ] = None
    wal_bytes_per_write_op: Annotated[Optional[Amount], 'WAL bytes per client write.'] = None

    compaction_bytes_per_s: Annotated[
        Optional[Amount], 'Bytes per second that compaction wrote.'
    ] = None
    compaction_source: Annotated[
        Optional[Annotated[str, Among(('measured', 'estimated'))]],
        "Source of compaction_bytes_per_s: RocksDB's own statistics, or an estimate from SST "
        'and WAL bytes.',
    ] = None
    compaction_window_s: Annotated[
        Optional[Amount], 'Seconds over which compaction was observed.'
    ] = None
    db_write_amp: Annotated[
        Optional[Amount], '(WAL + SST bytes) / WAL bytes over the long window.'
    ] = None
    db_write_amp_window_s: Annotated[Optional[Amount], 'Length of the long window, in seconds.'] = (
        None
    )

    db_device_shared: Annotated[
        Optional[bool], 'Whether DB and data share a device, so the DB has no limit of its own.'
    ] = None
    db_used_bytes: Annotated[Optional[Count], 'Bytes used by the DB on its device.'] = None
    db_total_bytes: Annotated[
        Optional[Count], 'Size of the DB device in bytes; null if it is shared with the data.'
    ] = None
    wal_used_bytes: Annotated[Optional[Count], 'Bytes used by the WAL on its device.'] = None
    wal_total_bytes: Annotated[Optional[Count], 'Size of the WAL device in bytes.'] = None
    slow_used_bytes: Annotated[Optional[Count], 'Bytes of the DB on the slow device.'] = None
    slow_total_bytes: Annotated[Optional[Count], 'Size of the slow device in bytes.'] = None

    def age_s(self, now_s: Optional[float]) -> Optional[float]:
        """Age of the newest report; None without one, or if the time is unknown."""
        if self.sampled_s is None or now_s is None:
            return None
        return max(0.0, now_s - self.sampled_s)


#: Minimum SST bytes for a write amplification; with less it depends on how full the memtables are.
#: RocksDB's default size of a memtable and of an SST file.
MIN_SST_BYTES = 64 * 1024 * 1024

#: A window without counters; its length is never a divisor.
_NO_WINDOW = Window(0.0, *(None for _ in Window._fields[1:]))


def signals(osd: OsdInfo, history: OsdHistory, times: Optional[RocksdbTimes]) -> Signals:
    """Signals of ``osd``; ``times``: RocksDB's own statistics, if available."""
    newest = history.newest
    if newest is None:
        return Signals(osd_id=osd.osd_id)
    # One pass without a call for each field: this is for every OSD at every tick.
    window = history.short() or _NO_WINDOW
    window_s, kv_sync, kv_flush, commit, op_w, op_w_in, op_w_latency, op_r, op_r_out = window[:9]
    op_rw, op_rw_in, recovered, recovered_bytes, wal_bytes, sst_bytes, slow_bytes = window[9:]
    written = history.written()
    shared = None if osd.dedicated_db is None else not osd.dedicated_db
    write_amp = _write_amplification(written)
    rate, source, rate_window_s = _compaction(times, written)
    write_ops = None if op_w is None or op_rw is None else op_w + op_rw
    client_bytes = None if op_w_in is None or op_rw_in is None else op_w_in + op_rw_in
    # By position, in half the time of by name; the comments are checked by a test.
    return Signals(
        osd.osd_id,
        window_s or None,
        newest.time_s,
        kv_sync.mean_ms if kv_sync else None,  # kv_sync_ms
        # A round that ends in the window may have started before it.
        min(1.0, kv_sync.total_s / window_s) if kv_sync else None,  # kv_sync_busy
        kv_flush.mean_ms if kv_flush else None,  # kv_flush_ms
        commit.mean_ms if commit else None,  # commit_ms
        None if op_w is None else op_w / window_s,  # write_iops
        None if op_r is None else op_r / window_s,  # read_iops
        None if op_rw is None else op_rw / window_s,  # rw_iops
        None if op_w_in is None else op_w_in / window_s,  # write_bytes_per_s
        None if op_r_out is None else op_r_out / window_s,  # read_bytes_per_s
        None if op_rw_in is None else op_rw_in / window_s,  # rw_bytes_per_s
        op_w_in / op_w if op_w_in is not None and op_w else None,  # write_bytes_avg
        op_r_out / op_r if op_r_out is not None and op_r else None,  # read_bytes_avg
        op_w_latency.mean_ms if op_w_latency else None,  # op_w_latency_ms
        None if recovered is None else recovered / window_s,  # recovery_ops_per_s
        None if recovered_bytes is None else recovered_bytes / window_s,  # recovery_bytes_per_s
        None if wal_bytes is None else wal_bytes / window_s,  # wal_bytes_per_s
        None if sst_bytes is None else sst_bytes / window_s,  # sst_bytes_per_s
        None if slow_bytes is None else slow_bytes / window_s,  # slow_bytes_per_s
        wal_bytes / client_bytes if wal_bytes is not None and client_bytes else None,
        wal_bytes / write_ops if wal_bytes is not None and write_ops else None,
        rate,
        source,
        rate_window_s,
        write_amp,
        written.window_s if written and write_amp is not None else None,
        shared,
        newest.db_used_bytes,
        # On a shared device db_total is the whole device, which is no limit for the DB.
        newest.db_total_bytes if shared is False else None,
        # BlueFS reports 0 without such a device.
        newest.wal_used_bytes if newest.wal_total_bytes else None,
        newest.wal_total_bytes or None,
        newest.slow_used_bytes if newest.slow_total_bytes else None,
        newest.slow_total_bytes or None,
    )


def _write_amplification(written: Optional[WrittenBytes]) -> Optional[float]:
    """(WAL + SST) / WAL: device writes per byte that BlueStore writes to RocksDB.

    ``bytes_written_slow`` is not a third term: WAL and SST bytes already include it.
    """
    if written is None or written.sst_bytes < MIN_SST_BYTES or written.wal_bytes <= 0:
        return None
    return (written.wal_bytes + written.sst_bytes) / written.wal_bytes


def _compaction(
    times: Optional[RocksdbTimes], written: Optional[WrittenBytes]
) -> tuple[Optional[float], Optional[str], Optional[float]]:
    """(bytes per second, "measured" or "estimated", window in seconds).

    SST files are written by flushes and compaction, and flushes write at most the WAL bytes, so
    SST - WAL bytes is a lower bound for compaction. It is meaningless with fewer SST than WAL
    bytes, unless no SST was written at all.
    """
    if times is not None and times.compaction_bytes_per_s is not None:
        return times.compaction_bytes_per_s, 'measured', times.window_s
    if written is None:
        return None, None, None
    least_bytes = written.sst_bytes - written.wal_bytes
    if least_bytes > 0 or written.sst_bytes == 0:
        return max(0, least_bytes) / written.window_s, 'estimated', written.window_s
    return None, None, None


#: A pace is the same within this share of it, beyond a small number, which is chance; of client
#: operations of all kinds, rounds of the kv_sync thread, and nanoseconds in these. Time varies more
#: than counts do under one steady load.
SHARES, CHANCES = (0.25, 0.25, 1.0), (10, 10, 100_000_000)


class Progress(NamedTuple):
    """What an OSD did since its process started, at one time."""

    time_s: float
    #: In the order of `SHARES`.
    done: tuple[int, int, int]


def progress_of(sample: Sample) -> Optional[Progress]:
    """None if any of its counters is unknown."""
    if sample.op_w is None or sample.op_r is None or sample.op_rw is None or sample.kv_sync is None:
        return None
    busy_ns, rounds = sample.kv_sync
    return Progress(sample.time_s, (sample.op_w + sample.op_r + sample.op_rw, rounds, busy_ns))


def keeps_pace(history: OsdHistory, now: Optional[Progress]) -> bool:
    """Whether the work since the newest sample has the pace of the newest window.

    False if that is unknown. An OSD that does anything else than before also commits more or fewer
    transactions.
    """
    recent = history.recent
    if now is None or len(recent) < 2:
        return False
    first, last = progress_of(recent[0]), progress_of(recent[-1])
    if first is None or last is None or now.time_s < last.time_s:
        return False
    passed = (now.time_s - last.time_s) / (last.time_s - first.time_s)
    for start, end, new, share, chance in zip(first.done, last.done, now.done, SHARES, CHANCES):
        expected = (end - start) * passed
        # A counter that decreased was reset.
        if new < end or abs(new - end - expected) > share * expected + chance:
            return False
    return True


def steady_report_s(
    reader: CounterReader,
    osd_id: int,
    names: Any,
    history: OsdHistory,
    now_s: float,
    reports: ReportInterval = DEFAULT,
) -> Optional[float]:
    """Time of the newest report of an OSD that works as in the newest window of ``history``.

    Told by two counters instead of all. None if it works at another pace, or if that is unknown.
    """
    done, kv_sync = reader.latest(osd_id, (ALL_OPERATIONS, names.kv_sync))
    if (
        done is None
        or done.avgcount is not None
        or kv_sync is None
        or kv_sync.avgcount is None
        or kv_sync.time_s != done.time_s
        or now_s - done.time_s > reports.stale_s
    ):
        return None
    now = Progress(done.time_s, (done.value, kv_sync.avgcount, kv_sync.value))
    return now.time_s if keeps_pace(history, now) else None
