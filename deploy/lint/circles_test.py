#!/usr/bin/env python3
"""Tests of `circles.py` with small crates: floor `high` stands above `low`."""

import unittest

import circles

FLOORS = {"high": 1, "low": 2}
# A type of the lower module with a method of its own and one in the upper module.
LOW = "pub(crate) struct Ue { pub peer: Arc<Peer> }\nimpl Ue {\n    pub fn own(&self) {}\n}\n"
HIGH = "use crate::low::Ue;\nimpl Ue {\n    pub async fn dispatch(&mut self, n: u8) {}\n}\n"


def faults(**found):
    """What is wrong with the floors of a crate of these modules; `root` is its root."""
    found = {("" if name == "root" else name): text for name, text in found.items()}
    edges, calls = circles.graph(found, True)
    return list(circles.upward("crate", FLOORS, edges, calls))


class UpwardTest(unittest.TestCase):
    ARROW = ["arrow upwards in crate: low uses high by the method dispatch"]

    def low(self, body):
        return LOW + "impl Ue {\n    async fn wait(&mut self) {\n" + body + "\n    }\n}\n"

    def test_a_method_above_its_caller_is_an_arrow_upwards(self):
        for body in (
            "self.dispatch(1).await;",
            "self\n    .dispatch(1)\n    .await;",
            "Ue::dispatch(self, 1).await;",
            "self.all().first_mut()?.dispatch_event(1);",
        ):
            high = HIGH.replace("dispatch", "dispatch_event") if "_event" in body else HIGH
            with self.subTest(body):
                found = faults(root="", low=self.low(body), high=high)
                self.assertEqual([fault.replace("_event", "") for fault in found], self.ARROW)

    def test_the_type_of_a_parameter_or_field_decides(self):
        function = "fn act(ue: &mut Ue, other: &Other) {\n    ue.dispatch(1);\n}\n"
        self.assertEqual(faults(root="", low=LOW + function, high=HIGH), self.ARROW)
        other = function.replace("ue.dispatch", "other.dispatch")
        self.assertEqual(faults(root="", low=LOW + other, high=HIGH), [])
        peer = "pub(crate) struct Peer {}\nimpl Peer {\n    pub fn dispatch(&self) {}\n}\n"
        field = function.replace("ue.dispatch", "ue.peer.dispatch")
        self.assertEqual(faults(root="", low=LOW + field, high=HIGH), [])
        self.assertEqual(faults(root="", low=LOW + field, high=HIGH + peer), self.ARROW)

    def test_a_call_downwards_is_allowed(self):
        high = HIGH + "fn act(ue: &Ue) {\n    ue.own();\n}\n"
        self.assertEqual(faults(root="", low=LOW, high=high), [])

    def test_a_method_of_a_trait_belongs_to_the_module_that_declares_the_trait(self):
        trait = "pub(crate) trait Above {\n    fn dispatch(&mut self, n: u8);\n}\n"
        high = HIGH.replace("impl Ue", "impl Above for Ue").replace("pub async ", "")
        self.assertEqual(faults(root="", low=self.low("self.dispatch(1);") + trait, high=high), [])

    def test_a_method_of_the_root_passes_its_calls_on(self):
        root = "struct Core { ue: Ue }\n"
        root += "impl Core {\n    fn make(&self) { self.ue.dispatch(1) }\n}\n"
        low = LOW + "fn act(core: &Core) {\n    core.make();\n}\n"
        self.assertEqual(faults(root=root, low=low, high=HIGH), self.ARROW)

    def test_names_of_the_standard_library_and_text_do_not_count(self):
        high = HIGH.replace("dispatch", "is_empty")
        body = 'self.all().list().is_empty(); log("self.dispatch(1) {");'
        self.assertEqual(faults(root="", low=self.low(body), high=high), [])


class CircleTest(unittest.TestCase):
    def edges(self, **found):
        return circles.graph({name.replace("__", "::"): text for name, text in found.items()}, True)

    def test_methods_close_a_circle(self):
        low = LOW + "fn act(ue: &mut Ue) {\n    ue.dispatch(1);\n}\n"
        edges, _ = self.edges(low=low, high=HIGH)
        self.assertEqual(circles.circles(edges), [["high", "low"]])

    def test_the_methods_in_the_folder_of_a_type_are_one_idea(self):
        context = LOW + "impl Ue {\n    fn end(&mut self) {\n        self.dispatch(1);\n    }\n}\n"
        wait = HIGH.replace("crate::low", "super::context")
        edges, _ = self.edges(ue="", ue__context=context, ue__wait=wait)
        self.assertEqual(circles.circles(edges), [])

    def test_crates_without_floors_are_judged_by_their_imports(self):
        low = LOW + "fn act(ue: &mut Ue) {\n    ue.dispatch(1);\n}\n"
        edges, calls = circles.graph({"low": low, "high": HIGH}, False)
        self.assertEqual((edges["low"], calls), (set(), {}))


if __name__ == "__main__":
    unittest.main()
