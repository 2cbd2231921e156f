from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from imagerefresh.cluster.connection import Connection
from unit.cluster.scripted import ScriptedServer, scripted_server


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ScriptedServer]:
    async with scripted_server(tmp_path) as server:
        yield server


@pytest.fixture
async def connection(server: ScriptedServer) -> AsyncIterator[Connection]:
    connection = await Connection.open(kubeconfig=str(server.kubeconfig))
    yield connection
    await connection.close()
