import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from imagerefresh.registry.messages import Answer
from imagerefresh.registry.outcomes import RegistryError, TroubleReason
from imagerefresh.registry.transport import Transport, _redirected
from unit.registry.conftest import Names
from unit.registry.scripted import Reply, ScriptedRegistry
from unit.registry.sending import SECRET, get, redirect, trouble


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_on_one_origin_keep_the_authorization(
    registry: ScriptedRegistry, transport: Transport, status: int
) -> None:
    registry.on("GET", "/x", redirect("/y?sig=a%2Fb%27&n=1+2", status))
    registry.on("GET", "/y", Reply(200, (), b"ok"))
    answer = await transport.send(get(f"{registry.url}/x", Authorization=SECRET))
    assert answer.body == b"ok"
    assert answer.url.raw_path_qs == "/y?sig=a%2Fb%27&n=1+2"  # as it came, or signatures break
    assert registry.seen[-1].authorization == SECRET


async def test_redirects_to_another_origin_lose_the_authorization_for_good(
    registry: ScriptedRegistry, other: ScriptedRegistry, transport: Transport
) -> None:
    """B10: asserted on what the other side received."""
    registry.on("GET", "/x", redirect(f"{other.url}/y"))
    other.on("GET", "/y", redirect(f"{registry.url}/z"))
    registry.on("GET", "/z", Reply(200, (), b"ok"))
    request = get(f"{registry.url}/x", authorization=SECRET, Accept="a/b")
    assert (await transport.send(request)).body == b"ok"
    assert [seen.authorization for seen in registry.seen] == [SECRET, None]
    assert [seen.authorization for seen in other.seen] == [None]
    assert other.seen[0].headers["Accept"] == "a/b"


async def test_endless_redirects_end(registry: ScriptedRegistry, transport: Transport) -> None:
    registry.on("GET", "/x", redirect("/x"))
    assert "redirects" in (await trouble(transport, f"{registry.url}/x")).message
    assert len(registry.seen) == 6


@pytest.mark.parametrize(
    ("target", "word"),
    [
        ("http://169.254.169.254/latest/meta-data", "metadata service"),
        ("https://[fd00:ec2::254]/", "metadata"),
        ("https://127.1/", "unusual"),
        ("https://metadata.example.com/", "metadata service"),
        ("http://registry.example.com/", "plain http"),
        ("http://user:pass@127.0.0.1/", "user name"),
    ],
)
async def test_redirects_to_forbidden_places_are_misconfiguration(
    registry: ScriptedRegistry, transport: Transport, names: Names, target: str, word: str
) -> None:
    """B28: the address policy holds on each hop."""
    names.addresses["metadata.example.com"] = ["169.254.169.254"]
    names.addresses["registry.example.com"] = ["127.0.0.1"]
    registry.on("GET", "/x", redirect(target))
    error = await trouble(transport, f"{registry.url}/x")
    assert error.reason is TroubleReason.RegistryMisconfigured
    assert word in error.message
    assert len(registry.seen) == 1


def test_redirects_never_leave_tls() -> None:
    """B10: not even for this machine, where plain http is allowed."""
    request = get("https://registry.example.com/x")
    headers = CIMultiDictProxy(CIMultiDict(Location="http://127.0.0.1/"))
    with pytest.raises(RegistryError, match="from https to plain http"):
        _redirected(request, Answer(307, headers, b"", request, 0))


@pytest.mark.parametrize("target", ["", "ftp://127.0.0.1/", "http://127.0.0.1:port/", "/a b", "//"])
async def test_unusable_redirects(
    registry: ScriptedRegistry, transport: Transport, target: str
) -> None:
    registry.on("GET", "/x", redirect(target))
    error = await trouble(transport, f"{registry.url}/x")
    assert error.reason is TroubleReason.RegistryUnavailable
    assert "redirect" in error.message
