// Builds free5GC's AMF as it is published: go build github.com/free5gc/amf/cmd
module martlet/tests/free5gc-amf

go 1.26.2

require github.com/free5gc/amf v1.4.5
