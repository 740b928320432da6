"""Pipelines and splits through the Python binding."""
import threading
import unittest

import support

MODELS = support.ROOT / "samples" / "models"
reason = support.missing("numpy")


@unittest.skipIf(reason, reason)
class Fleet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import numpy
        import vireo
        cls.np, cls.vireo = numpy, vireo
        cls.path = support.convert(MODELS / "kws_dscnn.onnx", "python_fleet")
        cls.model = vireo.Model(cls.path)
        cls.batch = cls.model.inputs[0].shape[0][0]
        random = numpy.random.default_rng(5)
        cls.rows = random.standard_normal((13, *cls.model.inputs[0].shape[1:]), numpy.float32)
        cls.session = cls.model.session({cls.batch: (1, 13)})

    def pipeline(self, most=1, **options):
        return self.model.pipeline({self.batch: (1, most)}, device="cpu", **options)

    def test_a_pipeline_gives_runs_back_in_order(self):
        with self.pipeline(depth=3, threads=1, profile=True) as pipeline:
            self.assertEqual(pipeline.depth, 3)
            for i in range(6):
                pipeline.submit(self.rows[i:i + 1], user=("row", i))
            with self.assertRaises(self.vireo.VireoError) as caught:
                pipeline.submit(self.rows[:1], block=False)
            self.assertEqual(caught.exception.status, "busy")
            for i in range(6):
                done = pipeline.wait()
                self.assertEqual((done.number, done.user), (i, ("row", i)))
                self.assertGreater(done.run_ns, 0)
                self.np.testing.assert_array_equal(done.outputs[0], self.session.run(self.rows[i:i + 1])[0])
            load, = pipeline.loads
            self.assertEqual(load.device, "cpu")
            self.assertGreater(load.busy_ns, 0)
            told = pipeline.estimate
            self.assertEqual((told.devices, told.bottleneck), ("cpu", "cpu"))
            self.assertEqual(told.reason, self.vireo.estimate(self.model, {self.batch: 1}, device="cpu").reason)

    def test_sizes_within_the_bound(self):
        with self.pipeline(most=13, depth=2) as pipeline:
            for n in (13, 1, 5):
                pipeline.submit(self.rows[:n])
            for n in (13, 1, 5):
                self.np.testing.assert_allclose(pipeline.wait().outputs[0], self.session.run(self.rows[:n])[0], rtol=1e-5, atol=1e-6)

    def test_arrays_that_the_caller_dropped(self):
        with self.pipeline(depth=2, capacity=8) as pipeline:
            for i in range(8):
                pipeline.submit(self.rows[i:i + 1].copy())
            for i in range(8):
                self.np.testing.assert_array_equal(pipeline.wait().outputs[0], self.session.run(self.rows[i:i + 1])[0])

    def test_a_run_that_fails_leaves_the_others(self):
        with self.pipeline(depth=2) as pipeline:
            pipeline.submit(self.rows[:1])
            pipeline.submit(self.rows[:2], user="two rows")  # one was promised
            pipeline.submit(self.rows[1:2])
            self.assertEqual(pipeline.wait().number, 0)
            with self.assertRaises(self.vireo.RunFailed) as caught:
                pipeline.wait()
            self.assertEqual((caught.exception.number, caught.exception.user), (1, "two rows"))
            self.assertEqual(pipeline.wait().number, 2)
            with self.assertRaises(self.vireo.VireoError) as caught:
                pipeline.wait()
            self.assertEqual(caught.exception.status, "invalid argument")

    def test_wrong_inputs_are_not_queued(self):
        with self.pipeline(depth=1) as pipeline:
            with self.assertRaisesRegex(self.vireo.VireoError, "takes"):
                pipeline.submit(self.rows[:1].astype(self.np.float64))
            with self.assertRaisesRegex(self.vireo.VireoError, "missing"):
                pipeline.submit()
            pipeline.submit(self.rows[:1])
            self.assertEqual(pipeline.wait().number, 0)

    def test_waits_no_longer_than_it_is_told(self):
        with self.pipeline(most=13, depth=1, capacity=8) as pipeline:
            for _ in range(8):
                pipeline.submit(self.rows)
            given_back = 0
            while given_back < 8:  # 0: only looks
                given_back += pipeline.wait(0) is not None
            pipeline.submit(self.rows)
            self.assertEqual(pipeline.wait(60).number, 8)

    def test_cancel_and_close_end_what_is_under_way(self):
        pipeline = self.pipeline(most=13, depth=1, capacity=8)
        for _ in range(8):
            pipeline.submit(self.rows)
        pipeline.cancel()
        ends = []
        for _ in range(8):
            try:
                pipeline.wait()
                ends.append("done")
            except self.vireo.RunFailed as failed:
                ends.append(failed.status)
        self.assertEqual(ends[-1], "cancelled")
        self.assertLessEqual(set(ends), {"done", "cancelled"})
        pipeline.submit(self.rows)
        pipeline.close()
        with self.assertRaises(self.vireo.VireoError):
            pipeline.submit(self.rows)

    def test_one_thread_submits_and_another_waits(self):
        with self.pipeline(depth=2, capacity=2) as pipeline:
            got, submitted = [], threading.Semaphore(0)  # to wait where nothing is submitted is an error

            def work():
                for _ in range(20):
                    submitted.acquire()
                    got.append(pipeline.wait().number)
            waits = threading.Thread(target=work, daemon=True)
            waits.start()
            for i in range(20):
                pipeline.submit(self.rows[i % 13:i % 13 + 1])  # waits for room
                submitted.release()
            waits.join()
            self.assertEqual(got, list(range(20)))

    def test_a_pipeline_is_not_freed_under_a_call(self):
        with self.pipeline(most=13, depth=1, capacity=8) as pipeline:
            closed = []

            def close():
                try:
                    pipeline.close()
                    closed.append("closed")
                except self.vireo.VireoError as error:
                    closed.append(error.status)
            with pipeline._inside():  # as a submit() or wait() of another thread holds it
                other = threading.Thread(target=close)
                other.start()
                other.join()
            self.assertEqual(closed, ["busy"])
            pipeline.submit(self.rows)
            self.assertEqual(pipeline.wait().number, 0)

    def test_what_a_pipeline_refuses(self):
        with self.assertRaisesRegex(self.vireo.VireoError, self.batch):
            self.model.pipeline()
        with self.assertRaises(self.vireo.VireoError):
            self.pipeline(depth=1000)

    def test_a_split_is_the_whole(self):
        whole = self.session.run(self.rows)[0]
        with self.model.split(["cpu", "null,cpu"], 13, threads=1) as split:
            for n in (13, 5, 1):
                self.np.testing.assert_allclose(split.run(self.rows[:n])[0], whole[:n], rtol=1e-5, atol=1e-6)
                self.assertEqual(sum(s.rows for s in split.shares), n)
            self.assertEqual([s.device for s in split.shares], ["cpu", "null,cpu"])
            self.assertAlmostEqual(sum(s.weight for s in split.shares), 1)
            self.assertFalse(any(s.lost for s in split.shares))
            with self.assertRaises(self.vireo.VireoError):
                split.run(self.np.concatenate([self.rows, self.rows]))

    def test_a_split_is_for_one_thread_at_a_time(self):
        with self.model.split(["cpu", "cpu"], 13) as split:
            asked = []

            def ask():
                for call in (lambda: split.run(self.rows), lambda: split.shares, split.close):
                    try:
                        call()
                        asked.append("went ahead")
                    except self.vireo.VireoError as error:
                        asked.append(error.status)
            with split._turn:  # as a run of another thread holds it
                other = threading.Thread(target=ask)
                other.start()
                other.join()
            self.assertEqual(asked, ["busy"] * 3)

    def test_shares_that_are_given_stay(self):
        with self.model.split(["cpu", "cpu"], 12, weights=[2, 1], deterministic=True) as split:
            split.run(self.rows[:12])
            self.assertEqual([s.rows for s in split.shares], [8, 4])

    def test_what_a_split_refuses(self):
        for devices, more in ((["cpu"], {"weights": [1, 2]}), ([], {}), (["gpu9"], {})):
            with self.subTest(devices), self.assertRaises(self.vireo.VireoError):
                self.model.split(devices, 4, **more)
        with self.assertRaises(TypeError):
            self.model.split("cpu", 4)


if __name__ == "__main__":
    support.main()
