// Builds free5GC's AMF with SCTP in user space, for kernels that lack it:
// go build -modfile=user-space.mod -o DIR/free5gc-amf-user-space github.com/free5gc/amf/cmd
module martlet/tests/free5gc-amf

go 1.26.2

require (
	github.com/free5gc/amf v1.4.5
	github.com/pion/logging v0.2.3 // indirect
	github.com/pion/sctp v1.8.39 // indirect
)

replace github.com/free5gc/sctp => ../sctp
