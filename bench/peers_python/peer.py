"""One case of the benchmarks by Taichi or Dr.Jit, as bench/cpu/python.cpp drives it.

peer.py MODULE CASE FOLDER NUMBER...: reads the arrays FOLDER/0, FOLDER/1, ... (32-bit floats), compiles and runs the case once,
and says `ready`. Then a line each on stdin: `once` does the work and answers `done`; `result` writes FOLDER/result and answers `done`.
"""
import os
import sys

import numpy as np

RATE, SIGMA = 0.03, 0.25  # of Black-Scholes


def taichi_case(name, arrays, numbers):
    import taichi as ti

    ti.init(arch=ti.cpu, default_fp=ti.f32, log_level=ti.ERROR, offline_cache=False)
    # Of Taichi's forms the fastest: plain loops over arrays of NumPy's (fields take 1.1 to 1.4 times as long).
    Line, Plane, Volume = (ti.types.ndarray(dtype=ti.f32, ndim=d) for d in (1, 2, 3))
    out = np.zeros_like(arrays[0]) if arrays else None

    if name == "triad":

        @ti.kernel
        def work(a: Line, b: Line, c: Line, s: ti.f32):
            for i in range(a.shape[0]):
                a[i] = b[i] + s * c[i]

        arguments = (out, *arrays, numbers[0])

    elif name == "maths":

        @ti.kernel
        def work(y: Line, x: Line):
            for i in range(y.shape[0]):
                v = x[i]
                y[i] = ti.sin(v) * ti.exp(v) + v * v * v

        arguments = (out, *arrays)

    elif name == "diffusion":
        n = int(numbers[0])
        now = arrays[0].reshape(n, n, n)
        out = np.zeros_like(now)

        @ti.kernel
        def work(next: Volume, now: Volume, c: ti.f32):
            for i in range(1, n - 1):
                for j in range(1, n - 1):
                    for k in range(1, n - 1):
                        next[i, j, k] = now[i, j, k] + c * (
                            now[i - 1, j, k] + now[i + 1, j, k] + now[i, j - 1, k] + now[i, j + 1, k]
                            + now[i, j, k - 1] + now[i, j, k + 1] - 6.0 * now[i, j, k])

        arguments = (out, now, numbers[1])

    elif name == "nbody":

        @ti.kernel
        def work(ax: Line, ay: Line, az: Line, x: Line, y: Line, z: Line, m: Line):
            for i in range(x.shape[0]):
                xi, yi, zi, sx, sy, sz = x[i], y[i], z[i], 0.0, 0.0, 0.0
                for j in range(x.shape[0]):
                    dx, dy, dz = x[j] - xi, y[j] - yi, z[j] - zi
                    r = ti.rsqrt(dx * dx + dy * dy + dz * dz + 1e-2)
                    f = m[j] * r * r * r
                    sx += f * dx
                    sy += f * dy
                    sz += f * dz
                ax[i], ay[i], az[i] = sx, sy, sz

        arguments = (out, np.zeros_like(out), np.zeros_like(out), *arrays)

    elif name == "mandelbrot":
        n, most = int(numbers[0]), int(numbers[1])
        out = np.zeros((n, n), dtype=np.float32)

        @ti.kernel
        def work(steps: Plane):
            for j, i in ti.ndrange(n, n):
                cx, cy, x, y, k = -2.0 + 3.0 * i / n, -1.5 + 3.0 * j / n, 0.0, 0.0, 0
                while k < most and x * x + y * y < 4.0:
                    t = x * x - y * y + cx
                    y = 2.0 * x * y + cy
                    x = t
                    k += 1
                steps[j, i] = k

        arguments = (out,)

    elif name == "black_scholes":

        @ti.func
        def normal(d):
            k = 1.0 / (1.0 + 0.2316419 * ti.abs(d))
            p = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
            tail = 0.39894228 * ti.exp(-0.5 * d * d) * p
            return ti.select(d > 0.0, 1.0 - tail, tail)

        @ti.kernel
        def work(call: Line, put: Line, spot: Line, strike: Line, years: Line):
            for i in range(call.shape[0]):
                s, k, t = spot[i], strike[i], years[i]
                root = ti.sqrt(t)
                d1 = (ti.log(s / k) + (RATE + 0.5 * SIGMA * SIGMA) * t) / (SIGMA * root)
                d2 = d1 - SIGMA * root
                n1, n2, later = normal(d1), normal(d2), k * ti.exp(-RATE * t)
                call[i] = s * n1 - later * n2
                put[i] = later * (1.0 - n2) - s * (1.0 - n1)

        arguments = (out, np.zeros_like(out), *arrays)

    else:
        raise ValueError(f"no case {name}")

    def run():
        work(*arguments)
        ti.sync()

    return run, lambda: out


def drjit_case(name, arrays, numbers):
    import drjit as dr
    from drjit.llvm import Float, Int, UInt32

    given = [Float(a) for a in arrays]
    dr.eval(given)

    if name == "triad":
        s = dr.opaque(Float, numbers[0])

        @dr.freeze
        def work(b, c, s):
            return dr.fma(s, c, b)

        arguments = (*given, s)

    elif name == "maths":

        @dr.freeze
        def work(x):
            return dr.sin(x) * dr.exp(x) + x * x * x

        arguments = tuple(given)

    elif name == "diffusion":
        n, c = int(numbers[0]), dr.opaque(Float, numbers[1])
        out = dr.zeros(Float, n * n * n)
        dr.eval(out)

        @dr.freeze
        def work(now, c, out):
            inner = n - 2
            i = dr.arange(UInt32, inner * inner * inner)
            p = (i // (inner * inner) + 1) * (n * n) + (i // inner % inner + 1) * n + i % inner + 1
            at = lambda by: dr.gather(Float, now, p + by if by >= 0 else p - (-by))
            dr.scatter(out, at(0) + c * (at(-n * n) + at(n * n) + at(-n) + at(n) + at(-1) + at(1) - 6.0 * at(0)), p)
            return out

        arguments = (*given, c, out)

    elif name == "nbody":

        @dr.freeze
        def work(x, y, z, m):
            n = dr.width(x)

            def step(j, sx, sy, sz):
                at = lambda a: dr.gather(Float, a, j)
                dx, dy, dz = at(x) - x, at(y) - y, at(z) - z
                r = dr.rsqrt(dr.fma(dx, dx, dr.fma(dy, dy, dr.fma(dz, dz, 1e-2))))
                f = at(m) * r * r * r
                return j + 1, dr.fma(f, dx, sx), dr.fma(f, dy, sy), dr.fma(f, dz, sz)

            zero = dr.zeros(Float, n)
            return dr.while_loop((UInt32(0), zero, zero, zero), lambda j, sx, sy, sz: j < n, step)[1:]

        arguments = tuple(given)

    elif name == "mandelbrot":
        n, most = int(numbers[0]), int(numbers[1])

        @dr.freeze
        def work(most):
            p = dr.arange(UInt32, n * n)
            cx, cy = -2.0 + 3.0 * Float(p % n) / n, -1.5 + 3.0 * Float(p // n) / n
            zero = dr.zeros(Float, n * n)
            step = lambda x, y, k: (dr.fma(x, x, cx - y * y), dr.fma(2.0 * x, y, cy), k + 1)
            inside = lambda x, y, k: (k < most) & (dr.fma(x, x, y * y) < 4.0)
            return Float(dr.while_loop((zero, zero, dr.zeros(Int, n * n)), inside, step)[2])

        arguments = (dr.opaque(Int, most),)

    elif name == "black_scholes":

        def normal(d):
            k = dr.rcp(1.0 + 0.2316419 * dr.abs(d))
            p = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
            tail = 0.39894228 * dr.exp(-0.5 * d * d) * p
            return dr.select(d > 0.0, 1.0 - tail, tail)

        @dr.freeze
        def work(s, k, t):
            root = dr.sqrt(t)
            d1 = (dr.log(s / k) + (RATE + 0.5 * SIGMA * SIGMA) * t) / (SIGMA * root)
            d2 = d1 - SIGMA * root
            n1, n2, later = normal(d1), normal(d2), k * dr.exp(-RATE * t)
            return s * n1 - later * n2, later * (1.0 - n2) - s * (1.0 - n1)

        arguments = tuple(given)

    else:
        raise ValueError(f"no case {name}")

    last = [None]

    def run():
        last[0] = work(*arguments)
        dr.eval(last[0])
        dr.sync_thread()

    def result():
        first = last[0][0] if isinstance(last[0], tuple) else last[0]
        return first.numpy()

    return run, result


def main():
    # Messages of libraries go to stderr; the pipe is for the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    module, case, folder, *numbers = sys.argv[1:]
    arrays = []
    while os.path.exists(path := os.path.join(folder, str(len(arrays)))):
        arrays.append(np.fromfile(path, dtype=np.float32))
    run, result = {"taichi": taichi_case, "drjit": drjit_case}[module](case, arrays, [float(n) for n in numbers])
    run()
    print("ready", file=answers)
    for line in sys.stdin:
        if line.strip() == "once":
            run()
        else:
            np.asarray(result(), dtype=np.float32).tofile(os.path.join(folder, "result"))
        print("done", file=answers)


main()
