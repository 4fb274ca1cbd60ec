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
from shared.readapi.explanation import Checked

MOST_OBJECTS: Final = 64
"""Of a manifest, because each costs a request; a List of Pods may have thousands, all alike."""
MOST_TEMPLATES: Final = 16
"""Different pod templates; a job has one for each role."""
_QUERY: Final = {"dryRun": "All", "fieldValidation": "Strict", "fieldManager": "shuntyard-what-if"}
_OF_THE_SERVER: Final = (
    *("managedFields", "uid", "creationTimestamp", "resourceVersion", "generation", "selfLink"),
)
_MOST_REASONS: Final = 3
_NAMESPACE: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_BUILT_IN: Final = frozenset({"v1", "apps/v1", "batch/v1"})


@dataclass(frozen=True)
class Result:
    """A checked manifest.

    Attributes:
        documents: Its objects, with the API server's defaults where it has checked them.
        checked: Whether it has checked all, and if not, why.
    """

    documents: list[Any]
    checked: Checked


def check(server: AnyApiServer, documents: Sequence[Any], namespace: str) -> Result:
    """Return the objects of a manifest as the API server would store them; nothing is written.

    Args:
        server: With the user's credentials.
        documents: The objects.
        namespace: Of objects that state none.

    Raises:
        UnansweredError: It would refuse an object (the message names each field), cannot be
            reached, or does not accept the credentials.
    """
    run = _Run(Served(server), namespace, _made(documents))
    checked = [run.check(one) for one in documents]
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
    """State of one dry run.

    Attributes:
        made: Kind (singular and plural) and name of the objects of the manifest itself.
        reasons: Why something was not checked, each once.
        refused: Lines about what would be refused.
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
    _pods_by_template: dict[bytes, Document | None] = field(default_factory=dict)
    _lasting: dict[tuple[str, str], Unchecked] = field(default_factory=dict)

    def check(self, document: Any) -> Any:
        """Return an object with the API server's defaults; unchanged if it does not check it."""
        if not _is_object(document):
            return document  # the extender reports the field
        self._objects += 1
        if self._objects > MOST_OBJECTS:
            self.reasons[f"only the first {MOST_OBJECTS} objects of a manifest are checked"] = None
            self.pods_unchecked += 1
            return document
        return self._filled(document)

    def _filled(self, document: Document) -> Document:
        what = self._named(document)
        verdict = self._judged(document)
        if isinstance(verdict, Exists):
            verdict = self._under_another_name(document)
        match self._weighed(verdict):
            case Accepted(stored):
                document = stored
            case Refused() as refused:
                self._refuse(what, refused, _explained(document, refused))
                return document
            case Unchecked(reason):
                self.reasons[reason] = None
        if document["kind"] == "Pod":
            self._count_pod(checked=isinstance(verdict, Accepted))
        for template in templates.find(document):
            self._template(template, document, what)
        return document

    def _template(self, template: Template, owner: Document, what: str) -> None:
        key = self._place(owner).encode() + b"/" + template.key
        if key not in self._pods_by_template:
            self._pods_by_template[key] = self._pod(template, owner, what)
        pod = self._pods_by_template[key]
        self._count_pod(checked=pod is not None)
        if pod is not None:
            template.take_over(pod)

    def _count_pod(self, *, checked: bool) -> None:
        self.pods_checked += checked
        self.pods_unchecked += not checked

    def _pod(self, template: Template, owner: Document, what: str) -> Document | None:
        """Return the pod of a template with the API server's defaults; None without a check."""
        if len(self._pods_by_template) >= MOST_TEMPLATES:
            self.reasons[f"only {MOST_TEMPLATES} different pod templates are checked"] = None
            return None
        pod = template.pod(_name(owner), self._place(owner))
        match self._weighed(self._judged(pod)):
            case Accepted(stored):
                return stored
            case Refused() as refused if refused.is_open and owner["apiVersion"] not in _BUILT_IN:
                problems = ", ".join(refused.problems)
                self.reasons[
                    f"the pods of {what} lack fields that its operator may add: {problems}"
                ] = None
            case Refused() as refused:
                self._refuse(f"the pods of {what}", refused, "")
            case Unchecked(reason):
                self.reasons[reason] = None
        return None

    def _judged(self, document: Document) -> Verdict:
        resource = self.served.find(document["apiVersion"], document["kind"])
        if isinstance(resource, Unchecked):
            return resource
        place = self._place(document) if resource.namespaced else ""
        if place and not _NAMESPACE.fullmatch(place):
            return Unchecked(f"{place[:63]!r} is not a valid name of a namespace")
        lasting = self._lasting.get((resource.name, place))
        if lasting is not None:
            return lasting
        body = msgspec.json.encode(document)
        answer = self.served.server.ask(resource.collection(place), _QUERY, body)
        where = f" in the namespace {place}" if place else ""
        verdict = verdicts.parse(answer, resource.name, where)
        if isinstance(verdict, Unchecked) and verdict.lasting:
            self._lasting[resource.name, place] = verdict
        return _cleaned(verdict, document)

    def _under_another_name(self, document: Document) -> Verdict:
        """Check an object whose name is taken with a generated name instead."""
        name = _name(document)
        meta = {key: value for key, value in document["metadata"].items() if key != "name"}
        other = {**document, "metadata": {**meta, "generateName": f"{name[:40]}-"}}
        verdict = self._judged(other)
        if not isinstance(verdict, Accepted):
            return verdict
        generated = verdict.document["metadata"].get("name") or name
        text = msgspec.json.encode(verdict.document).decode().replace(generated, name)
        renamed = msgspec.json.decode(text)
        renamed["metadata"].pop("generateName", None)
        return Accepted(renamed)

    def _weighed(self, verdict: Verdict) -> Accepted | Refused | Unchecked:
        """Return a verdict without refusals for objects that the manifest itself creates."""
        if isinstance(verdict, Exists):
            return Unchecked("an object of the same name exists")
        missing = verdict.missing if isinstance(verdict, Refused) else None
        if missing is None:
            return verdict
        if missing in self.made:
            return Unchecked(f"the manifest itself creates {missing[0]} {missing[1]}")
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

    def _named(self, document: Document) -> str:
        resource = self.served.find(document["apiVersion"], document["kind"])
        is_apart = isinstance(resource, Resource) and not resource.namespaced
        place = "" if is_apart else f"{self._place(document)}/"
        return f"{document['kind']} {place}{_name(document)}"

    def _place(self, document: Document) -> str:
        stated = document["metadata"].get("namespace")
        return stated if isinstance(stated, str) and stated else self.namespace


def _is_object(document: Any) -> bool:
    if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
        return False
    return all(isinstance(document.get(key), str) for key in ("apiVersion", "kind"))


def _made(documents: Sequence[Any]) -> frozenset[tuple[str, str]]:
    """Return kinds and names of a manifest's objects, in the form of the API server's messages."""
    kinds = [(each["kind"].lower(), _name(each)) for each in documents if _is_object(each)]
    plural = [(f"{kind}{'es' if kind.endswith('s') else 's'}", name) for kind, name in kinds]
    return frozenset((*kinds, *plural))


def _name(document: Mapping[str, Any]) -> str:
    meta = document["metadata"]
    return str(meta.get("name") or meta.get("generateName") or "what-if")


def _cleaned(verdict: Verdict, sent: Document) -> Verdict:
    """Return an accepted object without the fields that only a stored one has."""
    if not isinstance(verdict, Accepted):
        return verdict
    document = dict(verdict.document)
    meta = document.get("metadata") or {}
    document["metadata"] = {k: v for k, v in meta.items() if k not in _OF_THE_SERVER}
    document.pop("status", None)
    return Accepted({"apiVersion": sent["apiVersion"], "kind": sent["kind"], **document})


def _explained(document: Document, refused: Refused) -> str:
    """Return a hint where the fields of a kind are listed, if one of them is unknown."""
    unknown = next((one for one in refused.problems if one.startswith("unknown field ")), "")
    if not unknown:
        return ""
    names = unknown.removeprefix("unknown field ").split(".")[:-1]
    path = ".".join([document["kind"].lower(), *(name.partition("[")[0] for name in names)])
    return f"; `kubectl explain {path}` lists the fields"


def _joined(reasons: Mapping[str, None]) -> str:
    shown = list(reasons)[:_MOST_REASONS]
    more = [f"and {len(reasons) - len(shown)} more"] if len(reasons) > len(shown) else []
    return "; ".join([*shown, *more])
