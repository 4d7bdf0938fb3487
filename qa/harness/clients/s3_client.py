"""S3 clients against one object gateway, a thread each.

Order (first argument, JSON): workload, seconds, stuck_s, threads, object_size_bytes, objects.
Environment: RGW_URL and the AWS credentials. Prints the result as JSON. Runs under Debian's Python
with boto3. Nothing is retried: what the gateway refuses is an error.

The program always ends. A request may take half of stuck_s; a phase that takes stuck_s longer than
it should ends with the stacks of all threads on stderr.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

# Debian packages of the machine that runs the client, not of the one that checks this file
import boto3.session  # type: ignore[import-not-found, import-untyped, unused-ignore]
import botocore.config  # type: ignore[import-not-found, import-untyped, unused-ignore]
import botocore.exceptions  # type: ignore[import-not-found, import-untyped, unused-ignore]
from client_outcome import Client, phase, print_outcome

SAMPLE = 100
LARGE_SAMPLE = 8
PAGE_KEYS = 1000
CONNECT_TIMEOUT_S = 10.0
#: A gateway that fills or lists a bucket slower than this is stuck
MIN_OBJECTS_PER_S = 20


class S3Client(Client):
    """One thread: its results, start and end of the monotonic clock."""

    def __init__(self) -> None:
        super().__init__()
        #: What it put or deleted, in that order, with the MD5 of what it put.
        self.keys: list[tuple[str, str]] = []
        self.begin_s = self.end_s = 0.0


@dataclass(frozen=True)
class Order:
    workload: str
    seconds: float
    stuck_s: float
    threads: int
    object_size_bytes: int
    objects: int = 0

    @property
    def bucket(self) -> str:
        return self.workload

    @property
    def bucket_limit_s(self) -> float:
        """How long to fill or to list the whole bucket may take."""
        return self.stuck_s + self.objects / MIN_OBJECTS_PER_S


Step = Callable[[Any, S3Client], bool]


def connect(order: Order) -> Any:
    """A client, which threads may share. Creating clients is not thread-safe."""
    return boto3.session.Session().client(
        's3',
        endpoint_url=os.environ['RGW_URL'],
        region_name='default',
        config=botocore.config.Config(
            retries={'total_max_attempts': 1},
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=order.stuck_s / 2,
            s3={'addressing_style': 'path'},
            max_pool_connections=order.threads,
        ),
    )


def put(s3: Any, order: Order, key: str, body: bytes, tally: S3Client) -> None:
    digest = hashlib.md5(body).hexdigest()
    answer = s3.put_object(Bucket=order.bucket, Key=key, Body=body)
    tally.bytes += len(body)
    tally.check(answer['ETag'].strip('"') == digest, f'{key}: another ETag than the MD5 sent')
    tally.keys.append((key, digest))


def put_steps(order: Order, worker: str, run: str) -> Step:
    """A new small object each time."""
    numbers = iter(range(sys.maxsize))

    def step(s3: Any, tally: S3Client) -> bool:
        key = f'{run}/{worker}/{next(numbers):08d}'
        put(s3, order, key, os.urandom(order.object_size_bytes), tally)
        return True

    return step


def large_put_steps(order: Order, worker: str) -> Step:
    """A few large objects, written over again and again. Each worker has its own."""
    numbers = iter(range(sys.maxsize))
    own = max(1, order.objects // order.threads)
    tail = os.urandom(max(0, order.object_size_bytes - 16))

    def step(s3: Any, tally: S3Client) -> bool:
        number = next(numbers)
        body = (os.urandom(16) + tail)[: order.object_size_bytes]
        put(s3, order, f'{worker}/{number % own:04d}', body, tally)
        return True

    return step


def list_steps(order: Order) -> Step:
    """One page of the listing each time; the end of each listing is checked."""
    state: dict[str, Any] = {'token': None, 'seen': 0}

    def step(s3: Any, tally: S3Client) -> bool:
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

    def step(s3: Any, tally: S3Client) -> bool:
        key = next(keys, None)
        if key is None:
            return False
        s3.delete_object(Bucket=bucket, Key=key)
        tally.keys.append((key, ''))
        return True

    return step


def work(s3: Any, step: Step, deadline_s: float) -> S3Client:
    """One thread: steps until the deadline (of the monotonic clock)."""
    client = S3Client()
    client.begin_s = time.monotonic()
    while time.monotonic() < deadline_s:
        begin_s = time.monotonic()
        try:
            if not step(s3, client):
                break
        except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
            client.errors.append(f'{type(error).__name__}: {error}')
            time.sleep(0.1)
            continue
        client.latencies_s.append(time.monotonic() - begin_s)
    client.end_s = time.monotonic()
    return client


def step_of(order: Order, worker: int, run: str) -> Step:
    """What one of the clients does again and again."""
    if order.workload == 's3-put':
        return put_steps(order, str(worker), run)
    if order.workload == 's3-large-put':
        return large_put_steps(order, str(worker))
    if order.workload == 's3-list':
        return list_steps(order)
    mine = range(worker, order.objects, order.threads)
    return delete_steps(order.bucket, iter([object_key(number) for number in mine]))


def work_of_all(s3: Any, order: Order) -> list[S3Client]:
    """All clients side by side, which share a connection pool."""
    run = os.urandom(6).hex()
    steps = [step_of(order, worker, run) for worker in range(order.threads)]
    deadline_s = time.monotonic() + order.seconds
    pool = ThreadPoolExecutor(order.threads)
    done = first_failure_ends([pool.submit(work, s3, step, deadline_s) for step in steps])
    return [future.result() for future in done]


def first_failure_ends(futures: Iterable[Future[Any]]) -> Iterable[Future[Any]]:
    """Those that are done: all, or where one has failed, not those that still run."""
    return wait(futures, return_when=FIRST_EXCEPTION).done


def object_key(number: int) -> str:
    return f'object-{number:08d}'


def count(s3: Any, bucket: str) -> int:
    pages = s3.get_paginator('list_objects_v2').paginate(Bucket=bucket)
    return sum(page['KeyCount'] for page in pages)


def fill(s3: Any, order: Order) -> None:
    """Put the objects that a listing or a deletion needs; nothing when they are there."""
    if count(s3, order.bucket) == order.objects:
        return

    def one(number: int) -> None:
        body = os.urandom(order.object_size_bytes)
        s3.put_object(Bucket=order.bucket, Key=object_key(number), Body=body)

    pool = ThreadPoolExecutor(order.threads)
    for future in first_failure_ends([pool.submit(one, n) for n in range(order.objects)]):
        future.result()


def check_sample(s3: Any, order: Order, clients: Sequence[S3Client]) -> str:
    """Compare a sample with what was done; returns how the whole result was checked."""
    keys, checked = [key for client in clients for key in client.keys], clients[0]
    if order.workload in ('s3-put', 's3-large-put'):
        last = list(dict(keys).items())  # of what was put under one key, the last
        wanted = SAMPLE if order.workload == 's3-put' else LARGE_SAMPLE
        for key, digest in random.sample(last, min(wanted, len(last))):
            body = s3.get_object(Bucket=order.bucket, Key=key)['Body'].read()
            checked.check(hashlib.md5(body).hexdigest() == digest, f'{key}: other data read')
        return 'ETag of every object, MD5 of a sample that was read back'
    if order.workload == 's3-delete':
        left, wanted = count(s3, order.bucket), order.objects - len(keys)
        # A failed request may have been executed
        errors = sum(len(client.errors) for client in clients)
        good = wanted - errors <= left <= wanted
        checked.check(good, f'{left} objects are left, not {wanted}')
        return 'number of objects that are left'
    return 'number of keys of each complete listing'


def main() -> None:
    for name in ('http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'all_proxy'):
        os.environ.pop(name, None)
    order = Order(**json.loads(sys.argv[1]))
    phase('making the bucket', order.stuck_s)
    s3 = connect(order)
    s3.create_bucket(Bucket=order.bucket)
    if order.workload in ('s3-list', 's3-delete'):
        phase(f'filling the bucket with {order.objects} objects', order.bucket_limit_s)
        fill(s3, order)
    phase(f'working for {order.seconds:g} s', order.seconds + order.stuck_s)
    wall_s = time.time() - time.monotonic()
    clients = work_of_all(s3, order)
    phase('checking', order.bucket_limit_s)
    what = check_sample(s3, order, clients)
    begin_s, end_s = min(c.begin_s for c in clients), max(c.end_s for c in clients)
    print_outcome(clients, what, seconds=end_s - begin_s, began_s=wall_s + begin_s)


def run_main() -> str:
    """Run to the end; returns why that was not possible, or ''."""
    try:
        main()
    except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
        return f'before or after the measured time: {type(error).__name__}: {error}'
    except Exception:  # noqa: BLE001 - any error is shown to the reader of the failure
        return traceback.format_exc()
    return ''


if __name__ == '__main__':
    failure = run_main()
    print(failure, file=sys.stderr, flush=True)
    sys.stdout.flush()
    # Not sys.exit: that would wait for threads whose requests hang, and for those after them
    os._exit(1 if failure else 0)
