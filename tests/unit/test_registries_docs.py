"""docs/registries.md tells all that may stand in the file, and its example is a good one."""

import re
from pathlib import Path

from pydantic import BaseModel

from imagerefresh.registry.config import (
    ClientCertificate,
    Config,
    Credentials,
    Host,
    Mirror,
    Proxy,
    RateLimit,
)
from imagerefresh.registry.config_text import ConfigText

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "registries.md").read_text()
(EXAMPLE, *_) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)


def keys(model: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def test_every_key_is_explained() -> None:
    table = "\n".join(line for line in TEXT.splitlines() if line.startswith("| `"))
    models = (Config, Host, Proxy, Mirror, RateLimit, ClientCertificate, Credentials)
    known = {key for model in models for key in keys(model)}
    assert "caFile" in known
    assert sorted(key for key in known if not re.search(rf"[`.]{key}`", table)) == []


def test_the_example_holds() -> None:
    config = ConfigText(Path("registries.md"), EXAMPLE.encode()).config()
    used = config.model_dump(by_alias=True, exclude_unset=True)
    assert set(used) == keys(Config)
    assert {key for host in used["hosts"].values() for key in host} == keys(Host)
