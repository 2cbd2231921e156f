from pathlib import Path

import pytest

from imagerefresh.settings import (
    VARIABLES,
    Address,
    LogFormat,
    LogLevel,
    Settings,
    SettingsError,
)


def read(**variables: str) -> Settings:
    return Settings.from_environment(
        {f"IMAGEREFRESH_{name}": text for name, text in variables.items()}
    )


def test_the_defaults_are_safe() -> None:
    """B28: insecure registries need a setting."""
    assert Settings.from_environment({"PATH": "/bin"}) == Settings(
        namespaces=(),
        http_address=Address("0.0.0.0", 8080),  # noqa: S104
        allow_insecure_registries=False,
        registries_file=None,
        log_format=LogFormat.TEXT,
        log_level=LogLevel.INFO,
    )


def test_every_variable_is_read() -> None:
    settings = read(
        NAMESPACES="shop, bank ,shop,",
        HTTP_ADDRESS="127.0.0.1:0",
        ALLOW_INSECURE_REGISTRIES="True",
        REGISTRIES_FILE="/etc/imagerefresh/registries.yaml",
        LOG_FORMAT="JSON",
        LOG_LEVEL="Debug",
    )
    assert settings == Settings(
        namespaces=("shop", "bank"),
        http_address=Address("127.0.0.1", 0),
        allow_insecure_registries=True,
        registries_file=Path("/etc/imagerefresh/registries.yaml"),
        log_format=LogFormat.JSON,
        log_level=LogLevel.DEBUG,
    )


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_variable_means_the_default(variable: str, text: str) -> None:
    assert Settings.from_environment({variable: text}) == Settings()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("localhost:80", Address("localhost", 80)),
        ("[::]:8080", Address("::", 8080)),
        ("[::1]:65535", Address("::1", 65535)),
    ],
)
def test_addresses(text: str, address: Address) -> None:
    assert read(HTTP_ADDRESS=text).http_address == address


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("NAMESPACES", "shop;bank", "separate names by commas"),
        ("NAMESPACES", "Shop", "not the name of a namespace"),
        ("NAMESPACES", "*", "not the name of a namespace"),
        ("NAMESPACES", "x" * 64, "not the name of a namespace"),
        ("HTTP_ADDRESS", "8080", "is not host:port"),
        ("HTTP_ADDRESS", ":8080", "is not host:port"),
        ("HTTP_ADDRESS", "localhost:", "is not host:port"),
        ("HTTP_ADDRESS", "localhost:http", "is not host:port"),
        ("HTTP_ADDRESS", "localhost:65536", "is not host:port"),
        ("HTTP_ADDRESS", "::1:8080", "is not host:port"),
        ("ALLOW_INSECURE_REGISTRIES", "yes", "neither true nor false"),
        ("LOG_FORMAT", "xml", "not one of text, json"),
        ("LOG_LEVEL", "trace", "not one of debug, info, warning, error"),
    ],
)
def test_a_wrong_value_is_named_and_explained(name: str, text: str, says: str) -> None:
    with pytest.raises(SettingsError, match=f"^IMAGEREFRESH_{name}: ") as raised:
        read(**{name: text})
    assert says in str(raised.value)


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(SettingsError) as raised:
        read(LOG_LEVEL="loud", HTTP_ADDRESS="here", LOGLEVEL="info")
    assert len(str(raised.value).splitlines()) == 3


@pytest.mark.parametrize("name", ["NAMESPACE", "LOG", "log_level", "PORTS", "INTERVAL"])
def test_an_unknown_variable_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(SettingsError, match=f"IMAGEREFRESH_{name} is unknown") as raised:
        read(**{name: "1"})
    assert all(variable in str(raised.value) for variable in VARIABLES)


@pytest.mark.parametrize(
    "name",
    [
        "SERVICE_HOST",
        "SERVICE_PORT",
        "SERVICE_PORT_HTTP",
        "PORT",
        "PORT_8080_TCP",
        "PORT_8080_TCP_PROTO",
        "PORT_8080_TCP_PORT",
        "PORT_8080_TCP_ADDR",
        "METRICS_SERVICE_HOST",
        "METRICS_PORT_8080_TCP_ADDR",
    ],
)
def test_what_kubernetes_sets_for_a_service_of_our_name_is_ignored(name: str) -> None:
    assert read(**{name: "10.0.0.1"}) == Settings()


def test_proxies_have_the_names_that_all_programs_know() -> None:
    settings = Settings.from_environment({"https_proxy": "proxy.test:3128", "NO_PROXY": "<local>"})
    assert settings.proxies.https is not None
    assert settings.proxies.https.url.port == 3128
    assert len(settings.proxies.problems) == 1


def test_a_bad_proxy_is_told_with_all_else_that_is_wrong() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_environment(
            {"HTTPS_PROXY": "socks5://u:hidden@p", "http_proxy": "/", "IMAGEREFRESH_X": "1"}
        )
    names = [line.partition(" ")[0] for line in str(caught.value).splitlines()]
    assert names == ["HTTP_PROXY:", "HTTPS_PROXY:", "IMAGEREFRESH_X"]
    assert "hidden" not in str(caught.value)
