"""The changes that make a template carry another digest (B13, B21)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagerefresh.api.names import pin_annotation
from imagerefresh.api.policy import ActionType, Image
from imagerefresh.plan.template import Carried, Pin, Stamp, carries, read
from imagerefresh.plan.template_change import merge_patches, pin, set_digest, unpin
from unit.plan.builders import (
    D1,
    D2,
    D3,
    REGISTRY,
    VARIABLE,
    WEB_TEXT,
    Json,
    a_target,
    an_image,
    patched,
)
from unit.plan.templates import (
    INGESTOR,
    PROXY,
    STAMP,
    WEB,
    container,
    image_of,
    restarting,
    with_containers,
    wrapped,
)


@pytest.mark.parametrize("image", [WEB, INGESTOR, PROXY], ids=lambda image: image.name)
def test_a_digest_is_set_with_its_stamp(image: Image) -> None:
    """B13: for all three actions, so that an ask always changes the template."""
    target = a_target(variable=D1, proxy=D1)
    found = read(image, wrapped(target, set_digest(image, target, STAMP)))
    assert (found.stamp, found.problem) == (STAMP, None)
    assert found.digest == (None if image is WEB else D2)
    assert carries(image, found, D2)


@pytest.mark.parametrize("image", [WEB, INGESTOR, PROXY], ids=lambda image: image.name)
def test_a_tag_that_goes_back_changes_the_template_each_time(image: Image) -> None:
    """B13: D1, D2, D1: the serial differs, where the digest does not."""
    target = wrapped(a_target(variable=D1, proxy=D1), set_digest(image, a_target(), Stamp(1, D1)))
    again = wrapped(target, set_digest(image, target, Stamp(3, D1)))
    assert again["spec"]["template"] != target["spec"]["template"]


def test_a_variable_is_set_beside_the_others() -> None:
    target = a_target(variable=D1)
    after = wrapped(target, set_digest(INGESTOR, target, STAMP))
    [api] = [each for each in after["spec"]["template"]["spec"]["containers"] if "env" in each]
    assert api["env"] == [{"name": "OTHER", "value": "kept"}, {"name": VARIABLE, "value": D2}]


def test_an_image_field_becomes_repository_tag_and_digest() -> None:
    """B18."""
    target = a_target(proxy="other")
    after = wrapped(target, set_digest(PROXY, target, STAMP))
    assert image_of(after, "proxy") == f"{REGISTRY}/example/proxy:prod@{D2}"


@pytest.mark.parametrize(("image", "name"), [(INGESTOR, "api"), (PROXY, "proxy")])
def test_an_init_container_is_changed_where_it_is(image: Image, name: str) -> None:
    target = with_containers(
        container("web", WEB_TEXT), init=[container(name, f"{REGISTRY}/example/proxy:prod")]
    )
    change = set_digest(image, target, STAMP)
    assert set(change["spec"]) == {"initContainers"}
    assert read(image, wrapped(target, change)).digest == D2


class TestPin:
    """B21: `repository:tag@recorded`, and what was there before kept safe on the target."""

    def test_every_container_concerned_is_pinned(self) -> None:
        target = with_containers(
            container("a", WEB_TEXT), container("b"), init=[container("c", WEB_TEXT)]
        )
        after = wrapped(target, pin(WEB, target, STAMP))
        assert image_of(after, "a") == image_of(after, "c") == f"{WEB_TEXT}@{D2}"
        assert image_of(after, "b") == "busybox"
        assert read(WEB, after) == Carried(D2, STAMP, is_pinned=True, containers=("a", "c"))

    @pytest.mark.parametrize(
        "text", [WEB_TEXT, "REGISTRY.example.com:443/example/web:prod"], ids=["plain", "unusual"]
    )
    def test_unpinning_puts_the_very_text_back(self, text: str) -> None:
        target = with_containers(container("web", text), container("api"))
        there = wrapped(target, pin(WEB, target, STAMP))
        back = wrapped(there, unpin(WEB, there))
        assert image_of(back, "web") == text
        assert pin_annotation("web") not in back["spec"]["template"]["metadata"]["annotations"]
        assert not read(WEB, back).is_pinned

    def test_pinning_again_keeps_the_first_text(self) -> None:
        target = a_target()
        there = wrapped(target, pin(WEB, target, STAMP))
        again = wrapped(there, pin(WEB, there, Stamp(6, D3)))
        assert read(WEB, again).digest == D3
        assert image_of(wrapped(again, unpin(WEB, again)), "web") == WEB_TEXT

    def test_a_pin_that_somebody_took_away_says_nothing_of_the_text(self) -> None:
        target = a_target(pin=D1)
        text = "REGISTRY.example.com/example/web:prod"
        target["spec"]["template"]["spec"]["containers"][0]["image"] = text
        there = wrapped(target, pin(WEB, target, STAMP))
        assert image_of(wrapped(there, unpin(WEB, there)), "web") == text

    def test_an_ask_takes_the_pin_away(self) -> None:
        target = a_target(pin=D1)
        after = wrapped(target, set_digest(WEB, target, STAMP))
        assert read(WEB, after) == Carried(stamp=STAMP, containers=("web",))

    def test_an_image_that_a_person_changed_meanwhile_is_left_to_them(self) -> None:
        target = a_target(pin=D1)
        target["spec"]["template"]["spec"]["containers"][0]["image"] = "busybox"
        after = wrapped(target, unpin(WEB, target))
        assert image_of(after, "web") == "busybox"
        assert pin_annotation("web") not in after["spec"]["template"]["metadata"]["annotations"]

    def test_a_container_that_went_meanwhile_is_no_trouble(self) -> None:
        target = with_containers(container("api"))
        ours = str(Pin(D1, {"web": WEB_TEXT}))
        target["spec"]["template"]["metadata"]["annotations"] = {pin_annotation("web"): ours}
        assert "spec" not in unpin(WEB, target)

    def test_nothing_is_unpinned_without_a_pin_of_ours(self) -> None:
        assert unpin(WEB, a_target()) == {}

    def test_named_containers_are_pinned_to_their_own_repository(self) -> None:
        image = restarting("web")
        target = with_containers(container("web", "mirror.example.com/web:prod"))
        after = wrapped(target, pin(image, target, STAMP))
        assert image_of(after, "web") == f"mirror.example.com/web:prod@{D2}"


class TestMergingPatches:
    """B13: several images, one patch."""

    def test_containers_and_variables_are_merged_by_name(self) -> None:
        target = a_target(variable=D1)
        other = an_image(
            ActionType.SET_ENV,
            name="other",
            action={"type": "SetEnv", "setEnv": {"container": "api", "variable": "OTHER"}},
        )
        merged = merge_patches(
            [set_digest(each, target, STAMP) for each in (INGESTOR, other, PROXY, WEB)]
        )
        after = wrapped(target, merged)
        assert read(INGESTOR, after).digest == read(PROXY, after).digest == D2
        [api] = [each for each in merged["spec"]["containers"] if each["name"] == "api"]
        assert api["env"] == [
            {"name": VARIABLE, "value": D2},
            {"name": "OTHER", "value": D2},
        ]

    def test_nothing_gives_nothing(self) -> None:
        assert merge_patches([]) == merge_patches([{}, {}]) == {}

    def test_the_patches_stay_as_they_were(self) -> None:
        patches: list[dict[str, Json]] = [
            {"a": {"b": 1}, "l": [{"name": "x", "v": 1}]},
            {"a": {"c": None}, "l": []},
        ]
        before = json.dumps(patches)
        merge_patches(patches)
        assert json.dumps(patches) == before

    @given(
        st.lists(
            st.sampled_from(
                [
                    {"metadata": {"annotations": {"a": "1"}}},
                    {"metadata": {"annotations": {"b": None}}},
                    {"spec": {"containers": [{"name": "x", "image": "i"}]}},
                    {"spec": {"containers": [{"name": "y", "env": [{"name": "E", "value": "1"}]}]}},
                    {"spec": {"initContainers": [{"name": "z", "image": "j"}]}},
                    {"spec": {"containers": [{"name": "x", "env": [{"name": "F", "value": "2"}]}]}},
                ]
            ),
            max_size=5,
        )
    )
    def test_one_patch_does_what_all_do_in_turn(self, patches: list[dict[str, Json]]) -> None:
        document = {"metadata": {"annotations": {"b": "old"}}, "spec": {"containers": []}}
        in_turn: dict[str, Json] = document
        for patch in patches:
            in_turn = patched(in_turn, patch)
        assert patched(document, merge_patches(patches)) == in_turn
