"""Lines that real programs have printed give the points they hold, and no others."""

import pytest

from shared.parsing.choosing import Detector, split_rank
from shared.parsing.detecting import candidates
from shared.parsing.huggingface import HuggingFace
from shared.parsing.keras import Keras
from shared.parsing.lightning import Lightning
from shared.parsing.megatron import Megatron
from shared.parsing.mnist import Mnist
from shared.parsing.pairs import Absl, DeepSpeed
from shared.parsing.printed import Printed
from shared.parsing.structured import JsonLines, Table
from tests.unit.parsing.reading import lines_of, read, values

BAR = "\x1b[37m" + "━" * 20 + "\x1b[0m"
BACK = "\b" * 76

MEGATRON = (
    " [2026-11-21 09:42:36] iteration      201/  250000 | consumed samples:       205824 | "
    "elapsed time per iteration (ms): 139113.4 | learning rate: 1.507E-05 | "
    "global batch size:  1024 | {loss}loss scale: 1.0 | grad norm: 0.811 | "
    "number of skipped iterations:   0 | number of nan iterations:   0 |\n"
)
STEP = (
    "[2023-07-24 12:25:17,424] [INFO] [logging.py:96:log_dist] [Rank 0] step=100, skipped=0, "
    "lr=[0.001], mom=[(0.9, 0.999)]\n"
    "[2023-07-24 12:25:17,425] [INFO] [timer.py:215:stop] epoch=0/micro_step=100/global_step=100, "
    "RunningAvgSamplesPerSec=5720.5, CurrSamplesPerSec=5801.2, MemAllocated=0.07GB\n"
)

CASES = {
    "Keras 3, verbose=1, into a file": (
        Keras,
        (
            f"Epoch 1/2\n\r\x1b[1m 2/90\x1b[0m {BAR} \x1b[1m9s\x1b[0m 109ms/step - accuracy: 0.5469"
            f" - loss: 1.3004{BACK}\r\x1b[1m90/90\x1b[0m {BAR} \x1b[1m3s\x1b[0m 33ms/step"
            " - accuracy: 0.5622 - loss: 0.7417 - val_accuracy: 0.6375 - val_loss: 0.6190\n"
        ),
        [
            ("batch_accuracy", 0.5469, 2 / 90),
            ("batch_loss", 1.3004, 2 / 90),
            ("accuracy", 0.5622, 1),
            ("loss", 0.7417, 1),
            ("val_accuracy", 0.6375, 1),
            ("val_loss", 0.6190, 1),
        ],
    ),
    "Keras 3, verbose=2": (
        Keras,
        (
            "Epoch 2/3\n90/90 - 3s - 33ms/step - accuracy: 0.5622 - loss: 4.2000e-04"
            " - val_accuracy: 0.6375 - val_loss: 0.6190\n"
        ),
        [
            ("accuracy", 0.5622, 2),
            ("loss", 0.00042, 2),
            ("val_accuracy", 0.6375, 2),
            ("val_loss", 0.619, 2),
        ],
    ),
    "Keras 2": (
        Keras,
        (
            "Epoch 1/10\n 100/1000 [==>...........................] - ETA: 3s - loss: 0.9\r"
            "1000/1000 [==============================] - 1s 1ms/step - loss: 0.3456"
            " - accuracy: 0.8710\n"
        ),
        [("batch_loss", 0.9, 0.1), ("loss", 0.3456, 1), ("accuracy", 0.8710, 1)],
    ),
    "Keras 2, verbose=2": (
        Keras,
        "Epoch 1/10\n1000/1000 - 1s - loss: 0.3456 - accuracy: 0.8710 - 1s/epoch - 1ms/step\n",
        [("loss", 0.3456, 1), ("accuracy", 0.8710, 1)],
    ),
    "Keras CSVLogger": (
        Table,
        (
            "epoch,accuracy,loss,val_accuracy,val_loss\n"
            "0,0.5302083492279053,1.0442837476730347,0.5874999761581421,0.7514035701751709\n"
        ),
        [
            ("accuracy", 0.5302083492279053, 0),
            ("loss", 1.0442837476730347, 0),
            ("val_accuracy", 0.5874999761581421, 0),
            ("val_loss", 0.7514035701751709, 0),
        ],
    ),
    "the PyTorch example mnist": (
        Mnist,
        (
            "Train Epoch: 1 [0/60000 (0%)]\tLoss: 2.300039\n"
            "\nTest set: Average loss: 0.0289, Accuracy: 9907/10000 (99%)\n\n"
        ),
        [("loss", 2.300039, 1), ("test_loss", 0.0289, 2), ("test_accuracy", 0.9907, 2)],
    ),
    "Lightning, the block that rich leaves": (
        Lightning,
        (
            "Epoch 1/1  ━━━━━━━━━━━━━━━━ 10/10 0:00:00 • 0:00:00 61.21it/s v_num: 0.000     \n"
            "                                                              train_loss: 2.285\n"
            "                                                              val_loss: 3.093  \n"
        ),
        [("train_loss", 2.285, 2), ("val_loss", 3.093, 2)],
    ),
    "Lightning, TQDMProgressBar": (
        Lightning,
        (
            "\rEpoch 1:  50%|█████     | 5/10 [00:00<00:00, 667.56it/s, v_num=1, train_loss=6.360, "
            "val_loss=5.490]\r"
        ),
        [("train_loss", 6.36, 1.5), ("val_loss", 5.49, 1.5)],
    ),
    "Lightning CSVLogger": (
        Table,
        "epoch,step,train_loss,val_loss\n0,9,3.6047306060791016,\n0,9,,4.9395246505737305\n",
        [("train_loss", 3.6047306060791016, 9), ("val_loss", 4.9395246505737305, 9)],
    ),
    "Hugging Face 5": (
        HuggingFace,
        (
            "{'loss': '9.528', 'grad_norm': '8.369', 'learning_rate': '4e-05', 'epoch': '0.5'}\n"
            "{'eval_loss': '5.156', 'eval_runtime': '0.0074', 'epoch': '1'}\n"
            "{'train_runtime': '0.0449', 'train_steps_per_second': '44', 'train_loss': '7.91', "
            "'epoch': '1'}\n"
        ),
        [
            ("loss", 9.528, 0.5),
            ("grad_norm", 8.369, 0.5),
            ("learning_rate", 4e-05, 0.5),
            ("eval_loss", 5.156, 1),
        ],
    ),
    "Hugging Face 4": (
        HuggingFace,
        "{'loss': 0.5, 'learning_rate': 2e-05, 'epoch': 1.0}\n",
        [("loss", 0.5, 1), ("learning_rate", 2e-05, 1)],
    ),
    "Hugging Face, a bar and a dict on one line": (
        HuggingFace,
        "\r 25%|██▌ | 5/20 [00:00<00:00, 389.81it/s]\x1b[A{'loss': '9.528', 'epoch': '0.5'}\n",
        [("loss", 9.528, 0.5)],
    ),
    "Megatron-LM": (
        Megatron,
        MEGATRON.format(loss="lm loss: 2.373574E+00 | "),
        [("learning rate", 1.507e-05, 201), ("lm loss", 2.373574, 201), ("grad norm", 0.811, 201)],
    ),
    "Megatron-LM, validation": (
        Megatron,
        "-" * 90 + "\n validation loss at iteration 14194 | lm loss value: 2.724416E+00 | "
        "lm loss PPL: 1.524752E+01 | \n" + "-" * 90 + "\n",
        [
            ("validation lm loss", 2.724416, 14194),
            ("validation lm loss PPL", 15.24752, 14194),
        ],
    ),
    "DeepSpeed's own lines hold no loss": (DeepSpeed, STEP, []),
    "DeepSpeed, with what the program prints": (
        DeepSpeed,
        STEP + "steps: 200 loss: 5.5508 lm loss: 5.5103 iter time (s): 0.936 samples/sec: 136.7\n",
        [
            ("loss", 5.5508, 200),
            ("lm loss", 5.5103, 200),
            ("iter time (s)", 0.936, 200),
            ("samples/sec", 136.7, 200),
        ],
    ),
    "DeepSpeed, a loss without a step": (
        DeepSpeed,
        STEP + "[2023-08-02 00:41:17,936] [INFO] [logging.py:96:log_dist] [Rank 0] Loss: 10.8766\n"
        "[1,  2000] loss: 2.203\n",
        [("Loss", 10.8766, 100), ("loss", 2.203, 100)],
    ),
    "absl, as in Flax": (
        Absl,
        (
            "I0823 07:49:25.468526 139641357117440 train.py:146] epoch:  9, train_loss: 0.0120, "
            "train_accuracy: 99.64, test_loss: 0.0278, test_accuracy: 99.02\n"
        ),
        [
            ("train_loss", 0.0120, 9),
            ("train_accuracy", 99.64, 9),
            ("test_loss", 0.0278, 9),
            ("test_accuracy", 99.02, 9),
        ],
    ),
    "fairseq, --log-format json": (
        JsonLines,
        '{"epoch": 1, "update": 0.5, "loss": "2.1", "ppl": "4.29", "num_updates": "500"}\n',
        [("update", 0.5, 500), ("loss", 2.1, 500), ("ppl", 4.29, 500)],
    ),
    "our own metrics file": (
        JsonLines,
        (
            '{"time": 1700000000.5, "step": 3, "loss": NaN, "total_steps": 10}\n'
            '{"time": 1700000001.5, "step": 4, "loss": 0.25, "total_steps": 10}\n'
        ),
        [("loss", pytest.approx(float("nan"), nan_ok=True), 3), ("loss", 0.25, 4)],
    ),
}


@pytest.mark.parametrize(("make", "raw", "want"), CASES.values(), ids=CASES)
def test_a_real_line_gives_its_points(make, raw: str, want) -> None:
    assert values(read(make(), raw)) == want


@pytest.mark.parametrize(("make", "raw", "want"), CASES.values(), ids=CASES)
def test_no_other_format_accepts_the_line(make, raw: str, want) -> None:
    takers = {type(c) for c in candidates() if read(c, raw * 3)}
    assert takers - {Printed} <= {make}  # which reads only what no other format does


NOTHING = {
    "a bar of Hugging Face": "\r 25%|██▌ | 5/20 [00:00<00:00, 389.81it/s]\x1b[A\n",
    "a traceback of a rank": "[rank1]: RuntimeError: boom\n",
    "torch elastic": "W1121 09:42:36.542000 9522 torch/distributed/run.py:874] ****************\n",
    "fairseq, simple": "epoch 001:  100 / 1000 loss=5.1, ppl=34.3\n",
    "a line of MLflow's store": "1700000000000 0.5 3\n",
    "half a bar": "Epoch 1: 50%\n",
    "a log line of glog": "I0115 10:20:30.123456 1 main.cc:12] started: 1, workers: 2\n",
    "a line of access logs": '{"level": "info", "ts": 1700000000.1, "status": 200}\n',
    "prose": "loss: it fell, step by step, from 3 to 2\n",
    "Lightning's table of the model": "│ 0 │ l    │ Linear │      9 │ train │     0 │\n",
    "Lightning's validation bar": "\rValidation DataLoader 0: 100%|#| 5/5 [00:00<00:00, 9.8it/s]\n",
    "predictions of Keras": "8/8 ━━━━━━━━━━━━━━━━━━━━ 0s 4ms/step\n",
}


@pytest.mark.parametrize("raw", NOTHING.values(), ids=NOTHING)
def test_a_line_without_a_metric_gives_no_point(raw: str) -> None:
    detector = Detector()
    assert read(detector, raw * 5) == []
    assert detector.format == "auto"


def test_the_prefix_of_torchrun_is_taken_off() -> None:
    (line,) = lines_of(b"[default0]:Train Epoch: 0 [0/60000 (0%)]\tLoss: 2.300000\n")
    rank, text = split_rank(line)
    assert (rank, values(Mnist().feed(text))) == (0, [("loss", 2.3, 0)])
    assert split_rank("[rank1]: RuntimeError: boom") == (1, " RuntimeError: boom")
    assert split_rank("[2023-07-24 12:25:17,424] [INFO]")[0] == -1


MPI = {
    "Open MPI 4": "[1,{rank}]<stdout>:",
    "Open MPI 5": "[prterun-node-7@1,{rank}]<stderr>:",
    "SageMaker": "[1,mpirank:{rank},algo-2]<stdout>:",
}


@pytest.mark.parametrize("prefix", MPI.values(), ids=MPI)
def test_of_the_ranks_of_mpi_the_lowest_is_followed(prefix: str) -> None:
    lines = [
        f"{prefix.format(rank=rank)}iter {step}: loss 0.{9 - rank}{9 - step}\n"
        for step in range(1, 6)
        for rank in (1, 0)
    ]
    points = read(detector := Detector(), "".join(lines))
    assert values(points)[-1] == ("loss", 0.94, 5)
    assert detector.format == "torchrun"
    assert split_rank("[1,2]<other>:")[0] == -1


def test_a_carriage_return_in_octal_digits_ends_a_line() -> None:
    bar = "#015Epoch {}:  50% 1/2 [00:00<00:00, 6.5it/s, loss={}, v_num=0]#033[A"
    line = "[1,mpirank:0,algo-1]<stdout>:" + "".join(bar.format(i, 2.5 - i / 4) for i in range(4))
    assert values(read(Detector(), line + "\n"))[-1] == ("loss", 1.75, 3.5)


def test_a_loss_that_megatron_leaves_out_is_a_nan() -> None:
    parser = Megatron()
    read(parser, MEGATRON.format(loss="lm loss: 2.373574E+00 | "))
    points = read(parser, MEGATRON.format(loss=""))
    assert [(p.metric, str(p.value), p.total_steps) for p in points][-1] == (
        "lm loss",
        "nan",
        250000,
    )
