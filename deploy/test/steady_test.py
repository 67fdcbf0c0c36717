#!/usr/bin/env python3
"""Tests of `steady.py`: what it reports of a failed test."""

import unittest

import steady

# Of a test that ran with RUST_BACKTRACE=1, among others.
RUN = """\
running 2 tests
---- other stdout ----

thread 'other' panicked at a.rs:1:1:
not this

---- flows::one stdout ----
a line of the log

thread 'flows::one' (4711) panicked at tests/src/namespace.rs:60:9:
the call flow: no reply to packet 3

Caused by:
    0: the timer
    1: deadline has elapsed

Stack backtrace:
   0: anyhow::error::<impl From<E>>::from
             at /registry/anyhow/src/backtrace.rs:27:14
  11: core::ops::function::FnOnce::call_once

stack backtrace:
   0: __rustc::rust_begin_unwind
   1: core::panicking::panic_fmt
             at /rustc/library/core/src/panicking.rs:80:14
note: Some details are omitted.

failures:
    flows::one
    other
""".splitlines()


class OutputTest(unittest.TestCase):
    def test_the_error_and_its_causes_are_first_and_no_backtrace_is_reported(self):
        reported = [line.strip() for line in steady.output_of("flows::one", RUN)]
        self.assertEqual(reported, [
            "thread 'flows::one' (4711) panicked at tests/src/namespace.rs:60:9:",
            "the call flow: no reply to packet 3",
            "Caused by:",
            "0: the timer",
            "1: deadline has elapsed",
            "before that:",
            "a line of the log",
        ])

    def test_a_long_error_keeps_its_first_lines_and_its_causes(self):
        details = [f"    detail {n}" for n in range(100)]
        causes = ["Caused by:", "    the timer"]
        lines = ["---- one stdout ----", "Error: expected 3", *details, "", *causes]
        reported = [line.strip() for line in steady.output_of("one", lines)]
        self.assertEqual(reported[:2], ["Error: expected 3", "detail 0"])
        self.assertEqual(reported[-2:], ["Caused by:", "the timer"])
        self.assertEqual(len(reported), steady.REPORTED + 2)

    def test_a_run_without_a_result_is_reported_by_its_last_lines(self):
        lines = ["running 1 test", "error: test failed", "  process exited (signal: 9, SIGKILL)"]
        self.assertEqual(len(steady.output_of("one", lines)), 0)
        self.assertIn("SIGKILL", steady.output_alone("one", lines)[-1])


if __name__ == "__main__":
    unittest.main()
