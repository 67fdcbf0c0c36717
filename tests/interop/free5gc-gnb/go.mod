// A gNB and a phone of free5GC's codecs and of Pion's SCTP: go build .
module martlet/tests/free5gc-gnb

go 1.26.2

require (
	github.com/free5gc/aper v1.1.1
	github.com/free5gc/nas v1.2.3
	github.com/free5gc/ngap v1.1.3
	github.com/free5gc/util v1.3.2
	github.com/pion/logging v0.2.3
	github.com/pion/sctp v1.8.39
)

require (
	github.com/aead/cmac v0.0.0-20160719120800-7af84192f0b1 // indirect
	github.com/pion/randutil v0.1.0 // indirect
	github.com/pion/transport/v3 v3.0.7 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/sirupsen/logrus v1.9.3 // indirect
	github.com/tim-ywliu/nested-logrus-formatter v1.3.2 // indirect
	golang.org/x/sys v0.38.0 // indirect
)
