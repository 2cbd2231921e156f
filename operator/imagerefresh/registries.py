"""The registry client as the settings of the process want it: the same for all commands."""

from imagerefresh import __version__
from imagerefresh.registry import RegistryClient, RegistrySettings, RequestHook
from imagerefresh.settings import Settings


def registry_client(settings: Settings, on_request: RequestHook) -> RegistryClient:
    """Makes the one registry client of a process; no request is sent yet."""
    return RegistryClient(
        RegistrySettings(
            user_agent=f"imagerefresh/{__version__}",
            allow_insecure_loopback=settings.allow_insecure_registries,
        ),
        on_request,
    )
