"""torchrun on one machine: two ranks of torch_ddp.py."""

from pathlib import Path

from torch.distributed.run import main

main(["--standalone", "--nproc-per-node", "2", str(Path(__file__).with_name("torch_ddp.py"))])
