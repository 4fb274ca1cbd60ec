"""A convnet on MNIST (made up): ten batches an epoch, on the backend of KERAS_BACKEND.

Follows: https://github.com/keras-team/keras-io/blob/master/examples/vision/mnist_convnet.py
"""

import os

import keras
import numpy as np
from keras import layers
from steps_log import note

from shuntyard_trainer.keras import ShuntyardCallback  # shuntyard

TOTAL = int(os.environ["TOTAL_STEPS"])
BATCHES = 10
num_classes, input_shape = 10, (12, 12, 1)


class Note(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        note(batch)


random = np.random.default_rng(1)
y_train = np.arange(89) % num_classes
x_train = random.random((num_classes, *input_shape))[y_train]
x_train = (x_train + 0.1 * random.random(x_train.shape)).astype("float32")
y_train = keras.utils.to_categorical(y_train, num_classes)
keras.utils.set_random_seed(1)
model = keras.Sequential(
    [
        keras.Input(shape=input_shape),
        layers.Conv2D(4, kernel_size=(3, 3), activation="relu"),
        layers.MaxPooling2D(pool_size=(2, 2)),
        layers.Conv2D(8, kernel_size=(3, 3), activation="relu"),
        layers.Flatten(),
        layers.Dropout(0.5),
        layers.Dense(num_classes, activation="softmax"),
    ]
)
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
shuntyard = ShuntyardCallback(poll_seconds=0.01, log_every_batches=1)  # shuntyard
history = model.fit(
    x_train,
    y_train,
    batch_size=8,
    epochs=TOTAL // BATCHES,
    validation_split=0.1,
    verbose=0,
    callbacks=[shuntyard, Note()],  # shuntyard
)
print(f"after fit, iterations {int(model.optimizer.iterations)}, epochs {history.epoch}")
