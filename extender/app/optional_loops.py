"""Loops that only some settings need: EndpointSlice, authority, signing keys, the gate."""

from extender.app.context import Context, signing_keys
from extender.app.parts import Loop
from extender.controllers.gating import GatingController
from extender.controllers.queue import QueueController
from extender.settings.extender import ExtenderSettings
from extender.settings.waiting_jobs import GatingSection
from extender.writers.authorities import AuthorityLoop, config_maps
from extender.writers.endpoint import EndpointAddress, EndpointLoop
from extender.writers.gate_config import GateConfig
from extender.writers.leader_writer import LeaderWriter
from extender.writers.signing.signing_keys import SigningLoop
from shared.kube import endpoints, paths


def optional_loops(
    settings: ExtenderSettings,
    context: Context,
    writer: LeaderWriter,
    queue: QueueController,
    *,
    identity: str,
) -> list[Loop]:
    """Return the loops that the settings need.

    Args:
        settings: All settings.
        context: Services that every part uses.
        writer: For API writes.
        queue: The controller of the queue.
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
        loops.append(SigningLoop(keys, writer, queue.context.recorder, context.beat("signing")))
    if settings.gating.config_map is not None:
        loops.append(_gating(settings.gating.config_map, settings.gating, context, writer, queue))
    return loops


def _gating(
    config_map: str,
    section: GatingSection,
    context: Context,
    writer: LeaderWriter,
    queue: QueueController,
) -> GatingController:
    path = paths.namespaced(paths.CONFIG_MAPS, section.namespace, config_map)
    return GatingController(
        context=queue.context,
        heartbeat=context.beat("gating"),
        has_room=queue.has_room_for_all,
        config=GateConfig(writer, path, context.clock),
        interval_seconds=section.interval_seconds,
    )
