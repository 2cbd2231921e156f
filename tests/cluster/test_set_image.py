"""Action SetImage: the digest in a container's image field (B14, B16 to B18)."""

import pytest

from cluster.story import (
    REPOSITORY,
    TAG,
    check,
    deploy,
    entry,
    image,
    impatient,
    is_stalled,
    ready,
    record,
    rollouts,
    told,
    wait_asked,
    wait_ready,
    wait_recorded,
    wait_rollouts,
    web,
    web_container,
    web_policy,
)
from testbed.api import Manifest
from testbed.namespace import Namespace
from testbed.registry import Registry
from testbed.workloads import container, set_image, workload

pytestmark = pytest.mark.usefixtures("operator")


def web_image(registry: Registry, container: str = "web", **more: object) -> Manifest:
    return set_image("web", registry.address, REPOSITORY, TAG, container=container, **more)


def texts(namespace: Namespace) -> dict[str, str]:
    """The image text of each container of the Deployment `web`, init containers too."""
    pod = namespace.deployment("web")["spec"]["template"]["spec"]
    containers = [*pod["containers"], *pod.get("initContainers", [])]
    return {each["name"]: each["image"] for each in containers}


@pytest.fixture
def first(namespace: Namespace, registry: Registry) -> str:
    """Deployment and policy `web`, the image field filled with the digest that this returns."""
    digest = registry.publish(REPOSITORY, TAG)
    deploy(namespace, web(registry))
    namespace.create(web_policy(web_image(registry)))
    wait_recorded(namespace, digest)
    return digest


# The first observation.


def test_an_image_without_a_digest_is_filled(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B18."""
    assert texts(namespace) == {"web": f"{image(registry)}@{first}"}
    assert rollouts(namespace) == [None, first]
    assert record(namespace.deployment("web")) == first


def test_a_digest_in_the_field_is_taken_over_untouched(
    namespace: Namespace, registry: Registry
) -> None:
    """B18: and the move away from it is the first rollout."""
    first = registry.publish(REPOSITORY, TAG)
    text = f"{registry.address}/{REPOSITORY}@{first}"
    namespace.create(workload("web", [container("web", text)]))
    namespace.create(web_policy(web_image(registry)))
    wait_recorded(namespace, first)
    assert (texts(namespace), rollouts(namespace)) == ({"web": text}, [None])

    second = registry.publish(REPOSITORY, TAG)
    check(namespace)

    wait_recorded(namespace, second)
    assert texts(namespace) == {"web": f"{image(registry)}@{second}"}
    assert rollouts(namespace) == [None, second]


def test_an_image_of_another_repository_is_left_alone(
    namespace: Namespace, registry: Registry
) -> None:
    """B18."""
    registry.publish(REPOSITORY, TAG)
    other = image(registry, "example/other")
    namespace.create(workload("web", [container("web", other)]))
    namespace.create(web_policy(web_image(registry)))

    found = wait_ready(namespace, status="False", reason="ForeignValue")

    assert is_stalled(found)
    assert texts(namespace) == {"web": other}


# Moves.


def test_an_init_container_is_moved_as_well(namespace: Namespace, registry: Registry) -> None:
    """B16."""
    first = registry.publish(REPOSITORY, TAG)
    setup = container("setup", image(registry))
    plain = container("web", image(registry, "example/app"))
    deploy(namespace, workload("web", [plain], init_containers=[setup]))
    namespace.create(web_policy(web_image(registry, "setup")))
    wait_recorded(namespace, first)

    second = registry.publish(REPOSITORY, TAG)
    check(namespace)

    wait_recorded(namespace, second)
    assert texts(namespace) == {
        "web": image(registry, "example/app"),
        "setup": f"{image(registry)}@{second}",
    }
    assert rollouts(namespace) == [None, first, second]


def test_a_bad_digest_is_held(namespace: Namespace, registry: Registry) -> None:
    """B19, B21."""
    first = registry.publish(REPOSITORY, TAG)
    namespace.create(workload("web", [web_container(registry)]))
    namespace.create(web_policy(web_image(registry)))
    wait_recorded(namespace, first)
    bad = registry.publish(REPOSITORY, TAG, bad=True)
    with impatient(namespace):
        check(namespace)

        found = wait_ready(namespace, status="False", reason="RolloutFailed")

    assert (entry(found)["failed"], entry(found)["recorded"]) == (bad, first)
    assert texts(namespace) == {"web": f"{image(registry)}@{bad}"}


# Drift.


@pytest.mark.parametrize("how", ["undo", "edit"])
def test_a_proven_digest_is_set_back(
    namespace: Namespace, registry: Registry, first: str, how: str
) -> None:
    """B17, B22."""
    second = registry.publish(REPOSITORY, TAG)
    check(namespace)
    wait_recorded(namespace, second)
    if how == "undo":
        namespace.undo("web")
    else:
        namespace.kubectl("set", "image", "deployment/web", f"web={image(registry)}")
    assert texts(namespace) != {"web": f"{image(registry)}@{second}"}

    check(namespace)

    assert texts(namespace) == {"web": f"{image(registry)}@{second}"}
    wait_ready(namespace)
    told(namespace, "DriftCorrected", 1)


def test_an_unproven_digest_that_somebody_takes_back_is_held(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B17."""
    bad = registry.publish(REPOSITORY, TAG, bad=True)
    check(namespace)
    wait_asked(namespace, bad)

    namespace.kubectl("set", "image", "deployment/web", f"web={image(registry)}@{first}")
    found = check(namespace)

    assert ready(found) == ("False", "Rejected")
    assert (entry(found)["failed"], entry(found)["recorded"]) == (bad, first)
    assert texts(namespace) == {"web": f"{image(registry)}@{first}"}


def test_a_digest_of_another_repository_is_not_set_back(
    namespace: Namespace, registry: Registry, first: str
) -> None:
    """B1, B17: nobody can pull it there, also while the new tag can't be read."""
    there = "example/other"
    namespace.kubectl("set", "image", "deployment/web", f"web={registry.address}/{there}:{TAG}")
    wait_rollouts(namespace, [None, first, first])  # the third is the edit
    images = [set_image("web", registry.address, there, TAG, container="web")]
    namespace.patch("ImageRefreshPolicy", "web", {"spec": {"images": images}})

    wait_ready(namespace, status="False", reason="ImageNotFoundOrDenied")
    check(namespace)

    assert texts(namespace) == {"web": f"{registry.address}/{there}:{TAG}"}
    published = registry.publish(there, TAG)
    check(namespace)
    wait_recorded(namespace, published)
    assert rollouts(namespace) == [None, first, first, published]
