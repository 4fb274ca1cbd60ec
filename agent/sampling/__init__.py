"""What pods and their node use: CPU, memory, throttling, pressure, GPUs.

``finding.find`` looks at the machine once and puts the rest together. A pod's way: ``groups`` finds
its control group (or ``process_tree`` its processes), ``version1`` or ``version2`` reads the
kernel's files there into a ``Reading``, ``rates`` makes ``progress.Use`` of two readings, and
``pods`` does that for all. ``node`` and ``gpu`` are beside it. See docs/sampling.md.

Everything here reads files and never awaits: a sample of many pods takes milliseconds, so the
caller decides whether the event loop may wait for it. Nothing here is safe to call from two threads
at one time.
"""
