import pytest

from imagerefresh.api import names

LONGEST_IMAGE_NAME = "a" * 41


@pytest.mark.parametrize(
    "key",
    [
        names.REQUESTED_AT,
        names.RETRY_AT,
        names.state_annotation(LONGEST_IMAGE_NAME),
        names.record_annotation("a" * 253, LONGEST_IMAGE_NAME),
        names.stamp_annotation(LONGEST_IMAGE_NAME),
        names.pin_annotation(LONGEST_IMAGE_NAME),
    ],
)
def test_annotation_keys_fit_whatever_the_image_is_called(key: str) -> None:
    """B1: a prefix has 253 characters at most, the name after it 63."""
    prefix, name = key.split("/")
    assert len(prefix) <= 253
    assert len(name) <= 63


def test_no_two_images_share_a_key() -> None:
    makers = [names.state_annotation, names.stamp_annotation, names.pin_annotation]
    keys = [make(image) for make in makers for image in ("a", "b")]
    keys += [names.record_annotation(names.GROUP, image) for image in ("a", "b")]
    assert len(set(keys)) == len(keys)
