"""Each attack on the registry client: what comes of it, and that no byte of the credential goes
astray. The operator meets most of them all at once in cluster/test_attacks.py.
"""

import logging
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from imagerefresh.registry import (
    ConfigFile,
    RegistryClient,
    RegistrySettings,
    RequestRecord,
    Resolved,
    Trouble,
)
from testbed.loop import BackgroundLoop
from unit.registry.attacks import rows_floods, rows_realms, rows_redirects
from unit.registry.attacks.marks import found
from unit.registry.attacks.stage import ATTACKS, Stage, assert_kept, registries_file, staged
from unit.registry.scripted import INDEX, digest_of

ROWS = (rows_floods, rows_realms, rows_redirects)  # they fill the table


@pytest.fixture(scope="module")
def loop() -> Iterator[BackgroundLoop]:
    loop = BackgroundLoop("attackers")
    yield loop
    loop.stop()


@pytest.mark.parametrize("name", ATTACKS)
async def test_attack(
    loop: BackgroundLoop, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    caplog.set_level(logging.DEBUG)
    row = ATTACKS[name]
    ca = trustme.CA()
    ca_file = tmp_path / "ca.crt"
    ca.cert_pem.write_to_path(str(ca_file))
    records: list[RequestRecord] = []
    with staged(row, loop, ca) as stage:
        check = row.play(stage)
        file = tmp_path / "registries.yaml"
        file.write_text(registries_file([(row, stage)], ca_file))
        rules = ConfigFile(file, allow_loopback=False).load()
        settings = RegistrySettings("test", timeout=0.5 if row.outlasts else 30)
        client = RegistryClient(settings, records.append, rules)
        try:
            # After the first it knows what the registry demands.
            answers = [await _ask(client, stage) for _ in range(4)]
        finally:
            await client.close()
        for answer in answers:  # B7: the same while the cause is
            if row.outcome is None:
                assert isinstance(answer, Resolved)
                assert answer.digest == digest_of(INDEX)
            else:
                assert isinstance(answer, Trouble)
                assert answer.reason is row.outcome, answer
                assert row.says in answer.message
        assert_kept(row, stage)
        assert check is None or check(), (stage.registry.lines(), stage.registry.sent)
        assert not found(stage.marks, f"{answers} {records} {caplog.text}")


async def _ask(client: RegistryClient, stage: Stage) -> Resolved | Trouble:
    """Look at the tag, then at what it stands for."""
    reference, credentials = stage.reference, (stage.credential,)
    found = await client.resolve(reference, credentials, fresh_since=time.monotonic())
    if isinstance(found, Resolved):
        assert await client.inspect(reference, found.digest, credentials) is None
    return found
