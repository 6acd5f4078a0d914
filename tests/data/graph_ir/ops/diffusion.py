"""NoiseSchedule and FlowStep: numpy in f64."""

import numpy as np

SHAPES = [(), (1,), (7,), (2, 3), (0,), (4, 1, 5), (3, 0), (31,), (2, 2, 2, 3)]


def build(add):
    rng = np.random.default_rng(390)

    def normal(*dims):
        return np.array(rng.standard_normal(dims)).astype("f4")

    def f4(y):
        return np.array(y).astype("f4")

    for i, dims in enumerate(SHAPES):
        t = np.array(rng.random(dims) * 0.95).astype("f4")
        wide = t.astype("f8")
        opened = [(0, 0)] if i % 2 and dims else []
        add(f"schedule_flow_{i}", "NoiseSchedule", [t], [t], "elementwise", open=opened, by="NumPy")
        top = [80.0, 2.5, 1.0][i % 3]
        attrs = {"kind": "linear", **({} if top == 1 else {"max_sigma": top})}
        add(f"schedule_linear_{i}", "NoiseSchedule", [t], [f4(wide * top)], "elementwise", attrs=attrs, open=opened,
            by="NumPy")
        kept = np.cos(np.pi * wide / 2) ** 2
        add(f"schedule_cosine_{i}", "NoiseSchedule", [t], [f4(np.sqrt((1 - kept) / kept))], "elementwise",
            attrs={"kind": "cosine"}, open=opened, by="NumPy")
        table = normal([1, 2, 11, 1000][i % 4])
        at = np.array(rng.random(dims) * (len(table) + 3) - 1.5).astype("f4")
        y = np.interp(at.astype("f8"), np.arange(len(table)), table.astype("f8"))
        add(f"schedule_table_{i}", "NoiseSchedule", [at, table], [f4(y)], "elementwise", open=opened + ([(1, 0)] if i % 3 else []),
            by="NumPy")

    for i, dims in enumerate(SHAPES + [(5, 33), (1, 1), (2, 64)]):
        x, v = normal(*dims), normal(*dims)
        dt = normal(*[(), (1,), dims][i % 3])
        opened = [(0, 0), (1, 0)] if i % 2 and dims else []
        add(f"flow_step_{i}", "FlowStep", [x, v, dt], [f4(x.astype("f8") + v.astype("f8") * dt)], "elementwise",
            open=opened if i % 3 != 2 else [], by="NumPy")
        last = dims[-1:] if i % 2 else dims
        mean, scale, bias = normal(*last), normal(*last) * np.float32(0.5), normal(*(dims if i % 3 else ()))
        wide = [t.astype("f8") for t in (x, mean, scale, bias)]
        y = (wide[0] - wide[1]) * np.exp(wide[2]) + wide[3]
        add(f"coupling_{i}", "FlowStep", [x, mean, scale, bias], [f4(y)], "elementwise", by="NumPy")
        y = (wide[0] - wide[3]) * np.exp(-wide[2]) + wide[1]
        add(f"coupling_back_{i}", "FlowStep", [x, mean, scale, bias], [f4(y)], "elementwise", attrs={"inverse": True},
            by="NumPy")
