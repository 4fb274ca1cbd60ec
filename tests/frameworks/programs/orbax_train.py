"""MNIST (made up) with stax and momentum, saved by Orbax; ASYNC_SAVE=1: in the background.

Follows: https://github.com/jax-ml/jax/blob/main/examples/mnist_classifier.py
"""

import os

import jax
import jax.numpy as jnp
import numpy as np
from jax.example_libraries import optimizers, stax
from steps_log import note

from shuntyard_trainer import MetricsWriter  # shuntyard
from shuntyard_trainer.orbax import OrbaxState  # shuntyard

TOTAL = int(os.environ["TOTAL_STEPS"])
BATCH, BATCHES = 8, 7
random = np.random.RandomState(0)
labels = np.eye(10, dtype="float32")[np.arange(BATCH * BATCHES) % 10]
images = (labels @ random.randn(10, 36) + 0.1 * random.randn(len(labels), 36)).astype("float32")

init_params, predict = stax.serial(
    *(stax.Dense(16), stax.Relu, stax.Dropout(0.9)),
    *(stax.Dense(16), stax.Relu, stax.Dense(10), stax.LogSoftmax),
)
opt_init, opt_update, get_params = optimizers.momentum(0.01, mass=0.9)


def loss(params, batch, key):
    inputs, targets = batch
    return -jnp.mean(jnp.sum(predict(params, inputs, rng=key) * targets, axis=1))


@jax.jit
def update(step, opt_state, batch, key):
    value, gradient = jax.value_and_grad(loss)(get_params(opt_state), batch, key)
    return opt_update(step, gradient, opt_state), value


def batch_at(step):  # the example draws the order of an epoch from a generator  # shuntyard
    epoch, place = divmod(step, BATCHES)  # shuntyard
    order = np.random.RandomState(epoch).permutation(len(images))  # shuntyard
    rows = order[place * BATCH : (place + 1) * BATCH]
    return images[rows], labels[rows]


_, first_params = init_params(jax.random.key(0), (-1, 36))
leaves, shape = jax.tree.flatten(opt_init(first_params))  # shuntyard
training = OrbaxState(  # shuntyard
    {"optimizer": leaves, "key": jax.random.key_data(jax.random.key(1))},  # shuntyard
    asynchronous=os.environ.get("ASYNC_SAVE") == "1",  # shuntyard
    poll_seconds=0.01,  # shuntyard
)  # shuntyard
metrics = MetricsWriter.from_environment()  # shuntyard
for step in training.checkpoints.steps(TOTAL):  # shuntyard
    key, now = jax.random.split(jax.random.wrap_key_data(training.state["key"]))  # shuntyard
    opt_state = jax.tree.unflatten(shape, training.state["optimizer"])  # shuntyard
    opt_state, value = update(step, opt_state, batch_at(step), now)
    state = {"optimizer": jax.tree.leaves(opt_state), "key": jax.random.key_data(key)}  # shuntyard
    training.state = state  # shuntyard
    note(step)
    metrics.write(step=step + 1, loss=float(value), total_steps=TOTAL)  # shuntyard
