"""What can be known of the container image without an engine to build it."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def instructions(name: str) -> list[str]:
    """The arguments of every such instruction, in order."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    return re.findall(rf"^{name} (.+)$", text, re.MULTILINE)


def test_runs_as_a_number_that_is_not_root() -> None:
    [user] = instructions("USER")
    assert all(int(part) > 0 for part in user.split(":"))


def test_signals_reach_the_operator() -> None:
    """Exec form: no shell in between."""
    [entrypoint], [command] = instructions("ENTRYPOINT"), instructions("CMD")
    assert [*json.loads(entrypoint), *json.loads(command)] == ["imagerefresh", "run"]


def test_base_image_is_an_argument() -> None:
    assert [line.split()[0] for line in instructions("FROM")] == ["${BASE}", "${BASE}"]
    assert len(instructions("ARG")) == 1


def test_everything_copied_is_in_the_build_context() -> None:
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    let_through = {line.removeprefix("!") for line in ignore if line.startswith("!")}
    copied = [line for line in instructions("COPY") if not line.startswith("--from")]
    sources = {source for line in copied for source in line.split()[:-1]}
    assert sources == let_through
    assert all((ROOT / source).exists() for source in sources)


def test_every_installation_is_locked_or_without_dependencies() -> None:
    steps = [step for line in instructions("RUN") for step in line.split("&&")]
    installs = [step for step in steps if "pip install" in step or "pip wheel" in step]
    assert any("-r requirements.txt" in step for step in installs)
    assert all("--require-hashes" in step or "--no-deps" in step for step in installs)
