"""Cases of Unpatchify: numpy."""

import numpy as np


def build(add):
    def unpatchify(name, batch, rows, columns, high, wide, channels, attributes, order="cpp", kind="f4", image=False):
        x = (np.arange(batch * rows * columns * high * wide * channels) % 251).astype(kind)
        x = x.reshape(batch, rows * columns, -1)
        if order == "cpp":
            y = x.reshape(batch, rows, columns, channels, high, wide).transpose(0, 3, 1, 4, 2, 5)
        else:
            y = x.reshape(batch, rows, columns, high, wide, channels).transpose(0, 5, 1, 3, 2, 4)
            attributes = {**attributes, "order": order}
        y = np.ascontiguousarray(y.reshape(batch, channels, rows * high, columns * wide))
        add("unpatchify_" + name, "Unpatchify", attributes, [x, np.zeros(y.shape, "f4")] if image else [x], [y])

    unpatchify("square", 2, 2, 2, 2, 3, 3, {"patch": [2, 3]})
    unpatchify("grid", 2, 2, 3, 2, 2, 3, {"patch": [2, 2], "grid_h": 2, "grid_w": 3})
    unpatchify("grid_h", 1, 2, 3, 2, 2, 3, {"patch": [2, 2], "grid_h": 2})
    unpatchify("grid_w", 1, 2, 3, 2, 2, 3, {"patch": [2, 2], "grid_w": 3})
    unpatchify("ppc", 2, 2, 2, 2, 3, 3, {"patch": [2, 3]}, "ppc")
    unpatchify("image", 2, 2, 3, 3, 3, 2, {}, image=True)
    unpatchify("image_ppc", 2, 2, 3, 3, 3, 2, {}, "ppc", image=True)
    unpatchify("i64", 1, 2, 2, 2, 2, 2, {"patch": [2, 2]}, kind="i8")
    unpatchify("u8", 1, 2, 2, 2, 2, 2, {"patch": [2, 2]}, kind="u1")
    y = np.zeros((0, 2, 4, 4), "f4")
    add("unpatchify_none", "Unpatchify", {"patch": [2, 2]}, [np.zeros((0, 4, 8), "f4")], [y])
