"""A Kubernetes control plane of child processes, ready in seconds, and what tests ask of it."""

import json
import os
import re
import secrets
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from testbed import build, components
from testbed.api import Api, ApiError, Manifest
from testbed.audit import AuditLog
from testbed.components import HOST, NODE, Files
from testbed.process import Child, PortTakenError, free_port
from testbed.waiting import wait_until

_ATTEMPTS = 5  # each with another port
_ETCD_ADDRESS = re.compile(r'"serving client traffic.*"address":"([^"]+)"')


class CommandError(RuntimeError):
    """kubectl failed; the text is what it said."""


class ControlPlane:
    """etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok and one simulated node.

    Several may run side by side. `folder` (must exist) takes their logs and files; it stays, but
    for etcd's data. All end with `stop`, at the latest with this process.
    """

    def __init__(self, folder: Path) -> None:
        """Start, and wait until pods can run.

        Raises:
            build.BuildError: a program is missing and can't be built.
            process.ProcessError: a program failed to start; the message shows its log.
        """
        self.folder = folder
        self.token = secrets.token_hex(16)
        self._tools = build.tools()
        self._files = Files(folder)
        self._children = ExitStack()
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._start()
            except PortTakenError:
                self.stop()
                if attempt == _ATTEMPTS:
                    raise
            except BaseException:
                self.stop()
                raise
            else:
                break

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return self._files.kubeconfig

    @property
    def ca(self) -> Path:
        return self._files.ca

    @property
    def key(self) -> Path:
        """Of the API server's certificate, for a proxy that stands in for it."""
        return self._files.key

    def stop(self) -> None:
        """Kill everything. kube-apiserver would linger for a minute on a gentler signal."""
        self._children.close()
        shutil.rmtree(self._files.etcd, ignore_errors=True)

    def kubectl(self, *args: str, stdin: str | None = None, check: bool = True) -> str:
        """Run kubectl as administrator and return what it wrote to standard output.

        Raises:
            CommandError: it failed, and `check` is set.
        """
        done = subprocess.run(
            [str(self._tools["kubectl"]), *args],
            input=stdin,
            env=os.environ
            | {"KUBECONFIG": str(self.kubeconfig), "KUBECACHEDIR": str(self.folder / "kubectl")},
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode:
            raise CommandError(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout

    def kubectl_json(self, *args: str) -> Manifest:
        answer: Manifest = json.loads(self.kubectl(*args, "--output=json"))
        return answer

    def apply(self, *manifests: Manifest) -> None:
        """Apply the objects as administrator."""
        items = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        self.kubectl("apply", "--filename=-", stdin=json.dumps(items))

    def create_namespace(self, prefix: str = "t") -> str:
        """Make a namespace of a name of its own, and return that."""
        manifest = {"metadata": {"generateName": f"{prefix}-"}}
        name: str = self.api.create("v1/namespaces", manifest)["metadata"]["name"]
        return name

    def service_account_kubeconfig(
        self, namespace: str, service_account: str, *, server: str | None = None
    ) -> Path:
        """A kubeconfig with a fresh token, good for a day, of an existing ServiceAccount.

        `server` replaces the API server's own URL, e.g. by that of a proxy in front of it; it
        must be on 127.0.0.1, for which the certificate is valid.
        """
        answer = self.api.request(
            "POST",
            f"/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}/token",
            {"spec": {"expirationSeconds": 24 * 3600}},
        )
        file = self.folder / f"{namespace}-{service_account}-{secrets.token_hex(4)}.kubeconfig"
        file.touch(0o600)
        token: str = answer["status"]["token"]
        file.write_text(components.kubeconfig(server or self.server, self.ca, token, namespace))
        return file

    def _start(self) -> None:
        files = self._files
        port = free_port()
        self.server = f"https://{HOST}:{port}"
        files.kubeconfig.touch(0o600)
        files.kubeconfig.write_text(components.kubeconfig(self.server, files.ca, self.token))
        components.write_configuration(files, self.token)

        etcd = self._run("etcd", components.etcd(files))
        match = etcd.wait_ready(lambda: _ETCD_ADDRESS.search(etcd.output()))
        assert match is not None
        apiserver = self._run(
            "kube-apiserver", components.kube_apiserver(files, match.group(1), port)
        )
        apiserver.wait_ready(files.key.exists)  # written after the certificate
        self.api = Api(self.server, self.token, files.ca)
        self._children.callback(self.api.close)
        self.audit = AuditLog(files.audit_log)
        apiserver.wait_ready(self._ready)
        others = [
            self._run("kube-controller-manager", components.kube_controller_manager(files)),
            self._run("kube-scheduler", components.kube_scheduler(files)),
            self._run("kwok", components.kwok(files)),
        ]
        self.api.create("v1/nodes", components.node())

        def node_ready() -> bool:
            for child in others:
                child.check()
            status = self.api.get("v1/nodes", "", NODE).get("status", {})
            return any(
                condition["type"] == "Ready" and condition["status"] == "True"
                for condition in status.get("conditions", [])
            )

        wait_until(node_ready, timeout=120)

    def _run(self, name: str, arguments: list[str]) -> Child:
        command = [str(self._tools[name]), *arguments]
        child = Child(command, log=self._files.log(name), cwd=self.folder)
        self._children.enter_context(child)
        return child

    def _ready(self) -> bool:
        try:
            self.api.request("GET", "/readyz")
        except (ApiError, OSError):
            return False
        return True
