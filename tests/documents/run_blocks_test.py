#!/usr/bin/env python3
"""Pages that a reader could not follow fail, each for its reason: what run_blocks.py promises."""
import os
import pathlib
import sys
import tempfile
import unittest

os.environ.setdefault("VIREO_BINARY_ROOT", "/nonexistent")
os.environ.setdefault("VIREO_LIBRARY", "/nonexistent/libvireo.so")
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import run_blocks  # noqa: E402  (beside this file)


def block(language, code, rule=""):
    return (f"<!-- test: {rule} -->\n" if rule else "") + f"```{language}\n{code}\n```\n\n"


class RunBlocks(unittest.TestCase):
    def run_page(self, *parts):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.md")
            page.write_text("".join(parts))
            return run_blocks.run_page(page)

    def test_what_a_block_exports_and_where_it_goes_hold_for_the_next(self):
        self.assertEqual(self.run_page(block("sh", "mkdir ~/mine\ncd ~/mine\nexport WORD=here"), block("sh", 'echo "$PWD $WORD"'), block("text", ".../mine here")),
                         (3, 0, 0))

    def test_starts_in_the_clone_with_nothing_set(self):
        self.assertEqual(self.run_page(block("sh", 'ls README.md >/dev/null\necho "$PWD ${VIREO_LIBRARY-none} ${PYTHONPATH-none}"'), block("text", ".../vireo none none")),
                         (2, 0, 0))

    def test_a_comment_cannot_prepare_anything(self):
        self.assertEqual(self.run_page("<!-- setup: touch ~/vireo/there -->\n", block("sh", "ls there"))[1], 1)
        self.assertEqual(self.run_page(block("sh", "true", "setup touch there"))[1], 1)

    def test_a_failure_needs_its_message(self):
        self.assertEqual(self.run_page(block("sh", "echo no such model; false", "fails"), block("text", "no such ...")), (2, 0, 0))
        self.assertEqual(self.run_page(block("sh", "echo unknown option; false", "fails"), block("text", "no such ..."))[1], 1)
        self.assertEqual(self.run_page(block("sh", "false", "fails"), "Nothing says why.\n")[1], 1)
        self.assertEqual(self.run_page(block("sh", "true", "fails"), block("text", "..."))[1], 1)

    def test_output_is_compared_without_being_asked_for(self):
        self.assertEqual(self.run_page(block("sh", "echo 41"), block("text", "42"))[1], 1)

    def test_a_text_block_that_follows_nothing_is_only_shown(self):
        self.assertEqual(self.run_page(block("text", "a drawing"), block("sh", "true")), (1, 0, 0))

    def test_a_file_is_named_where_the_reader_looks(self):
        self.assertEqual(self.run_page("Save this as `a.txt`:\n\n", block("python", "hello", "file a.txt"), block("sh", "cat a.txt"), block("text", "hello")), (3, 0, 0))
        self.assertEqual(self.run_page("Save this:\n\n", block("python", "hello", "file a.txt"))[1], 1)

    def test_python_finds_no_vireo_that_the_page_did_not_show(self):
        self.assertEqual(self.run_page(block("python", "import vireo"))[1], 1)

    def test_what_needs_a_device_is_left_out_from_there_on(self):
        listing = block("sh", "mkdir ~/own\nprintf '#!/bin/sh\\necho gpu here\\n' >~/own/vireo\nchmod +x ~/own/vireo\nexport PATH=~/own:$PATH")
        self.assertEqual(self.run_page(listing, block("sh", "true", "device gpu"), block("sh", "true")), (3, 0, 0))
        self.assertEqual(self.run_page(listing, block("sh", "false", "device here"), block("sh", "false")), (1, 0, 2))

    def test_what_needs_a_program_is_left_out_from_there_on(self):
        self.assertEqual(self.run_page(block("sh", "true"), block("sh", "true", "program sh no-such-compiler"), block("sh", "false")), (1, 0, 2))
        self.assertEqual(self.run_page(block("sh", "true", "program sh"), block("sh", "false")), (1, 1, 0))

    def test_what_follows_a_failure_does_not_run(self):
        self.assertEqual(self.run_page(block("sh", "false"), block("sh", "true")), (0, 1, 0))


if __name__ == "__main__":
    unittest.main()
