from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import pytest

from imagerefresh.api.policy import (
    ActionType,
    InvalidSpec,
    LocalObjectReference,
    OnFailure,
    RestartAction,
    Rollout,
    TargetKind,
    parse_spec,
)
from imagerefresh.reference import Reference

IMAGE: Mapping[str, Any] = {
    "name": "web",
    "registry": "docker.io",
    "repository": "example/web",
    "tag": "prod",
    "action": {"type": "Restart"},
}
SPEC: Mapping[str, Any] = {
    "targetRef": {"kind": "Deployment", "name": "web"},
    "images": [IMAGE],
}


def set_env(name: str, variable: str, container: str = "api") -> Mapping[str, Any]:
    details = {"container": container, "variable": variable}
    return {**IMAGE, "name": name, "action": {"type": "SetEnv", "setEnv": details}}


def set_image(name: str, container: str) -> Mapping[str, Any]:
    action = {"type": "SetImage", "setImage": {"container": container}}
    return {**IMAGE, "name": name, "action": action}


def refusal(raw: Mapping[str, Any]) -> str:
    with pytest.raises(InvalidSpec) as caught:
        parse_spec(raw)
    return str(caught.value)


def test_the_least_that_a_policy_says_has_all_defaults() -> None:
    spec = parse_spec(SPEC)
    assert spec.target_ref.api_version == "apps/v1"
    assert spec.target_ref.kind is TargetKind.DEPLOYMENT
    assert (spec.interval, spec.schedule, spec.time_zone) == (None, None, None)
    assert spec.effective_interval == timedelta(minutes=15)
    assert spec.suspend is False
    assert spec.annotation_prefix == "imagerefresh.dev"
    assert spec.image_pull_secrets == []
    assert spec.rollout == Rollout(timeout=timedelta(minutes=10), on_failure=OnFailure.HOLD)
    assert spec.images[0].pinned is False
    assert spec.images[0].action.restart == RestartAction()


def test_everything_that_a_policy_can_say_is_read() -> None:
    restart = {"containers": ["a", "b"], "assumeAlwaysPulls": True}
    spec = parse_spec(
        {
            "targetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web.a"},
            "schedule": "7,37 * * * *",
            "timeZone": "Europe/Berlin",
            "suspend": True,
            "annotationPrefix": "example.com",
            "imagePullSecrets": [{"name": "regcred"}],
            "images": [
                {**IMAGE, "pinned": True, "action": {"type": "Restart", "restart": restart}},
                set_env("env", "DIGEST"),
                set_image("image", "api"),
            ],
            "rollout": {"timeout": "1h30m", "onFailure": "Rollback"},
        }
    )
    assert spec.target_ref.kind is TargetKind.STATEFUL_SET
    assert (spec.schedule, spec.time_zone) == ("7,37 * * * *", "Europe/Berlin")
    assert spec.suspend
    assert spec.annotation_prefix == "example.com"
    assert spec.image_pull_secrets == [LocalObjectReference(name="regcred")]
    restarted, with_env, with_image = spec.images
    assert restarted.pinned
    assert restarted.action.restart == RestartAction(
        containers=["a", "b"], assume_always_pulls=True
    )
    assert with_env.action.type is ActionType.SET_ENV
    assert with_env.action.set_env is not None
    assert with_env.action.set_env.variable == "DIGEST"
    assert with_image.action.set_image is not None
    assert with_image.action.set_image.container == "api"
    assert spec.rollout == Rollout(
        timeout=timedelta(hours=1, minutes=30), on_failure=OnFailure.ROLLBACK
    )


def test_an_interval_that_is_given_holds() -> None:
    assert parse_spec({**SPEC, "interval": "10s"}).effective_interval == timedelta(seconds=10)


def test_images_are_compared_normalised() -> None:
    """B1."""
    image = {**IMAGE, "registry": "Index.Docker.io:443", "repository": "nginx"}
    spec = parse_spec({**SPEC, "images": [image]})
    assert spec.images[0].reference == Reference("docker.io", "library/nginx", "prod")


def test_nulls_are_absent_and_unknown_fields_ignored() -> None:
    """B3: at every depth, and in the mapping types that the framework hands out."""
    action = {"type": "Restart", "restart": None, "setEnv": None, "future": 1}
    raw = MappingProxyType(
        {
            "targetRef": MappingProxyType({**SPEC["targetRef"], "apiVersion": None}),
            "images": [{**IMAGE, "pinned": None, "action": action}],
            "interval": None,
            "schedule": None,
            "timeZone": None,
            "suspend": None,
            "annotationPrefix": None,
            "imagePullSecrets": None,
            "rollout": {"timeout": None, "onFailure": None},
            "future": {"field": True},
        }
    )
    assert parse_spec(raw) == parse_spec(SPEC)
    assert parse_spec({**SPEC, "rollout": None}) == parse_spec(SPEC)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({}, "spec.targetRef: Field required; spec.images: Field required"),
        ({**SPEC, "images": []}, "spec.images: List should have at least 1 item"),
        ({**SPEC, "images": [{**IMAGE, "tag": 0.3}]}, "spec.images[0].tag: Input should be"),
        (
            {**SPEC, "images": [{**IMAGE, "tag": "latest"}]},
            "spec.images[0].tag: must not be latest",
        ),
        ({**SPEC, "images": [IMAGE, IMAGE]}, "spec.images: must not list web twice"),
        ({**SPEC, "interval": "1m", "schedule": "* * * * *"}, "spec: must not set both interval"),
        ({**SPEC, "timeZone": "UTC"}, "spec: must not set timeZone without schedule"),
        ({**SPEC, "rollout": {"timeout": "9s"}}, "spec.rollout.timeout: must be a duration"),
    ],
)
def test_a_refusal_says_where_and_what_to_do(raw: Mapping[str, Any], message: str) -> None:
    """B3: for objects that were stored before a rule existed."""
    assert refusal(raw).startswith(message)


def test_what_only_the_reference_grammar_refuses_is_refused() -> None:
    """The rule on repository can't know that docker.io adds `library/`."""
    image = {**IMAGE, "repository": "a" * 250}
    assert "spec.images[0]: the repository is longer" in refusal({**SPEC, "images": [image]})
