"""A dry run of the objects of a manifest, and of a pod of each template in them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from cli.connection import AnyApiServer
from cli.dry_run import templates, verdicts
from cli.dry_run.served import Resource, Served
from cli.dry_run.templates import Document, Template
from cli.dry_run.verdicts import Accepted, Exists, Refused, Unchecked, Verdict
from cli.errors import UnansweredError
from shared.explanation import Checked

MOST_OBJECTS: Final = 64
"""Of a manifest: each is a request. Manifests of a job have a handful; a List of its Pods may have
thousands, and they are like one another."""
MOST_TEMPLATES: Final = 16
"""Different pod templates: a job has one for each role."""
_QUERY: Final = {"dryRun": "All", "fieldValidation": "Strict", "fieldManager": "shuntyard-what-if"}
_OF_THE_SERVER: Final = (
    *("managedFields", "uid", "creationTimestamp", "resourceVersion", "generation", "selfLink"),
)
_MOST_REASONS: Final = 3
_NAMESPACE: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_BUILT_IN: Final = frozenset({"v1", "apps/v1", "batch/v1"})


@dataclass(frozen=True)
class Result:
    """What became of a manifest.

    Attributes:
        documents: Its objects, with the API server's defaults where it has checked them.
        checked: Whether it has, and why not.
    """

    documents: list[Any]
    checked: Checked


def check(server: AnyApiServer, documents: Sequence[Any], namespace: str) -> Result:
    """Return the objects of a manifest as the API server would store them; nothing is written.

    Args:
        server: With the user's credentials.
        documents: The objects.
        namespace: Where those go that state none.

    Raises:
        UnansweredError: It would refuse one of them: the text has each field. Or it cannot be
            reached, or does not accept the credentials.
    """
    run = _Run(Served(server), namespace, _made(documents))
    checked = [run.document(one) for one in documents]
    if run.refused:
        raise UnansweredError("\n".join(run.refused))
    checked_pods = run.pods_checked > 0 and not run.pods_unchecked
    return Result(
        checked,
        Checked(
            by_api_server=not run.reasons,
            reason=_joined(run.reasons),
            pods_by_api_server=checked_pods,
        ),
    )


@dataclass
class _Run:
    """A check under way.

    Attributes:
        made: Kind (plural) and name of what the manifest itself makes.
        reasons: Why something was not checked, each once.
        refused: What would be refused, in lines.
        pods_checked: Pods and templates that were checked.
        pods_unchecked: Those that were not.
    """

    served: Served
    namespace: str
    made: frozenset[tuple[str, str]]
    reasons: dict[str, None] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    pods_checked: int = 0
    pods_unchecked: int = 0
    _objects: int = 0
    _known: dict[bytes, Document | None] = field(default_factory=dict)
    _lasting: dict[tuple[str, str], Unchecked] = field(default_factory=dict)

    def document(self, found: Any) -> Any:
        """Return an object with what the API server fills in; as it is where it does not say."""
        if not _is_object(found):
            return found  # the extender names the field
        self._objects += 1
        if self._objects > MOST_OBJECTS:
            self.reasons[f"only the first {MOST_OBJECTS} objects of a manifest are checked"] = None
            self.pods_unchecked += 1
            return found
        return self._filled(found)

    def _filled(self, found: Document) -> Document:
        what = self._named(found)
        verdict = self._judged(found)
        if isinstance(verdict, Exists):
            verdict = self._under_another_name(found)
        match self._weighed(verdict):
            case Accepted(document):
                found = document
            case Refused() as refused:
                self._refuse(what, refused, _explained(found, refused))
                return found
            case Unchecked(reason):
                self.reasons[reason] = None
        if found["kind"] == "Pod":
            self._count_pod(checked=isinstance(verdict, Accepted))
        for template in templates.found(found):
            self._template(template, found, what)
        return found

    def _template(self, template: Template, owner: Document, what: str) -> None:
        key = self._place(owner).encode() + b"/" + template.key
        if key not in self._known:
            self._known[key] = self._pod(template, owner, what)
        pod = self._known[key]
        self._count_pod(checked=pod is not None)
        if pod is not None:
            template.take_over(pod)

    def _count_pod(self, *, checked: bool) -> None:
        self.pods_checked += checked
        self.pods_unchecked += not checked

    def _pod(self, template: Template, owner: Document, what: str) -> Document | None:
        """Return the pod of a template as the API server would make it; None if it does not say."""
        if len(self._known) >= MOST_TEMPLATES:
            self.reasons[f"only {MOST_TEMPLATES} different pod templates are checked"] = None
            return None
        pod = template.pod(_name(owner), self._place(owner))
        match self._weighed(self._judged(pod)):
            case Accepted(document):
                return document
            case Refused() as refused if refused.is_open and owner["apiVersion"] not in _BUILT_IN:
                problems = ", ".join(refused.problems)
                self.reasons[f"the pods of {what} lack what its operator may add: {problems}"] = (
                    None
                )
            case Refused() as refused:
                self._refuse(f"the pods of {what}", refused, "")
            case Unchecked(reason):
                self.reasons[reason] = None
        return None

    def _judged(self, found: Document) -> Verdict:
        resource = self.served.find(found["apiVersion"], found["kind"])
        if isinstance(resource, Unchecked):
            return resource
        place = self._place(found) if resource.namespaced else ""
        if place and not _NAMESPACE.fullmatch(place):
            return Unchecked(f"{place[:63]!r} is not the name of a namespace")
        known = self._lasting.get((resource.name, place))
        if known is not None:
            return known
        body = msgspec.json.encode(found)
        answer = self.served.server.ask(_path(resource, place), _QUERY, body)
        where = f" in the namespace {place}" if place else ""
        verdict = verdicts.of(answer, resource.name, where)
        if isinstance(verdict, Unchecked) and verdict.lasting:
            self._lasting[resource.name, place] = verdict
        return _cleaned(verdict, found)

    def _under_another_name(self, found: Document) -> Verdict:
        """Check an object whose name is taken: all but its name is new."""
        name = _name(found)
        meta = {key: value for key, value in found["metadata"].items() if key != "name"}
        other = {**found, "metadata": {**meta, "generateName": f"{name[:40]}-"}}
        verdict = self._judged(other)
        if not isinstance(verdict, Accepted):
            return verdict
        generated = verdict.document["metadata"].get("name") or name
        text = msgspec.json.encode(verdict.document).decode().replace(generated, name)
        document = msgspec.json.decode(text)
        document["metadata"].pop("generateName", None)
        return Accepted(document)

    def _weighed(self, verdict: Verdict) -> Accepted | Refused | Unchecked:
        """Return what counts of a verdict: no refusal for what the manifest itself makes."""
        if isinstance(verdict, Exists):
            return Unchecked("there is an object of the same name already")
        missing = verdict.missing if isinstance(verdict, Refused) else None
        if missing is None:
            return verdict
        if missing in self.made:
            return Unchecked(f"the manifest itself makes {missing[0]} {missing[1]}")
        if missing[0] == "namespaces":
            hint = "`kubectl get namespaces` lists those that exist"
            raise UnansweredError(f"namespace {missing[1]} not found: {hint}")
        return verdict

    def _refuse(self, what: str, refused: Refused, hint: str) -> None:
        first = f"the API server would refuse {what}"
        if len(refused.problems) == 1:
            self.refused.append(f"{first}: {refused.problems[0]}{hint}")
        else:
            self.refused += [f"{first}:", *(f"  {one}" for one in refused.problems)]
            self.refused += [hint.removeprefix("; ")] if hint else []

    def _named(self, found: Document) -> str:
        resource = self.served.find(found["apiVersion"], found["kind"])
        is_apart = isinstance(resource, Resource) and not resource.namespaced
        place = "" if is_apart else f"{self._place(found)}/"
        return f"{found['kind']} {place}{_name(found)}"

    def _place(self, found: Document) -> str:
        stated = found["metadata"].get("namespace")
        return stated if isinstance(stated, str) and stated else self.namespace


def _is_object(found: Any) -> bool:
    if not isinstance(found, dict) or not isinstance(found.get("metadata"), dict):
        return False
    return all(isinstance(found.get(key), str) for key in ("apiVersion", "kind"))


def _made(documents: Sequence[Any]) -> frozenset[tuple[str, str]]:
    """Return what a manifest makes, as the API server names what is missing."""
    kinds = [(one["kind"].lower(), _name(one)) for one in documents if _is_object(one)]
    plural = [(f"{kind}{'es' if kind.endswith('s') else 's'}", name) for kind, name in kinds]
    return frozenset((*kinds, *plural))


def _name(found: Mapping[str, Any]) -> str:
    meta = found["metadata"]
    return str(meta.get("name") or meta.get("generateName") or "what-if")


def _path(resource: Resource, namespace: str) -> str:
    if not namespace:
        return resource.path
    parent, plural = resource.path.rsplit("/", 1)
    return f"{parent}/namespaces/{namespace}/{plural}"


def _cleaned(verdict: Verdict, found: Document) -> Verdict:
    """Return what was accepted without what only a stored object has."""
    if not isinstance(verdict, Accepted):
        return verdict
    document = dict(verdict.document)
    meta = document.get("metadata") or {}
    document["metadata"] = {k: v for k, v in meta.items() if k not in _OF_THE_SERVER}
    document.pop("status", None)
    return Accepted({"apiVersion": found["apiVersion"], "kind": found["kind"], **document})


def _explained(found: Document, refused: Refused) -> str:
    """Return where the fields of a kind are listed, if an unknown one was named."""
    unknown = next((one for one in refused.problems if one.startswith("unknown field ")), "")
    if not unknown:
        return ""
    names = unknown.removeprefix("unknown field ").split(".")[:-1]
    path = ".".join([found["kind"].lower(), *(name.partition("[")[0] for name in names)])
    return f"; `kubectl explain {path}` lists the fields"


def _joined(reasons: Mapping[str, None]) -> str:
    shown = list(reasons)[:_MOST_REASONS]
    more = [f"and {len(reasons) - len(shown)} more"] if len(reasons) > len(shown) else []
    return "; ".join([*shown, *more])
