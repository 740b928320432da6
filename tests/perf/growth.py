"""growth.py -o FOLDER CASE...: how the time of a model grows with batch, image size or length, beside ONNX Runtime; finds cliffs.

    growth.py -o out batch:input:0:1,2,4,8,16,32:mobilenet_v2_dynb4.onnx size:input:2+3:96,160,224:mobilenet_v2.onnx \\
        length:seq:1,8,64,512:llama_small.onnx

A case names what grows, an input and its dimensions (or the symbol that stands for it in all inputs), the values, and the model. For
each value the model's inputs are fixed and compare.py measures it (environment as there). Prints a table with the time of one unit (an
image, a pixel, a token) and writes FOLDER/NAME.svg. A unit should not take longer as there are more of them, but for what grows faster by
nature (attention) or leaves a cache; a step of more than 1.3 is marked.
"""
import argparse
import pathlib
import tempfile

import onnx

import compare


def fixed(model, name, dims, value, to):
    """The model with those dimensions fixed; what else is open becomes 1."""
    loaded = onnx.load(model)
    for graph_input in loaded.graph.input:
        for i, dim in enumerate(graph_input.type.tensor_type.shape.dim):
            if (dims is None and dim.dim_param == name) or (dims is not None and graph_input.name == name and i in dims):
                dim.dim_value = value
            elif dim.dim_param:
                dim.dim_value = 1
    for output in loaded.graph.output:
        output.type.tensor_type.ClearField("shape")
    del loaded.graph.value_info[:]
    onnx.save(loaded, to)


def parse(text):
    parts = text.split(":")
    what, name, values, model = parts[0], parts[1], parts[-2], parts[-1]
    dims = [int(d) for d in parts[2].split("+")] if len(parts) == 5 else None
    return what, name, dims, [int(v) for v in values.split(",")], model


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", type=parse)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--peers", default="vireo,onnxruntime")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    run = argparse.Namespace(peers=args.peers.split(","), threads=args.threads, rounds=args.rounds, turn=2, turn_ms=20, dim=1, inputs=None,
                             cpu_time=False)
    print(f"{compare.cpu_name()}; {args.threads} thread(s); ms")
    for what, name, dims, values, model in args.cases:
        stem = pathlib.Path(model).stem
        units = [v * v if what == "size" else v for v in values]
        curves = {peer: [] for peer in run.peers}
        print(f"\n| {stem}, {what} | " + " | ".join(f"{peer} | a unit" for peer in run.peers) + " |\n| ---: |" + " ---: | ---: |" * len(run.peers))
        for value, unit in zip(values, units):
            with tempfile.TemporaryDirectory() as folder:
                at = pathlib.Path(folder) / "model.onnx"
                fixed(model, name, dims, value, at)
                rows = compare.measure(str(at), run)
            cells = []
            for row in rows:
                per = None if row["error"] else row["ms"] / unit
                steps = [p for p in curves[row["peer"]] if p]
                cliff = " !" if per and steps and per > 1.3 * steps[-1] else ""
                curves[row["peer"]].append(per)
                cells.append(f"{row['ms']:.3g} | {per:.3g}{cliff}" if per else f"- ({row['error'][:40]}) | -")
            print(f"| {value} | " + " | ".join(cells) + " |", flush=True)
        plot(args.output / f"growth_{stem}_{what}.svg", stem, what, values, curves)


def plot(file, stem, what, values, curves):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "vireo"  # the same file for the same figures
    matplotlib.rcParams["svg.fonttype"] = "none"  # text as text, not as outlines
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(figsize=(5, 3))
    for peer, per in curves.items():
        axes.plot([v for v, p in zip(values, per) if p], [p for p in per if p], marker="o", label=peer)
    axes.set(xscale="log", yscale="log", xlabel=what, ylabel="ms a " + {"batch": "image", "size": "pixel"}.get(what, "token"), title=stem)
    axes.set_xticks(values, [str(v) for v in values])
    axes.minorticks_off()
    axes.legend()
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
