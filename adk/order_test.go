package adk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// DET-3: everything that is made from a map has the same order each time.
func TestNoOrderOfAMapShows(t *testing.T) {
	dotted, tree, texts := map[string]any{}, map[string]any{}, map[string]adk.MediaStashEntry{}
	for i := range 20 {
		dotted[fmt.Sprintf("a.%d", i)], tree[fmt.Sprint(i)] = i, map[string]any{"leaf": i}
		texts[fmt.Sprint(i)] = adk.MediaStashEntry{Value: i, TrustTier: adk.TrustFirstParty}
	}
	strict := tool("strict", done)
	described := tool("described", done, func(init *adk.ToolInit) { init.Meta = tree })
	image := picture("p", bytesOf("")).Init()
	runner := newRunner(t, newConfig())
	refused := func(_ any, err error) string {
		require.Error(t, err)
		return err.Error()
	}
	for name, say := range map[string]func() string{
		"a raw turn": func() string {
			return refused(nil, runner.Run(context.Background(), adk.RawTurn{SystemPrompt: "x", Stash: dotted}))
		},
		"arguments": func() string { return refused(strict.Validate(dotted)) },
		"a stash":   func() string { return adk.StashDigest(tree).String() },
		"a stash's keys": func() (keys string) {
			inTurn(t, hello, func(_ context.Context, tc *adk.TurnContext) {
				require.NoError(t, tc.Stash().Set("in", tree))
				keys = fmt.Sprint(tc.Stash().Keys())
				keys += refused(nil, tc.Stash().Set("in", dotted))
			})
			return keys
		},
		"a media": func() string {
			image.Stash = texts
			return string(must(json.Marshal(must(adk.NewMedia(image)))))
		},
		"a refused media": func() string {
			image.Stash = map[string]adk.MediaStashEntry{}
			for key := range texts {
				image.Stash[key] = adk.MediaStashEntry{}
			}
			return refused(adk.NewMedia(image))
		},
		"a tool": func() string { return string(must(json.Marshal(described))) },
		"a checksum": func() string {
			return must(must(adk.NewArguments(dotted)).Checksum("x"))
		},
	} {
		first := say()
		for range 20 {
			assert.Equal(t, first, say(), name)
		}
	}
}
