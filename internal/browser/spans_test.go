package browser

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/otlp"
	"github.com/adkreplay/adkreplay/internal/page"
	"github.com/adkreplay/adkreplay/internal/spans"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// A turn that was read from spans can be shown in every view, with its conversation if the spans contain it, and
// without a message on the console if they do not.
func TestSpansAreLookedAt(t *testing.T) {
	for _, content := range []bool{true, false} {
		p := &page.Page{Title: "spans"}
		for _, name := range []string{"asks-a-model", "sub-agents-side-by-side", "tool-failure"} {
			all, err := otlp.Export(bytes.NewReader(fixture(t, name)), trace.Options{}, spans.Options{Content: content})
			require.NoError(t, err)
			turns, _, err := all.Document().Turns()
			require.NoError(t, err)
			p.Sources = append(p.Sources, source(name+".json", turns[0].Trace))
		}
		b := opened(t, written(t, p), "")
		for number := range p.Sources {
			for seq := 1; seq < 20; seq += 4 {
				for _, view := range []string{"crossing", "state", "conversation", "phases"} {
					b.goTo(fmt.Sprintf("#%d.%d/%s", number+1, seq, view))
				}
			}
		}
		b.goTo("#1.6/conversation")
		for _, said := range []string{"What is the weather in Oslo?", "It rains in Oslo."} {
			assert.Equal(t, content, bytes.Contains([]byte(b.text("#panel")), []byte(said)), "%v: %s", content, said)
		}
	}
}
