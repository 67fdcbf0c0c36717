module github.com/martlet-core/martlet/fabric/go

go 1.19

require golang.org/x/net v0.34.0

require golang.org/x/text v0.21.0 // indirect
