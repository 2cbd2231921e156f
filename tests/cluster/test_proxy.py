"""The operator behind a real proxy that wants a login: what people are told, and never told."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from cluster.conftest import StartOperator
from cluster.private import GRANTED, SECRET, named, pull_secret_with, said
from cluster.story import (
    VARIABLE,
    check,
    entry,
    message,
    ready,
    wait_ready,
    wait_recorded,
    web_policy,
)
from servers.real import BOB, REPOSITORY, TAG, publish_image, tls_registry
from testbed.forward_proxy import ForwardProxy
from testbed.namespace import Namespace
from testbed.waiting import eventually
from testbed.workloads import container, set_env, workload
from unit.registry.attacks.marks import Mark, docker_auth, found, new_mark

NAME = "registry.corp.test"
"""Only the proxy knows where it is."""
RIGHT, WRONG = new_mark(), new_mark()


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[ForwardProxy]:
    names = {NAME: "127.0.0.1"}
    with ForwardProxy(tmp_path, names=names, login=f"robot:{RIGHT.text}") as proxy:
        yield proxy


def write_rules(file: Path, ca_file: Path, proxy: ForwardProxy, password: Mark) -> None:
    login = f"robot:{quote(password.text, safe='')}"
    rules = {
        "hosts": {"*": {"caFile": str(ca_file)}},
        "proxy": {"url": f"http://{login}@{proxy.address}"},
    }
    file.write_text(json.dumps(rules))


def test_a_proxy_with_a_login(
    namespace: Namespace, proxy: ForwardProxy, start_operator: StartOperator, tmp_path: Path
) -> None:
    """B7, B10: wrong at first, then corrected while the operator runs; in the end it is down."""
    digest = publish_image(tmp_path)
    file = tmp_path / "registries.yaml"
    with tls_registry(tmp_path, NAME) as (address, ca_file):
        write_rules(file, ca_file, proxy, WRONG)
        operator = start_operator(
            components=GRANTED, environment={"IMAGEREFRESH_REGISTRIES_FILE": str(file)}
        )
        host = f"{NAME}:{address.partition(':')[2]}"
        namespace.create(pull_secret_with({host: docker_auth(BOB)}))
        namespace.create(workload("web", [container("web", f"{host}/{REPOSITORY}:{TAG}")]))
        image = set_env("web", host, REPOSITORY, TAG, container="web", variable=VARIABLE)
        namespace.create(web_policy(image, imagePullSecrets=named(SECRET)))
        refused = message(wait_ready(namespace, status="False", reason="RegistryMisconfigured"))
        assert "give its user and password in its address" in refused

        write_rules(file, ca_file, proxy, RIGHT)
        eventually(
            lambda: entry(check(namespace)).get("latest") == digest,
            describe=lambda: f"the new rules hold: {namespace.policy('web')}",
        )
        wait_recorded(namespace, digest)
        wait_ready(namespace)

        proxy.stop()
        down = check(namespace)
    assert ready(down) == ("True", "UpToDate")
    assert entry(down)["reason"] == "RegistryUnavailable"
    assert "proxy: connection refused" in entry(down)["message"]
    texts = said(namespace) | {"metrics": operator.metrics()}
    for where, text in texts.items():
        assert not found([RIGHT, WRONG], text), where
        assert BOB.password not in text
