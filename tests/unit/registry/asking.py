"""What the tests of authorised requests share."""

import base64
from collections.abc import Callable

from yarl import URL

from imagerefresh.registry import Credential
from imagerefresh.registry.auth import Authenticator
from imagerefresh.registry.login import ANONYMOUS, Login, login_for
from imagerefresh.registry.messages import Answer, Request
from unit.registry.scripted import Reply, ScriptedRegistry, Seen

USER = login_for(Credential("secret a", username="us\u00e9r", password="p:\u00e4ss"))
IDENTITY = login_for(Credential("secret b", identity_token="refresh-me"))
BASIC = "Basic " + base64.b64encode("us\u00e9r:p:\u00e4ss".encode()).decode()
SCOPE = "repository:team/app:pull"


class Asker:
    """Asks one registry for one thing."""

    def __init__(self, authenticator: Authenticator, registry: ScriptedRegistry) -> None:
        self.authenticator = authenticator
        self.url = URL(f"{registry.url}/x")
        self.sent: list[float] = []

    async def __call__(self, login: Login = ANONYMOUS, scope: str = SCOPE) -> Answer:
        request = Request("GET", self.url, {"Accept": "a/b"}, max_body=1000)
        return await self.authenticator.send(request, scope, login, self.sent.append)


def guarded(demand: Reply, *accepted: str) -> Callable[[Seen], Reply]:
    """Answer 200 to the right Authorization, else with a challenge."""
    return lambda seen: Reply(200, (), b"ok") if seen.authorization in accepted else demand
