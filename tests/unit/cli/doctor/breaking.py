"""Ways to break a healthy installation."""

import base64
from collections.abc import Callable
from typing import Any

import msgspec
import yaml

from cli.doctor.site import pod_spec
from shared.kube import paths, stamps
from shared.progress import GpuHealth
from shared.readapi import api
from tests.unit.cli.doctor import healthy
from tests.unit.cli.doctor.healthy import FakeCluster, Object

Break = Callable[[FakeCluster], object]

MUTATING = f"{healthy.ADMISSION}/mutatingadmissionpolicies"
MUTATING_BINDINGS = f"{healthy.ADMISSION}/mutatingadmissionpolicybindings"
DAY = 24 * 3600.0


def gone(path: str) -> Break:
    return lambda cluster: cluster.objects.pop(path)


def changed(path: str, change: Callable[[Any], object]) -> Break:
    return lambda cluster: cluster.change(path, change)


def labelled(namespace: str, **labels: str) -> Break:
    named = {key.replace("_", "-"): value for key, value in labels.items()}
    level = {f"pod-security.kubernetes.io/{key}": value for key, value in named.items()}
    return changed(paths.namespace(namespace), lambda one: one["metadata"].update(labels=level))


def status(path: str, **values: int) -> Break:
    return changed(path, lambda one: one["status"].update(values))


def image(path: str, index: int, name: str) -> Break:
    def change(one: Object) -> None:
        one["spec"]["template"]["spec"]["containers"][index]["image"] = name

    return changed(path, change)


def settings(text: str, path: str = healthy.EXTENDER_YAML, key: str = "extender.yaml") -> Break:
    def change(one: Object) -> None:
        one["data"][key] = text

    return changed(path, change)


def more(**sections: Object) -> Break:
    """Add to the extender's settings."""

    def change(one: Object) -> None:
        whole = yaml.safe_load(one["data"]["extender.yaml"])
        for name, values in sections.items():
            whole[name] = {**whole.get(name, {}), **values}
        one["data"]["extender.yaml"] = yaml.safe_dump(whole)

    return changed(healthy.EXTENDER_YAML, change)


def without_volume(name: str) -> Break:
    """Take a volume from the agents."""

    def change(one: Object) -> None:
        spec = pod_spec(one)
        spec["volumes"] = [volume for volume in spec["volumes"] if volume["name"] != name]

    return changed(healthy.DAEMON_SET, change)


def undefined(*path: str) -> Break:
    """Take a field from the schema of migrations that the API server publishes."""

    def change(one: Object) -> None:
        (schema,) = one["components"]["schemas"].values()
        for name in path[:-1]:
            schema = schema["properties"][name]
            schema = schema.get("items", schema)
        del schema["properties"][path[-1]]

    return changed(healthy.OPENAPI, change)


def configured(change: Callable[[Any], object]) -> Break:
    """Change kube-scheduler's configuration."""

    def with_it(one: Object) -> None:
        whole = yaml.safe_load(one["data"]["scheduler.yaml"])
        change(whole)
        one["data"]["scheduler.yaml"] = yaml.safe_dump(whole)

    return changed(healthy.SCHEDULER_YAML, with_it)


def spec(**values: Any) -> Break:
    return changed(healthy.LEASE, lambda one: one["spec"].update(values))


def nodes(
    *names: str,
    silent: tuple[str, ...] = (),
    ahead_seconds: float = 0.0,
    gpus: GpuHealth | None = None,
) -> Break:
    def change(cluster: FakeCluster) -> None:
        now = cluster.clock.now() + ahead_seconds
        answer = healthy.reporting(now, *names, silent=silent, gpus=gpus)
        cluster.bodies[healthy.NODES] = msgspec.json.encode(answer)

    return change


def bound(**values: Any) -> Callable[[Any], object]:
    """Change the binding of a policy."""
    return lambda one: one["items"][0]["spec"].update(values)


def lacking(*rights: str) -> Break:
    return lambda cluster: cluster.lacking.update(rights)


def ahead(seconds: float) -> Break:
    return lambda cluster: setattr(cluster, "ahead_seconds", seconds)


def later(seconds: float) -> Break:
    """Let time pass for everything but the certificates."""

    def change(cluster: FakeCluster) -> None:
        cluster.clock.pass_by(seconds)
        cluster.objects[healthy.LEASE]["spec"]["renewTime"] = stamps.micros(cluster.clock.now())
        nodes("node-a")(cluster)

    return change


def without_holder(cluster: FakeCluster) -> None:
    cluster.objects[healthy.LEASE]["spec"].pop("holderIdentity")


def pods(*theirs: Object) -> Break:
    return changed(paths.PODS, lambda one: one["items"].extend(theirs))


def queue(cluster: FakeCluster) -> None:
    answer = api.QueueResponse(generated_at=cluster.clock.now(), acting=False, order="cps")
    cluster.bodies[healthy.QUEUE] = msgspec.json.encode(answer)


def another_ca(cluster: FakeCluster) -> None:
    leaf = base64.b64decode(cluster.objects[healthy.SECRET]["data"]["tls.crt"])
    cluster.objects[healthy.AUTHORITY]["data"]["ca.crt"] = leaf.decode()


def entries(index: int, **values: Any) -> Break:
    return configured(lambda whole: whole["extenders"][index].update(values))
