"""quantize.py MODEL.onnx... -o FOLDER: the int8 models that compare.py puts before every runtime alike.

ONNX Runtime's static quantizer, QDQ format, per channel, min-max, unsigned activations and signed weights. Calibrated on the model's
inputs of --inputs FOLDER (MODEL.INPUT.npy, as fill_skeleton.py writes them) with small noise added, four times. Speed is what these
files are for: with random weights they have no accuracy to lose. Needs onnx and onnxruntime.
"""
import argparse
import pathlib
import tempfile

import numpy as np
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

import compare


class Reader(CalibrationDataReader):
    def __init__(self, feed):
        random = np.random.default_rng(1)
        noisy = lambda a: (a + 0.05 * random.standard_normal(a.shape).astype(a.dtype)) if a.dtype == np.float32 else a
        self.feeds = iter([{name: noisy(array) for name, array in feed.items()} for _ in range(4)])

    def get_next(self):
        return next(self.feeds, None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--inputs", type=pathlib.Path)
    parser.add_argument("--dim", type=int, default=1)
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    for model in args.models:
        to = args.output / (pathlib.Path(model).stem + "-int8.onnx")
        with tempfile.TemporaryDirectory() as folder:
            ready = pathlib.Path(folder) / "ready.onnx"
            try:
                quant_pre_process(model, str(ready), skip_symbolic_shape=True)
                quantize_static(str(ready), str(to), Reader(compare.feed_of(model, args.dim, args.inputs)), quant_format=QuantFormat.QDQ,
                                per_channel=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
                print(f"quantize: {to}")
            except Exception as error:  # the quantizer's own ways to refuse a model
                print(f"quantize: {model}: {type(error).__name__}: {str(error).splitlines()[0]}")


if __name__ == "__main__":
    main()
