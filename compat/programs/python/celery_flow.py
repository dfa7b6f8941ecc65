"""Runs a Celery worker with a rate limited task on the server in REDIS_PORT: tasks under a limit, a retry, a
countdown, a group with a chord, results, priorities, a changed limit and what `celery inspect` asks."""

import os
import threading

from celery import Celery, chord, group
from celery.contrib.testing.worker import start_worker

url = f"redis://127.0.0.1:{os.environ['REDIS_PORT']}"
app = Celery("flow", broker=f"{url}/0", backend=f"{url}/1")
app.conf.update(worker_hijack_root_logger=False, broker_connection_retry_on_startup=True, result_expires=60,
                broker_transport_options={"priority_steps": [0, 5]})


@app.task(name="limited", rate_limit="20/s")
def limited(n):
    return n


@app.task(name="retried", bind=True, max_retries=1)
def retried(self):
    if self.request.retries == 0:
        raise self.retry(countdown=0.1)
    return "second time"


@app.task(name="total")
def total(numbers):
    return sum(numbers)


with start_worker(app, perform_ping_check=False, pool="threads", concurrency=2, shutdown_timeout=20):
    print([r.get(timeout=20) for r in [limited.apply_async((n,), priority=5 * (n % 2)) for n in range(6)]])
    print(retried.delay().get(timeout=20), limited.apply_async((7,), countdown=0.2).get(timeout=20))
    print(chord(group(limited.s(n) for n in range(3)), total.s()).apply_async().get(timeout=20))
    print(app.control.rate_limit("limited", "100/s", reply=True, timeout=1))
    print(len(app.control.inspect(timeout=1).active() or {}))
    revoked = limited.apply_async((8,), countdown=5)
    revoked.revoke()
    print(limited.delay(9).get(timeout=20), app.control.purge())
