"""The trained models: the recorded metric of each, measured again through the Python binding, within 0.1 point; and the
recorded outputs, element by element."""
import importlib.util
import json
import math
import sys

import support

POINT = 1e-3  # 0.1 point of a share


def folder():
    return support.SHARED / "trained"


def recorded(name):
    return json.loads((folder() / "metrics.json").read_text())[name]




def close(test, got, want):
    """The tool's own rule for float32: |d| <= 1e-5 max|ref| + 1e-4 |ref|."""
    import numpy as np
    test.assertEqual(got.shape, want.shape)
    excess = np.abs(got.astype(np.float64) - want) - (1e-5 * np.abs(want).max() + 1e-4 * np.abs(want))
    test.assertLessEqual(float(excess.max()), 0.0)


def keyword(name):
    def run(test):
        import numpy as np
        data = np.load(folder() / "kws" / "test.npz")
        x = data["mfcc" if "mfcc" in name else "logmel"].astype(np.float32)
        x = x if "gru" in name else x[:, None]
        import vireo
        model = vireo.Model(support.convert(folder() / "kws" / (name + ".onnx")))
        logits, = model.session(model.bounds_for(x)).run(x)
        close(test, logits, np.load(folder() / "kws" / "expected.npz")[name])
        accuracy = float((logits.argmax(1) == data["label"]).mean())
        test.assertLessEqual(abs(accuracy - recorded(name)["accuracy"]), POINT)
    return run


def keyword_sounds(test):
    import numpy as np
    import wave
    labels = np.load(folder() / "kws" / "test.npz")["labels"]
    import vireo
    models = [vireo.Model(support.convert(folder() / "kws" / f"{n}.onnx")) for n in ("kws_frontend", "kws_dscnn")]
    sessions, right, files = None, 0, sorted((folder() / "kws" / "wav").glob("*.wav"))
    for file in files:
        with wave.open(str(file)) as sound:
            x = (np.frombuffer(sound.readframes(16000), np.int16).astype(np.float32) / 32768)[None]
        if sessions is None:
            front = models[0].session(models[0].bounds_for(x))
            features, = front.run(x)
            sessions = front, models[1].session(models[1].bounds_for(features))
        features, = sessions[0].run(x)
        logits, = sessions[1].run(features)
        right += labels[logits.argmax()] == file.stem.split("_")[0]
    want = recorded("kws_frontend + kws_dscnn on the wav files")
    test.assertEqual((right, len(files)), (want["right"], want["files"]))


def digits(name):
    def run(test):
        import numpy as np
        data = np.load(folder() / "digit_cls" / "digit_test.npz")
        x = data["image"].astype(np.float32) / 255
        import vireo
        model = vireo.Model(support.convert(folder() / "digit_cls" / (name + ".onnx")))
        logits, = model.session(model.bounds_for(x)).run(x)
        close(test, logits, np.load(folder() / "digit_cls" / "expected.npz")[name])
        accuracy = float((logits.argmax(1) == data["label"]).mean())
        test.assertLessEqual(abs(accuracy - recorded(name)["accuracy"]), POINT)
    return run


def metric():
    spec = importlib.util.spec_from_file_location("det_metric", folder() / "scripts" / "det_metric.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def detector(name):
    def run(test):
        import numpy as np
        from PIL import Image
        det = metric()
        items = json.loads((folder() / "digit_det" / "test.json").read_text())["images"]
        truth = [(np.array(i["boxes"], np.float32), np.array(i["labels"])) for i in items]
        expected, found = np.load(folder() / "digit_det" / "expected.npz"), []
        import vireo
        model = vireo.Model(support.convert(folder() / "digit_det" / (name + ".onnx")))
        running = None
        for k, item in enumerate(items):
            x = np.ascontiguousarray(np.asarray(Image.open(folder() / "digit_det" / item["file"]), np.float32).transpose(2, 0, 1)[None] / 255)
            running = running or model.session(model.bounds_for(x))
            outputs = dict(zip((v.name for v in model.outputs), running.run(x)))
            if name == "digit_det":
                found.append(det.nms(*det.decode(outputs["raw"][0])))
                if k < 4:
                    close(test, outputs["raw"][0], expected[f"raw_{k}"])
            else:
                found.append(tuple(outputs[n] for n in ("boxes", "scores", "classes")))
                if k < 4:
                    np.testing.assert_array_equal(outputs["classes"], expected[f"classes_{k}"])
                    close(test, outputs["boxes"], expected[f"boxes_{k}"])
                    close(test, outputs["scores"], expected[f"scores_{k}"])
        want = recorded(name)
        for key, value in (("mAP50", det.average_precision(found, truth)), ("mAP75", det.average_precision(found, truth, 0.75)),
                           ("mAP50_95", float(np.mean([det.average_precision(found, truth, t) for t in np.arange(0.5, 0.96, 0.05)])))):
            test.assertLessEqual(abs(value - want[key]), POINT, f"{key} is {value:.4f}, recorded {want[key]}")
    return run


class Decoder:
    """A language model with its cache, for up to 256 new and 512 past tokens."""

    def __init__(self, name):
        import vireo
        self.model = vireo.Model(support.convert(folder() / "lm" / (name + ".onnx")))
        self.past = [v for v in self.model.inputs if v.name.startswith("past")]
        batch, tokens = (self.dim("input_ids", d) for d in (0, 1))
        # Names are per exporter: past length is dimension 2 of the caches.
        bounds = {batch: 1, tokens: (1, 256), self.dim(self.past[0].name, 2): (0, 512)}
        for value in self.model.inputs:
            for dim in value.shape:
                if isinstance(dim, tuple) and dim[2] is None:
                    bounds.setdefault(dim[0], 1)
        self.session = self.model.session(bounds)
        self.reset()

    def dim(self, name, axis):
        return next(v for v in self.model.inputs if v.name == name).shape[axis][0]

    def reset(self):
        import numpy as np
        self.cache = [np.zeros((1, v.shape[1], 0, v.shape[3]), np.float32) for v in self.past]

    def step(self, ids):
        import numpy as np
        start = self.cache[0].shape[2]
        feed = {"input_ids": np.array([ids], np.int64), "position_ids": np.arange(start, start + len(ids), dtype=np.int64)[None],
                **{v.name: cache for v, cache in zip(self.past, self.cache)}}
        outputs = self.session.run(feed=feed)
        self.cache = outputs[1:]
        return outputs[0][0]


def language(name):
    def run(test):
        import numpy as np
        import bpe
        encoder = bpe.Encoder(folder() / "lm" / "tokenizer.json")
        ids = np.array(encoder.encode((folder() / "lm" / "test.txt").read_text()))
        expected = np.load(folder() / "lm" / "expected.npz")
        np.testing.assert_array_equal(ids[:64], expected["first_tokens"])
        decoder, loss = Decoder(name), 0.0
        for at in range(0, len(ids) - 1, 256):
            x = ids[at:at + 257]
            decoder.reset()
            rows = decoder.step(x[:-1].tolist()).astype(np.float64)
            top = rows.max(-1)
            loss += float((np.log(np.exp(rows - top[:, None]).sum(-1)) + top - rows[np.arange(len(rows)), x[1:]]).sum())
        want = recorded(name)
        test.assertEqual(len(ids) - 1, want["scored_tokens"])
        test.assertLessEqual(abs(math.exp(loss / (len(ids) - 1)) - want["perplexity"]), 0.1)
        # Greedy continuation with a growing cache: the recorded text, token by token.
        decoder.reset()
        row, text = decoder.step(expected["prompts"][0].tolist())[-1], []
        close(test, row, expected[f"{name}_logits"])
        for _ in range(64):
            text.append(int(row.argmax()))
            row = decoder.step(text[-1:])[-1]
        test.assertEqual(text, expected[f"{name}_greedy"][0].tolist())
    return run


reason = support.missing("numpy", "PIL", folder="trained")
Trained = support.cases(reason, {
    **{n: keyword(n) for n in ("kws_dscnn", "kws_dscnn_mfcc", "kws_gru")}, "kws_sounds": keyword_sounds,
    **{n: digits(n) for n in ("digit_vit", "digit_mobile")}, **{n: detector(n) for n in ("digit_det", "digit_det_nms")},
    **{n: language(n) for n in ("lm_draft", "lm_draft_op23", "lm_main")}})

if __name__ == "__main__":
    sys.path.insert(0, str(support.ROOT / "tests" / "e2e"))
    support.main()
