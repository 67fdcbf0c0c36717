#!/usr/bin/env python3
"""Encode every NGAP message and every PDU session transfer with pycrate, as vectors for wire/ngap.

    python3 wire/oracles/ngap_vectors.py > wire/ngap/tests/vectors/pycrate.tsv

It needs pycrate 0.8.1. The values are random, from a fixed seed. A walk over pycrate's object tree
makes them, so a message has what its ASN.1 (TS 38.413, 9.4) allows. Each has a vector with its
mandatory elements alone ("least") and one with the optional elements too ("most"). One line for
each vector:
    kind  name  variant  octets
"""

import random
import sys

from pycrate_asn1dir import NGAP

SEED = 38413
TRANSFERS = [
    "PDUSessionResourceSetupRequestTransfer",
    "PDUSessionResourceSetupResponseTransfer",
    "PDUSessionResourceSetupUnsuccessfulTransfer",
    "PDUSessionResourceReleaseCommandTransfer",
    "PDUSessionResourceReleaseResponseTransfer",
    "PDUSessionResourceModifyRequestTransfer",
    "PDUSessionResourceModifyResponseTransfer",
    "PDUSessionResourceModifyUnsuccessfulTransfer",
    "PDUSessionResourceModifyIndicationTransfer",
    "PDUSessionResourceModifyConfirmTransfer",
    "PDUSessionResourceModifyIndicationUnsuccessfulTransfer",
    "PDUSessionResourceNotifyTransfer",
    "PDUSessionResourceNotifyReleasedTransfer",
    "PathSwitchRequestTransfer",
    "PathSwitchRequestAcknowledgeTransfer",
    "PathSwitchRequestSetupFailedTransfer",
    "PathSwitchRequestUnsuccessfulTransfer",
    "HandoverRequiredTransfer",
    "HandoverRequestAcknowledgeTransfer",
    "HandoverCommandTransfer",
    "HandoverPreparationUnsuccessfulTransfer",
    "HandoverResourceAllocationUnsuccessfulTransfer",
]
CONTAINER = {"id", "criticality", "value"}
EXTENSION = {"id", "criticality", "extensionValue"}


class Impossible(Exception):
    """There is no value: the object set of an open type is empty, or the nesting is too deep."""


class Maker:
    """Makes values of ASN.1 types, in the form that pycrate's set_val takes."""

    def __init__(self, seed: str, most: bool):
        self.random = random.Random(f"{SEED} {seed}")
        self.most = most

    def bounds(self, constraint, default):
        """The range of the root of a constraint."""
        if constraint is None or not constraint.root:
            return default
        one = self.random.choice(constraint.root)
        return (one, one) if isinstance(one, int) else (one.lb, one.ub)

    def size(self, obj, default):
        low, high = self.bounds(obj._const_sz, default)
        # An address is of a kind that exists (TS 38.414).
        if obj._typeref is not None and obj._typeref.called[-1] == "TransportLayerAddress":
            return self.random.choice([32, 128, 160])
        return self.random.randint(
            low or 0, min(high if high is not None else low + 8, (low or 0) + 8)
        )

    def fields(self, obj):
        return set(obj._cont) if hasattr(obj, "_root_mand") else set()

    def make(self, obj, depth=0):
        if depth > 24:
            raise Impossible
        kind = obj.TYPE
        if kind == "INTEGER":
            low, high = self.bounds(obj._const_val, (0, 255))
            return self.random.randint(low or 0, high if high is not None else (low or 0) + 1000)
        if kind == "BOOLEAN":
            return bool(self.random.getrandbits(1))
        if kind == "NULL":
            return 0
        if kind == "ENUMERATED":
            return self.random.choice(list(obj._root))
        if kind == "BIT STRING":
            length = self.size(obj, (1, 40))
            return (self.random.getrandbits(length) if length else 0, length)
        if kind == "OCTET STRING":
            if obj._const_cont is not None:
                inner = obj._const_cont
                inner.set_val(self.make(inner, depth + 1))
                return inner.to_aper()
            return self.random.randbytes(self.size(obj, (1, 12)))
        if kind.endswith("String"):
            length = self.size(obj, (1, 12))
            return "".join(
                self.random.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(length)
            )
        if kind == "OBJECT IDENTIFIER":
            return (1, 3, 6)
        if kind == "CHOICE":
            return self.choice(obj, depth)
        if kind == "SEQUENCE":
            if self.fields(obj) == CONTAINER:
                return self.element(obj, "value", depth)
            return self.sequence(obj, depth)
        if kind == "SEQUENCE OF":
            return self.list(obj, depth)
        raise Impossible

    def choice(self, obj, depth):
        names = [name for name in obj._root if name != "choice-Extensions"]
        self.random.shuffle(names)
        for name in names:
            try:
                return (name, self.make(obj._cont[name], depth + 1))
            except Impossible:
                continue
        raise Impossible

    def sequence(self, obj, depth):
        value = {name: self.make(obj._cont[name], depth + 1) for name in obj._root_mand}
        for name in obj._root_opt:
            # The deeper, the less: a message is to stay small.
            if self.most and self.random.random() < (1.0 if depth < 2 else 3.0 / (depth + 2)):
                try:
                    value[name] = self.make(obj._cont[name], depth + 1)
                except Impossible:
                    continue
        return value

    def list(self, obj, depth):
        inner = obj._cont
        if inner.TYPE == "SEQUENCE" and self.fields(inner) == CONTAINER:
            return self.elements(inner, depth)
        if inner.TYPE == "SEQUENCE" and self.fields(inner) == EXTENSION:
            if not self.most or self.random.random() < 0.6:
                raise Impossible
            return [self.element(inner, "extensionValue", depth)]
        low, high = self.bounds(obj._const_sz, (0, 2))
        count = max(
            low or 0, min(2 if self.most and depth < 6 else 1, high if high is not None else 2)
        )
        return [self.make(inner, depth + 1) for _ in range(count)]

    def open(self, name, value_type, depth):
        value = self.make(value_type, depth + 1)
        return (
            value_type._typeref.called[-1] if value_type._typeref is not None else value_type.TYPE,
            value,
        )

    def element(self, obj, value_name, depth):
        """One information element of the object set, as a single container has."""
        table = obj._cont[value_name]._const_tab
        entries = list(table._val.root) if table is not None and table._val is not None else []
        self.random.shuffle(entries)
        for entry in entries:
            try:
                key = "Value" if "Value" in entry else "Extension"
                value = self.open(value_name, entry[key], depth)
                return {"id": entry["id"], "criticality": entry["criticality"], value_name: value}
            except Impossible:
                continue
        raise Impossible

    def elements(self, obj, depth):
        """The information elements of a message, in the order of its object set."""
        made = []
        for entry in obj._cont["value"]._const_tab._val.root:
            wanted = entry["presence"] == "mandatory" or self.most
            if not wanted:
                continue
            try:
                value = self.open("value", entry["Value"], depth)
            except Impossible:
                if entry["presence"] == "mandatory":
                    raise
                continue
            made.append({"id": entry["id"], "criticality": entry["criticality"], "value": value})
        return made


def messages():
    table = NGAP.NGAP_PDU_Descriptions.NGAP_PDU._cont["initiatingMessage"]._cont["value"]._const_tab
    for row in table._val.root:
        for direction, alternative in [
            ("InitiatingMessage", "initiatingMessage"),
            ("SuccessfulOutcome", "successfulOutcome"),
            ("UnsuccessfulOutcome", "unsuccessfulOutcome"),
        ]:
            if direction in row:
                yield row, row[direction], alternative


def main() -> None:
    print("# By wire/oracles/ngap_vectors.py with pycrate 0.8.1.")
    pdu = NGAP.NGAP_PDU_Descriptions.NGAP_PDU
    skipped = []
    for row, message, alternative in messages():
        name = message._typeref.called[-1]
        if name == "PrivateMessage":
            continue
        for variant in ("least", "most"):
            try:
                value = Maker(f"{name} {variant}", variant == "most").make(message)
                pdu.set_val(
                    (
                        alternative,
                        {
                            "procedureCode": row["procedureCode"],
                            "criticality": row["criticality"],
                            "value": (name, value),
                        },
                    )
                )
                octets = pdu.to_aper()
            except Exception as error:  # pycrate raises many kinds
                skipped.append(f"{name} {variant}: {type(error).__name__} {error}")
                continue
            if len(octets) < 6000:
                print("message", name, variant, octets.hex(), sep="\t")
            else:
                skipped.append(f"{name} {variant}: {len(octets)} octets")
    for name in TRANSFERS:
        transfer = getattr(NGAP.NGAP_IEs, name)
        for variant in ("least", "most", "other"):
            transfer.set_val(Maker(f"{name} {variant}", variant != "least").make(transfer))
            print("transfer", name, variant, transfer.to_aper().hex(), sep="\t")
    for line in skipped:
        print(line, file=sys.stderr)


if __name__ == "__main__":
    main()
