"""What is kept of a target as the API server sends it."""

from typing import Any

from imagerefresh.cluster.client import _lean


def test_the_managers_of_the_template_are_still_known() -> None:
    """B17: a fight names the other manager."""
    written: dict[str, Any] = {"f:template": {"f:spec": {"f:containers": {}}}, "f:replicas": {}}
    entries = [
        {"manager": "argocd", "time": "2026-02-03T12:00:00Z", "fieldsV1": {"f:spec": written}},
        {"manager": "controller", "subresource": "status", "fieldsV1": {"f:status": {"f:a": {}}}},
        {"manager": "bare"},
    ]
    target = {"metadata": {"name": "web", "managedFields": entries}, "spec": {"replicas": 1}}
    assert _lean(target) == {
        "metadata": {
            "name": "web",
            "managedFields": [
                {
                    "manager": "argocd",
                    "time": "2026-02-03T12:00:00Z",
                    "fieldsV1": {"f:spec": {"f:template": {}}},
                },
                {"manager": "controller", "subresource": "status", "fieldsV1": {}},
                {"manager": "bare", "fieldsV1": {}},
            ],
        },
        "spec": {"replicas": 1},
    }


def test_a_target_that_nobody_manages() -> None:
    assert _lean({"metadata": {"name": "web"}}) == {"metadata": {"name": "web"}}
