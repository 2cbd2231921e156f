"""Pull secrets, good and bad, those who name them, and what is said of them."""

import base64
import json
from collections.abc import Mapping

from cluster.story import entry
from testbed.api import Manifest
from testbed.audit import AuditedRequest, service_account_user
from testbed.namespace import Namespace
from testbed.registry import ROBOT, Registry

SECRET = "regcred"
"""The one secret that the component lets the operator read."""
GRANTED = ("pull-secrets",)
"""The component that lets it."""
WRONG = "Wr0ng-Passw0rd"


def auth(password: str) -> str:
    return base64.b64encode(f"{ROBOT.username}:{password}".encode()).decode()


def content(registry: Registry, password: str) -> dict[str, str]:
    auths = {registry.address: {"auth": auth(password)}}
    return {".dockerconfigjson": json.dumps({"auths": auths})}


def pull_secret(registry: Registry, password: str = ROBOT.password, name: str = SECRET) -> Manifest:
    return pull_secret_with({registry.address: {"auth": auth(password)}}, name)


def pull_secret_with(auths: Mapping[str, Manifest], name: str = SECRET) -> Manifest:
    """By registry, the entries of a docker config."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": json.dumps({"auths": auths})},
    }


def named(*names: str) -> list[Manifest]:
    return [{"name": name} for name in names]


def with_secrets(deployment: Manifest, *names: str, account: str | None = None) -> Manifest:
    """A Deployment whose pods name pull secrets, and a ServiceAccount."""
    pod = deployment["spec"]["template"]["spec"]
    pod["imagePullSecrets"] = named(*names)
    pod["serviceAccountName"] = account
    return deployment


def problem(policy: Manifest) -> str:
    text: str = entry(policy).get("pullSecretProblem", "")
    return text


def requests(namespace: Namespace, resource: str) -> list[AuditedRequest]:
    user = service_account_user(namespace.name, "imagerefresh")
    audit = namespace.control_plane.audit
    return [each for each in audit.requests(user) if each.resource == resource]


def grant(namespace: Namespace, *names: str) -> None:
    """Let the operator of the namespace read more secrets than the component does."""
    role = "rbac.authorization.k8s.io/v1/roles"
    api = namespace.control_plane.api
    rules = api.get(role, namespace.name, "imagerefresh")["rules"]
    for rule in rules:
        if rule["resources"] == ["secrets"]:
            rule["resourceNames"] += names
    api.patch(role, namespace.name, "imagerefresh", {"rules": rules})


def said(namespace: Namespace) -> dict[str, str]:
    """All that people can read of a run but its metrics."""
    kinds = ("Event", "ImageRefreshPolicy", "Deployment", "ReplicaSet")
    logs = {log.name: log.read_text() for log in namespace.operator_logs}
    return logs | {kind: json.dumps(namespace.items(kind)) for kind in kinds}


def assert_nothing_leaked(namespace: Namespace) -> None:
    """No byte of a password, plain or encoded, in what the operator has said."""
    texts = said(namespace).values()
    for password in (ROBOT.password, WRONG):
        encoded = base64.b64encode(password.encode()).decode().rstrip("=")
        for secret in (password, encoded, auth(password).rstrip("=")):
            assert not [text for text in texts if secret in text]
