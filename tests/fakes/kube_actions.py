"""The verbs of the fake API server over its store."""

import base64
import itertools
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from shared.system_clock import SystemClock
from tests.fakes import kube_patches, kube_pods, kube_resizes
from tests.fakes.kube_errors import already_exists, conflict, gone, invalid, not_found
from tests.fakes.kube_request import Target
from tests.fakes.kube_selectors import Object, selector
from tests.fakes.kube_store import Store, copied

WITH_STATUS = {"Pod", "Migration"}
"""Kinds whose status only the subresource writes, as far as we write both."""

EVENT_FIELDS = ("reason", "action", "eventTime", "reportingController", "reportingInstance")


AGE_SECONDS = 3600.0
"""How old objects are when they appear: older than the delays for young pods, far from any longest
wait. A fixed moment would pass a day's wait on a certain day, and tests would fail from then on."""


class Actions:
    """What each verb does; synchronous, so that every request is one step."""

    def __init__(self) -> None:
        self.store = Store()
        self.now = SystemClock().now() - AGE_SECONDS
        self._serial = itertools.count(1)
        self._snapshots: dict[str, tuple[int, list[Object]]] = {}

    def stamp(self) -> str:
        return datetime.fromtimestamp(self.now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def read(self, target: Target) -> Object:
        found = self.store.get(target.key)
        if found is None:
            raise not_found(target.plural, target.name)
        return found

    def page(self, target: Target, params: Mapping[str, str]) -> Object:
        """List; pages of one list show one moment, until the history is compacted."""
        token = params.get("continue", "")
        if token:
            version, left = self._continued(token)
        else:
            version = self.store.version
            left = self.store.collection(target.collection, target.namespace, selector(params))
        limit = int(params.get("limit", "0")) or len(left)
        if params.get("resourceVersion") == "0" and not token:
            limit = len(left)  # served from the watch cache, which has no pages
        metadata = {"resourceVersion": str(version)}
        if len(left) > limit:
            metadata["continue"] = self._keep(version, left[limit:])
            metadata["remainingItemCount"] = str(len(left) - limit)
        kind = f"{target.kind}List"
        return {
            "kind": kind,
            "apiVersion": target.api_version,
            "metadata": metadata,
            "items": left[:limit],
        }

    def check_place(self, target: Target, body: Object) -> None:
        """Refuse an object without a namespace, and Events without a reporter."""
        namespace = ("/api/v1/namespaces", "", target.namespace)
        if target.namespace and self.store.get(namespace) is None:
            raise not_found("namespaces", target.namespace)
        if target.plural == "events":
            for field in EVENT_FIELDS:
                if not body.get(field):
                    raise invalid("Event", "", field)

    def create(self, target: Target, body: Object) -> Object:
        new = copied(body)
        meta = new.setdefault("metadata", {})
        if not meta.get("name"):
            if not meta.get("generateName"):
                raise invalid(target.kind, "", "metadata.name")
            meta["name"] = f"{meta['generateName']}{next(self._serial):05d}"
        if target.namespace:
            meta["namespace"] = target.namespace
        key = (target.collection, target.namespace, meta["name"])
        if self.store.get(key) is not None:
            raise already_exists(target.plural, meta["name"])
        meta["uid"] = f"00000000-0000-4000-8000-{next(self._serial):012d}"
        meta["creationTimestamp"] = self.stamp()
        new = {"apiVersion": target.api_version, "kind": target.kind, **new}
        if target.kind == "Migration":
            new.pop("status", None)
        if target.collection == "/api/v1/pods":
            kube_pods.admit(new, self.stamp())
            kube_pods.check_created(new)
        return self.store.write(key, new)

    def replace(self, target: Target, body: Object) -> Object:
        return self._update(target, self.read(target), copied(body))

    def patch(self, target: Target, body: Any, content_type: str) -> Object:
        if content_type == "application/apply-patch+yaml" and not self.store.get(target.key):
            return self.create(target, body)
        old = self.read(target)
        return self._update(target, old, kube_patches.apply(old, body, content_type))

    def delete(self, target: Target, options: Object) -> Object:
        old = self.check_deletion(target, options)
        meta = old["metadata"]
        asked = options.get("gracePeriodSeconds")
        seconds = kube_pods.grace(old, asked) if target.kind == "Pod" else 0
        if target.kind != "Pod" and not meta.get("finalizers"):
            return self.store.write(target.key, None)
        if meta.get("deletionTimestamp") and meta.get("deletionGracePeriodSeconds") == seconds:
            return old
        meta["deletionTimestamp"] = self.stamp()
        meta["deletionGracePeriodSeconds"] = seconds
        marked = self.store.write(target.key, old)
        if seconds == 0 and not meta.get("finalizers"):
            return self.store.write(target.key, None)
        return marked

    def check_deletion(self, target: Target, options: Object) -> Object:
        """Return the object if the preconditions hold."""
        found = self.read(target)
        for field, expected in (options.get("preconditions") or {}).items():
            if expected != found["metadata"][field]:
                actual = found["metadata"][field]
                why = f"the {field} in the precondition ({expected}) is not {actual}"
                raise conflict(target.plural, target.name, why)
        return found

    def delete_all(self, target: Target, params: Mapping[str, str], options: Object) -> Object:
        page = self.page(target, {**params, "limit": "0"})
        for found in page["items"]:
            meta = found["metadata"]
            one = Target(target.collection, meta.get("namespace", ""), meta["name"], "")
            self.delete(one, options)
        return page

    def bind(self, target: Target, binding: Object) -> Object:
        pod = kube_pods.bound(self.read(target), binding, self.stamp())
        self.store.write(target.key, pod)
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}

    def _update(self, target: Target, old: Object, new: Object) -> Object:
        self._check_preconditions(target, old, new)
        for field in ("uid", "creationTimestamp", "name", "namespace", "deletionTimestamp"):
            if field in old["metadata"]:
                new["metadata"][field] = old["metadata"][field]
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        kept = "spec" if target.subresource == "status" else "status"
        if target.kind in WITH_STATUS or target.subresource == "status":
            new = {**new, **({kept: copied(old[kept])} if kept in old else {})}
        if target.kind == "Pod":
            new = self._pod_updated(target, old, new)
        if new == old:
            return old
        meta = new["metadata"]
        held = meta.get("finalizers") or meta.get("deletionGracePeriodSeconds")
        gone_now = meta.get("deletionTimestamp") and not held
        return self.store.write(target.key, None if gone_now else new)

    def _pod_updated(self, target: Target, old: Object, new: Object) -> Object:
        if target.subresource == "resize":
            node = self.store.get(("/api/v1/nodes", "", old["spec"].get("nodeName", "")))
            return kube_resizes.resized(old, new, node)
        kube_pods.drop_empty_gates(new)
        kube_pods.check_updated(old, new)
        return new

    def _check_preconditions(self, target: Target, old: Object, new: Object) -> None:
        was, becomes = old["metadata"], new.setdefault("metadata", {})
        if becomes.get("uid", was["uid"]) != was["uid"]:
            raise invalid(target.kind, target.name, "metadata.uid", "field is immutable")
        if becomes.get("resourceVersion", was["resourceVersion"]) != was["resourceVersion"]:
            raise conflict(target.plural, target.name, "the object has been modified")

    def _keep(self, version: int, left: list[Object]) -> str:
        token = base64.b64encode(json.dumps([version, next(self._serial)]).encode()).decode()
        self._snapshots[token] = (version, left)
        return token

    def _continued(self, token: str) -> tuple[int, list[Object]]:
        version, left = self._snapshots.get(token, (0, []))
        if version < self.store.compacted:
            raise gone("The provided continue parameter is too old")
        return version, left
