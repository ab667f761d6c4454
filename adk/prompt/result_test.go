package prompt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/prompt"
)

// ENV-25, ENV-30, ENV-31, ENV-32, ENV-34: the envelope of a tool's result depends on the tool, on its
// Trusted flag and on the artifact's own tier, and never on the result's text.
func TestToolResults(t *testing.T) {
	k := kit{t}
	tools := k.tools(map[string]bool{"trusted": true, "plain": false})
	own := k.artifact("a", "one\ntwo", artifact.TextFlavour, adk.TrustFirstParty)
	foreign := k.artifact("b", "three", artifact.JSONFlavour, adk.TrustThirdPartyPrivate)
	for name, c := range map[string]struct {
		call     *adk.ToolCall
		tier     string
		kind     string
		body     string
		warnings []string
	}{
		"text of a trusted tool":      {k.call("c", "trusted", adk.Text("x"), 0), "trusted", "trusted-tool-result", "x", nil},
		"text of a tool":              {k.call("c", "plain", adk.Text("x"), 0), "untrusted", "tool-result", "x", nil},
		"text of nobody's tool":       {k.call("c", "gone", adk.Text("x"), 0), "untrusted", "tool-result", "x", []string{`the tool "gone" is not in the registry: what it answered is shown as untrusted`}},
		"text that failed":            {k.call("c", "trusted", adk.Text("x"), 0, failed), "trusted", "trusted-tool-result", "x", nil},
		"no text":                     {k.call("c", "plain", adk.Text(""), 0), "untrusted", "tool-result", "", nil},
		"text that is not inline":     {k.call("c", "trusted", adk.Text("x"), 0, asHandle), "trusted", "trusted-tool-result", "x", []string{`the result of call "c" is text and no artifact: it is written out, as nothing could ask it`}},
		"long text":                   {k.call("c", "plain", adk.Text(strings.Repeat("long ", 20000)), 0), "untrusted", "tool-result", strings.Repeat("long ", 20000), nil},
		"artifact":                    {k.call("c", "trusted", own, 0), "trusted", "trusted-tool-result", "one\ntwo", nil},
		"artifact of a tool":          {k.call("c", "plain", own, 0), "untrusted", "tool-result", "one\ntwo", nil},
		"artifact of somebody else":   {k.call("c", "trusted", foreign, 0), "untrusted", "tool-result", "three", nil},
		"artifacts":                   {k.call("c", "trusted", adk.MediaList{own, own}, 0, asHandle), "trusted", "trusted-tool-result", "one\ntwo\n\none\ntwo", nil},
		"artifacts of somebody else":  {k.call("c", "trusted", adk.MediaList{own, foreign}, 0), "untrusted", "tool-result", "one\ntwo\n\nthree", nil},
		"artifacts of nobody's tool":  {k.call("c", "gone", adk.MediaList{own}, 0), "untrusted", "tool-result", "one\ntwo", []string{`the tool "gone" is not in the registry: what it answered is shown as untrusted`}},
		"artifact that is not inline": {k.call("c", "trusted", own, 0, asHandle), "untrusted", "artifact-handle", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, warnings := render(t, prompt.View{ToolCalls: []*adk.ToolCall{c.call}, Tools: tools}, prompt.Options{})
			assert.Equal(t, c.warnings, warnings)
			n, text := c.call.Checksum(), p.Messages[1].Content.Text
			open := "<" + c.tier + "_content_" + n + ` nonce="` + n + `" kind="` + c.kind + `" tool="` + c.call.Tool() + "\">\n"
			if c.kind == "artifact-handle" {
				assert.True(t, strings.HasPrefix(text, open), text)
				return
			}
			assert.Equal(t, open+c.body+"\n</"+c.tier+"_content_"+n+">", text)
		})
	}
}

// ENV-31: there is one warning about a tool that does not exist, however often it was called.
func TestWarningsComeOnce(t *testing.T) {
	k := kit{t}
	_, warnings := render(t, prompt.View{ToolCalls: []*adk.ToolCall{
		k.call("c1", "gone", adk.Text("x"), 0), k.call("c2", "gone", adk.Text("y"), 1, asHandle), k.call("c3", "lost", adk.Text("y"), 1),
	}}, prompt.Options{})
	assert.Len(t, warnings, 3)
}

// ENV-33: a handle describes the artifact and the tools that query it, without reading a byte of it.
func TestHandle(t *testing.T) {
	k := kit{t}
	known := artifact.Entry{Bytes: 5 << 20, Lines: 9000}
	media := must[*adk.Media](t)(artifact.New(artifact.Init{ID: "a", Flavour: artifact.JSONFlavour, Filename: "a.json", Reader: noReading(t), TrustTier: adk.TrustFirstParty, Known: &known}))
	p, _ := render(t, prompt.View{ToolCalls: []*adk.ToolCall{k.call("call 1", "fetch", media, 0, asHandle)}}, prompt.Options{Artifacts: artifact.Config{Prefix: "ask"}})
	lines := strings.Split(p.Messages[1].Content.Text, "\n")
	assert.Equal(t, []string{
		"This result is kept as an artifact and is not written out here.", "",
		"About the artifact:", "- callId: call 1", "- kind: JSON artifact", "- byteLength: 5242880", "- lineCount: 9000", "",
		"Query it with one of these tools, with callId=call 1:",
	}, lines[1:10])
	offered := lines[10 : len(lines)-3]
	assert.Len(t, offered, 14, "the base tools and those of the flavour")
	assert.True(t, strings.HasPrefix(offered[0], "- ask_head — Returns the first n lines."), offered[0])
	assert.True(t, strings.HasPrefix(offered[7], "- ask_json_type — "), offered[7])
	assert.Equal(t, []string{"", "It stays available for the whole turn and may be queried as often as needed. Its text stands nowhere else."}, lines[len(lines)-3:len(lines)-1])

	_, err := prompt.Render(t.Context(), prompt.View{ToolCalls: []*adk.ToolCall{k.call("c", "fetch", media, 0, asHandle)}}, prompt.Options{Artifacts: artifact.Config{MaxResult: -1}})
	assert.ErrorIs(t, err, adk.E_INVALID_ARTIFACT_CONFIG)
}

// MED-3, ENV-30: the body of an inline artifact is read through the context, whatever its size, and
// has to match its mark.
func TestInlineArtifacts(t *testing.T) {
	k := kit{t}
	large := strings.Repeat("line\n", 1<<19)
	reader := &opener{}
	p, _ := render(t, prompt.View{ToolCalls: []*adk.ToolCall{k.call("c", "fetch", k.artifact("a", large+"\xff", artifact.TextFlavour, adk.TrustFirstParty), 0)}}, prompt.Options{Opener: reader})
	assert.Contains(t, p.Messages[1].Content.Text, large+"\uFFFD\n</")
	assert.Equal(t, []string{"a"}, reader.opened)

	changed := k.artifact("a", "one", artifact.TextFlavour, adk.TrustFirstParty).WithReader(adk.MediaBytes([]byte("two")))
	view := prompt.View{ToolCalls: []*adk.ToolCall{k.call("c", "fetch", changed, 0)}}
	_, err := prompt.Render(t.Context(), view, prompt.Options{Opener: reader})
	assert.ErrorIs(t, err, adk.E_ARTIFACT_CHANGED)
	_, err = prompt.Render(t.Context(), view, prompt.Options{})
	assert.ErrorIs(t, err, adk.E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS, "there is nobody to read with")

	unread := k.artifact("a", "one", artifact.TextFlavour, adk.TrustFirstParty).WithReader(nil)
	spool := artifact.NewMemorySpool()
	_, err = spool.Write(t.Context(), "key", strings.NewReader("one"))
	require.NoError(t, err)
	init := unread.Init()
	entry := init.Stash[artifact.StashKey]
	entry.Value.(map[string]any)["key"] = "key"
	init.Reader = adk.MediaFunc(unread.Open)
	view = prompt.View{ToolCalls: []*adk.ToolCall{k.call("c", "fetch", must[*adk.Media](t)(adk.NewMedia(init)), 0)}}
	p, _ = render(t, view, prompt.Options{Artifacts: artifact.Config{Spool: spool}})
	assert.Contains(t, p.Messages[1].Content.Text, "\none\n", "a body that no reader has is looked for in the spool")
}

// MED-3: when a reader fails, the prompt fails with the reader's error.
func TestReadersFail(t *testing.T) {
	k := kit{t}
	errRead := errors.New("the disk is gone")
	broken := failing{errRead}
	for name, view := range map[string]prompt.View{
		"artifact":   {ToolCalls: []*adk.ToolCall{k.call("c", "x", k.artifact("a", "b", artifact.TextFlavour, adk.TrustFirstParty), 0)}},
		"result":     {ToolCalls: []*adk.ToolCall{k.call("c", "x", k.media(adk.MediaImage, "image/png", adk.TrustFirstParty, adk.HazardOpaquePerceptual), 0)}},
		"attachment": {Messages: []*adk.Message{k.user("u", "", 0, k.media(adk.MediaImage, "image/png", adk.TrustFirstParty, adk.HazardOpaquePerceptual))}},
	} {
		_, err := prompt.Render(t.Context(), view, prompt.Options{Opener: broken})
		assert.ErrorIs(t, err, errRead, name)
	}
}
