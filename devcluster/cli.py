"""``shuntyard-devcluster``: up, down, status, stop, restart."""

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Final

from devcluster import operator_catalog, operators
from devcluster.cluster import Cluster
from devcluster.options import (
    ClusterOptions,
    KwokNodes,
    ProcessNodes,
    RealNodes,
    Schedulers,
    Taint,
    parse_node_counts,
)
from devcluster.programs import assets
from devcluster.programs.versions import DEFAULT_KUBERNETES, REAL_NODE_PROGRAMS
from devcluster.real_nodes import conditions, images
from devcluster.rights import calls, granted
from devcluster.shuntyard import read_api_service
from shared.errors import InputError, ShuntyardError

_DIRECTORY: Final = Path(".devcluster")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code: 0, 1 for a failure, 2 for wrong use."""
    arguments = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, _terminate)
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        return command(arguments)
    except InputError as error:
        print(f"shuntyard-devcluster: {error}", file=sys.stderr)
        return 2
    except (ShuntyardError, TimeoutError) as error:
        print(f"shuntyard-devcluster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("shuntyard-devcluster: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT


def _terminate(_number: int, _frame: FrameType | None) -> None:
    """Leave ``up`` through its own clean-up."""
    raise SystemExit(128 + signal.SIGTERM)


def _up(arguments: argparse.Namespace) -> int:
    begun = time.monotonic()
    cluster = Cluster.up(arguments.dir, _options(arguments), _say)
    _say(f"ready in {time.monotonic() - begun:.1f} s")
    print(f"\n  export KUBECONFIG={cluster.kubeconfig}")
    if cluster.runs(read_api_service.COMPONENT):
        print("  shuntyard queue    # through the API server's service proxy")
    print(f"  shuntyard-devcluster down --dir {arguments.dir}")
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


def _options(arguments: argparse.Namespace) -> ClusterOptions:
    counts = parse_node_counts(arguments.nodes)
    kwok = process = real = None
    if "kwok" in counts:
        kwok = KwokNodes(
            count=counts["kwok"],
            pods=arguments.node_pods,
            labels=_pairs("node-label", arguments.node_label),
            extended=_pairs("node-resource", arguments.node_resource),
            taints=tuple(Taint.parse(text) for text in arguments.node_taint),
            **_given(arguments, cpu="node_cpu", memory="node_memory"),
        )
    if "process" in counts:
        sizes = _given(arguments, cpu="process_cpu", memory="process_memory")
        process = ProcessNodes(counts["process"], **sizes)
    if "real" in counts:
        real = RealNodes(counts["real"], **_given(arguments, cpu="real_cpu", memory="real_memory"))
    return ClusterOptions(
        kubernetes=arguments.kubernetes,
        kwok=kwok,
        process=process,
        real=real,
        schedulers=Schedulers.BOTH if arguments.agents else Schedulers(arguments.scheduler),
        replicas=arguments.replicas,
        agents=arguments.agents,
    )


def _given(arguments: argparse.Namespace, **names: str) -> dict[str, Any]:
    values = {key: getattr(arguments, name) for key, name in names.items()}
    return {key: value for key, value in values.items() if value is not None}


def _pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for key, equals, value in pairs:
        if not key or not equals:
            raise InputError(f"--{option}", f"{key}{equals}{value}", "of the form KEY=VALUE")
    return {key: value for key, _, value in pairs}


def _install_real_nodes(arguments: argparse.Namespace) -> int:
    """Prepare for ``up --nodes real:N`` what takes long: packages, kubelet, images."""
    missing = conditions.missing()
    if missing:
        conditions.install(missing, _say)
    conditions.require(_say)
    assets.ensure(frozenset(REAL_NODE_PROGRAMS), kubernetes=arguments.kubernetes, report=_say)
    images.ensure_layers(_say)
    _say("real nodes can be started: shuntyard-devcluster up --nodes real:2")
    return 0


def _down(arguments: argparse.Namespace) -> int:
    begun = time.monotonic()
    Cluster(arguments.dir, _say).down()
    _say(f"down in {time.monotonic() - begun:.1f} s; logs are in {arguments.dir / 'logs'}")
    return 0


def _status(arguments: argparse.Namespace) -> int:
    cluster = Cluster.attach(arguments.dir)
    state = cluster.state()
    components = {
        name: cluster.pid(name) if cluster.runs(name) else None for name in state.components
    }
    if arguments.output == "json":
        print(
            json.dumps(
                {
                    "directory": str(cluster.directory),
                    "server": state.server,
                    "kubeconfig": str(cluster.kubeconfig),
                    "kubernetes": state.kubernetes,
                    "complete": state.complete,
                    "components": {
                        name: {
                            "pid": pid,
                            "runs": pid is not None,
                            "log": state.components[name].log,
                        }
                        for name, pid in components.items()
                    },
                },
                indent=2,
            )
        )
        return 0
    print(f"Kubernetes {state.kubernetes} at {state.server}, kubeconfig {cluster.kubeconfig}")
    for name, pid in components.items():
        print(f"  {name:<24} {'not running' if pid is None else f'pid {pid}'}")
    return 0


def _stop(arguments: argparse.Namespace) -> int:
    Cluster.attach(arguments.dir, _say).stop(arguments.component)
    return 0


def _restart(arguments: argparse.Namespace) -> int:
    Cluster.attach(arguments.dir, _say).restart(arguments.component)
    return 0


def _operator(arguments: argparse.Namespace) -> int:
    operator = operator_catalog.OPERATORS[arguments.operator]
    with operators.running(Cluster.attach(arguments.dir, _say), operator, _say):
        _say(f"{operator.name} {operator.version} runs; Ctrl-C ends it")
        signal.pause()
    return 0


def _rights(arguments: argparse.Namespace) -> int:
    recorded = calls.kept(arguments.calls)
    if not recorded:
        raise InputError("DIR", str(arguments.calls), "a directory with recorded calls")
    verdict = granted.compare(recorded, granted.shipped())
    print(*granted.report(verdict), sep="\n")
    return 0 if verdict.exact else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="shuntyard-devcluster", description="A real control plane on this machine."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _up_options(_command(commands, "up", _up, "start a cluster, or its components that have ended"))
    _command(commands, "down", _down, "end the cluster and remove its files except the logs")
    status = _command(commands, "status", _status, "show which components run")
    status.add_argument("-o", "--output", choices=("text", "json"), default="text")
    for name, function, text in (
        ("stop", _stop, "end one component"),
        ("restart", _restart, "end one component and start it again"),
    ):
        _command(commands, name, function, text).add_argument("component")
    text = "run an operator of another project, built from its module, until interrupted"
    run = _command(commands, "operator", _operator, text)
    run.add_argument("operator", choices=sorted(operator_catalog.OPERATORS))
    text = "compare recorded API calls of clusters with the rights that deploy/base grants"
    rights = commands.add_parser("rights", help=text, description=f"{text[0].upper()}{text[1:]}.")
    rights.add_argument(
        "calls", type=Path, metavar="DIR", help=f"directory that {calls.VARIABLE} named"
    )
    rights.set_defaults(command=_rights)
    text = "install the Debian packages of real nodes, build the kubelet and the images"
    install = commands.add_parser("install-real-nodes", help=text, description=f"{text}.")
    install.add_argument("--kubernetes", default=DEFAULT_KUBERNETES, metavar="VERSION")
    install.set_defaults(command=_install_real_nodes)
    return parser


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    function: Callable[[argparse.Namespace], int],
    text: str,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    parser.add_argument(
        "--dir",
        type=Path,
        default=_DIRECTORY,
        help="the cluster's directory (default: %(default)s)",
    )
    parser.set_defaults(command=function)
    return parser


def _up_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--nodes", default="", metavar="kwok:N,process:N,real:N", help="kinds and numbers of nodes")
    add("--scheduler", choices=[kind.value for kind in Schedulers], default="none")
    add(
        "--replicas",
        type=int,
        default=1,
        metavar="N",
        help="replicas of the extender; more than 1 needs root",
    )
    add(
        "--agents",
        action="store_true",
        help="run an agent on every process node, with all schedulers",
    )
    add("--kubernetes", default=DEFAULT_KUBERNETES, metavar="VERSION", help="default: %(default)s")
    add("--node-cpu", metavar="QUANTITY", help="of a kwok node (default: 16)")
    add("--node-memory", metavar="QUANTITY", help="of a kwok node (default: 64Gi)")
    add("--node-pods", type=int, default=110, metavar="N", help="of a kwok node (default: 110)")
    add(
        "--node-resource",
        action="append",
        default=[],
        metavar="NAME=QUANTITY",
        help="extended resource of a kwok node",
    )
    add("--node-label", action="append", default=[], metavar="KEY=VALUE")
    add("--node-taint", action="append", default=[], metavar="KEY=VALUE:EFFECT")
    add("--process-cpu", metavar="QUANTITY", help="allocatable of a process node (default: 8)")
    add(
        "--process-memory", metavar="QUANTITY", help="allocatable of a process node (default: 16Gi)"
    )
    add("--real-cpu", metavar="QUANTITY", help="allocatable of a real node (default: 1)")
    add("--real-memory", metavar="QUANTITY", help="allocatable of a real node (default: 4Gi)")
