"""A client for OCI registries: what does a tag stand for now, and is that an image?

Knows nothing of Kubernetes and of policies; whoever asks brings the credentials. The names below
are all that the rest of the operator uses.
"""

from imagerefresh.registry.client import RegistryClient
from imagerefresh.registry.config_file import ConfigFile
from imagerefresh.registry.config_text import InvalidConfigError
from imagerefresh.registry.dockerconfig import DockerConfig, read_docker_config
from imagerefresh.registry.keyring import Keyring
from imagerefresh.registry.outcomes import (
    Credential,
    Manifest,
    RegistrySettings,
    RequestHook,
    RequestRecord,
    Resolved,
    Trouble,
    TroubleReason,
)
from imagerefresh.registry.proxies import Proxies, read_environment
from imagerefresh.registry.rules import Rules

__all__ = [
    "ConfigFile",
    "Credential",
    "DockerConfig",
    "InvalidConfigError",
    "Keyring",
    "Manifest",
    "Proxies",
    "RegistryClient",
    "RegistrySettings",
    "RequestHook",
    "RequestRecord",
    "Resolved",
    "Rules",
    "Trouble",
    "TroubleReason",
    "read_docker_config",
    "read_environment",
]
