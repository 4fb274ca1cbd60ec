"""Multiplies matrices on the GPU without a pause, as a training does, and holds memory there.

It prints ``ready`` once it holds the memory, and ends when its input ends.

Usage: ``python torch_matmul.py SHARE MEBIBYTES``; the share is not used.
"""

import os
import select
import sys

import torch

SIZE = 8192
held = torch.zeros(int(sys.argv[2]) * 2**20, dtype=torch.uint8, device="cuda")
matrix = torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16)
torch.cuda.synchronize()
print("ready", flush=True)
while not (select.select([sys.stdin], [], [], 0)[0] and not os.read(0, 1)):
    for _ in range(20):
        matrix @ matrix
    torch.cuda.synchronize()
