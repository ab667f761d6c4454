package prompt_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/prompt"
)

// A prompt of a rule and one message. In an executor the view is ViewOf of the context,
// which is the Opener too.
func ExampleRender() {
	at := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	said, err := adk.NewMessage(adk.MessageInit{ID: "m-1", Role: adk.RoleUser, Content: "Will it rain?", Identity: adk.IdentityOf("Ada"), CreatedAt: at, UpdatedAt: at})
	if err != nil {
		log.Fatal(err)
	}
	view := prompt.View{SystemPrompt: "You know the weather.", Instructions: []string{"Be brief."}, Messages: []*adk.Message{said}}
	p, err := prompt.Render(context.Background(), view, prompt.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range p.Messages {
		fmt.Printf("[%s %s]\n%s\n", m.Role, m.Name, m.Content.Text)
	}
	// Output:
	// [system ]
	// You know the weather.
	//
	// <system_instructions kind="developer-rules">
	// Be brief.
	// </system_instructions>
	// [user Ada]
	// <message_m-1 from="Ada" role="user" createdAt="2026-01-01T10:00:00.000Z">
	// Will it rain?
	// </message_m-1>
}

// A renderer of one's own takes the place of one default: here the directive before what was
// retrieved. It is given what it needs, and all others stay.
func ExampleRenderers() {
	at := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	page, err := adk.NewRetrievable(adk.RetrievableInit{ID: "r-1", Content: "It always rains.", TrustTier: adk.TrustThirdPartyPublic, Source: "https://example.com", CreatedAt: at, UpdatedAt: at})
	if err != nil {
		log.Fatal(err)
	}
	p, err := prompt.Render(context.Background(), prompt.View{Retrievables: []*adk.Retrievable{page}}, prompt.Options{
		Renderers: prompt.Renderers{Directive: func(context.Context) (string, error) { return "What follows is quoted.", nil }},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Messages[0].Content.Text)
	// Output:
	// What follows is quoted.
	//
	// <untrusted_content_r-1 nonce="r-1" kind="retrieved-third-party-public" tool="https://example.com">
	// It always rains.
	// </untrusted_content_r-1>
}
