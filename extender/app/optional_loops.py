"""The loops that only some settings need: the EndpointSlice, the authority, the signing keys."""

from extender.app.context import Context, signing_keys
from extender.app.parts import Loop
from extender.settings.extender import ExtenderSettings
from extender.writers.authorities import AuthorityLoop, config_maps
from extender.writers.decision_log.recorder import Recorder
from extender.writers.endpoint import EndpointAddress, EndpointLoop
from extender.writers.leader_writer import LeaderWriter
from extender.writers.signing.signing_keys import SigningLoop
from shared.kube import endpoints, paths


def optional_loops(
    settings: ExtenderSettings,
    context: Context,
    writer: LeaderWriter,
    recorder: Recorder,
    *,
    identity: str,
) -> list[Loop]:
    """Return the loops that the settings need.

    Args:
        settings: All settings.
        context: Services that every part uses.
        writer: For API writes.
        recorder: The writer of the store.
        identity: Name of this replica's pod.
    """
    loops = list[Loop]()
    section, certificates = settings.endpoint, settings.certificates
    if section.service is not None and section.address is not None:
        pod = (section.namespace, identity)
        port = settings.scheduler.listen_port
        loops.append(
            EndpointLoop(
                client=writer,
                path=paths.namespaced(endpoints.SLICES, section.namespace, section.service),
                place=EndpointAddress(section.address, port, section.port_name, pod),
                clock=context.clock,
                heartbeat=context.beat("endpoint"),
            )
        )
    if certificates.authority is not None:
        namespaces = certificates.authority_namespaces
        loops.append(
            AuthorityLoop(
                client=writer,
                file=certificates.authority,
                config_maps=config_maps(namespaces, certificates.authority_config_map),
                clock=context.clock,
                metrics=context.metrics,
                heartbeat=context.beat("authority"),
            )
        )
    if settings.signing.secret is not None:
        keys = signing_keys(settings.signing, settings.signing.secret, context)
        loops.append(SigningLoop(keys, writer, recorder, context.beat("signing")))
    return loops
