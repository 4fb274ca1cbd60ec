"""On a real GPU of NVIDIA: `pytest -m gpu tests/gpu`; skipped where there is none.

The reader of GPUs beside ``nvidia-smi``, the agent's own process beside a training on the GPU, and
checkpoints of such trainings. More trainings: the cases "on a GPU" of ``tests/frameworks``.
"""
