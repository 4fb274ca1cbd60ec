"""A program that keeps a GPU busy for a share of the time and holds memory there.

It uses the CUDA driver alone, through ctypes, so that nothing has to be installed. It prints
``ready`` once it holds the memory, and ends when its input ends.

Usage: ``python gpu_load.py SHARE MEBIBYTES``, where the share is from 0 to 1.

Source:
    CUDA Driver API: ``cuModuleLoadData`` compiles PTX for the device; ``cuDevicePrimaryCtxRetain``.
"""

import ctypes
import os
import select
import sys
import time

SPIN = b"""
.version 6.3
.target sm_75
.address_size 64
.visible .entry spin(.param .u64 nanoseconds)
{
    .reg .u64 %t<4>;
    .reg .pred %p;
    ld.param.u64 %t1, [nanoseconds];
    mov.u64 %t2, %globaltimer;
    add.u64 %t2, %t2, %t1;
again:
    mov.u64 %t3, %globaltimer;
    setp.lt.u64 %p, %t3, %t2;
    @%p bra again;
    ret;
}
"""
PERIOD_SECONDS = 0.02
"""Far below the period over which the driver measures (1/6 to 1 s)."""


def checked(result: int) -> None:
    if result:
        raise SystemExit(f"the CUDA driver answered with error {result}")


def spinning(cuda: ctypes.CDLL) -> ctypes.c_void_p:
    device, context = ctypes.c_int(), ctypes.c_void_p()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    checked(cuda.cuInit(0))
    checked(cuda.cuDeviceGet(ctypes.byref(device), 0))
    checked(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    checked(cuda.cuCtxSetCurrent(context))
    checked(cuda.cuModuleLoadData(ctypes.byref(module), SPIN))
    checked(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"spin"))
    return function


def run(cuda: ctypes.CDLL, function: ctypes.c_void_p, seconds: float) -> None:
    nanoseconds = ctypes.c_uint64(int(seconds * 1e9))
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(nanoseconds))
    one = [ctypes.c_uint(1)] * 6
    checked(cuda.cuLaunchKernel(function, *one, ctypes.c_uint(0), None, arguments, None))
    checked(cuda.cuCtxSynchronize())


def ended() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0]) and not os.read(0, 1)


def main() -> None:
    share, mebibytes = float(sys.argv[1]), int(sys.argv[2])
    cuda = ctypes.CDLL("libcuda.so.1")
    function = spinning(cuda)
    memory = ctypes.c_uint64()
    checked(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(mebibytes * 2**20)))
    print("ready", flush=True)
    while not ended():
        if share:
            run(cuda, function, share * PERIOD_SECONDS)
        time.sleep((1 - share) * PERIOD_SECONDS)


if __name__ == "__main__":
    main()
