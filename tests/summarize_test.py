#!/usr/bin/env python3
"""The counts of summarize.py on a run that holds one of each kind."""
import io
import os
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout

import summarize

RUN = """<testsuite>
<testcase name="gtest_ok" status="run"><system-out>[==========] 5 tests ran.
a_test.cc:7: Skipped
no such device

[  PASSED  ] 4 tests.
[  SKIPPED ] 1 test.</system-out></testcase>
<testcase name="gtest_bad" status="fail"><failure message=""/><system-out>[  PASSED  ] 2 tests.
[  FAILED  ] 1 test, listed below:</system-out></testcase>
<testcase name="gtest_empty" status="run"><system-out>[  PASSED  ] 0 tests.</system-out></testcase>
<testcase name="crash" status="fail"><failure message=""/><system-out>Segmentation fault</system-out></testcase>
<testcase name="crash_at_exit" status="fail"><failure message=""/><system-out>[  PASSED  ] 3 tests.</system-out></testcase>
<testcase name="python" status="run"><system-out>test_x ... skipped 'numpy is missing'
Ran 6 tests in 0.1s

OK (skipped=1)</system-out></testcase>
<testcase name="python_class" status="run"><system-out>setUpClass (__main__.A) ... skipped 'cmake is missing'
test_y (__main__.B) ... ok
Ran 1 test in 0.1s

OK (skipped=1)</system-out></testcase>
<testcase name="python_class_alone" status="run"><system-out>setUpClass (__main__.A) ... skipped 'no compiler'
Ran 0 tests in 0.1s

OK (skipped=1)</system-out></testcase>
<testcase name="smoke" status="run"><system-out>ok</system-out></testcase>
<testcase name="code77" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out>nothing to check</system-out></testcase>
<testcase name="unbuilt" status="notrun"><skipped message="Unable to find executable"/></testcase>
</testsuite>"""


class Summary(unittest.TestCase):
    def setUp(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.xml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(RUN)
            out, err = io.StringIO(), io.StringIO()
            with redirect_stdout(out), redirect_stderr(err):
                summarize.main(path)
        self.story, self.counts = out.getvalue(), err.getvalue().split()

    def test_counts(self):
        # passed: 4 + 2 + 3 + 5 + 1 + 1; failed: gtest_bad, gtest_empty, crash, crash_at_exit, unbuilt; skipped: one each in
        # gtest_ok, python, python_class, python_class_alone, code77.
        self.assertEqual(self.counts, ["16", "5", "5"])

    def test_every_skip_has_its_reason(self):
        for line in ("gtest_ok: no such device", "python: numpy is missing", "python_class_alone: no compiler", "code77: nothing to check"):
            self.assertIn("SKIPPED: " + line, self.story)

    def test_every_failure_is_named(self):
        for name in ("gtest_bad", "gtest_empty", "crash", "crash_at_exit", "unbuilt"):
            self.assertIn("FAILED: " + name, self.story)


if __name__ == "__main__":
    unittest.main()
