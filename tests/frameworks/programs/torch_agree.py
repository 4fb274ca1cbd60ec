"""Two ranks agree and end with 143; the first prints its threads before and after exit calls."""

import atexit
import json
import os
from pathlib import Path

from torch import distributed

from shuntyard_trainer import torch_ranks


def threads():
    """Return the names of the threads of this process."""
    tasks = Path("/proc/self/task").glob("*/comm")
    return sorted(task.read_text(encoding="utf-8").strip() for task in tasks)


rank = int(os.environ["RANK"])
store = f"file://{os.environ['STORE']}"
distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=2)
agree = torch_ranks.agree()
agree(1)
if os.environ["DESTROYS"] == "1":
    distributed.destroy_process_group()
if rank == 0:
    print(json.dumps(threads()))
    atexit._run_exitfuncs()
    print(json.dumps(threads()))
raise SystemExit(143)
