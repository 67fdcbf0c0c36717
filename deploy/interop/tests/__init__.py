"""Tests of the harness: each vendor's checks against logs in the format of its programs."""
