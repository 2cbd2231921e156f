"""The registry client as the settings of the process want it, the same for all commands; and the
registries file that it goes by, as long as the process runs.
"""

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field
from typing import Self

from imagerefresh import __version__
from imagerefresh.registry import (
    ConfigFile,
    InvalidConfigError,
    RegistryClient,
    RegistrySettings,
    RequestHook,
    Rules,
)
from imagerefresh.settings import Settings

LOOK_EVERY = 5.0
"""Seconds between looks whether the registries file has changed; a mounted ConfigMap arrives within
a minute or so of its change anyway.
"""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Registries:
    """The one registry client of a process."""

    client: RegistryClient
    _file: ConfigFile | None
    _following: asyncio.Task[None] | None = field(default=None, init=False)

    @classmethod
    def open(cls, settings: Settings, on_request: RequestHook) -> Self:
        """Makes the client; no request is sent yet.

        Raises:
            InvalidConfigError: the registries file can't be used. Only later, with a good one in
                force, can a bad one be borne.
        """
        insecure, proxies = settings.allow_insecure_registries, settings.proxies
        path = settings.registries_file
        file = ConfigFile(path, allow_loopback=insecure, proxies=proxies) if path else None
        client = RegistryClient(
            RegistrySettings(f"imagerefresh/{__version__}", allow_insecure_loopback=insecure),
            on_request,
            file.load() if file else Rules(allow_loopback=insecure, proxies=proxies),
        )
        return cls(client, file)

    def follow(self) -> None:
        """Begins to read the file again whenever it changes."""
        if self._file is not None:
            self._following = asyncio.create_task(self._follow(self._file), name="registries file")

    async def close(self) -> None:
        """Ends the requests in flight, and what `follow` has begun."""
        if self._following is not None:
            self._following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._following
        await self.client.close()

    async def _follow(self, file: ConfigFile) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                rules = await asyncio.to_thread(file.load_if_changed)
            except InvalidConfigError as error:
                # A person's mistake: a traceback would tell nothing.
                logger.warning(
                    "the registries file can't be used, the last good one holds: %s", error
                )
                continue
            if rules is not None:
                self.client.use(rules)
                logger.info("the registries file has changed, and holds now")
