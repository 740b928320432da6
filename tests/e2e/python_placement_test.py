"""Devices, placement, preferences, options, trust and conversion through the Python binding."""
import pathlib
import unittest

import support

MODELS = support.ROOT / "samples" / "models"
reason = support.missing("numpy")


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import numpy
        import vireo
        cls.np, cls.vireo = numpy, vireo
        cls.path = support.convert(MODELS / "kws_dscnn.onnx", "python_placement", "--shape", "features=1..8,1,49,40")
        stored = numpy.load(MODELS / "kws_dscnn.npz")
        cls.x, cls.y = stored["c0_in0"], stored["c0_out0"]

    def close(self, got, want):
        self.np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 * abs(want).max())


@unittest.skipIf(reason, reason)
class Placement(Base):
    def test_devices_say_what_they_are_like(self):
        runtime = self.vireo.Runtime()
        cpu = next(d for d in runtime.devices if d.name == "cpu")
        self.assertTrue(cpu.unified and not cpu.emulated and not cpu.measured and cpu.detail)
        self.assertEqual(runtime.plugins, [])

    def test_rates_that_were_measured_are_told(self):
        runtime = self.vireo.Runtime()
        at = [d.name for d in runtime.devices].index("cpu")
        runtime.set_rates(at, f32_rate=1e12, bandwidth=3e10)
        cpu = runtime.devices[at]
        self.assertEqual((cpu.f32_rate, cpu.bandwidth, cpu.measured), (1e12, 3e10, True))
        with self.assertRaises(self.vireo.VireoError):
            runtime.set_rates(99, f32_rate=1.0)

    def test_devices_say_how_they_are(self):
        plugin = support.BUILD / "plugins" / "libvireo_npu.so"
        if not plugin.exists():
            self.skipTest("this build has no plug-ins")
        runtime = self.vireo.Runtime(plugins=[plugin])
        names = [d.name for d in runtime.devices]
        npu, cpu = runtime.telemetry(names.index("npu")), runtime.telemetry(names.index("cpu"))
        self.assertEqual((npu.answers, npu.power, npu.submits, npu.clock_mhz > 0), (True, "idle", 0, True))
        self.assertEqual(cpu, self.vireo.Telemetry(answers=True))
        with self.assertRaises(self.vireo.VireoError):
            runtime.telemetry(99)

    def test_plugins_that_are_none(self):
        no_library = support.WORK / "no_library.so"
        no_library.write_text("hello")
        lines = []
        runtime = self.vireo.Runtime(plugins=[no_library], plugin_cache="", log=lambda level, text: lines.append((level, text)))
        plugin, = runtime.plugins
        self.assertEqual((plugin.path, plugin.devices), (str(no_library), 0))
        self.assertTrue(plugin.reason)
        self.assertTrue(any(str(no_library) in text for _, text in lines), lines)

    def test_placement_is_where_the_session_runs(self):
        model = self.vireo.Model(self.path)
        placed = model.placement()
        with model.session() as session:
            self.assertEqual([(n.name, n.op, n.device, n.depth) for n in placed], [(n.name, n.op, n.device, n.depth) for n in session.nodes])
            self.assertEqual(session.failovers, 0)
        devices = [d.name for d in model.runtime.devices]
        for node in placed:
            self.assertEqual([v.device for v in node.verdicts], devices)
            self.assertTrue(next(v for v in node.verdicts if v.device == node.device).takes)
        for part in {n.part for n in placed if n.part is not None}:
            self.assertEqual(len({n.device for n in placed if n.part == part}), 1, "a part runs on one device")

    def test_placement_of_a_device_that_takes_nothing(self):
        model = self.vireo.Model(self.path)
        for node in model.placement(device="null,cpu"):
            null = next(v for v in node.verdicts if v.device == "null")
            self.assertEqual((node.device, null.takes, null.allowed), ("cpu", False, True))
            self.assertTrue(null.reason)
        for call in (model.placement, model.session, model.memory):
            with self.subTest(call.__name__), self.assertRaises(self.vireo.VireoError) as caught:
                call(device="gpu9")
            self.assertIn("gpu9", str(caught.exception))

    def test_which_device_for_a_model(self):
        model = self.vireo.Model(self.path)
        all_of_them = model.devices()
        self.assertEqual(len(all_of_them), len([d for d in model.runtime.devices if not d.emulated]))
        cpu = next(c for c in all_of_them if c.devices == "cpu")
        self.assertTrue(cpu.fits and cpu.memory > 0 and cpu.nodes == cpu.nodes_there and cpu.source)
        tight = next(c for c in model.devices(limits=self.vireo.Limits(memory=1)) if c.devices == "cpu")
        self.assertFalse(tight.fits)
        self.assertTrue(tight.reason)
        with self.assertRaises(ValueError):
            model.devices(limits=self.vireo.Limits(prices=[1.0] * 99))

    def test_dimensions_and_plans(self):
        model = self.vireo.Model(self.path)
        (name, extent), = model.dimensions.items()
        self.assertEqual((name, *extent), model.inputs[0].shape[0])
        self.assertEqual(model.plans[0].target, "")

    def test_a_preference_is_asked(self):
        model, seen, timed = self.vireo.Model(self.path), [], []
        with model.session(device="cpu", preference=self.vireo.Preference(lambda c: seen.append(c) or 0, lambda c: timed.append(c) or 0.0)) as session:
            self.assertLessEqual({n.key for n in session.nodes if n.key}, {c.key for c in seen})
            self.close(session.run(self.x)[0], self.y)
        self.assertTrue(all(c.device == "cpu" and c.key and c.kernel for c in seen))

    def test_a_preference_decides(self):
        model = self.vireo.Model(self.path)
        if "xnnpack" not in [d.name for d in model.runtime.devices]:
            self.skipTest("without the xnnpack delegate no node of this model has two ways (toolchains/bootstrap --for xnnpack builds it)")
        with model.session(device="xnnpack,cpu") as session:
            self.assertIn("xnnpack", {n.device for n in session.nodes})
        with model.session(device="xnnpack,cpu", preference=self.vireo.Preference(lambda c: int(c.device == "cpu"))) as session:
            self.assertEqual({n.device for n in session.nodes}, {"cpu"})
            self.close(session.run(self.x)[0], self.y)

    def test_what_a_preference_raises_comes_out(self):
        model = self.vireo.Model(self.path)

        def fails(_):
            raise KeyError("a table of times")
        for call in (model.session, model.memory):
            with self.subTest(call.__name__), self.assertRaisesRegex(KeyError, "a table of times"):
                call(preference=self.vireo.Preference(fails))

    def test_carried_state_is_saved_and_set(self):
        path = support.convert(support.ROOT / "tests/fuzz/corpus/onnx/state.onnx", "python_state", "--state", "present=past")
        x = [self.np.full((1, 1, 4), k, self.np.float32) for k in range(5)]
        with self.vireo.Model(path).session() as one, self.vireo.Model(path).session() as other:
            for k in range(3):
                present = one.run(x[k])[1]
            saved = one.state()
            self.assertEqual(list(saved), ["past"])
            self.np.testing.assert_array_equal(saved["past"], present)
            wanted = one.run(x[3])
            self.np.testing.assert_array_equal(saved["past"], present)  # a copy
            other.set_state(saved)
            for got, want in zip(other.run(x[3]), wanted):
                self.np.testing.assert_array_equal(got, want)
            other.reset()
            self.assertFalse(other.state()["past"].any())
            with self.assertRaisesRegex(self.vireo.VireoError, r"state 'past' takes float32 \[1, 3, 4\], got float32 \[3, 4\]"):
                other.set_state({"past": saved["past"][0]})
            with self.assertRaisesRegex(self.vireo.VireoError, "'x' is no carried state"):
                other.set_state({"x": x[0]})

    def test_options(self):
        model = self.vireo.Model(self.path)
        packed, plain = model.memory(packing="always"), model.memory(packing="never")
        self.assertGreater(packed.packed, 0)
        self.assertEqual(plain.packed, 0)
        for what in ({"packing": "never"}, {"threads": 1}, {"failover": False, "device_timeout": 2.5}, {"require": "cpu=100%"}, {"target": ""},
                     {"priority": "high", "slice": 0.005, "state_stays": True}):
            with self.subTest(what), model.session(**what) as session:
                self.close(session.run(self.x)[0], self.y)
        with self.assertRaisesRegex(self.vireo.VireoError, "null"):
            model.session(device="null,cpu", require="null>=50%")
        with self.assertRaises(self.vireo.VireoError):
            model.session(target="nowhere")
        with self.assertRaisesRegex(self.vireo.VireoError, "sometimes"):
            model.session(packing="sometimes")
        with self.assertRaisesRegex(self.vireo.VireoError, "priority 'urgent' is none of normal, low, high"):
            model.session(priority="urgent")
        with self.assertRaisesRegex(self.vireo.VireoError, "slice is -1"):
            model.session(slice=-1)
        with self.assertRaisesRegex(TypeError, "threds"):
            model.session(threds=1)


@unittest.skipIf(reason, reason)
class Converting(Base):
    def test_converts_and_runs(self):
        out = support.WORK / "python_converted.vireo"
        options = {"shape": {"features": ((1, 4), 1, 49, 40)}, "embed_tests": MODELS / "kws_dscnn.npz", "skip": ["fuse_codes"], "check": False}
        self.assertEqual(self.vireo.convert(MODELS / "kws_dscnn.onnx", out, **options), out)
        model = self.vireo.Model(out)
        self.assertEqual(model.inputs[0].shape[0][1:], (1, 4))
        self.assertGreater(model.test_count, 0)
        model.session().selftest()

    def test_says_what_the_program_says(self):
        bad, out = support.WORK / "python_bad.onnx", support.WORK / "python_never.vireo"
        bad.write_bytes(b"no model")
        for model, options, what in ((bad, {}, "python_bad.onnx"), ("no_such_file.onnx", {}, "no_such_file.onnx"),
                                     (MODELS / "kws_dscnn.onnx", {"quantize": "int3"}, "int3"), (MODELS / "kws_dscnn.onnx", {"colour": "red"}, "colour"),
                                     (MODELS / "kws_dscnn.onnx", {"shape": {"sound": (1, 2)}}, "sound")):
            with self.subTest(what), self.assertRaises(self.vireo.ConvertError) as caught:
                self.vireo.convert(model, out, **options)
            self.assertIn(what, str(caught.exception))
            self.assertGreater(caught.exception.exit_status, 0)
            self.assertFalse(out.exists())


@unittest.skipIf(reason, reason)
class Trusting(Base):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.room = support.WORK / "python_trust"
        cls.room.mkdir(parents=True, exist_ok=True)
        for old in cls.room.iterdir():
            old.unlink()
        if support.vireo("keygen", cls.room / "maker", check=False).returncode != 0:
            raise unittest.SkipTest("this build is without libsodium (VIREO_TRUST)")
        support.vireo("keygen", cls.room / "other")
        support.vireo("keygen", cls.room / "fleet", "--encryption")
        cls.sealed = cls.room / "sealed.vireo"
        support.vireo("encrypt", cls.path, "-o", cls.sealed, "--key", cls.room / "fleet.key")
        support.vireo("sign", cls.sealed, "-o", cls.sealed, "--key", cls.room / "maker.key", "--revision", 3)

    def load(self, path, **trust):
        return self.vireo.Model(path, self.vireo.Runtime(trust=self.vireo.Trust(**trust)))

    def test_runs_with_its_keys(self):
        seen = []
        model = self.load(self.sealed, public=[self.room / "maker.pub"], secret=[self.room / "fleet.key"], require=True,
                          accept=lambda signature: seen.append(signature) or signature.revision >= 3)
        told = model.signature
        self.assertEqual((told.present, told.verified, told.encrypted, told.revision), (True, True, True, 3))
        self.assertEqual(told.key, (self.room / "maker.pub").read_text().split()[1])
        self.assertEqual({s.revision for s in seen}, {3})
        self.close(model.session().run(self.x)[0], self.y)

    def test_keys_as_bytes(self):
        words = (self.room / "fleet.key").read_text().split()
        model = self.load(self.sealed, secret=[(bytes.fromhex(words[1]), bytes.fromhex(words[2]))])
        self.close(model.session().run(self.x)[0], self.y)

    def test_is_refused_otherwise(self):
        keys = {"secret": [self.room / "fleet.key"]}
        for what, trust in {"no key": {}, "another maker": {**keys, "public": [self.room / "other.pub"], "require": True},
                            "too old": {**keys, "public": [self.room / "maker.pub"], "accept": lambda s: s.revision > 3},
                            "a judge that fails": {**keys, "public": [self.room / "maker.pub"], "accept": lambda s: s.no_such_thing}}.items():
            with self.subTest(what), self.assertRaises(self.vireo.VireoError):
                self.load(self.sealed, **trust)
        with self.assertRaises(self.vireo.VireoError):
            self.load(self.path, public=[self.room / "maker.pub"], require=True)
        self.assertFalse(self.vireo.Model(self.path).signature.present)

    def test_files_that_are_no_keys(self):
        for public in ("no_such.pub", self.room / "maker.key", pathlib.Path(__file__), (b"short", b"key")):
            with self.subTest(public), self.assertRaises(self.vireo.VireoError):
                self.vireo.Trust(public=[public])


if __name__ == "__main__":
    support.main()
