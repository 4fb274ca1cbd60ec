"""Real trainings with the real frameworks: `make test-frameworks`.

Each framework trains in a process of its own, is asked for a checkpoint, holds, is ended and goes
on in a new process. The virtual environment of the gate has no framework: there these are skipped.
"""
