// Builds free5GC's PCF as it is published: go build github.com/free5gc/pcf/cmd
module martlet/tests/free5gc-pcf

go 1.26.2

require github.com/free5gc/pcf v1.4.5
