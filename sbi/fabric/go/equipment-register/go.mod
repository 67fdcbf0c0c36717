module github.com/martlet-core/martlet/sbi/fabric/go/equipment-register

go 1.19

require github.com/martlet-core/martlet/fabric/go v0.0.0

require (
	golang.org/x/net v0.34.0 // indirect
	golang.org/x/text v0.21.0 // indirect
)

replace github.com/martlet-core/martlet/fabric/go => ../../../../fabric/go
