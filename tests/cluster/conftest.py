"""Fixtures of the tests on a real control plane: one per run, and in it a namespace per test."""

import itertools
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from testbed import build
from testbed.api import ApiError
from testbed.controlplane import CommandError, ControlPlane
from testbed.installation import install_cluster_part, install_operator_part
from testbed.namespace import Namespace
from testbed.operator_process import OperatorProcess
from testbed.proxy import TcpProxy
from testbed.registry import ROBOT, Registry

_LOG_TAIL = 20_000  # characters


class StartOperator(Protocol):
    """Starts the operator for the test's namespace, under the Role of deploy/.

    With `server`, it reaches the API server there; see TcpProxy. It is ready on return unless
    `wait` is False, and killed at the test's end.
    """

    def __call__(
        self,
        *,
        server: str | None = None,
        environment: Mapping[str, str] | None = None,
        kustomization: str = "base",
        components: tuple[str, ...] = (),
        wait: bool = True,
    ) -> OperatorProcess: ...


@pytest.fixture(scope="session")
def bare_control_plane(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[ControlPlane]:
    """Without anything of this project in it."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # a first build takes minutes: show its progress
        build.tools()
    with ControlPlane(tmp_path_factory.mktemp("control-plane")) as control_plane:
        yield control_plane


@pytest.fixture(scope="session")
def control_plane(bare_control_plane: ControlPlane) -> ControlPlane:
    """With the CRD and the cluster's roles in it."""
    install_cluster_part(bare_control_plane)
    return bare_control_plane


@pytest.fixture
def bare_namespace(bare_control_plane: ControlPlane) -> Iterator[Namespace]:
    """For tests that need no CRD."""
    yield from _namespace(bare_control_plane)


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[Namespace]:
    yield from _namespace(control_plane)


def _namespace(control_plane: ControlPlane) -> Iterator[Namespace]:
    namespace = Namespace(control_plane)
    yield namespace
    namespace.abandon()


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with Registry(tmp_path) as registry:
        yield registry


@pytest.fixture
def second_registry(tmp_path: Path) -> Iterator[Registry]:
    with Registry(tmp_path, "second-registry") as registry:
        yield registry


@pytest.fixture
def private(tmp_path: Path) -> Iterator[Registry]:
    """A registry that lets nobody in but ROBOT."""
    with Registry(tmp_path, "private-registry", login=ROBOT) as registry:
        yield registry


@pytest.fixture
def api_proxy(bare_control_plane: ControlPlane) -> Iterator[TcpProxy]:
    """Before the API server; give its `server` to start_operator."""
    with TcpProxy(bare_control_plane.server) as proxy:
        yield proxy


@pytest.fixture
def start_operator(
    control_plane: ControlPlane, namespace: Namespace, tmp_path: Path
) -> Iterator[StartOperator]:
    numbers = itertools.count(1)
    with ExitStack() as running:

        def start(
            *,
            server: str | None = None,
            environment: Mapping[str, str] | None = None,
            kustomization: str = "base",
            components: tuple[str, ...] = (),
            wait: bool = True,
        ) -> OperatorProcess:
            account = install_operator_part(
                control_plane, namespace.name, kustomization=kustomization, components=components
            )
            log = tmp_path / f"operator-{next(numbers)}.log"
            namespace.operator_logs.append(log)
            operator = running.enter_context(
                OperatorProcess(
                    control_plane.service_account_kubeconfig(
                        namespace.name, account, server=server
                    ),
                    log=log,
                    namespaces=namespace.name,
                    environment=environment,
                )
            )
            return operator.wait_ready() if wait else operator

        yield start


@pytest.fixture(scope="module")
def cluster_operator(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    """An operator for all namespaces, as overlays/cluster-wide installs it."""
    home = control_plane.create_namespace("operator")
    account = install_operator_part(control_plane, home, kustomization="overlays/cluster-wide")
    kubeconfig = control_plane.service_account_kubeconfig(home, account)
    log = tmp_path_factory.mktemp("operator") / "operator.log"
    with OperatorProcess(kubeconfig, log=log) as operator:
        yield operator.wait_ready()


@pytest.fixture
def operator(cluster_operator: OperatorProcess, namespace: Namespace) -> OperatorProcess:
    """Runs already, and serves all tests of a module: for those that don't start or stop it."""
    namespace.operator_logs.append(cluster_operator.log)
    return cluster_operator


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what a failed test's operator and namespace have to say."""
    report = yield
    if report.failed and isinstance(item, pytest.Function):
        for value in item.funcargs.values():
            if isinstance(value, Namespace):
                _attach(report, value)
    return report


def _attach(report: pytest.TestReport, namespace: Namespace) -> None:
    for log in namespace.operator_logs:
        text = log.read_text(errors="replace") if log.exists() else ""
        report.sections.append((str(log), text[-_LOG_TAIL:]))
    try:
        report.sections.append((f"namespace {namespace.name}", namespace.describe()))
    except (ApiError, CommandError, OSError) as error:
        report.sections.append((f"namespace {namespace.name}", f"can't be shown: {error}"))
    report.sections.append(("control plane logs", str(namespace.control_plane.folder)))
