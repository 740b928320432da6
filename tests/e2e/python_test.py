"""The Python binding over the C API, on the models of the samples."""
import gc
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock
import weakref

import support

MODELS = support.ROOT / "samples" / "models"
reason = support.missing("numpy")


class Import(unittest.TestCase):
    def test_says_that_it_needs_numpy(self):
        code = "import sys; sys.modules['numpy'] = None; import vireo"
        path = os.pathsep.join([str(support.ROOT / "bindings" / "python"), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run([sys.executable, "-B", "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("vireo needs numpy", done.stderr)


@unittest.skipIf(reason, reason)
class Binding(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import numpy
        import vireo
        cls.np, cls.vireo = numpy, vireo
        cls.path = support.convert(MODELS / "digit_mobile.onnx", "python_digit_mobile")
        cls.stored = numpy.load(MODELS / "digit_mobile.npz")
        cls.x, cls.y = cls.stored["c0_in0"], cls.stored["c0_out0"]
        cls.batch = vireo.Model(cls.path).inputs[0].shape[0][0]

    def close(self, got, want):
        self.np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 * abs(want).max())

    def test_runs_from_file_and_from_bytes(self):
        for source in (self.path, pathlib.Path(self.path).read_bytes()):
            with self.vireo.Model(source) as model:
                self.assertEqual([v.name for v in model.inputs], ["image"])
                with model.session(model.bounds_for(self.x)) as session:
                    logits, = session.run(image=self.x)
                    self.close(logits, self.y)

    def test_what_they_are_and_that_they_stay(self):
        import copy
        import pickle
        model = self.vireo.Model(self.path)
        self.assertEqual(repr(model), f"<vireo.Model image float32[{self.batch},1,32,32] -> logits float32[{self.batch},10]>")
        session = model.session({self.batch: 1})
        self.assertEqual(repr(session), f"<vireo.Session of {model!r}>")
        for thing in (model, session, model.runtime):
            for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
                with self.assertRaisesRegex(TypeError, f"a {type(thing).__name__} belongs to its process"):
                    attempt(thing)
        session.close()
        self.assertEqual(repr(session), "<vireo.Session, closed>")

    def test_one_session_runs_every_size_up_to_its_bound(self):
        model = self.vireo.Model(self.path)
        batch = model.inputs[0].shape[0][0]
        session = model.session({batch: (1, 8)})
        for n in (8, 1, 3):
            logits, = session.run(self.x[:n])
            self.close(logits, self.y[:n])
        with self.assertRaises(self.vireo.VireoError):
            session.run(self.np.zeros((9, 1, 32, 32), self.np.float32))
        session.reserve({batch: (1, 9)})
        self.assertEqual(session.run(self.np.zeros((9, 1, 32, 32), self.np.float32))[0].shape, (9, 10))

    def test_arrays_that_are_not_contiguous(self):
        model = self.vireo.Model(self.path)
        turned = self.np.ascontiguousarray(self.x.transpose(0, 1, 3, 2)).transpose(0, 1, 3, 2)
        logits, = model.session(model.bounds_for(turned)).run(turned)
        self.close(logits, self.y)

    def test_view_is_the_sessions_memory(self):
        model = self.vireo.Model(self.path)
        session = model.session(model.bounds_for(self.x))
        kept, = session.run(self.x)
        view, = session.run(self.x, copy=False)
        self.close(view, kept)
        self.assertFalse(view.flags.owndata)

    def test_a_view_keeps_its_session(self):
        model = self.vireo.Model(self.path)
        bounds = model.bounds_for(self.x)
        for run in (lambda session: session.run(self.x, copy=False), lambda session: session.bind(self.x).run()):
            session = model.session(bounds)
            alive = weakref.ref(session)
            view, = run(session)
            del session
            gc.collect()
            self.assertIsNotNone(alive())
            self.close(view, self.y)
            del view
            gc.collect()
            self.assertIsNone(alive())

    def test_errors_name_the_input(self):
        model = self.vireo.Model(self.path)
        session = model.session(model.bounds_for(self.x))
        wrong = {"another type": {"image": self.x.astype(self.np.float64)}, "another shape": {"image": self.x[..., :31]},
                 "another rank": {"image": self.x[0]}, "another name": {"picture": self.x}, "none": {}}
        for what, feed in wrong.items():
            with self.subTest(what), self.assertRaises(self.vireo.VireoError) as caught:
                session.run(feed=feed)
            self.assertEqual(caught.exception.status, "invalid argument")
            self.assertRegex(str(caught.exception), "image|picture")
        with self.assertRaisesRegex(self.vireo.VireoError, "feed="):
            session.run({"image": self.x})
        self.close(session.run(self.x)[0], self.y)  # and goes on working

    def test_bounds_that_do_not_fit_are_named(self):
        model = self.vireo.Model(self.path)
        batch = model.inputs[0].shape[0][0]
        for bounds in ({batch: (8, 1)}, {batch: -1}, {batch: 1.5}, {batch: "8"}, {batch: (1, 2, 3)}):
            with self.subTest(bounds), self.assertRaisesRegex(self.vireo.VireoError, batch):
                model.session(bounds)
        session = model.session({batch: (1, self.np.int64(4))})
        for call in (model.session, model.memory, session.reserve):
            with self.assertRaisesRegex(self.vireo.VireoError, f"'rows'.*it has '{batch}'"):
                call({"rows": 1})
        with self.assertRaisesRegex(TypeError, "dict.*list"):
            model.session([(batch, 1, 4)])
        with self.assertRaisesRegex(self.vireo.VireoError, "threads is -1"):
            model.session({batch: 1}, threads=-1)
        with self.assertRaisesRegex(self.vireo.VireoError, "'image' has 1 dimensions"):
            model.bounds_for(self.x[0, 0, 0])

    @unittest.skipIf(support.missing("onnx"), support.missing("onnx"))
    def test_missing_values_are_no_text(self):
        import onnx
        from onnx import helper
        node = helper.make_node("LabelEncoder", ["city"], ["code"], domain="ai.onnx.ml", keys_strings=["Bern", "nan"], values_int64s=[1, 2])
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("city", onnx.TensorProto.STRING, [2])],
                                  [helper.make_tensor_value_info("code", onnx.TensorProto.INT64, [2])])
        path = support.WORK / "python_text.onnx"
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("ai.onnx.ml", 2), helper.make_opsetid("", 17)]), path)
        session = self.vireo.Model(support.convert(path, "python_text")).session()
        for good in (["Bern", "nan"], self.np.array(["Bern", b"nan"], object), self.np.array([b"Bern", b"nan"])):
            self.assertEqual(session.run(good)[0].tolist(), [1, 2])
        for bad in (self.np.array(["Bern", float("nan")], object), self.np.array(["Bern", None], object)):
            with self.assertRaisesRegex(self.vireo.VireoError, "'city' takes str, got an element (nan|None)"):
                session.run(bad)
        with self.assertRaisesRegex(self.vireo.VireoError, "'city' takes str, got int64"):
            session.run(self.np.array([1, 2]))

    def test_open_dimension_is_named(self):
        model = self.vireo.Model(self.path)
        with self.assertRaises(self.vireo.VireoError) as caught:
            model.session()
        self.assertIn(model.inputs[0].shape[0][0], str(caught.exception))

    def test_bad_files(self):
        whole = pathlib.Path(self.path).read_bytes()
        for what, content in {"empty": b"", "short": whole[:100], "cut": whole[:-1], "text": b"hello" * 100}.items():
            with self.subTest(what), self.assertRaises(self.vireo.VireoError):
                self.vireo.Model(content)
        for at in (5, 200, len(whole) // 2, len(whole) - 1):
            bad = bytearray(whole)
            bad[at] ^= 1
            with self.subTest(at), self.assertRaises(self.vireo.VireoError):
                self.vireo.Model(bad)
        with self.assertRaises(self.vireo.VireoError) as caught:
            self.vireo.Model("no_such_file.vireo")
        self.assertIn("no_such_file.vireo", str(caught.exception))

    def test_memory_is_told_before_a_session_exists(self):
        model = self.vireo.Model(self.path)
        one, eight = (model.memory({model.inputs[0].shape[0][0]: n}) for n in (1, 8))
        self.assertLess(one.total, eight.total)
        self.assertLessEqual(one.lower_bound, one.tensors)
        self.assertGreaterEqual(one.total, one.tensors)

    def test_sessions_of_one_model_run_side_by_side(self):
        model = self.vireo.Model(self.path)
        answers = [None] * 3

        def work(i):
            session = model.session(model.bounds_for(self.x))
            for _ in range(3):
                answers[i], = session.run(self.x)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for a in answers:
            self.close(a, self.y)

    def test_no_other_thread_runs_before_the_outputs_are_copied(self):
        import vireo._session as inner
        session = self.vireo.Model(self.path).session({self.batch: 1})
        first, second = self.x[:1], self.x[1:2]
        wanted, other = session.run(first)[0], session.run(second)[0]
        self.assertFalse(self.np.array_equal(wanted, other))
        copy, asked = inner.from_tensor, []

        def ask():
            try:
                session.run(second)
                asked.append("went ahead")
            except self.vireo.VireoError as error:
                asked.append(error.status)

        def later(*arguments):
            if threading.current_thread() is threading.main_thread():
                between = threading.Thread(target=ask)
                between.start()
                between.join()
            return copy(*arguments)
        with unittest.mock.patch.object(inner, "from_tensor", later):
            got, = session.run(first)
        self.np.testing.assert_array_equal(got, wanted)
        self.assertEqual(asked, ["busy"])

    def test_nothing_is_freed_or_changed_under_a_run(self):
        session = self.vireo.Model(self.path).session({self.batch: (1, 4)})
        asked = []

        def ask():
            calls = {"run": lambda: session.run(self.x), "bound run": session.bind(self.x).run, "reset": session.reset,
                     "reserve": lambda: session.reserve({self.batch: 8}), "nodes": lambda: session.nodes,
                     "failovers": lambda: session.failovers, "close": session.close}
            for what, call in calls.items():
                try:
                    call()
                    asked.append(f"{what} went ahead")
                except self.vireo.VireoError as error:
                    asked.append(error.status)
            session.cancel()  # the one call that may come beside another
        with session._turn:  # as a run of another thread holds it
            other = threading.Thread(target=ask)
            other.start()
            other.join()
        self.assertEqual(asked, ["busy"] * 7)
        session.reset()

    @unittest.skipIf("libtsan" in os.environ.get("VIREO_PRELOAD", ""), "the thread sanitizer ends a child that starts threads")
    def test_a_forked_child_runs_what_its_parent_made(self):
        runtime = self.vireo.Runtime(threads=2)
        session = self.vireo.Model(self.path, runtime).session({self.batch: 1})
        wanted, = session.run(self.x[:1])
        time.sleep(0.1)  # until the threads sleep
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # a hang
            right = False
            try:
                right = self.np.array_equal(session.run(self.x[:1])[0], wanted)
                session.close()
                session.model.close()
                runtime.close()
            finally:
                os._exit(0 if right else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.np.testing.assert_array_equal(session.run(self.x[:1])[0], wanted)

    def test_nodes_tell_where_they_run(self):
        model = self.vireo.Model(self.path)
        session = model.session(model.bounds_for(self.x), profile=True)
        session.run(self.x)
        self.assertTrue(all(n.device for n in session.nodes))
        self.assertTrue(any(n.calls == 1 for n in session.nodes))

    def test_closed_handles_refuse(self):
        model = self.vireo.Model(self.path)
        session = model.session(model.bounds_for(self.x))
        session.close()
        session.close()
        with self.assertRaises(self.vireo.VireoError):
            session.run(self.x)

    def test_objects_that_die_in_a_cycle(self):
        # The collector finalises what a cycle holds in an order of its own: sessions after their model, as it may be.
        program = f"""
import sys
sys.path[:0] = {sys.path!r}
import vireo
for _ in range(4):
    model = vireo.Model({str(self.path)!r})
    session = model.session({{model.inputs[0].shape[0][0]: 1}})
    model.cycle, session.cycle = session, model
    keep = lambda: (model, session, keep)
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_bound_arrays_are_read_anew_in_each_run(self):
        np, x = self.np, self.x.copy()
        with self.vireo.Model(self.path) as model:
            bounds = model.bounds_for(x)
            with model.session(bounds) as session, model.session(bounds) as other:
                bound = session.bind(x)
                for scale in (1, 0, -2):
                    x[...] = scale * self.x
                    np.testing.assert_array_equal(bound.run()[0], other.run(x)[0])
                with self.assertRaisesRegex(self.vireo.VireoError, "cannot be bound"):
                    session.bind(np.zeros([*x.shape[:-1], 2 * x.shape[-1]], x.dtype)[..., ::2])
                with self.assertRaisesRegex(self.vireo.VireoError, "takes"):
                    session.bind(x.astype(np.float64))

    def test_structs_are_those_of_the_header(self):
        import ctypes
        import subprocess
        from vireo import _abi
        rows = subprocess.run([support.BUILD / "test" / "vireo_struct_layout"], capture_output=True, text=True, check=True,
                              env=support.PROGRAM_ENVIRONMENT).stdout.splitlines()
        compared = 0
        for row in rows:
            place, number = row.split()
            name, _, field = place.partition(".")
            kind = getattr(_abi, "".join(word.capitalize() for word in name.removeprefix("vireo_").split("_")), None)
            if kind is None:  # of delegate.h, which no Python program calls
                continue
            self.assertEqual(getattr(kind, field).offset if field else ctypes.sizeof(kind), int(number), place)
            compared += 1
        self.assertGreater(compared, 200)

    def test_devices(self):
        names = [d.name for d in self.vireo.Runtime().devices]
        self.assertIn("cpu", names)

    def test_every_function_that_is_called_is_declared(self):
        from vireo import _abi
        listed = set((support.ROOT / "c_api" / "abi" / "symbols.txt").read_text().split())
        self.assertLessEqual(set(_abi.FUNCTIONS), listed)
        used = set()
        for file in (support.ROOT / "bindings" / "python" / "vireo").glob("*.py"):
            used |= set(re.findall(r"_lib\.(vireo_\w+)", file.read_text()))
        self.assertLessEqual(used, set(_abi.FUNCTIONS))


if __name__ == "__main__":
    support.main()
