package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/fakes/cassette"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// asked is a conversation with one question.
var asked = fakes.Conversation{Interactions: []fakes.Interaction{{
	Request:  fakes.ProviderRequest{Method: "POST", URL: "https://api.example.com/v1/chat/completions", Body: `{"model":"m","stream":true}`},
	Response: fakes.StreamReply("It is ", "cold."),
}}}

// CAS-4: what a trace holds of a provider is exported as the original conversation.
func TestExport(t *testing.T) {
	var written bytes.Buffer
	require.NoError(t, cassette.WriteTrace(&written, asked))
	turn, conversation := put(t, "turn.jsonl", written.Bytes()), filepath.Join(t.TempDir(), "turn.json")
	reply := asked.Interactions[0].Response
	want := fakes.Conversation{Source: turn, Interactions: []fakes.Interaction{{Request: asked.Interactions[0].Request,
		Response: fakes.Reply{Status: reply.Status, ContentType: reply.ContentType, Body: reply.Body}}}}

	o := adkreplay("export", turn)
	assert.Zero(t, o.code, o.err)
	read, err := fakes.ReadConversation(strings.NewReader(o.out))
	require.NoError(t, err)
	assert.Equal(t, want, read)
	o = adkreplay("export", turn, "-o", conversation, "--of", "https://api.example.com")
	assert.Zero(t, o.code, o.err)
	assert.Equal(t, conversation+": 1 interaction of trace", strings.Join(strings.Fields(o.out), " "))
	again := adkreplay("import", conversation)
	assert.Zero(t, again.code, again.err)
	assert.Contains(t, again.out, "It is ")
}

// No control sequence in exported or imported text reaches a terminal.
func TestExportIsPrintable(t *testing.T) {
	hostile := put(t, "hostile.jsonl", edited(t, "asks-a-model", func(recorded *trace.Trace) {
		for i := range recorded.Lines() {
			x := &recorded.Lines()[i]
			x.Text += "\u202e\u0085"
			if x.Kind == adk.KindDispatchStart || x.Kind == adk.KindTurnStart {
				x.Name += "\u202e\u009b"
			}
		}
	}))
	spans := adkreplay("export", "--otlp", "--content", "--events", hostile)
	assert.Zero(t, spans.code, spans.err)
	assert.Contains(t, spans.out, `\u202e`)
	tracetest.RequirePrintable(t, spans.out)

	var written bytes.Buffer
	require.NoError(t, cassette.WriteTrace(&written, asked))
	conversation := adkreplay("export", put(t, "turn.jsonl", written.Bytes()))
	said := put(t, "said.json", []byte(strings.ReplaceAll(conversation.out, "It is ", "It is \u202e\u0085")))
	again := adkreplay("import", said)
	assert.Zero(t, again.code, again.err)
	assert.Contains(t, again.out, `It is \u202e\u0085`)
	tracetest.RequirePrintable(t, again.out)
}

// The spans of several traces are one document, in a file with the permissions of the traces.
func TestExportSpans(t *testing.T) {
	turn, spans := put(t, "turn.jsonl", tracetest.FixtureNamed(t, "tool-round-trip").Bytes), filepath.Join(t.TempDir(), "spans.json")
	require.NoError(t, os.Chmod(turn, 0o600))
	o := adkreplay("export", "--otlp", "--agent", "weatherman", turn, put(t, "other.jsonl", tracetest.FixtureNamed(t, "hello").Bytes), "-o", spans)
	assert.Zero(t, o.code, o.err)
	assert.Contains(t, o.out, "6 spans of 2 traces")
	written, err := os.ReadFile(spans)
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(written), `"name":"invoke_agent weatherman"`))
	assert.NotContains(t, string(written), "Oslo")
	info, err := os.Stat(spans)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	o = adkreplay("export", "--otlp", "--content", turn)
	assert.Zero(t, o.code, o.err)
	assert.Contains(t, o.out, "Oslo")

	asks := put(t, "asks.jsonl", tracetest.FixtureNamed(t, "asks-a-model").Bytes)
	o = adkreplay("export", "--otlp", "--events", asks, "-o", spans)
	assert.Zero(t, o.code, o.err)
	assert.Regexp(t, `\d+ spans and \d+ events? of\s+1 trace`, o.out)
	for _, command := range [][]string{{"stats", spans}, {"view", spans, "-o", filepath.Join(t.TempDir(), "page.html")}} {
		o = adkreplay(command...)
		assert.Zero(t, o.code, o.err)
		assert.Equal(t, "adkreplay: "+spans+": 1 turn of spans, which do not say what the engine did or held", strings.Join(strings.Fields(o.err), " "), command[0])
	}

	whole := tracetest.FixtureNamed(t, "tool-round-trip").Bytes
	o = adkreplay("export", "--otlp", put(t, "cut.jsonl", whole[:len(whole)/2]))
	assert.Equal(t, exitUnreadable, o.code)
	assert.Contains(t, o.out, "execute_tool weather")
	assert.Contains(t, o.err, "cut.jsonl:")
}

func TestExportRefuses(t *testing.T) {
	folder := t.TempDir()
	there := filepath.Join(folder, "there.json")
	refuses(t, "export", there, []misuse{
		{nil, exitUsage, "and got 0 arguments"},
		{[]string{"a", "b"}, exitUsage, "and got 2 arguments"},
		{[]string{""}, exitUsage, "argument 1 is empty"},
		{[]string{"--otlp"}, exitUsage, "and got none"},
		{[]string{"--otlp", "--of", "x", "a"}, exitUsage, "--of is of conversations"},
		{[]string{"--content", "a"}, exitUsage, "give --otlp too"},
		{[]string{"--events", "a"}, exitUsage, "give --otlp too"},
		{[]string{"--otlp", "a", "-o", "b.jsonl"}, exitUsage, "is the name of one"},
		{[]string{"-", "-o", ""}, exitUsage, "--output is empty: want --output file"},
		{[]string{filepath.Join(folder, "none.jsonl"), "-o", there}, exitUnreadable, "none.jsonl: no such file or directory"},
		{[]string{folder, "-o", there}, exitUnreadable, "folder"},
		{[]string{put(t, "c.txt", []byte("hello")), "-o", there}, exitUnreadable, "c.txt"},
		{[]string{put(t, "d.jsonl", tracetest.FixtureNamed(t, "hello").Bytes), "-o", there}, exitFound, "d.jsonl: no exchanges over HTTP in this trace"},
	})
	o := adkreplay("export", "--otlp", filepath.Join(folder, "none.jsonl")) // it exports the traces that can be read
	assert.Equal(t, exitUnreadable, o.code)
	assert.Contains(t, o.err, "none.jsonl: no such file")
}

// Spans, ours or others', can be listed and counted; missing attributes are reported.
func TestSpansAreRead(t *testing.T) {
	turn := put(t, "turn.jsonl", tracetest.FixtureNamed(t, "tool-use").Bytes)
	spans, page := filepath.Join(t.TempDir(), "spans.json"), filepath.Join(t.TempDir(), "page.html")
	require.Zero(t, adkreplay("export", "--otlp", "--content", turn, turn, "-o", spans).code)
	again := put(t, "spans.json", tracetest.Must(os.ReadFile(spans)))
	o := adkreplay("export", "--otlp", turn, "-o", again)
	require.Zero(t, o.code, o.err)

	o = adkreplay("stats", again)
	assert.Zero(t, o.code, o.err)
	assert.Contains(t, o.err, "1 turn of spans, which do not say what the engine did or held")
	assert.Regexp(t, `tools\.calculate\.calls +\| +1 `, o.out)
	o = adkreplay("view", again, "-o", page)
	assert.Zero(t, o.code, o.err)
	assert.FileExists(t, page)
	o = adkreplay("stats", turn, again)
	assert.Zero(t, o.code, o.err)

	for _, command := range []string{"verify", "check", "lint", "show", "shrink", "distil", "export"} {
		o = adkreplay(command, again)
		assert.Equal(t, exitUnreadable, o.code, command)
		assert.Contains(t, strings.Join(strings.Fields(o.out+o.err), " "), "these are spans of OpenTelemetry: adkreplay view and stats read them", command)
	}

	o = adkreplay("verify", put(t, "logs.jsonl", []byte(`{"resourceLogs":[]}`+"\n")))
	assert.Equal(t, exitUnreadable, o.code)
	assert.Contains(t, strings.Join(strings.Fields(o.out+o.err), " "), "these are logs or metrics of OpenTelemetry: adkreplay view and stats read the spans in such files")
	o = adkreplay("import", again)
	assert.Equal(t, exitUnreadable, o.code)
	assert.Contains(t, strings.ReplaceAll(o.err, "\n  ", " "), "adkreplay view and stats read them")
	for name, c := range map[string]struct{ content, says string }{
		"none.json":  {`{"resourceSpans":[]}`, "none of its spans is of an agent"},
		"logs.json":  {`{"resourceLogs":[]}`, "other signals of OpenTelemetry, and no spans"},
		"cut.json":   {`{"resourceSpans":[{`, "is not the JSON of OTLP"},
		"other.json": {`{"resourceSpans":[{"scopeSpans":[{"spans":[{"spanId":"1"}]}]}]}`, "hexadecimal digits"},
	} {
		o := adkreplay("stats", put(t, name, []byte(c.content)))
		assert.Equal(t, exitUnreadable, o.code, name)
		assert.Contains(t, strings.ReplaceAll(o.err, "\n  ", " "), c.says, name)
	}
}
