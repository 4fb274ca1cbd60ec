"""What pods and their node use: CPU, memory, throttling, pressure, GPUs.

``finding.find`` inspects the machine once and builds the samplers. For one pod: ``groups`` finds
its control group (or ``processes`` its processes), ``cgroups`` reads the kernel's files there into
a ``Reading``, ``readings`` computes ``progress.Use`` from two readings, and ``pods`` does that for
all pods. ``node`` and ``gpu`` sample the node and its GPUs. See docs/sampling.md.

Everything here reads files and never awaits: a sample of many pods takes milliseconds, so the
caller decides whether the event loop may wait for it. Nothing here is safe to call from two threads
at one time.
"""
