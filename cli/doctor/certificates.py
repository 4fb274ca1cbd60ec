"""Are the certificates good for long enough, and do agents know who signed them?"""

import base64
import binascii
from collections.abc import Iterator
from typing import Final

from cli.amounts import duration
from cli.doctor import validity
from cli.doctor.findings import Finding, fault, ok, warning
from cli.doctor.reading import Object
from cli.doctor.site import AGENTS_NAMESPACE, Site, mounted
from shared.kube import paths

CHECK: Final = "certificates"
SECRETS: Final = "/api/v1/secrets"
_SECRET: Final = ("secret", "secretName")
"""A volume that is one, and where its name stands."""
SOON: Final = 0.2
"""Part of its life from which a certificate should have been renewed: it is at two thirds."""
_PAGE: Final = "docs/tls.md"


def check(site: Site) -> Iterator[Finding]:
    """Read what agents trust first, which more people may: then what listeners show."""
    settings, now = site.settings, site.reader.clock.now()
    if site.deployment is not None and not settings.of("agents", "certificate", ""):
        said = "the setting agents.certificate is empty: the agents' listener is closed"
        yield fault(CHECK, said, f"set it: {_PAGE}")
    place, known = _trusted(site)
    yield of_the_authority(place, known, now)
    kept_in = str(settings.of("certificates", "secret", "shuntyard-certificates"))
    name = next(mounted(site.deployment or {}, *_SECRET), kept_in)
    found = site.reader.get(paths.namespaced(SECRETS, site.namespace, name))
    yield from of_the_secret(f"Secret {site.namespace}/{name}", found, known, now)


def _trusted(site: Site) -> tuple[str, bytes]:
    """Return where agents read whom they trust, and what stands there.

    It is the ConfigMap, unless somebody has them mount a Secret of their namespace.
    """
    for name in mounted(site.daemon_set or {}, *_SECRET):
        found = site.reader.get(paths.namespaced(SECRETS, AGENTS_NAMESPACE, name))
        return f"Secret {AGENTS_NAMESPACE}/{name}", _text(found or {}, "ca.crt")
    name = str(site.settings.of("certificates", "authority_config_map", "shuntyard-ca"))
    found = site.reader.get(paths.namespaced(paths.CONFIG_MAPS, AGENTS_NAMESPACE, name))
    text = str(((found or {}).get("data") or {}).get("ca.crt", ""))
    return f"ConfigMap {AGENTS_NAMESPACE}/{name}", text.encode()


def of_the_authority(name: str, pem: bytes, now: float) -> Finding:
    """Judge what agents trust."""
    if not pem.strip():
        said = f"the {name} has no ca.crt: agents trust nobody, and are not heard"
        return fault(
            CHECK, said, f"turn certificates.managed on, or put your authority there: {_PAGE}"
        )
    return _of_a_chain(f"ca.crt of the {name}", pem, now)


def of_the_secret(name: str, secret: Object | None, known: bytes, now: float) -> Iterator[Finding]:
    """Judge what the listeners show, against what agents ``known`` to them trust."""
    if secret is None:
        said = f"there is no {name}"
        yield warning(CHECK, said, f"normal if the certificates are mounted otherwise: {_PAGE}")
        return
    leaf, authority = _text(secret, "tls.crt"), _text(secret, "ca.crt")
    if not leaf.strip():
        said = f"the {name} is empty"
        yield fault(CHECK, said, f"the extender fills it if certificates.managed is on: {_PAGE}")
        return
    yield _of_a_chain(f"tls.crt of the {name}", leaf, now)
    if authority.strip() and authority.strip() not in known and known.strip():
        said = f"the authority in the {name} is another one than agents trust"
        mend = f"the replicas write it within a minute, if they make it; else see {_PAGE}"
        yield fault(CHECK, said, mend)


def _of_a_chain(what: str, pem: bytes, now: float) -> Finding:
    try:
        found = validity.of_all(pem)
    except ValueError as error:
        return fault(CHECK, f"the {what} cannot be read: {error}", f"make it anew: {_PAGE}")
    if not found:
        return fault(CHECK, f"the {what} holds no certificate", f"make it anew: {_PAGE}")
    one = max(found, key=lambda each: each.not_after)  # while authorities change there are two
    if now > one.not_after:
        return fault(CHECK, f"the {what} ended {duration(now - one.not_after)} ago", f"see {_PAGE}")
    if now < one.not_before:
        said = f"the {what} begins in {duration(one.not_before - now)}: a clock is wrong"
        return fault(CHECK, said, "look at `clock`")
    left = one.not_after - now
    said = f"the {what} is good for {duration(left)}"
    if left < SOON * (one.not_after - one.not_before):
        return warning(CHECK, f"{said} only: it was not renewed in time", f"see {_PAGE}")
    return ok(CHECK, said)


def _text(secret: Object, key: str) -> bytes:
    try:
        return base64.b64decode((secret.get("data") or {}).get(key, ""))
    except binascii.Error:
        return b""
