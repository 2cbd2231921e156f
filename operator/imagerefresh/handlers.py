"""kopf's view of the operator: timers, filters, start and end. What is done about a policy is in
`reconcile`.

Each policy has a keeper: a timer with a pace of its own, which its pacer sets. It is a kopf daemon,
since a kopf timer knows only a fixed interval: one short enough to be punctual costs more than all
the rest (1.2 ms a tick), and one that `when=` stops while it runs makes kopf write to the policy
(its "touch-dummy" annotation), both measured with kopf 1.45.
"""

import asyncio
import gc
import logging
import os
import time
from collections.abc import Collection
from typing import Any

import kopf
from kopf._cogs.clients.errors import APIError, APINotFoundError  # kopf exports none of these
from kopf._cogs.clients.watching import WatchingError

from imagerefresh import __version__
from imagerefresh.api.names import GROUP, PLURAL, VERSION
from imagerefresh.cluster.errors import ClusterError, one_line
from imagerefresh.finalizers import without_finalizers
from imagerefresh.process import Process, find_cluster
from imagerefresh.reconcile.pacer import Pacer
from imagerefresh.settings import Settings
from imagerefresh.telemetry.logs import about_policy

logger = logging.getLogger(__name__)

POLICY = (GROUP, VERSION, PLURAL)
CANCELLATION = 5.0
"""Seconds that a keeper gets to end when it is cancelled. A run may be cut off anywhere: the next
process goes on from what is stored.
"""
RETRY = 30.0
"""Seconds after which a keeper goes on that a fault of ours has ended."""
LOGIN_RETRY = 1.0
"""Seconds after which all is begun anew with the token as it is then."""
WATCH_RETRIES = (1.0, 2.0, 4.0, 8.0)
"""Seconds between tries to watch the policies before all is begun anew, and the operator not ready
meanwhile. kopf's own last for a minute, and end in silence of up to 21 s.
"""


async def operate(namespaces: Collection[str]) -> None:
    """Runs the operator until a signal ends it. No namespaces means all of them.

    What ends the watch is no reason to end, too: a Role that is taken away for a while, say. All is
    begun anew instead, and the start waits until the policies may be read (B29).

    Raises:
        NotConfigured: no way to an API server is known.
    """
    await find_cluster()
    while True:
        settings = kopf.OperatorSettings()
        configure(settings)
        try:
            await kopf.operator(
                settings=settings,
                standalone=True,
                namespaces=namespaces,
                clusterwide=not namespaces,
                memo=kopf.Memo(namespaces=tuple(namespaces)),
            )
        except APINotFoundError:
            logger.warning("the CustomResourceDefinition was deleted: beginning anew")
        except kopf.LoginError:
            # kopf gives up at the first 401 unless another token is at hand already.
            logger.warning("the API server refuses the token of the watch: beginning anew")
            await asyncio.sleep(LOGIN_RETRY)
        except (APIError, WatchingError) as error:
            why = error.message if isinstance(error, APIError) else None
            logger.warning("the watch has ended, beginning anew: %s", one_line(why or str(error)))
        else:
            return


def configure(settings: kopf.OperatorSettings) -> None:
    """What this operator wants of kopf, whoever starts it."""
    settings.scanning.disabled = True  # no discovery beyond our own kind (B28)
    settings.peering.standalone = True  # nobody else's peering objects can freeze us (B29)
    settings.posting.enabled = False  # events are ours (B27)
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 310
    settings.watching.connect_timeout = 30
    settings.watching.reconnect_backoff = 1
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 10
    settings.networking.error_backoffs = WATCH_RETRIES
    settings.queueing.idle_timeout = 0.5  # a worker is only a task, and a policy rarely changes
    settings.process.ultimate_exiting_timeout = 20  # below the pod's grace period
    settings.persistence.finalizer = (
        f"{GROUP}/finalizer"  # never set, and never somebody else's removed
    )


@kopf.on.startup()
async def start(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: Any) -> None:
    """Builds the process and waits for the CRD, and the right to read policies."""
    configure(settings)
    memo.process = await Process.open(Settings.from_environment(os.environ))
    # `kopf run` has its own option for namespaces, and tells nobody.
    await memo.process.wait_until_served(memo.get("namespaces"))
    memo.process.is_ready = True
    logger.info("imagerefresh %s watches policies and targets", __version__)
    gc.collect()
    gc.freeze()  # what is imported stays: a full collection need not walk it, with the loop waiting


@kopf.on.cleanup()
async def end(memo: kopf.Memo, **_: Any) -> None:
    """Closes what was opened."""
    if "process" in memo:
        await memo.process.close()


@kopf.on.event(*POLICY)
async def notice(event: kopf.RawEvent, memo: kopf.Memo, **_: Any) -> None:
    """Runs before the keepers are matched: gives a policy its pacer, and marks the end of it.

    It awaits nothing, but kopf would run it in a thread if it were not async.
    """
    policy: dict[str, Any] = dict(event["object"])
    metadata, process = policy["metadata"], memo.process
    metadata.pop("managedFields", None)  # most of an object's memory, which kopf would keep as well
    pacer: Pacer = memo.setdefault("pacer", Pacer())
    pacer.track.is_gone = event["type"] == "DELETED" or "deletionTimestamp" in metadata
    pacer.notice(policy)
    if pacer.track.is_gone:
        process.metrics.policy_gone(metadata["namespace"], metadata["name"])
        process.reconciler.neighbourhood.forget(metadata["uid"])
    else:
        process.reconciler.neighbourhood.notice(policy, pacer.track)
        process.metrics.policy_watched(metadata["namespace"], metadata["name"], pacer.told)


def is_there(memo: kopf.Memo, **_: Any) -> bool:
    """Whether a policy is to be kept: it was noticed, and not deleted since."""
    return "pacer" in memo and not memo.pacer.track.is_gone


@kopf.daemon(*POLICY, id="keeper", when=is_there, cancellation_timeout=CANCELLATION, backoff=RETRY)
async def keep(memo: kopf.Memo, **_: Any) -> None:
    """Runs a policy whenever the time has come, for as long as it and what it needs are there."""
    pacer: Pacer = memo.pacer
    while memo.process.is_ready and not pacer.track.is_gone:
        if pause := pacer.pause():
            await pacer.rest(pause)
        elif not await memo.process.reconciler.pass_quietly(pacer.track):
            await _run(pacer, memo.process)


async def _run(pacer: Pacer, process: Process) -> None:
    policy = pacer.policy
    metadata = policy["metadata"]
    began = time.monotonic()
    with about_policy(metadata["namespace"], metadata["name"]):
        try:
            await process.reconciler.run(policy, pacer.track)
        except ClusterError as error:
            pacer.has_failed(error)
        else:
            pacer.has_run(policy)
        finally:
            process.metrics.run_finished(time.monotonic() - began)


without_finalizers(kopf.get_default_registry())
