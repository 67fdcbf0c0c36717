"""The vendors of the matrix."""
from vendors.free_ran_ue import FreeRanUe
from vendors.martlet import Martlet
from vendors.ocudu import Ocudu
from vendors.open5gs import FUNCTIONS as OPEN5GS
from vendors.packetrusher import PacketRusher
from vendors.ueransim import Ueransim

VENDORS = [Martlet, Ueransim, PacketRusher, FreeRanUe, Ocudu, *OPEN5GS]
