package main

import (
	"encoding/binary"

	"github.com/free5gc/nas/security"
	"github.com/free5gc/util/milenage"
	"github.com/free5gc/util/ueauth"
)

// What a SIM card knows.
type card struct{ k, opc []byte }

// The security context of NAS (TS 33.501, 6.4.2), with NEA2 and NIA2.
type context struct {
	kAmf             []byte
	kEncrypt, kMac   [16]byte
	uplink, downlink uint32
}

func kdf(key []byte, code string, parameters ...[]byte) []byte {
	var with [][]byte
	for _, parameter := range parameters {
		with = append(with, parameter, ueauth.KDFLen(parameter))
	}
	value, err := ueauth.GetKDFValue(key, code, with...)
	must(err)
	return value
}

// The answer to a challenge of 5G-AKA, and the keys that follow from it (TS 33.501, annex A).
func (c card) answer(rand, autn []byte, abba []byte) (resStar []byte, keys *context) {
	_, _, ik, ck, res, err := milenage.GenerateKeysWithAUTN(c.opc, c.k, rand, autn)
	must(err)
	network := []byte("5G:mnc001.mcc001.3gppnetwork.org")
	both := append(append([]byte{}, ck...), ik...)
	resStar = kdf(both, ueauth.FC_FOR_RES_STAR_XRES_STAR_DERIVATION, network, rand, res)[16:]
	kAusf := kdf(both, ueauth.FC_FOR_KAUSF_DERIVATION, network, autn[:6])
	kSeaf := kdf(kAusf, ueauth.FC_FOR_KSEAF_DERIVATION, network)
	keys = &context{kAmf: kdf(kSeaf, ueauth.FC_FOR_KAMF_DERIVATION, []byte(msinOf()), abba)}
	derive := func(kind, algorithm byte) (key [16]byte) {
		derived := kdf(keys.kAmf, ueauth.FC_FOR_ALGORITHM_KEY_DERIVATION,
			[]byte{kind}, []byte{algorithm})
		copy(key[:], derived[16:])
		return
	}
	keys.kEncrypt = derive(security.NNASEncAlg, security.AlgCiphering128NEA2)
	keys.kMac = derive(security.NNASIntAlg, security.AlgIntegrity128NIA2)
	return
}

// The key of the gNB that follows from an uplink NAS COUNT (TS 33.501, A.9).
func (c *context) kGnb(count uint32) []byte {
	return kdf(c.kAmf, ueauth.FC_FOR_KGNB_KN3IWF_DERIVATION,
		binary.BigEndian.AppendUint32(nil, count),
		[]byte{security.AccessType3GPP})
}

func isCiphered(header byte) bool {
	return header == cipheredHeader || header == newContextCiphered
}

// Protects a plain message under a security header type (TS 24.501, 4.4).
func (c *context) protect(header byte, plain []byte) []byte {
	text := append([]byte{}, plain...)
	if isCiphered(header) {
		must(security.NASEncrypt(security.AlgCiphering128NEA2, c.kEncrypt, c.uplink,
			security.Bearer3GPP,
			security.DirectionUplink, text))
	}
	covered := append([]byte{byte(c.uplink)}, text...)
	mac, err := security.NASMacCalculate(
		security.AlgIntegrity128NIA2, c.kMac, c.uplink, security.Bearer3GPP,
		security.DirectionUplink, covered)
	must(err)
	c.uplink++
	return append(append([]byte{0x7e, header}, mac...), covered...)
}

// The plain message in a protected one.
func (c *context) open(protected []byte) []byte {
	header, mac, covered := protected[1], protected[2:6], protected[6:]
	count := c.downlink&^0xff | uint32(covered[0])
	want, err := security.NASMacCalculate(
		security.AlgIntegrity128NIA2, c.kMac, count, security.Bearer3GPP,
		security.DirectionDownlink, covered)
	must(err)
	if string(mac) != string(want) {
		fail("a message of NAS with the code %x, and %x is right", mac, want)
	}
	c.downlink = count + 1
	plain := append([]byte{}, covered[1:]...)
	if isCiphered(header) {
		must(security.NASEncrypt(security.AlgCiphering128NEA2, c.kEncrypt, count,
			security.Bearer3GPP,
			security.DirectionDownlink, plain))
	}
	return plain
}
