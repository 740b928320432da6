"""Makers of recurrent operators."""

from case import maker


@maker("RNN", "GRU", "LSTM")
def recurrent(c):
    if c.version < 7:
        c.unfit()
    kind = c.schema.name
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]
    seq, batch, size, hidden = c.draw.randint(1, 5), c.size(), c.size(), c.size()
    direction = c.one(None, "forward", "reverse", "bidirectional")
    d = 2 if direction == "bidirectional" else 1
    elem = c.t("T")
    layout = c.one(None, 0, 1) if c.version >= 14 else None
    draw = lambda *shape: c.array(shape, elem, -1, 1)
    first = lambda *shape: draw(*((shape[1], shape[0], *shape[2:]) if layout else shape))
    lengths = c.rng.integers(1, seq + 1, (batch,)).astype("int32") if c.chance(0.4) else None
    inputs = [first(seq, batch, size), draw(d, gates * hidden, size), draw(d, gates * hidden, hidden), draw(d, 2 * gates * hidden) if c.chance(0.6) else None,
              lengths, first(d, batch, hidden) if c.chance(0.5) else None]
    attributes = {"hidden_size": hidden, "direction": direction, "layout": layout, "clip": c.one(None, None, 0.5)}
    if kind == "LSTM":
        inputs += [first(d, batch, hidden) if c.chance(0.5) else None, draw(d, 3 * hidden) if c.chance(0.3) else None]
        attributes["input_forget"] = c.one(None, None, 0, 1)
    if kind == "GRU":
        attributes["linear_before_reset"] = c.one(None, 0, 1)
    if c.chance(0.4):
        # Of gates those that stay within 1: others let states grow until rounding decides.
        gate, state = ("Sigmoid", "Tanh", "Softsign"), ("Tanh", "Sigmoid", "Relu", "Softsign", "Softplus")
        one = {"RNN": [state], "GRU": [gate, state], "LSTM": [gate, state, state]}[kind]
        attributes["activations"] = [c.one(*some) for some in one * d]
    c.results = c.one(1, 2) if kind != "LSTM" else c.one(1, 2, 3)
    c.atol = 1e-4
    return inputs, attributes


