"""The vendors of the matrix."""
from vendors.eupf import Eupf
from vendors.free5gc import FUNCTIONS as FREE5GC
from vendors.free_ran_ue import FreeRanUe
from vendors.martlet import Martlet
from vendors.oai import Oai
from vendors.ocudu import Ocudu
from vendors.open5gs import FUNCTIONS as OPEN5GS
from vendors.packetrusher import PacketRusher
from vendors.pfcpsim import Pfcpsim
from vendors.ueransim import Ueransim

RADIO = [Martlet, Ueransim, PacketRusher, FreeRanUe, Ocudu, Oai]
VENDORS = [*RADIO, *OPEN5GS, *FREE5GC, Eupf, Pfcpsim]
