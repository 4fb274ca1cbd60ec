"""Keras: ten batches an epoch, on the backend of KERAS_BACKEND."""

import os

import keras
import numpy as np
from steps_log import note

from shuntyard_trainer.keras import ShuntyardCallback

TOTAL = int(os.environ["TOTAL_STEPS"])
BATCHES = 10


class Note(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        note(batch)


random = np.random.default_rng(1)
x = random.normal(size=(8 * BATCHES, 4)).astype("float32")
y = x.sum(axis=1, keepdims=True)
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
shuntyard = ShuntyardCallback(poll_seconds=0.01, log_every_batches=1)
history = model.fit(
    x,
    y,
    batch_size=8,
    epochs=TOTAL // BATCHES,
    validation_data=(x, y),
    verbose=0,
    callbacks=[shuntyard, Note()],
)
print(f"after fit, iterations {int(model.optimizer.iterations)}, epochs {history.epoch}")
