// Builds free5GC's CHF as it is published: go build github.com/free5gc/chf/cmd
module martlet/tests/free5gc-chf

go 1.26.2

require github.com/free5gc/chf v1.1.0
