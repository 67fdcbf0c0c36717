#!/usr/bin/env python3
"""Encode every LPP and every NRPPa message with pycrate, as vectors for wire/lpp and wire/nrppa.

    python3 wire/oracles/positioning_vectors.py lpp   > wire/lpp/tests/vectors/pycrate.tsv
    python3 wire/oracles/positioning_vectors.py nrppa > wire/nrppa/tests/vectors/pycrate.tsv

It needs pycrate 0.8.1. The values are random, from a fixed seed. Each message has a vector with its
mandatory elements alone ("least"), and several with optional elements and extension additions. One
line for each vector:
    name  variant  octets
"""

import sys

from pycrate_asn1dir import LPP, NRPPa

from ngap_vectors import CONTAINER, EXTENSION, Impossible, Maker

VARIANTS = ["least", "most", "other", "third", "fourth"]
LONGEST = 3000


class Positioning(Maker):
    """Random values with extension additions, within a budget: LPP's trees are deep and wide."""

    def __init__(self, seed, most, budget):
        super().__init__(seed, most)
        self.budget = budget

    def make(self, obj, depth=0):
        self.budget -= 1
        if obj.TYPE == "BIT STRING" and obj._const_sz is None:
            length = self.random.randint(1, 12)
            return (self.random.getrandbits(length), length)
        if obj.TYPE == "UTCTime":
            clock = [self.random.randint(1, most) for most in (99, 12, 28, 23, 59, 59)]
            return (*(f"{part:02}" for part in clock), "Z")
        if obj.TYPE == "ENUMERATED" and obj._ext and self.random.random() < 0.3:
            return self.random.choice(list(obj._ext))
        if obj.TYPE == "BIT STRING" or obj.TYPE == "OCTET STRING" or obj.TYPE == "VisibleString":
            low, high = self.bounds(obj._const_sz, (0, 20))
            length = self.random.choice(
                [low or 0, high if high is not None and high < 400 else (low or 0) + 3]
            )
            if obj.TYPE == "BIT STRING":
                return (self.random.getrandbits(length) if length else 0, length)
            if obj.TYPE == "OCTET STRING":
                return self.random.randbytes(length)
            return "".join(self.random.choice("abcxyzABC019 ~!") for _ in range(length))
        return super().make(obj, depth)

    def wants(self, depth):
        return self.most and self.budget > 0 and self.random.random() < (0.8 if depth < 6 else 0.4)

    def choice(self, obj, depth):
        names = [n for n in list(obj._root) + list(obj._ext or []) if not n.startswith("spare")]
        names = [n for n in names if n not in ("messageClassExtension", "criticalExtensionsFuture")]
        self.random.shuffle(names)
        for name in names:
            try:
                return (name, self.make(obj._cont[name], depth + 1))
            except Impossible:
                continue
        raise Impossible

    def sequence(self, obj, depth):
        value = {name: self.make(obj._cont[name], depth + 1) for name in obj._root_mand}
        optional = list(obj._root_opt)
        groups = (
            [g if isinstance(g, list) else [g] for g in getattr(obj, "_ext_nest", [])]
            if obj._ext
            else []
        )
        self.random.shuffle(optional)
        for name in optional:
            if self.wants(depth):
                try:
                    value[name] = self.make(obj._cont[name], depth + 1)
                except Impossible:
                    continue
        for group in groups:
            if not self.wants(depth):
                continue
            made = {}
            for name in group:
                if not obj._cont[name]._opt or self.wants(depth):
                    made[name] = self.make(obj._cont[name], depth + 1)
            value.update(made)
        return value

    def list(self, obj, depth):
        inner = obj._cont
        if inner.TYPE == "SEQUENCE" and set(inner._cont) in (CONTAINER, EXTENSION):
            if (
                set(inner._cont) == CONTAINER
                and obj._name != "protocolIEs"
                and "Container" not in obj._name
            ):
                low, _ = self.bounds(obj._const_sz, (0, 2))
                return [self.element(inner, "value", depth) for _ in range(max(low or 0, 1))]
            if set(inner._cont) == EXTENSION:
                return self.extensions(inner, depth)
            return super().list(obj, depth)
        low, high = self.bounds(obj._const_sz, (0, 2))
        most = high if high is not None else (low or 0) + 2
        count = max(low or 0, min(self.random.choice([1, 1, 2, 3]) if self.budget > 0 else 0, most))
        return [self.make(inner, depth + 1) for _ in range(count)]

    def extensions(self, field, depth):
        """Extensions of a type, in the order of their object set."""
        made = []
        table = field._cont["extensionValue"]._const_tab
        for entry in table._val.root if table is not None and table._val is not None else []:
            if not self.wants(depth):
                continue
            try:
                value = self.open("extensionValue", entry["Extension"], depth)
            except Impossible:
                continue
            made.append(
                {"id": entry["id"], "criticality": entry["criticality"], "extensionValue": value}
            )
        if not made:
            raise Impossible
        return made


def lpp(variant, body):
    root = LPP.LPP_PDU_Definitions.LPP_Message
    for budget in (700, 400, 200, 100, 40):
        maker = Positioning(f"{body} {variant}", variant != "least", budget)
        kinds = root._cont["lpp-MessageBody"]._cont["c1"]._cont
        value = {
            "transactionID": {
                "initiator": "locationServer",
                "transactionNumber": maker.random.randint(0, 255),
            },
            "endTransaction": bool(maker.random.getrandbits(1)),
            "lpp-MessageBody": ("c1", (body, maker.make(kinds[body]))),
        }
        if variant != "least":
            value["sequenceNumber"] = maker.random.randint(0, 255)
            value["acknowledgement"] = {
                "ackRequested": True,
                "ackIndicator": maker.random.randint(0, 255),
            }
        root.set_val(value)
        octets = root.to_uper()
        if len(octets) < LONGEST:
            break
    return octets


def nrppa(variant, row, message, alternative):
    pdu = NRPPa.NRPPA_PDU_Descriptions.NRPPA_PDU
    name = message._typeref.called[-1]
    for budget in (700, 400, 200, 100, 40):
        maker = Positioning(f"{name} {variant}", variant != "least", budget)
        pdu.set_val(
            (
                alternative,
                {
                    "procedureCode": row["procedureCode"],
                    "criticality": row["criticality"],
                    "nrppatransactionID": maker.random.randint(0, 32767),
                    "value": (name, maker.make(message)),
                },
            )
        )
        octets = pdu.to_aper()
        if len(octets) < LONGEST:
            break
    return octets


def main() -> None:
    print(f"# By wire/oracles/positioning_vectors.py {sys.argv[1]} with pycrate 0.8.1.")
    if sys.argv[1] == "lpp":
        bodies = LPP.LPP_PDU_Definitions.LPP_Message._cont["lpp-MessageBody"]._cont["c1"]._cont
        for body in bodies:
            if not body.startswith("spare"):
                for variant in VARIANTS:
                    print(body, variant, lpp(variant, body).hex(), sep="\t")
        return
    table = (
        NRPPa.NRPPA_PDU_Descriptions.NRPPA_PDU._cont["initiatingMessage"]._cont["value"]._const_tab
    )
    for row in table._val.root:
        for direction in ("InitiatingMessage", "SuccessfulOutcome", "UnsuccessfulOutcome"):
            if direction not in row or row[direction]._typeref.called[-1] == "PrivateMessage":
                continue
            alternative = direction[0].lower() + direction[1:]
            for variant in VARIANTS:
                try:
                    octets = nrppa(variant, row, row[direction], alternative)
                except Impossible:
                    continue
                print(row[direction]._typeref.called[-1], variant, octets.hex(), sep="\t")


if __name__ == "__main__":
    main()
