"""JAX with momentum and a key of its own, saved by Orbax; ASYNC_SAVE=1: in the background."""

import os

import jax
import jax.numpy as jnp
from steps_log import note

from shuntyard_trainer import MetricsWriter
from shuntyard_trainer.orbax import OrbaxState

TOTAL = int(os.environ["TOTAL_STEPS"])


def loss_of(weights, data):
    return jnp.mean((data @ weights - data.sum(axis=1, keepdims=True)) ** 2)


@jax.jit
def update(state):
    key, now = jax.random.split(jax.random.wrap_key_data(state["key"]))
    data = jax.random.normal(now, (32, 8))
    loss, gradient = jax.value_and_grad(loss_of)(state["weights"], data)
    momentum = 0.9 * state["momentum"] + gradient
    weights = state["weights"] - 0.01 * momentum
    return {"weights": weights, "momentum": momentum, "key": jax.random.key_data(key)}, loss


training = OrbaxState(
    {
        "weights": jnp.zeros((8, 1)),
        "momentum": jnp.zeros((8, 1)),
        "key": jax.random.key_data(jax.random.key(1)),
    },
    asynchronous=os.environ.get("ASYNC_SAVE") == "1",
    poll_seconds=0.01,
)
metrics = MetricsWriter.from_environment()
for step in training.checkpoints.steps(TOTAL):
    training.state, loss = update(training.state)
    note(step)
    metrics.write(step=step + 1, loss=float(loss), total_steps=TOTAL)
