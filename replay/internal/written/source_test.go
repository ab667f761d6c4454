package written_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/codeplace"
	"github.com/adkreplay/adkreplay/replay/internal/written"
)

const (
	engine = "github.com/adkreplay/adkreplay/adk"
	chat   = engine + "/chat"
)

// agent is the source of an agent, with another beside it that is put together alike.
var agent = fstest.MapFS{
	"go.mod": {Data: []byte("module example.com/agent\n")},
	"agent.go": {Data: []byte(`package agent

import "github.com/adkreplay/adkreplay/adk"

// prompt is what the model is told.
const prompt = "You are a clerk. " +
	"Sell tickets to those who pay."

const rules = ` + "`" + `Be brief.

Never sell what is sold.
` + "`" + `

func Config(name string) adk.Config {
	return adk.Config{
		TurnInput: []adk.TurnMiddleware{
			{Name: "history", Run: history},
			{Name: "greet", Run: greet},
		},
		Executor: adk.Executor{Name: "model"},
	}
}

func Prompt(name string) string { return fmt.Sprintf("Speak to %s as a friend, %q.", name, name) }
`)},
	"model.go": {Data: []byte(`package agent

import llm "github.com/adkreplay/adkreplay/adk/chat"

func Model() llm.Options {
	_ = llm.Options{}
	return llm.Options{
		BaseURL: "http://localhost",
		TopP:    new(0.5),
		ToolCallIDs: 9,
		Retry:   llm.Retry{MaxAttempts: new(3)},
	}
}
`)},
	"tool.go": {Data: []byte(`package agent

import "context"

type args struct {
	City string ` + "`json:\"city,omitempty\"`" + `
}

func describe(s schema) {
	s.Maximum = 7
	_ = s.Minimum
	s.Unit = "metric"
	s.Also, s.Again = "twice", f(
		"twice")
}

func ask(ctx context.Context) {
	short, stop := context.WithTimeout(ctx, 7)
	defer stop()
	service(short)
	long, stop := context.WithDeadline(ctx, noon)
	service(long)
}
`)},
	"agent_test.go":            {Data: []byte("package agent\n\nvar said = \"Sell tickets to those who pay.\"\n\nvar hand = \"It is sold out of hand.\"\n")},
	"method.go":                {Data: []byte("package agent\n\ntype clerk struct{}\n\nfunc (c *clerk) say() string {\n\treturn \"a method says what nobody else does\"\n}\n\nconst paid = \"A1: paid 1200\"\n")},
	"other/other.go":           {Data: []byte("package other\n\nimport \"github.com/adkreplay/adkreplay/adk\"\n\nvar config = adk.Config{TurnInput: []adk.TurnMiddleware{{Name: \"history\"}}, DispatchInput: nil}\n")},
	"two/two.go":               {Data: []byte("package two\n\nconst a, b = \"the very same text\", \"a text\"\n\nvar c = \"the very same text\"\n")},
	"testdata/said.go":         {Data: []byte("package said\n\nconst prompt = \"It is said nowhere but here.\"\n")},
	"inner/go.mod":             {Data: []byte("module example.com/inner\n")},
	"inner/inner.go":           {Data: []byte("package inner\n\nconst prompt = \"It is said nowhere but here.\"\n")},
	"broken.go":                {Data: []byte("package agent\n\nconst prompt = \"It is said nowhere but here.\n")},
	"one/first.go":             {Data: []byte("package one\n\nimport \"github.com/adkreplay/adkreplay/adk/chat\"\n\nvar options = chat.Options{Model: \"large\"}\n")},
	"one/internal/second/s.go": {Data: []byte("package second\n\nimport \"github.com/adkreplay/adkreplay/adk\"\n\nvar config = adk.Config{DispatchInput: list}\n")},
}

func in(dir string) written.Near { return written.Near{Dir: dir} }

// What differs is found in the line that says it, near the agent before elsewhere and in no test
// where it is in the agent; what several lines may say is found in none.
func TestSource(t *testing.T) {
	s := written.Load(agent)
	option := func(near written.Near, member string) string {
		p, whole := s.Options(near, chat, []string{"id", member})
		if whole {
			return p.MadeIn()
		}
		return p.String()
	}
	const was = "You are a clerk. Sell tickets to those who pay."
	for _, c := range []struct{ want, got, says string }{
		{"agent.go:7 (agent.prompt)", s.Text(in("."), "You are a clerk. Sell tickets to all.", was).String(), "another word"},
		{"agent.go:6 (agent.prompt)", s.Text(in("."), "You are a clown. Sell tickets to those who pay.", was).String(), "another word in the first piece"},
		{"agent.go:7 (agent.prompt)", s.Text(in("."), "You are a clerk. Sell good tickets to those who pay.", was).String(), "a word less"},
		{"agent.go:7 (agent.prompt)", s.Text(in("."), was+" Smile.", was).String(), "a sentence less at the end"},
		{"", s.Text(in("."), was+"\n\nThe user is Ann.", was).String(), "a section less behind it"},
		{"agent.go:11 (agent.rules)", s.Text(in("."), "Be brief.\n\nNever sell what is old.\n", "Be brief.\n\nNever sell what is sold.\n").String(), "a line below the first"},
		{"agent.go:24 (agent.Prompt)", s.Text(in("."), "Speak to Ann as a fiend, 7", "Speak to Ann as a friend, 7").String(), "a format"},
		{"", s.Text(in("."), "", "it is the very same text").String(), "a text that stands twice"},
		{"", s.Text(in("."), "a", "a short text").String(), "too short to be told"},
		{"", s.Text(in("."), "It is said.", "It is said nowhere but here.").String(), "in no package of the module"},
		{"agent.go:16 (agent.Config)", s.List(in("."), engine, "turn-input", []string{"history", "greet"}).String(), "the list that is near"},
		{"other/other.go:5 (other.config)", s.List(in("other"), engine, "turn-input", []string{"history"}).String(), "the list of the other agent"},
		{"agent.go:16 (agent.Config)", s.List(in("nowhere"), engine, "turn-input", []string{"greet"}).String(), "the list that has the name"},
		{"", s.List(in("nowhere"), engine, "dispatch-input", nil).String(), "two lists"},
		{"", s.List(in("."), engine, "dispatch-output", nil).String(), "no list"},
		{"model.go:9 (agent.Model)", option(in("."), "top_p"), "the option of the member"},
		{"model.go:10 (agent.Model)", option(in("."), "tool_call_id"), "the option of all such members"},
		{"made in model.go:7 (agent.Model)", option(in("."), "messages[]"), "the options, where none has its name"},
		{"made in one/first.go:5 (one.options)", option(in("one"), "temperature"), "the options that are near"},
		{"", option(in("nowhere"), "temperature"), "several options"},
		{"tool.go:10 (agent.describe)", s.Member(in("."), "maximum").String(), "a member that is given a value"},
		{"tool.go:6 (agent.args)", s.Member(in("."), "city").String(), "a member by its name in JSON"},
		{"", s.Member(in("."), "minimum").String(), "a member that is looked at"},
		{"", s.Member(in("other"), "city").String(), "a member elsewhere"},
		{"tool.go:12 (agent.describe)", s.Text(in("."), "imperial", "metric").String(), "a word that is said once"},
		{"", s.Text(in("."), "once", "twice").String() + s.Text(in("two"), "once", "twice").String(), "a word that is said twice"},
		{"", s.Text(in("other"), "imperial", "metric").String(), "a word that is said elsewhere"},
		{"tool.go:18 (agent.ask)", s.Deadline([]codeplace.Place{{File: "client.go", Line: 30}, {File: "tool.go", Line: 20}}).String(), "the deadline above a call"},
		{"", s.Deadline([]codeplace.Place{{File: "tool.go", Line: 22}}).String(), "two deadlines above it"},
		{"", s.Deadline([]codeplace.Place{{File: "tool.go", Line: 13}, {File: "agent.go", Line: 19}}).String(), "no deadline in its function"},
		{"", s.Text(in("."), "A2: paid 100\nA1: paid 1200", "A1: paid 1200\nA2: paid 100").String(), "what was said before, elsewhere"},
		{"", s.Text(in("."), "It is unsold.", "It is sold out of hand.").String(), "what a test alone says"},
		{"agent_test.go:5 (agent.hand)", s.Text(written.Near{Dir: ".", Test: true}, "It is unsold.", "It is sold out of hand.").String(), "of an agent of tests"},
		{"method.go:6 (agent.(*clerk).say)", s.Text(in("."), "", "a method says what nobody else does").String(), "a method"},
		{"", (&written.Source{}).Text(in("."), "", was).String(), "no source"},
	} {
		assert.Equal(t, c.want, c.got, c.says)
	}
}

// The source of the program is that of the module that go test runs it in.
func TestHere(t *testing.T) {
	const said = "It is in the place of nothing: 1"
	assert.Equal(t, "replay/internal/written/source_test.go:153 (written_test.TestHere)", written.Here().Text(written.Near{Test: true}, "", said).String())
}
