"""The losses of a job that one worker trains and to which nothing happens."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.elastic import files
from bench.elastic.manifests import EXAMPLES, environment
from bench.elastic.scenario import ElasticJob
from devcluster.ports import free_ports

MOST_SECONDS = 120.0


def losses(elastic: ElasticJob) -> tuple[float, ...]:
    """Train it here, without a pace, and return the loss of each step.

    Raises:
        subprocess.SubprocessError: The program failed.
    """
    with tempfile.TemporaryDirectory(prefix="shuntyard-alone-") as directory:
        metrics = Path(directory) / "metrics/alone.jsonl"
        said = {
            **os.environ,
            **environment(elastic),
            "PORT": str(free_ports(1)[0]),
            "SHUNTYARD_METRICS_FILE": str(metrics),
            "OPENBLAS_NUM_THREADS": "1",
        }
        said |= dict.fromkeys(("COMPUTE_SECONDS", "FIXED_SECONDS", "EXCHANGE_SECONDS"), "0")
        program = [sys.executable, str(EXAMPLES / "training/elastic.py")]
        subprocess.run(  # noqa: S603 - our own program
            program, env=said, check=True, timeout=MOST_SECONDS, stdout=subprocess.DEVNULL
        )
        return tuple(step.loss for step in files.steps(Path(directory)))
