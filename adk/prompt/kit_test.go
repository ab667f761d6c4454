package prompt_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/adk/prompt"
)

// noon is the time of a test's first record; each record is a second later than the one before.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

// kit makes records, and fails the test when a record cannot be made.
type kit struct{ testing.TB }

func must[T any](t testing.TB) func(made T, err error) T {
	return func(made T, err error) T {
		t.Helper()
		require.NoError(t, err)
		return made
	}
}

func (k kit) user(id, text string, at float64, media ...*adk.Media) *adk.Message {
	return k.message(adk.RoleUser, id, text, at, adk.Identity{}, media...)
}

func (k kit) message(role adk.Role, id, text string, at float64, by adk.Identity, media ...*adk.Media) *adk.Message {
	return must[*adk.Message](k)(adk.NewMessage(adk.MessageInit{ID: id, Role: role, Content: text, Attachments: media, Identity: by, CreatedAt: after(at), UpdatedAt: after(at)}))
}

func (k kit) identity(id any, name string) adk.Identity {
	return must[adk.Identity](k)(adk.NewIdentity(id, name))
}

func (k kit) thought(init adk.ThoughtInit, at float64) *adk.Thought {
	init.CreatedAt, init.UpdatedAt = after(at), after(at)
	return must[*adk.Thought](k)(adk.NewThought(init))
}

func (k kit) memory(id, text string, at float64) *adk.Memory {
	return must[*adk.Memory](k)(adk.NewMemory(adk.MemoryInit{ID: id, Content: text, Confidence: new(0.9), Importance: new(0.3), CreatedAt: after(at), UpdatedAt: after(at)}))
}

func (k kit) retrievable(init adk.RetrievableInit, at float64) *adk.Retrievable {
	init.CreatedAt, init.UpdatedAt = after(at), after(at)
	return must[*adk.Retrievable](k)(adk.NewRetrievable(init))
}

func (k kit) call(id, tool string, result adk.ToolResult, at float64, change ...func(*adk.ToolCallInit)) *adk.ToolCall {
	init := adk.ToolCallInit{ID: id, Tool: tool, Args: map[string]any{"z": 1, "city": "Oslo", "id": id}, Results: result, CreatedAt: after(at), UpdatedAt: after(at), CompletedAt: after(at)}
	for _, c := range change {
		c(&init)
	}
	return must[*adk.ToolCall](k)(adk.NewToolCall(init))
}

func asHandle(init *adk.ToolCallInit) { init.Inline = new(false) }
func failed(init *adk.ToolCallInit)   { init.IsError = true }

func (k kit) tools(trusted map[string]bool) *adk.Registry {
	registry := &adk.Registry{}
	for name, ok := range trusted {
		require.NoError(k, registry.Register(must[*adk.Tool](k)(adk.NewTool(adk.ToolInit{
			Name: name, Description: "Does it.", InputSchema: []byte(`{"type":"object"}`), Trusted: ok,
			Handler: func(context.Context, *adk.DispatchContext, map[string]any) (adk.ToolResult, error) {
				return adk.Text("x"), nil
			},
		}))))
	}
	return registry
}

func (k kit) artifact(id, body string, flavour artifact.Flavour, tier adk.TrustTier) *adk.Media {
	return must[*adk.Media](k)(artifact.New(artifact.Init{ID: id, Flavour: flavour, Filename: id + ".txt", Reader: adk.MediaBytes([]byte(body)), TrustTier: tier}))
}

func (k kit) media(kind adk.MediaKind, mime string, tier adk.TrustTier, hazard adk.ModalityHazard, change ...func(*adk.MediaInit)) *adk.Media {
	init := adk.MediaInit{ID: "media", Kind: kind, MIMEType: mime, Filename: "a.bin", Reader: adk.MediaBytes([]byte("data")), TrustTier: tier, ModalityHazard: hazard}
	for _, c := range change {
		c(&init)
	}
	return must[*adk.Media](k)(adk.NewMedia(init))
}

// opener opens media as a context does, and keeps their ids.
type opener struct{ opened []string }

func (o *opener) OpenMedia(ctx context.Context, media *adk.Media) ([]byte, error) {
	o.opened = append(o.opened, media.ID())
	return media.Bytes(ctx)
}

// noReading is a reader that fails the test when it is used.
func noReading(t testing.TB) adk.MediaReader {
	return adk.MediaFunc(func(context.Context) (io.ReadCloser, error) {
		t.Error("bytes were read that no native block needs")
		return nil, io.ErrUnexpectedEOF
	})
}

// written formats a prompt for a reader.
func written(p *prompt.Prompt) string {
	var out strings.Builder
	for i, m := range p.Messages {
		if i > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "=== %s", m.Role)
		if m.Name != "" {
			fmt.Fprintf(&out, " name=%s", m.Name)
		}
		switch {
		case m.Call != nil:
			fmt.Fprintf(&out, " asks call %s: %s %s\n", m.Call.ID, m.Call.Tool, m.Call.Args)
			continue
		case m.CallID != "":
			fmt.Fprintf(&out, " answers call %s", m.CallID)
		}
		out.WriteString("\n" + contentText(m.Content))
	}
	for _, o := range p.Opaque {
		fmt.Fprintf(&out, "\n=== beside the messages: %s %s %v\n", o.ID, o.ReplayCompatibility, o.Payload)
	}
	return out.String()
}

func contentText(c prompt.Content) string {
	if c.Blocks == nil {
		return c.Text + "\n"
	}
	var out strings.Builder
	for _, b := range c.Blocks {
		if b.Native == nil {
			out.WriteString("--- text\n" + b.Text + "\n")
		} else {
			fmt.Fprintf(&out, "--- %s %q format=%q %s\n", b.Native.Kind, b.Native.Filename, b.Native.Format, b.Native.DataURI())
		}
	}
	return out.String()
}

// render returns a prompt and the warnings that it caused.
func render(t testing.TB, view prompt.View, options prompt.Options) (*prompt.Prompt, []string) {
	t.Helper()
	var warnings []string
	options.Warn = func(text string) { warnings = append(warnings, text) }
	if options.Opener == nil {
		options.Opener = &opener{}
	}
	p, err := prompt.Render(t.Context(), view, options)
	require.NoError(t, err)
	return p, warnings
}

// texts returns the text of each message of a prompt.
func texts(p *prompt.Prompt) []string {
	all := make([]string, len(p.Messages))
	for i, m := range p.Messages {
		all[i] = m.Content.Texts()
	}
	return all
}

// lines returns the role of each message and its first line.
func lines(p *prompt.Prompt) []string {
	all := make([]string, len(p.Messages))
	for i, m := range p.Messages {
		first, _, _ := strings.Cut(m.Content.Texts(), "\n")
		if m.Call != nil {
			first = "call " + m.Call.ID
		}
		all[i] = string(m.Role) + ": " + first
	}
	return all
}
