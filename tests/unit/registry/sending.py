"""What the tests of single requests share."""

import pytest
from yarl import URL

from imagerefresh.registry.messages import Request
from imagerefresh.registry.outcomes import RegistryError
from imagerefresh.registry.transport import Transport
from unit.registry.scripted import Reply

SECRET = "Basic c2VjcmV0"


def get(url: str, **headers: str) -> Request:
    return Request("GET", URL(url), headers, max_body=1000)


def redirect(target: str, status: int = 307) -> Reply:
    return Reply(status, (("Location", target),))


async def trouble(transport: Transport, url: str) -> RegistryError:
    with pytest.raises(RegistryError) as caught:
        await transport.send(get(url, Authorization=SECRET))
    return caught.value
