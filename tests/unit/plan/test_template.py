"""What a template carries (B11, B18), and the changes that make it carry something else."""

import json
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagerefresh.api.names import pin_annotation, stamp_annotation
from imagerefresh.api.policy import ActionType, Image
from imagerefresh.api.reasons import Reason
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

WEB, INGESTOR, PROXY = (
    an_image(kind) for kind in (ActionType.RESTART, ActionType.SET_ENV, ActionType.SET_IMAGE)
)
STAMP: Final = Stamp(5, D2)


def with_containers(*containers: Json, init: Json = ()) -> dict[str, Json]:
    """A target with these containers."""
    target = a_target()
    target["spec"]["template"]["spec"] = {
        "containers": list(containers),
        "initContainers": list(init),
    }
    return target


def container(name: str, image: str = "busybox", pulls: str = "Always", **more: Json) -> Json:
    """A container as stored."""
    return {"name": name, "image": image, "imagePullPolicy": pulls, **more}


def restarting(*containers: str, assume_always_pulls: bool = False) -> Image:
    """The Restart image with details."""
    details = {"containers": list(containers), "assumeAlwaysPulls": assume_always_pulls}
    return an_image(ActionType.RESTART, action={"type": "Restart", "restart": details})


def setting(container_name: str) -> Image:
    """The SetEnv image, for a variable of another container."""
    details = {"container": container_name, "variable": VARIABLE}
    return an_image(ActionType.SET_ENV, action={"type": "SetEnv", "setEnv": details})


def wrapped(target: dict[str, Json], change: Json) -> dict[str, Json]:
    """The target after a change of its template."""
    return patched(target, {"spec": {"template": change}})


def image_of(target: dict[str, Json], name: str) -> str:
    """The image text of a container, init containers too."""
    spec = target["spec"]["template"]["spec"]
    every = [*spec["containers"], *spec.get("initContainers", [])]
    return str(next(each["image"] for each in every if each["name"] == name))


class TestReadRestart:
    """B11."""

    @pytest.mark.parametrize(
        "text",
        [
            WEB_TEXT,
            "REGISTRY.example.com/example/web:prod",
            "registry.example.com:443/example/web:prod",
        ],
    )
    def test_containers_are_found_by_the_normalised_reference(self, text: str) -> None:
        target = with_containers(container("other"), container("web", text))
        assert read(WEB, target) == Carried(containers=("web",))

    def test_init_containers_too(self) -> None:
        target = with_containers(
            container("a", WEB_TEXT), container("b"), init=[container("c", WEB_TEXT)]
        )
        assert read(WEB, target).containers == ("a", "c")

    @pytest.mark.parametrize(
        "text",
        [
            "registry.example.com/example/web",
            "registry.example.com/example/web:other",
            "example/web:prod",
            "no reference at all",
            "",
        ],
    )
    def test_none_found(self, text: str) -> None:
        problem = read(WEB, with_containers(container("web", text))).problem
        assert problem is not None
        assert problem.reason is Reason.NoMatchingContainer
        assert WEB_TEXT in problem.message

    def test_named_containers_are_taken_whatever_they_run(self) -> None:
        target = with_containers(container("a", "mirror.example.com/web:prod"), container("b"))
        assert read(restarting("a"), target) == Carried(containers=("a",))

    @pytest.mark.parametrize("text", ["Registry/Not A Reference", "$(IMAGE)", ""])
    def test_a_named_container_whose_image_could_not_be_pinned(self, text: str) -> None:
        """B21: the API server stores any text; said before it is needed."""
        problem = read(restarting("web"), with_containers(container("web", text))).problem
        assert problem is not None
        assert problem.reason is Reason.ForeignValue

    def test_a_named_container_that_is_not_there(self) -> None:
        problem = read(restarting("web", "gone"), with_containers(container("web"))).problem
        assert problem is not None
        assert problem.reason is Reason.ContainerNotFound
        assert "gone" in problem.message

    @pytest.mark.parametrize("pulls", ["IfNotPresent", "Never", None])
    def test_another_pull_policy(self, pulls: str) -> None:
        target = with_containers(container("web", WEB_TEXT, pulls))
        problem = read(WEB, target).problem
        assert problem is not None
        assert problem.reason is Reason.PullPolicyNotAlways
        assert read(restarting(assume_always_pulls=True), target).problem is None

    def test_one_of_several_that_does_not_pull(self) -> None:
        target = with_containers(
            container("web", WEB_TEXT), init=[container("init", WEB_TEXT, "Never")]
        )
        problem = read(WEB, target).problem
        assert problem is not None
        assert "init" in problem.message

    @pytest.mark.parametrize("image", [WEB, restarting(assume_always_pulls=True)])
    def test_a_digest_in_the_image(self, image: Image) -> None:
        problem = read(image, with_containers(container("web", f"{WEB_TEXT}@{D1}"))).problem
        assert problem is not None
        assert problem.reason is Reason.DigestInImage

    def test_our_own_pin_is_no_foreign_digest(self) -> None:
        """B21: a pin is ours only if the template says so."""
        found = read(WEB, a_target(pin=D1))
        assert (found.digest, found.is_pinned, found.problem) == (D1, True, None)

    @pytest.mark.parametrize("text", [f"{WEB_TEXT}@{D2}", f"{REGISTRY}/example/web:other@{D1}"])
    def test_a_pin_that_somebody_changed_is_not_ours(self, text: str) -> None:
        target = a_target(pin=D1)
        target["spec"]["template"]["spec"]["containers"][0]["image"] = text
        found = read(WEB, target)
        assert not found.is_pinned
        assert found.problem is not None

    def test_a_pin_that_somebody_took_away_floats(self) -> None:
        target = a_target(pin=D1)
        target["spec"]["template"]["spec"]["containers"][0]["image"] = WEB_TEXT
        assert read(WEB, target) == Carried(containers=("web",))

    @pytest.mark.parametrize(
        "text",
        [
            "{",
            "[]",
            "null",
            '"x"',
            json.dumps({"digest": D1}),
            json.dumps({"digest": D1, "images": {}}),
            json.dumps({"digest": D1, "images": ["web"]}),
            json.dumps({"digest": D1, "images": {"web": 7}}),
            json.dumps({"digest": "v1", "images": {"web": WEB_TEXT}}),
            json.dumps({"digest": [D1], "images": {"web": WEB_TEXT}}),
            "[" * 100_000,
        ],
    )
    def test_a_garbled_pin_is_none(self, text: str) -> None:
        target = a_target(pin=D1)
        target["spec"]["template"]["metadata"]["annotations"][pin_annotation("web")] = text
        found = read(WEB, target)
        assert not found.is_pinned
        assert found.problem is not None
        assert found.problem.reason is Reason.DigestInImage


class TestReadVariable:
    """B18."""

    def test_a_digest(self) -> None:
        assert read(INGESTOR, a_target(variable=D1)) == Carried(D1, containers=("api",))

    @pytest.mark.parametrize("entry", [{"value": ""}, {}, {"value": None}])
    def test_empty(self, entry: Json) -> None:
        target = with_containers(container("api", env=[{"name": VARIABLE, **entry}]))
        assert read(INGESTOR, target) == Carried(containers=("api",))

    @pytest.mark.parametrize("env", [None, [], [{"name": "OTHER", "value": D2}]])
    def test_missing(self, env: Json) -> None:
        assert read(INGESTOR, with_containers(container("api", env=env))).digest is None

    def test_in_an_init_container(self) -> None:
        entry = {"name": VARIABLE, "value": D1}
        target = with_containers(container("web"), init=[container("api", env=[entry])])
        assert read(INGESTOR, target).digest == D1

    @pytest.mark.parametrize(
        ("env", "reason"),
        [
            ([{"name": VARIABLE, "value": "v1.2"}], Reason.ForeignValue),
            ([{"name": VARIABLE, "value": f" {D1}"}], Reason.ForeignValue),
            ([{"name": VARIABLE, "value": D1.upper()}], Reason.ForeignValue),
            ([{"name": VARIABLE, "value": f"example/web@{D1}"}], Reason.ForeignValue),
            ([{"name": VARIABLE, "valueFrom": {"fieldRef": {}}}], Reason.ValueFrom),
            ([{"name": VARIABLE, "value": D1}, {"name": VARIABLE}], Reason.DuplicateVariable),
        ],
    )
    def test_what_is_left_alone(self, env: Json, reason: Reason) -> None:
        problem = read(INGESTOR, with_containers(container("api", env=env))).problem
        assert problem is not None
        assert problem.reason is reason
        assert VARIABLE in problem.message

    def test_no_such_container(self) -> None:
        problem = read(setting("gone"), a_target()).problem
        assert problem is not None
        assert problem.reason is Reason.ContainerNotFound
        assert "web, api, proxy" in problem.message

    def test_a_foreign_value_is_not_shown(self) -> None:
        """It may be a secret of a person who named the wrong variable."""
        problem = read(INGESTOR, a_target(variable="hunter2")).problem
        assert problem is not None
        assert "hunter2" not in problem.message


class TestReadImageField:
    """B18: only where the repository already is the policy's."""

    @pytest.mark.parametrize(
        ("text", "digest"),
        [
            (f"{REGISTRY}/example/proxy:prod", None),
            (f"{REGISTRY}/example/proxy", None),
            (f"{REGISTRY}/example/proxy:other", None),
            (f"{REGISTRY}/example/proxy@{D1}", D1),
            (f"REGISTRY.example.com/example/proxy:prod@{D1}", D1),
        ],
    )
    def test_of_the_same_repository(self, text: str, digest: str | None) -> None:
        target = with_containers(container("proxy", text))
        assert read(PROXY, target) == Carried(digest, containers=("proxy",))

    @pytest.mark.parametrize("text", [f"{REGISTRY}/example/other@{D1}", "proxy:prod", "???", ""])
    def test_of_another(self, text: str) -> None:
        problem = read(PROXY, with_containers(container("proxy", text))).problem
        assert problem is not None
        assert problem.reason is Reason.ForeignValue

    def test_in_an_init_container(self) -> None:
        text = f"{REGISTRY}/example/proxy@{D1}"
        target = with_containers(container("web"), init=[container("proxy", text)])
        assert read(PROXY, target).digest == D1


@pytest.mark.parametrize(
    ("text", "stamp"),
    [
        (f"5 {D2}", STAMP),
        (None, None),
        ("", None),
        (D2, None),
        (f"-5 {D2}", None),
        (f"5  {D2}", None),
        (f"5 {D2} ", None),
        (f"five {D2}", None),
        ("5 v1.2", None),
        (f"{'9' * 5000} {D2}", None),
    ],
)
@pytest.mark.parametrize("image", [WEB, INGESTOR, PROXY], ids=lambda image: image.name)
def test_a_stamp_is_read_whole_or_not_at_all(
    image: Image, text: str | None, stamp: Stamp | None
) -> None:
    """B22: an unparsable value counts as missing."""
    stamps = {} if text is None else {stamp_annotation(image.name): text}
    assert read(image, a_target(variable=D1, stamps=stamps)).stamp == stamp


@pytest.mark.parametrize(
    ("image", "target", "digest", "expected"),
    [
        (WEB, a_target(), D1, True),
        (WEB, a_target(), None, False),
        (WEB, a_target(pin=D1), D1, True),
        (WEB, a_target(pin=D1), D2, False),
        (INGESTOR, a_target(variable=D1), D1, True),
        (INGESTOR, a_target(variable=D1), D2, False),
        (INGESTOR, a_target(), D1, False),
        (PROXY, a_target(proxy=D1), D1, True),
        (PROXY, a_target(proxy="prod"), D1, False),
    ],
)
def test_a_template_carries_what_its_field_has_or_a_floating_restart_anything(
    image: Image, target: dict[str, Json], digest: str | None, expected: bool
) -> None:
    """The words of the contract; B17 for the floating one."""
    assert carries(image, read(image, target), digest) is expected


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
        patches = [{"a": {"b": 1}, "l": [{"name": "x", "v": 1}]}, {"a": {"c": None}, "l": []}]
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
