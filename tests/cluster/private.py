"""Pull secrets, good and bad, those who name them, and what is said of them."""

import base64
import json

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
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": content(registry, password),
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


def assert_nothing_leaked(namespace: Namespace) -> None:
    """No byte of a password, plain or encoded, in what the operator has said."""
    said = [
        *(log.read_text() for log in namespace.operator_logs),
        json.dumps(namespace.items("Event")),
        json.dumps(namespace.items("ImageRefreshPolicy")),
        json.dumps(namespace.items("Deployment")),
    ]
    for password in (ROBOT.password, WRONG):
        encoded = base64.b64encode(password.encode()).decode().rstrip("=")
        for secret in (password, encoded, auth(password).rstrip("=")):
            assert not [text for text in said if secret in text]
