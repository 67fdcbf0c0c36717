"""p4runtime-shell, a foreign controller, against the switch.

Arguments: `HOST:PORT` of the switch, and the far end of its port 0.
"""

import os
import socket
import sys
import traceback

import p4runtime_sh.shell as sh
from p4runtime_sh.p4runtime import P4RuntimeException, P4RuntimeWriteException

REFUSALS = (P4RuntimeException, P4RuntimeWriteException)


def main():
    address = sys.argv[1]
    sh.setup(device_id=1, grpc_addr=address, election_id=(0, 5), verbose=False)

    # Insert, read, modify, delete.
    entry = sh.TableEntry("gtp_decap")(action="decap")
    entry.match["teid"] = "0x1000"
    entry.action["ue"] = "10.60.0.1"
    entry.action["counter"] = "5"
    entry.action["meter"] = "3"
    entry.action["next_hop"] = "1"
    entry.action["qfi"] = "0"
    entry.action["gnb"] = "0"
    entry.insert()
    try:
        entry.insert()
        raise SystemExit("a second insertion was accepted")
    except REFUSALS as error:
        assert "ALREADY_EXISTS" in str(error), error
    found = list(sh.TableEntry("gtp_decap").read())
    assert len(found) == 1, found
    assert found[0].msg().action.action.params[3].value == b"\x01", found[0]
    entry.action["next_hop"] = "2"
    entry.modify()
    assert (
        next(iter(sh.TableEntry("gtp_decap").read())).msg().action.action.params[3].value
        == b"\x02"
    )

    # Range and ternary together, with a priority.
    application = sh.TableEntry("applications")(action="application")
    application.match["session"] = "4&&&0xffffffff"
    application.match["remote"] = "8.8.0.0&&&255.255.0.0"
    application.match["remote_port"] = "80..90"
    application.match["protocol"] = "6&&&0xff"
    application.priority = 10
    application.action["application"] = "1"
    application.insert()
    read = next(iter(sh.TableEntry("applications").read()))
    ranges = [field.range.high for field in read.msg().match if field.HasField("range")]
    assert read.priority == 10 and ranges == [b"\x5a"], read
    application.delete()
    assert not list(sh.TableEntry("applications").read())

    # Invalid values.
    from p4.v1 import p4runtime_pb2

    request = p4runtime_pb2.WriteRequest(device_id=1)
    request.election_id.low = 5
    update = request.updates.add(type=p4runtime_pb2.Update.INSERT)
    update.entity.table_entry.CopyFrom(entry.msg())
    update.entity.table_entry.match[0].exact.value = b"\x01\x00\x00\x00\x00"
    try:
        sh.client.stub.Write(request)
        raise SystemExit("a TEID of 33 bits was accepted")
    except Exception as error:
        assert "32 bits" in str(error), error

    # Counters and meters.
    counter = sh.CounterEntry("rules")
    counter.index = 5
    counter.packet_count = 7
    counter.byte_count = 700
    counter.modify()
    counter = sh.CounterEntry("rules")
    counter.index = 5
    counter = next(iter(counter.read()))
    assert (counter.packet_count, counter.byte_count) == (7, 700), counter
    meter = sh.MeterEntry("session_meter")
    meter.index = 3
    meter.cir = meter.pir = 125000
    meter.cburst = meter.pburst = 10000
    meter.modify()
    meter = sh.MeterEntry("session_meter")
    meter.index = 3
    meter = next(iter(meter.read()))
    assert meter.cir == 125000 and meter.cburst == 10000, meter

    # A default action, and one that is fixed by the program.
    default = sh.TableEntry("ip_default_forward")(action="to_controller", is_default=True)
    default.modify()
    fixed = sh.TableEntry("gtp_decap")(action="NoAction", is_default=True)
    try:
        fixed.modify()
        raise SystemExit("a fixed default action was changed")
    except REFUSALS as error:
        assert "fixed by the program" in str(error), error

    # Packets without a rule reach the controller from port 0, complete and with their port; packets
    # from the controller leave there.
    unknown = sh.TableEntry("ip_default_forward")(action="to_controller")
    unknown.match["port"] = "0"
    unknown.modify()
    far = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806))
    far.bind((sys.argv[2], 0))
    far.settimeout(20)
    received = sh.PacketIn()
    question = b"\xff" * 6 + b"\x02\0\0\0\0\x09" + b"\x08\x06" + bytes(range(46))
    far.send(question)
    packets = [
        packet
        for packet in received.sniff(timeout=3)
        if packet.packet.payload[12:14] == b"\x08\x06"
    ]
    assert [packet.packet.payload for packet in packets] == [question], packets
    port = packets[0].packet.metadata[0].value
    assert int.from_bytes(port, "big") == 0, port
    answer = b"\x02\0\0\0\0\x09" + b"\x02\0\0\0\0\x0a" + b"\x08\x06" + bytes(reversed(range(46)))
    sh.PacketOut(answer, egress_port="0").send()
    left = far.recv(2048)
    assert left == answer, (left, answer)
    try:
        sh.PacketOut(answer, egress_port="99").send()
    except REFUSALS as error:
        assert "99" in str(error), error

    # A second controller: with a lower election ID it may not write, with a higher one it becomes
    # primary.
    import grpc
    from p4.v1 import p4runtime_pb2_grpc
    import queue

    held = []

    def controller(low):
        channel = grpc.insecure_channel(address)
        stub = p4runtime_pb2_grpc.P4RuntimeStub(channel)
        out = queue.Queue()
        message = p4runtime_pb2.StreamMessageRequest()
        message.arbitration.device_id = 1
        message.arbitration.election_id.low = low
        out.put(message)
        stream = stub.StreamChannel(iter(out.get, None))
        code = next(iter(stream)).arbitration.status.code
        # A stream without a reference is cancelled, and the controller disconnects.
        held.append((channel, stream))
        return stub, out, code

    stub, lower, code = controller(3)
    assert code == grpc.StatusCode.ALREADY_EXISTS.value[0], code
    request.election_id.low = 3
    update.entity.table_entry.match[0].exact.value = b"\x07"
    try:
        stub.Write(request)
        raise SystemExit("a backup wrote")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.PERMISSION_DENIED, error
    stub, higher, code = controller(9)
    assert code == 0, code
    request.election_id.low = 9
    stub.Write(request)
    for end in (lower, higher):
        end.put(None)
    sh.teardown()


# The shell's threads would keep a failed run alive.
try:
    main()
    print("fine", flush=True)
    os._exit(0)
except BaseException:
    traceback.print_exc()
    sys.stderr.flush()
    os._exit(1)
