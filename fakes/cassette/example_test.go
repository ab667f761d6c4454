package cassette_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/fakes/cassette"
)

// A recording that another project's tests have made answers in the place of the provider.
func Example() {
	recording, err := cassette.Read("weather.yaml", strings.NewReader(`
version: 2
interactions:
- request:
    method: POST
    url: https://api.openai.com/v1/chat/completions
    headers: {Authorization: [Bearer secret]}
    body: '{"model":"gpt-4o"}'
  response:
    code: 200
    headers: {Content-Type: [application/json]}
    body: '{"choices":[{"message":{"content":"It is cold."}}]}'
`))
	if err != nil {
		log.Fatal(err)
	}
	provider := fakes.NewTransport(recording.Conversation)
	_ = provider // the Transport of a chat.Options, or of an http.Client
	fmt.Println(recording.Form, len(recording.Interactions), "interaction, secrets left out:", recording.Secrets)
	// Output: go-vcr 1 interaction, secrets left out: 1
}
