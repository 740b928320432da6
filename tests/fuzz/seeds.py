#!/usr/bin/env python3
"""seeds.py: writes the seeds of tests/fuzz/corpus: small ONNX models, one for each way in which an importer can go wrong, and small
pictures, sounds, arrays, texts; and the words of dictionaries/. They are kept in the repository, so this runs when one is added. Needs
onnx and numpy. Seeds of .vireo files are made from the ONNX models when the fuzzers are built (CMakeLists.txt).

A seed wants to be small (a mutation should hit something) and to pass (what is refused at once leads nowhere)."""
import io
import json
import pathlib
import re
import struct
import sys
import zipfile
import zlib

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper as nh

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"
RNG = np.random.default_rng(1)


def value(name, shape, dtype=T.FLOAT):
    return h.make_tensor_value_info(name, dtype, shape)


def weights(name, *shape):
    return nh.from_array((RNG.standard_normal(shape) / 4).astype(np.float32), name)


def ints(name, *values):
    return nh.from_array(np.array(values, np.int64), name)


def model(nodes, inputs, outputs, constants=(), opset=20, **more):
    graph = h.make_graph(nodes, "g", inputs, outputs, list(constants))
    domains = [h.make_opsetid("", opset)] + [h.make_opsetid(d, v) for d, v in more.pop("domains", {}).items()]
    made = h.make_model(graph, opset_imports=domains, ir_version=9, producer_name="seeds", **more)
    onnx.checker.check_model(made)
    return made.SerializeToString()


def n(op, inputs, outputs, **attributes):
    return h.make_node(op, inputs.split(), outputs.split(), name=f"{op}_{outputs.split()[0]}", **attributes)


def body(nodes, inputs, outputs, constants=()):
    return h.make_graph(nodes, "body", inputs, outputs, list(constants))


def quantized(name):
    return [nh.from_array(np.float32(0.05), f"{name}_scale"), nh.from_array(np.int8(3), f"{name}_zero")]


def onnx_seeds():
    x, y = value("x", ["n", 2, 6, 6]), value("y", ["a", "b", "c", "d"])
    yield "conv", model([n("Conv", "x w b", "c", pads=[1, 1, 1, 1]), n("Relu", "c", "r"), n("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[2, 2]),
                         n("GlobalAveragePool", "p", "a"), n("Flatten", "a", "f"), n("Gemm", "f m k", "y", transB=1)],
                        [x], [value("y", ["n", 3])], [weights("w", 4, 2, 3, 3), weights("b", 4), weights("m", 3, 4), weights("k", 3)])
    yield "quantized", model([n("QuantizeLinear", "x x_scale x_zero", "q"), n("DequantizeLinear", "q x_scale x_zero", "d"),
                              n("DequantizeLinear", "w w_scale w_zero", "v"), n("Conv", "d v", "c"),
                              n("QuantizeLinear", "c c_scale c_zero", "e"), n("DequantizeLinear", "e c_scale c_zero", "y")],
                             [value("x", [1, 2, 5, 5])], [value("y", [1, 3, 3, 3])],
                             [*quantized("x"), *quantized("c"), nh.from_array(RNG.integers(-9, 9, (3, 2, 3, 3)).astype(np.int8), "w"),
                              nh.from_array(np.float32(0.1), "w_scale"), nh.from_array(np.int8(0), "w_zero")])
    yield "state", model([n("Concat", "past x", "joined", axis=1), n("Slice", "joined one end axis", "present"), n("MatMul", "joined w", "y")],
                         [value("x", [1, 1, 4]), value("past", [1, 3, 4])], [value("y", [1, 4, 2]), value("present", [1, 3, 4])],
                         [weights("w", 4, 2), ints("one", 1), ints("end", 9), ints("axis", 1)])
    yield "open", model([n("Shape", "x", "s"), n("Gather", "s zero", "rows"), n("Unsqueeze", "rows axis", "u"), n("Concat", "u minus", "t", axis=0),
                         n("Reshape", "x t", "flat"), n("MatMul", "flat w", "m"), n("Softmax", "m", "y", axis=-1)],
                        [value("x", ["rows", 2, 3])], [value("y", ["rows", 4])],
                        [weights("w", 6, 4), ints("axis", 0), ints("minus", -1), nh.from_array(np.array(0, np.int64), "zero")])
    yield "if", model([n("ReduceSum", "x", "s", keepdims=0), n("Greater", "s zero", "c"),
                       n("If", "c", "y", then_branch=body([n("Mul", "x x", "a")], [], [value("a", [2, 3])]),
                         else_branch=body([n("Neg", "x", "b")], [], [value("b", [2, 3])]))],
                      [value("x", [2, 3])], [value("y", [2, 3])], [nh.from_array(np.float32(0), "zero")])
    step = body([n("Add", "v_in v_in", "v_out"), n("Identity", "c_in", "c_out"), n("ReduceMax", "v_out", "top", keepdims=0)],
                [value("i", [], T.INT64), value("c_in", [], T.BOOL), value("v_in", [3])],
                [value("c_out", [], T.BOOL), value("v_out", [3]), value("top", [])])
    yield "loop", model([n("Loop", "trips go v", "last tops", body=step)], [value("v", [3])], [value("last", [3]), value("tops", [4])],
                        [nh.from_array(np.array(4, np.int64), "trips"), nh.from_array(np.array(True), "go")])
    scan = body([n("Add", "s e", "t"), n("Identity", "t", "o")], [value("s", [2]), value("e", [2])], [value("t", [2]), value("o", [2])])
    yield "scan", model([n("Scan", "start x", "end all", body=scan, num_scan_inputs=1)], [value("start", [2]), value("x", [5, 2])],
                        [value("end", [2]), value("all", [5, 2])])
    yield "lstm", model([n("LSTM", "x w r b", "y yh", hidden_size=3)], [value("x", [4, 1, 2])], [value("y", [4, 1, 1, 3]), value("yh", [1, 1, 3])],
                        [weights("w", 1, 12, 2), weights("r", 1, 12, 3), weights("b", 1, 24)])
    yield "attention", model([n("MatMul", "x q", "a"), n("MatMul", "x k", "b"), n("MatMul", "x v", "c"), n("Transpose", "b", "bt", perm=[0, 2, 1]),
                              n("MatMul", "a bt", "s"), n("Div", "s root", "d"), n("Softmax", "d", "p", axis=-1), n("MatMul", "p c", "o"),
                              n("Add", "o x", "r"), n("LayerNormalization", "r g h", "y")],
                             [value("x", [1, 5, 4])], [value("y", [1, 5, 4])],
                             [*(weights(w, 4, 4) for w in "qkv"), nh.from_array(np.float32(2), "root"), weights("g", 4), weights("h", 4)])
    yield "depends", model([n("NonZero", "x", "at"), n("Transpose", "at", "t"), n("GatherND", "x t", "picked"), n("TopK", "picked k", "y i")],
                           [value("x", [2, 4])], [value("y", ["m"]), value("i", ["m"], T.INT64)], [ints("k", 1)])
    yield "nms", model([n("NonMaxSuppression", "boxes scores most iou", "y")], [value("boxes", [1, 6, 4]), value("scores", [1, 2, 6])],
                       [value("y", ["n", 3], T.INT64)], [ints("most", 3), nh.from_array(np.float32([0.5]), "iou")])
    yield "text", model([n("StringSplit", "x", "parts counts", delimiter=" "), n("RegexFullMatch", "x", "m", pattern="a+b.*")], [value("x", [2], T.STRING)],
                        [value("parts", [2, "k"], T.STRING), value("counts", [2], T.INT64), value("m", [2], T.BOOL)])
    yield "sequence", model([n("SplitToSequence", "x", "s", axis=0), n("SequenceAt", "s i", "a"), n("ConcatFromSequence", "s", "c", axis=1), n("SequenceLength", "s", "l")],
                            [value("x", [3, 2])], [value("a", ["p", "q"]), value("c", ["p", "r"]), value("l", [], T.INT64)], [nh.from_array(np.array(1, np.int64), "i")])
    yield "resize", model([h.make_node("Resize", ["x", "", "s"], ["r"], mode="linear"), n("Pad", "r p", "q", mode="reflect"), n("DepthToSpace", "q", "y", blocksize=2)],
                          [value("x", [1, 4, 3, 3])], [y], [nh.from_array(np.float32([1, 1, 2, 2]), "s"), ints("p", 0, 0, 1, 1, 0, 0, 0, 0)])
    yield "function", onnx_function()
    yield "trees", model([h.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2],
                                      nodes_featureids=[0, 0, 0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_values=[0.5, 0.0, 0.0],
                                      nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0], target_treeids=[0, 0], target_nodeids=[1, 2],
                                      target_ids=[0, 0], target_weights=[1.0, -1.0])], [value("x", [2, 2])], [value("y", [2, 1])], domains={"ai.onnx.ml": 3})
    yield "half", model([n("Cast", "x", "a", to=T.FLOAT16), n("MatMul", "a w", "b"), n("Cast", "b", "y", to=T.FLOAT)], [value("x", [2, 4])], [value("y", [2, 3])],
                        [nh.from_array(RNG.standard_normal((4, 3)).astype(np.float16), "w")])
    yield "random", model([n("RandomUniformLike", "x", "r", seed=3.0), n("Dropout", "r ratio", "y")], [value("x", [2, 3])], [value("y", [2, 3])],
                          [nh.from_array(np.float32(0.5), "ratio")])
    yield "optional", optional_model()
    yield "strings", model([n("StringConcat", "x y", "c"), n("StringNormalizer", "c", "u", case_change_action="UPPER"), n("Cast", "z", "t", to=T.STRING),
                            n("StringConcat", "u t", "o"), n("Cast", "t", "back", to=T.FLOAT), n("Identity", "x", "same")],
                           [value("x", [2], T.STRING), value("y", [2], T.STRING), value("z", [2])],
                           [value("o", [2], T.STRING), value("back", [2]), value("same", [2], T.STRING)])
    grow = body([n("Identity", "go_in", "go_out"), n("SequenceInsert", "s_in x", "s_out")],
                [value("i", [], T.INT64), value("go_in", [], T.BOOL), h.make_tensor_sequence_value_info("s_in", T.FLOAT, [2])],
                [value("go_out", [], T.BOOL), h.make_tensor_sequence_value_info("s_out", T.FLOAT, [2])])
    yield "sequence_grows", model([n("SequenceConstruct", "x", "start"), n("Loop", "trips yes start", "s", body=grow), n("SequenceErase", "s last", "e"),
                                   n("SequenceLength", "e", "l"), n("ConcatFromSequence", "e", "c", axis=0, new_axis=1)],
                                  [value("x", [2])], [value("l", [], T.INT64), value("c", ["m", 2])],
                                  [nh.from_array(np.array(2, np.int64), "trips"), nh.from_array(np.array(True), "yes"), nh.from_array(np.array(-1, np.int64), "last")])
    inner = body([n("If", "c_in", "w", then_branch=body([n("Mul", "v_in two", "p")], [], [value("p", [3])]),
                    else_branch=body([n("Sub", "v_in x", "q")], [], [value("q", [3])])), n("Not", "c_in", "flip"),
                  n("Or", "flip c_in", "c_out"), n("Identity", "w", "v_out")],
                 [value("i", [], T.INT64), value("c_in", [], T.BOOL), value("v_in", [3])], [value("c_out", [], T.BOOL), value("v_out", [3])])
    yield "loop_of_if", model([n("Loop", "trips yes x", "y", body=inner)], [value("x", [3])], [value("y", [3])],
                              [nh.from_array(np.array(3, np.int64), "trips"), nh.from_array(np.array(True), "yes"), nh.from_array(np.float32(2), "two")])
    yield "picks", model([n("Unique", "x", "u first back counts", axis=1, sorted=0), n("Det", "x", "d"), n("TopK", "x k", "t i", axis=0, largest=0)],
                         [value("x", [3, 3])], [value("u", [3, "m"]), value("first", ["m"], T.INT64), value("d", []), value("t", [2, 3]), value("i", [2, 3], T.INT64)],
                         [ints("k", 2)])


def optional_model():
    of_x = h.make_optional_type_proto(h.make_tensor_type_proto(T.FLOAT, [2]))
    graph = h.make_graph([n("Optional", "x", "o"), n("OptionalHasElement", "o", "has"),
                          n("If", "has", "y", then_branch=body([n("OptionalGetElement", "o", "e")], [], [value("e", [2])]),
                            else_branch=body([n("Neg", "x", "m")], [], [value("m", [2])]))],
                         "g", [value("x", [2])], [value("y", [2]), value("has", [], T.BOOL)], value_info=[h.make_value_info("o", of_x)])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=9).SerializeToString()


def onnx_function():
    twice = h.make_function("own", "Twice", ["a"], ["b"], [h.make_node("Add", ["a", "a"], ["b"])], [h.make_opsetid("", 20)])
    graph = h.make_graph([h.make_node("Twice", ["x"], ["t"], domain="own"), h.make_node("Twice", ["t"], ["y"], domain="own")], "g", [value("x", [2])], [value("y", [2])])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 20), h.make_opsetid("own", 1)], functions=[twice], ir_version=9).SerializeToString()


def png(width, height, kind):
    channels = {0: 1, 2: 3, 3: 1, 6: 4}[kind]
    rows = b"".join(b"\0" + bytes(RNG.integers(0, 4 if kind == 3 else 256, width * channels, np.uint8)) for _ in range(height))
    chunk = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    palette = chunk(b"PLTE", bytes(range(12))) if kind == 3 else b""
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)) + palette + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def wav(kind, bits, channels, samples):
    data = bytes(RNG.integers(0, 256, samples * channels * bits // 8, np.uint8)) if kind == 1 else RNG.standard_normal(samples * channels).astype("<f4").tobytes()
    form = struct.pack("<HHIIHH", kind, channels, 16000, 16000 * channels * bits // 8, channels * bits // 8, bits)
    return b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(data)) + data


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def npz(compression, **arrays):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, array in arrays.items():
            archive.writestr(zipfile.ZipInfo(name + ".npy", (2020, 1, 1, 0, 0, 0)), npy(array))
    return out.getvalue()


def jpeg():
    from PIL import Image
    out = io.BytesIO()
    Image.fromarray(RNG.integers(0, 256, (9, 12, 3), np.uint8)).save(out, "JPEG", quality=60)
    return out.getvalue()


def media_seeds():
    yield "png_rgb", b"\x40" + png(7, 5, 2)
    yield "png_gray", b"\x06" + png(8, 8, 0)
    yield "png_palette", b"\x42" + png(6, 6, 3)
    yield "png_alpha", b"\x23" + png(5, 9, 6)
    yield "jpeg", b"\x40" + jpeg()
    yield "wav_16", b"\x02" + wav(1, 16, 1, 60)
    yield "wav_float", b"\x80" + wav(3, 32, 2, 40)
    yield "wav_8", b"\x02" + wav(1, 8, 1, 33)
    yield "npy_float", b"\0" + npy(np.arange(12, dtype=np.float32).reshape(3, 4))
    yield "npy_fortran", b"\0" + npy(np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3)))
    yield "npy_text", b"\0" + npy(np.array(["ab", "c"]))
    yield "npz_stored", b"\0" + npz(zipfile.ZIP_STORED, x=np.ones((2, 2), np.int8))
    yield "npz_deflated", b"\0" + npz(zipfile.ZIP_DEFLATED, x=np.zeros(50), y=np.array(True))


def text_seeds():
    targets = pathlib.Path(__file__).resolve().parents[2] / "converter" / "target"
    for path in sorted(targets.rglob("*.json")):
        yield "profile_" + path.stem, b"\0" + path.read_bytes()
    for i, text in enumerate(["image=1,3,224,224", "x=1..8,3", "a=b=4", "s="]):
        yield f"shape_{i}", b"\1" + text.encode()
    for i, text in enumerate(["cpu", "auto\ncpu>=50%", "null,cpu\n\ncpu\nbatch", "cpu\ncpu=100%\n\nn"]):
        yield f"session_{i}", b"\2" + text.encode()
    entry = {"key": "00000000000000ff", "threads": 1, "device": "cpu", "kernel": "gemm_f32", "us": 1.5, "used": 1, "others": [{"device": "cpu", "kernel": "reference", "us": 9}]}
    yield "tuning", b"\3" + json.dumps({"vireo_tuning": 2, "cpu": "x", "next": 1, "entries": [entry], "rates": {"operations": 1e11, "near_bytes": 1e10, "far_bytes": 1e10}}).encode()
    yield "vendors", b"\5" + b"intel,amd"


def bytes_seeds(count, size):
    for i in range(count):
        yield f"bytes_{i}", bytes(RNG.integers(0, 256, size, np.uint8))


def words(*lists):
    """A dictionary as libFuzzer reads it: one word a line, each once."""
    lines = []
    for word in dict.fromkeys(w if isinstance(w, bytes) else w.encode() for words in lists for w in words):
        lines.append('"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\x{b:02X}" for b in word) + '"\n')
    return "".join(lines)


def dictionaries():
    schemas = onnx.defs.get_all_schemas()
    yield "onnx", words(["ai.onnx.ml", "ai.onnx.preview.training", "com.microsoft", "location", "offset", "length"], sorted({s.name for s in schemas}),
                        sorted({a for s in schemas for a in s.attributes}))
    root = pathlib.Path(__file__).resolve().parents[2]
    ops = [int(n) for n in re.findall(r"^VIREO_OP\((\d+),", (root / "sdk/ops/ops.def").read_text(), re.M)]
    yield "vireo", words([b"\x89VIREO\n\x1a", "VREO", "cpu", "mcu", "npu", "NCHW", "NHWC", "RGB", "BGR"], [struct.pack("<H", n) for n in ops],
                         [struct.pack("<q", v) for v in (-1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, -2**63)])
    texts = [root / "converter/target/profile.cc", root / "c_api/cli/tuning.cc", root / "c_api/cli/keys.cc"]
    quoted = sorted({w for path in texts for w in re.findall(r'"([a-z][\w-]{1,24})"', path.read_text())})
    yield "text", words(quoted, ["cpu", "null", "xnnpack", "auto", "batch", ">=", "%", "..", "true", "false", "1e308", "-0", "18446744073709551616", '":', '",', "[[", "{}", "\\u0000"])


def main():
    for name, text in dictionaries():
        (CORPUS.parent / "dictionaries").mkdir(exist_ok=True)
        (CORPUS.parent / "dictionaries" / (name + ".dict")).write_text(text)
    for target, seeds in (("onnx", onnx_seeds()), ("media", media_seeds()), ("text", text_seeds()), ("api", bytes_seeds(6, 300)), ("delegate", bytes_seeds(6, 400))):
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for name, content in seeds:
            (folder / (name + (".onnx" if target == "onnx" else ""))).write_bytes(content)
        print(f"{target}: {len(list(folder.iterdir()))} seeds, {sum(p.stat().st_size for p in folder.iterdir())} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
