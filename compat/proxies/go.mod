module github.com/zlimit/zlimit/compat/proxies

go 1.26.0

require (
	github.com/stretchr/testify v1.12.1
	github.com/zlimit/zlimit/lab v0.0.0
)

require (
	github.com/zlimit/zlimit v0.0.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/zlimit/zlimit => ../..

replace github.com/zlimit/zlimit/lab => ../../lab
