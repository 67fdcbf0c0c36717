// Builds free5GC's older SMF as it is published: go build github.com/free5gc/smf
module martlet/tests/free5gc-smf-v1.3.0

go 1.16

require (
	github.com/free5gc/smf v1.3.0
	// What it asks for itself is linked by no Go toolchain since 1.23.
	github.com/ugorji/go/codec v1.2.11
)
