package prompt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/prompt"
	"github.com/adkreplay/adkreplay/internal/allocs"
)

// large is a view with the given number of messages, a fifth as many tool results, and a twentieth as
// many retrievables.
func large(t testing.TB, messages int) prompt.View {
	k, text := kit{t}, strings.Repeat("Some words that were said, and <b>a tag</b> among them. ", 10)
	view := prompt.View{SystemPrompt: text, Tools: k.tools(map[string]bool{"tool": false})}
	for i := range messages {
		role := adk.RoleUser
		if i%2 == 1 {
			role = adk.RoleAssistant
		}
		view.Messages = append(view.Messages, k.message(role, fmt.Sprint("m", i), text, float64(i), adk.Identity{}))
		if i%5 == 0 {
			view.ToolCalls = append(view.ToolCalls, k.call(fmt.Sprint("c", i), "tool", adk.Text(text), float64(i)))
		}
		if i%20 == 0 {
			view.Retrievables = append(view.Retrievables, k.retrievable(adk.RetrievableInit{ID: fmt.Sprint("r", i), Content: text, TrustTier: public}, float64(i)))
		}
	}
	return view
}

// concatenated is the floor of a prompt: the same texts, concatenated.
func concatenated(view prompt.View) string {
	var out strings.Builder
	out.WriteString(view.SystemPrompt)
	for _, r := range view.Retrievables {
		out.WriteString(r.Content().String())
	}
	for _, m := range view.Messages {
		out.WriteString(m.Content().String())
	}
	for _, c := range view.ToolCalls {
		out.WriteString(c.Results().(*adk.Tokenizable).String())
	}
	return out.String()
}

// BenchmarkRender measures the cost of each message in a prompt, and of its floor; it does not depend on the length.
func BenchmarkRender(b *testing.B) {
	for _, n := range []int{250, 1000, 4000} {
		view := large(b, n)
		perMessage := func(b *testing.B, make func() error) {
			b.ReportAllocs()
			for b.Loop() {
				if err := make(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/message")
		}
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			perMessage(b, func() error {
				_, err := prompt.Render(b.Context(), view, prompt.Options{})
				return err
			})
		})
		b.Run(fmt.Sprintf("messages=%d/floor", n), func(b *testing.B) {
			perMessage(b, func() error { _ = concatenated(view); return nil })
		})
	}
}

// Twice as many records allocate twice as much, and no more: the cost of a prompt is linear.
func TestRenderingIsLinear(t *testing.T) {
	allocs.Countable(t)
	allocations := func(messages int) float64 {
		view := large(t, messages)
		return allocs.PerRun(3, func() {
			if _, err := prompt.Render(t.Context(), view, prompt.Options{}); err != nil {
				t.Error(err)
			}
		})
	}
	small, twice := allocations(200), allocations(400)
	if twice > 2.05*small {
		t.Errorf("%v allocations for 200 messages, and %v for 400", small, twice)
	}
	if perMessage := twice / 400; perMessage > 8 {
		t.Errorf("%v allocations a message", perMessage)
	}
}
