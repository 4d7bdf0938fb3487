"""S3 clients against one object gateway: several processes (for Python's lock) of threads.

Order (first argument, JSON): workload, seconds, threads, object_size_bytes, objects. Environment:
RGW_URL and the AWS credentials. Prints the result as JSON. Runs under Debian's Python with boto3.
Nothing is retried: what the gateway refuses is an error.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

# Debian packages of the machine that runs the client, not of the one that checks this file
import boto3  # type: ignore[import-not-found, import-untyped, unused-ignore]
import botocore.config  # type: ignore[import-not-found, import-untyped, unused-ignore]
import botocore.exceptions  # type: ignore[import-not-found, import-untyped, unused-ignore]

PROCESSES = 2
SAMPLE = 100
LARGE_SAMPLE = 8
PAGE_KEYS = 1000
MAX_MESSAGES = 10


@dataclass
class Tally:
    """What one thread did. Latencies in seconds."""

    latencies_s: list[float] = field(default_factory=list)
    bytes: int = 0
    errors: int = 0
    messages: list[str] = field(default_factory=list)
    checked: int = 0
    failed: int = 0
    keys: list[tuple[str, str]] = field(default_factory=list)

    def error(self, text: str) -> None:
        self.errors += 1
        if len(self.messages) < MAX_MESSAGES:
            self.messages.append(text)

    def check(self, good: bool, text: str) -> None:
        self.checked += 1
        if not good:
            self.failed += 1
            if len(self.messages) < MAX_MESSAGES:
                self.messages.append(text)

    def add(self, other: Tally) -> None:
        self.latencies_s += other.latencies_s
        self.bytes += other.bytes
        self.errors += other.errors
        self.messages = (self.messages + other.messages)[:MAX_MESSAGES]
        self.checked += other.checked
        self.failed += other.failed
        self.keys += other.keys


@dataclass(frozen=True)
class Order:
    workload: str
    seconds: float
    threads: int
    object_size_bytes: int
    objects: int = 0

    @property
    def bucket(self) -> str:
        return self.workload


Step = Callable[[Any, Tally], bool]


def connect() -> Any:
    return boto3.client(
        's3',
        endpoint_url=os.environ['RGW_URL'],
        region_name='default',
        config=botocore.config.Config(
            retries={'total_max_attempts': 1},
            read_timeout=120,
            s3={'addressing_style': 'path'},
            max_pool_connections=64,
        ),
    )


def put(s3: Any, order: Order, key: str, body: bytes, tally: Tally) -> None:
    digest = hashlib.md5(body).hexdigest()
    answer = s3.put_object(Bucket=order.bucket, Key=key, Body=body)
    tally.bytes += len(body)
    tally.check(answer['ETag'].strip('"') == digest, f'{key}: another ETag than the MD5 sent')
    tally.keys.append((key, digest))


def put_steps(order: Order, worker: str, run: str) -> Step:
    """A new small object each time."""
    numbers = iter(range(sys.maxsize))

    def step(s3: Any, tally: Tally) -> bool:
        key = f'{run}/{worker}/{next(numbers):08d}'
        put(s3, order, key, os.urandom(order.object_size_bytes), tally)
        return True

    return step


def large_put_steps(order: Order, worker: str) -> Step:
    """A few large objects, written over again and again. Each worker has its own."""
    numbers = iter(range(sys.maxsize))
    own = max(1, order.objects // order.threads)
    tail = os.urandom(max(0, order.object_size_bytes - 16))

    def step(s3: Any, tally: Tally) -> bool:
        number = next(numbers)
        body = (os.urandom(16) + tail)[: order.object_size_bytes]
        put(s3, order, f'{worker}/{number % own:04d}', body, tally)
        return True

    return step


def list_steps(order: Order) -> Step:
    """One page of the listing each time; the end of each listing is checked."""
    state: dict[str, Any] = {'token': None, 'seen': 0}

    def step(s3: Any, tally: Tally) -> bool:
        more = {'ContinuationToken': state['token']} if state['token'] else {}
        page = s3.list_objects_v2(Bucket=order.bucket, MaxKeys=PAGE_KEYS, **more)
        state['seen'] += page['KeyCount']
        state['token'] = page.get('NextContinuationToken')
        if not page['IsTruncated']:
            seen = state['seen']
            tally.check(seen == order.objects, f'listed {seen} of {order.objects} keys')
            state.update(token=None, seen=0)
        return True

    return step


def delete_steps(bucket: str, keys: Iterator[str]) -> Step:
    """One object each time, until there is none left."""

    def step(s3: Any, tally: Tally) -> bool:
        key = next(keys, None)
        if key is None:
            return False
        s3.delete_object(Bucket=bucket, Key=key)
        tally.keys.append((key, ''))
        return True

    return step


def work(step: Step, deadline_s: float) -> Tally:
    """One thread: steps until the deadline (of the monotonic clock)."""
    s3, tally = connect(), Tally()
    while time.monotonic() < deadline_s:
        begin_s = time.monotonic()
        try:
            if not step(s3, tally):
                break
        except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
            tally.error(f'{type(error).__name__}: {error}')
            time.sleep(0.1)
            continue
        tally.latencies_s.append(time.monotonic() - begin_s)
    return tally


def process_main(order: Order, rank: int, run: str, go: Any, results: Any) -> None:
    """One process: its share of the threads. Reports one Tally."""
    shares = [
        order.threads // PROCESSES + (i < order.threads % PROCESSES) for i in range(PROCESSES)
    ]
    workers = [f'{rank}-{thread}' for thread in range(shares[rank])]
    first = sum(shares[:rank])

    def step_for(index: int, worker: str) -> Step:
        if order.workload == 's3-put':
            return put_steps(order, worker, run)
        if order.workload == 's3-large-put':
            return large_put_steps(order, worker)
        if order.workload == 's3-list':
            return list_steps(order)
        mine = range(first + index, order.objects, order.threads)
        return delete_steps(order.bucket, iter([object_key(number) for number in mine]))

    steps = [step_for(index, worker) for index, worker in enumerate(workers)]
    total = Tally()
    go.wait()
    deadline_s = time.monotonic() + order.seconds
    with ThreadPoolExecutor(max(1, len(steps))) as pool:
        for tally in pool.map(lambda step: work(step, deadline_s), steps):
            total.add(tally)
    results.put(total)


def object_key(number: int) -> str:
    return f'object-{number:08d}'


def count(s3: Any, bucket: str) -> int:
    pages = s3.get_paginator('list_objects_v2').paginate(Bucket=bucket)
    return sum(page['KeyCount'] for page in pages)


def fill(order: Order) -> None:
    """Put the objects that a listing or a deletion needs; nothing when they are there."""
    s3 = connect()
    if count(s3, order.bucket) == order.objects:
        return
    local = threading.local()

    def one(number: int) -> None:
        if not hasattr(local, 's3'):
            local.s3 = connect()
        body = os.urandom(order.object_size_bytes)
        local.s3.put_object(Bucket=order.bucket, Key=object_key(number), Body=body)

    with ThreadPoolExecutor(order.threads) as pool:
        for _ in pool.map(one, range(order.objects)):
            pass


def check_sample(s3: Any, order: Order, tally: Tally) -> str:
    """Compare a sample with what was done; returns how the whole result was checked."""
    if order.workload in ('s3-put', 's3-large-put'):
        last = list(dict(tally.keys).items())  # of what was put under one key, the last
        wanted = SAMPLE if order.workload == 's3-put' else LARGE_SAMPLE
        for key, digest in random.sample(last, min(wanted, len(last))):
            body = s3.get_object(Bucket=order.bucket, Key=key)['Body'].read()
            tally.check(hashlib.md5(body).hexdigest() == digest, f'{key}: other data read')
        return 'ETag of every object, MD5 of a sample that was read back'
    if order.workload == 's3-delete':
        left, wanted = count(s3, order.bucket), order.objects - len(tally.keys)
        # A request that failed may have been carried out all the same
        good = wanted - tally.errors <= left <= wanted
        tally.check(good, f'{left} objects are left, not {wanted}')
        return 'number of objects that are left'
    return 'number of keys of each complete listing'


def percentile_ms(ordered_s: list[float], fraction: float) -> float | None:
    if not ordered_s:
        return None
    return round(ordered_s[min(len(ordered_s) - 1, int(len(ordered_s) * fraction))] * 1e3, 3)


def main() -> int:
    for name in ('http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'all_proxy'):
        os.environ.pop(name, None)
    order = Order(**json.loads(sys.argv[1]))
    s3 = connect()
    s3.create_bucket(Bucket=order.bucket)
    if order.workload in ('s3-list', 's3-delete'):
        fill(order)
    context = multiprocessing.get_context('fork')
    go, results = context.Event(), context.Queue()
    run = os.urandom(6).hex()
    processes = [
        context.Process(target=process_main, args=(order, rank, run, go, results), daemon=True)
        for rank in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    begin_s = time.monotonic()
    go.set()
    total = Tally()
    for _ in processes:
        total.add(results.get(timeout=order.seconds + 600))
    seconds = time.monotonic() - begin_s
    for process in processes:
        process.join()
    what = check_sample(s3, order, total)
    ordered_s = sorted(total.latencies_s)
    mean = round(sum(ordered_s) / len(ordered_s) * 1e3, 3) if ordered_s else None
    print(
        json.dumps(
            {
                'seconds': seconds,
                'ops': len(ordered_s),
                'bytes': total.bytes,
                'latency_ms': {
                    'mean': mean,
                    'p50': percentile_ms(ordered_s, 0.5),
                    'p99': percentile_ms(ordered_s, 0.99),
                },
                'errors': total.errors,
                'error_messages': total.messages,
                'verified': {'what': what, 'checked': total.checked, 'failed': total.failed},
            }
        )
    )
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
        sys.exit(f'before or after the measured time: {type(error).__name__}: {error}')
