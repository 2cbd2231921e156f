import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from kubernetes_asyncio.config import incluster_config

from imagerefresh.cluster.client import Cluster
from imagerefresh.cluster.connection import Connection
from imagerefresh.cluster.errors import Unauthorized, Unavailable
from testbed.controlplane import ControlPlane
from testbed.namespace import Namespace
from testbed.proxy import TcpProxy


@asynccontextmanager
async def opened(kubeconfig: Path | None) -> AsyncIterator[Connection]:
    connection = await Connection.open(kubeconfig=str(kubeconfig) if kubeconfig else None)
    try:
        yield connection
    finally:
        await connection.close()


@pytest.fixture
def token(kubeconfig: Path) -> str:
    return str(json.loads(kubeconfig.read_text())["users"][0]["user"]["token"])


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    """What it holds is not accepted."""
    file = tmp_path / "token"
    rotate(file, "expired")
    return file


def rotate(token_file: Path, content: str) -> None:
    token_file.write_text(content)


@pytest.fixture
def rotating(kubeconfig: Path, token_file: Path, tmp_path: Path) -> Path:
    """A kubeconfig that names the token file."""
    config = json.loads(kubeconfig.read_text())
    config["users"][0]["user"] = {"tokenFile": str(token_file)}
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))
    return file


@pytest.fixture
def in_pod(control_plane: ControlPlane, token_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files and variables that the kubelet provides."""
    host, _, port = control_plane.server.removeprefix("https://").partition(":")
    monkeypatch.setenv(incluster_config.SERVICE_HOST_ENV_NAME, host)
    monkeypatch.setenv(incluster_config.SERVICE_PORT_ENV_NAME, port)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token_file))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(control_plane.ca))


async def test_a_token_file_of_a_kubeconfig_is_read_again(
    rotating: Path, token_file: Path, token: str
) -> None:
    """B29: 401 reads the rotated token again."""
    async with opened(rotating) as connection:
        with pytest.raises(Unauthorized):
            await Cluster(connection).policy_is_served()
        rotate(token_file, f"{token}\n")
        assert await Cluster(connection).policy_is_served()


@pytest.mark.usefixtures("in_pod")
async def test_the_token_of_a_pod_is_read_again(token_file: Path, token: str) -> None:
    """B29: 401 reads the rotated token again."""
    async with opened(None) as connection:
        with pytest.raises(Unauthorized):
            await Cluster(connection).policy_is_served()
        rotate(token_file, token)
        assert await Cluster(connection).policy_is_served()


async def test_after_an_outage_it_works_again_by_itself(
    control_plane: ControlPlane, namespace: Namespace, account: str, api_proxy: TcpProxy
) -> None:
    """B29: liveness sees the outage, and its end."""
    through = control_plane.service_account_kubeconfig(
        namespace.name, account, server=api_proxy.server
    )
    async with opened(through) as connection:
        cluster = Cluster(connection)
        assert await cluster.policy_is_served()
        api_proxy.cut()
        for _ in range(2):
            with pytest.raises(Unavailable):
                await cluster.policy_is_served()
        assert connection.heartbeat.failing_for() > 0
        api_proxy.restore()
        assert await cluster.policy_is_served()
        assert connection.heartbeat.failing_for() == 0
