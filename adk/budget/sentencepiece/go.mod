module github.com/adkreplay/adkreplay/adk/budget/sentencepiece

go 1.26.0

replace github.com/adkreplay/adkreplay => ../../..

require (
	github.com/adkreplay/adkreplay v0.0.0-00010101000000-000000000000
	github.com/eliben/go-sentencepiece v0.6.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/pkoukk/tiktoken-go-loader v0.0.2 // indirect
	github.com/yuin/goldmark v1.8.7 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
