"""The frameworks that are tried, and what is known of each."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """A training of a framework.

    Attributes:
        program: One of ``programs``.
        packages: What it needs; skipped without.
        module: The module of the trainer library that it uses.
        world_size: Processes.
        variables: Of its environment.
        differs: Why its losses differ after a move; empty if they are equal to the bit.
    """

    program: str
    packages: tuple[str, ...]
    module: str
    world_size: int = 1
    variables: dict[str, str] = field(default_factory=dict)
    differs: str = ""

    @property
    def on_gpu(self) -> bool:
        """True if it trains on a GPU."""
        return self.variables.get("TRAIN_DEVICE") == "cuda"


GPU = {
    "TRAIN_DEVICE": "cuda",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",  # one of the two that cuBLAS calls deterministic
    "XLA_FLAGS": "--xla_gpu_deterministic_ops=true",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # other cases run on the same GPU
}
_AGAIN = "in the epoch of the resume `fit` takes its batches from the beginning of the data again"
_ACCELERATE = ("accelerate", "torchdata", "transformers")
CASES = {
    "a plain PyTorch loop": Case("torch_mnist", ("torch", "torchdata"), "torch_loop"),
    "two ranks of DistributedDataParallel": Case(
        "torch_ddp", ("torch", "torchdata"), "torch_loop", 2
    ),
    "two ranks of FSDP2, saved with DCP": Case("torch_fsdp", ("torch",), "torch_dcp", 2),
    "two ranks of FSDP2, saved with DCP in the background": Case(
        "torch_fsdp", ("torch",), "torch_dcp", 2, {"ASYNC_SAVE": "1"}
    ),
    "Accelerate": Case("accelerate_train", _ACCELERATE, "accelerate"),
    "two ranks of Accelerate": Case("accelerate_train", _ACCELERATE, "accelerate", 2),
    "two ranks of DeepSpeed with ZeRO": Case(
        "deepspeed_train", ("deepspeed", "torchdata"), "deepspeed", 2
    ),
    "Lightning": Case("lightning_fit", ("lightning", "torchdata"), "lightning"),
    "two ranks of Lightning": Case("lightning_fit", ("lightning", "torchdata"), "lightning", 2),
    "Keras on torch": Case(
        "keras_fit", ("keras", "torch"), "keras", 1, {"KERAS_BACKEND": "torch"}, _AGAIN
    ),
    "Keras on JAX": Case(
        "keras_fit", ("keras", "jax"), "keras", 1, {"KERAS_BACKEND": "jax"}, _AGAIN
    ),
    "Hugging Face Trainer": Case(
        "huggingface_train", ("transformers", "accelerate"), "huggingface"
    ),
    "Hugging Face Trainer that saves by itself, too": Case(
        "huggingface_train",
        ("transformers", "accelerate"),
        "huggingface",
        1,
        {"SAVE_STRATEGY": "steps"},
    ),
    "Hugging Face Trainer with its just-in-time checkpoint": Case(
        "huggingface_train",
        ("transformers", "accelerate"),
        "huggingface",
        1,
        {"JIT_CHECKPOINT": "1"},
    ),
    "two ranks of Hugging Face Trainer": Case(
        "huggingface_train", ("transformers",), "huggingface", 2
    ),
    "torchtitan": Case("torchtitan_train", ("torchtitan",), "torchtitan"),
    "two ranks of torchtitan, saved with DCP in the background": Case(
        "torchtitan_train",
        ("torchtitan",),
        "torchtitan",
        2,
        {"ASYNC_SAVE": "1", "SAVE_EVERY": "5"},
    ),
    "JAX, saved by Orbax": Case("orbax_train", ("jax", "orbax"), "orbax"),
    "JAX, saved by Orbax in the background": Case(
        "orbax_train", ("jax", "orbax"), "orbax", 1, {"ASYNC_SAVE": "1"}
    ),
    "a plain PyTorch loop on a GPU": Case(
        "torch_mnist", ("torch", "torchdata"), "torch_loop", variables=GPU
    ),
    "mixed precision, with workers that load the data, on a GPU": Case(
        "torch_mixed", ("torch", "torchdata"), "torch_loop", variables=GPU
    ),
    "FSDP2 in one process on a GPU, saved with DCP": Case(
        "torch_fsdp", ("torch",), "torch_dcp", variables=GPU
    ),
    "FSDP2 in one process on a GPU, saved with DCP in the background": Case(
        "torch_fsdp", ("torch",), "torch_dcp", variables={**GPU, "ASYNC_SAVE": "1"}
    ),
    "Accelerate on a GPU": Case("accelerate_train", _ACCELERATE, "accelerate", variables=GPU),
    "Lightning on a GPU": Case(
        "lightning_fit", ("lightning", "torchdata"), "lightning", variables=GPU
    ),
    "Hugging Face Trainer on a GPU": Case(
        "huggingface_train", ("transformers", "accelerate"), "huggingface", variables=GPU
    ),
    "JAX on a GPU, saved by Orbax": Case("orbax_train", ("jax", "orbax"), "orbax", variables=GPU),
    "JAX on a GPU, saved by Orbax in the background": Case(
        "orbax_train", ("jax", "orbax"), "orbax", variables={**GPU, "ASYNC_SAVE": "1"}
    ),
}
