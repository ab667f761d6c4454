package main

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

func TestParseShow(t *testing.T) {
	all := showOptions{from: 1, to: math.MaxInt}
	o, err := parseShow(all, []string{"a"})
	assert.NoError(t, err)
	assert.Equal(t, showOptions{path: "a", from: 1, to: math.MaxInt}, o)
	for want, c := range map[string]struct {
		args   []string
		change func(*showOptions)
	}{
		"show takes one file, and got 0":                    {nil, func(*showOptions) {}},
		"show takes one file, and got 2":                    {[]string{"a", "b"}, func(*showOptions) {}},
		"--at 0: crossings are numbered from 1":             {[]string{"a"}, func(o *showOptions) { o.hasAt = true }},
		"--at shows one state: it goes with --json alone":   {[]string{"a"}, func(o *showOptions) { o.hasAt, o.at, o.grep = true, 3, "x" }},
		"--from 0: crossings are numbered from 1":           {[]string{"a"}, func(o *showOptions) { o.from = 0 }},
		"--from 5 --to 4: the last one is before the first": {[]string{"a"}, func(o *showOptions) { o.from, o.to = 5, 4 }},
		"error parsing regexp: missing closing ): `(`":      {[]string{"a"}, func(o *showOptions) { o.grep = "(" }},
	} {
		o := all
		c.change(&o)
		_, err := parseShow(o, c.args)
		assert.EqualError(t, err, want)
	}
}

func TestShowAt(t *testing.T) {
	path := put(t, "planner.jsonl", fixture(t, "planner"))
	got := adkreplay("show", "--at", "23", path)
	assert.Equal(t, exitSame, got.code)
	assert.Empty(t, got.err)
	golden(t, "show-at", got.out)

	got = adkreplay("show", "--at", "23", "--json", path)
	assert.Equal(t, exitSame, got.code)
	var back struct {
		Crossing   int `json:"crossing"`
		Dispatches []struct {
			Messages []struct{ Content string }
			Stash    map[string]any
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got.out), &back))
	assert.Equal(t, 23, back.Crossing)
	assert.Equal(t, "What do I need to camp?", back.Dispatches[0].Messages[0].Content)
	assert.Equal(t, map[string]any{"cleaned": true}, back.Dispatches[0].Stash)
}

func TestShowAtNoCrossing(t *testing.T) {
	path := good(t)
	for _, args := range [][]string{{"show", "--at", "32", path}, {"show", "--from", "32", path}} {
		assert.Equal(t, outcome{exitUsage, "",
			"adkreplay: " + path + ": there is no such crossing as 32: the trace has 31 crossings, numbered from 1\n"}, adkreplay(args...), "%q", args)
	}
}

// In a trace that breaks off, a state before the break is shown, with a warning.
func TestShowAtOfATruncatedTrace(t *testing.T) {
	path := truncated(t)
	got := adkreplay("show", "--at", "8", path)
	assert.Equal(t, exitUnreadable, got.code)
	assert.Contains(t, got.out, "after crossing 8 of 9, ")
	assert.Contains(t, got.err, "the file ends without a footer")
	got = adkreplay("show", "--at", "80", path)
	assert.Equal(t, exitUnreadable, got.code)
	assert.Contains(t, got.err, "there is no such crossing as 80: the trace has 9 crossings")
}

func TestShowGrep(t *testing.T) {
	path := put(t, "planner.jsonl", fixture(t, "planner"))
	assert.Equal(t, outcome{exitSame, "" +
		"    30  dispatch/planner  * dispatchEnd dispatch1 ack after 1 iteration, 1 change made in the turn\n" +
		"    52  dispatch  * dispatchEnd dispatch2 ack after 1 iteration, 1 change made in the turn\n", ""},
		adkreplay("show", "--grep", "dispatchEnd .* ack", path))
	assert.Equal(t, outcome{exitSame,
		"    52  dispatch  * dispatchEnd dispatch2 ack after 1 iteration, 1 change made in the turn\n", ""},
		adkreplay("show", "--grep", "dispatchEnd", "--from", "40", path))
	assert.Equal(t, outcome{exitFound, "", "adkreplay: " + path + ": nothing in 57 crossings matches rain\n"},
		adkreplay("show", "--grep", "rain", path))
}

// A search also finds the part of a long text that the printed line leaves out.
func TestShowGrepFindsWhatIsCut(t *testing.T) {
	path := put(t, "long.jsonl", edited(t, "hello", func(recorded *trace.Trace) {
		recorded.Lines()[0].Text = strings.Repeat("x", 1000) + "needle" + strings.Repeat("x", 1000)
	}))
	got := adkreplay("show", "--grep", "needle", path)
	assert.Equal(t, exitSame, got.code)
	assert.Equal(t, 1, strings.Count(got.out, "\n"))
	assert.True(t, strings.HasPrefix(got.out, "     1  run  run \"xxxx"), got.out)
}

// A search finds everything that show prints, also on a line that stands for several crossings,
// and text that no single crossing has: an answer in pieces, a request in words.
func TestShowGrepFindsWhatIsShown(t *testing.T) {
	path := put(t, "asks.jsonl", fixture(t, "asks-a-model"))
	for grep, want := range map[string]string{
		"small, 2 messages":         "ask model.example POST /v1/chat/completions small, 2 messages",
		`It rains in Oslo\.", stop`: `→ "It rains in Oslo.", stop`,
		"fetch messages → storage":  "fetch messages → storage/messages.fetch → ",
		`^user "What`:               "user \"What is the weather",
	} {
		got := adkreplay("show", "--grep", grep, path)
		assert.Equal(t, exitSame, got.code, grep)
		assert.Equal(t, 1, strings.Count(got.out, "\n"), got.out)
		assert.Contains(t, got.out, want)
	}
	whole := adkreplay("show", "--grep", "small, 2 messages", path).out
	assert.Equal(t, outcome{exitFound, "", "adkreplay: " + path + ": nothing in 3 crossings matches small, 2 messages\n"}, adkreplay("show", "--grep", "small, 2 messages", "--to", "3", path))
	number := strings.Fields(whole)[0]
	assert.Equal(t, whole, adkreplay("show", "--grep", "small, 2 messages", "--from", number, path).out)
}

// Matches are coloured on a terminal, and nowhere else.
func TestShowGrepHighlights(t *testing.T) {
	matching := regexp.MustCompile("tent|x*")
	assert.Equal(t, "a tent", (&terminal{}).highlight("a tent", matching))
	assert.Equal(t, "a \x1b[31mtent\x1b[0m", (&terminal{colour: true}).highlight("a tent", matching))
}

func TestShowJSON(t *testing.T) {
	got := adkreplay("show", "--json", good(t))
	assert.Equal(t, exitSame, got.code)
	lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
	require.Len(t, lines, 31)
	for i, line := range lines {
		var x transcript.Expanded
		require.NoError(t, json.Unmarshal([]byte(line), &x))
		assert.Equal(t, i+1, x.Crossing)
		assert.NotEmpty(t, x.Line)
	}
	assert.Len(t, last(100, adkreplay("show", "--json", "--from", "3", "--to", "7", good(t)).out), 5)
}

func TestShowAPart(t *testing.T) {
	assert.Equal(t, outcome{exitSame, "    add m1 user \"Hello, I am Ada.\" to messages\n    next\n", ""},
		adkreplay("show", "--from", "8", "--to", "10", good(t)))
}

// Of a trace that breaks off, show prints what
// there is, where it ends, and why it failed.
func TestShowATruncatedTrace(t *testing.T) {
	path := truncated(t)
	assert.Equal(t, outcome{
		exitUnreadable,
		helloTranscript + "!! ends here, within run turn-input/hydrate\n",
		"adkreplay: " + path + ":11: truncated trace: the file ends without a footer: it was cut short, or is still being written\n",
	}, adkreplay("show", path))
}

func TestShowWhatIsNoTrace(t *testing.T) {
	path := put(t, "notes.txt", []byte("hello\n"))
	assert.Equal(t, outcome{
		exitUnreadable, "",
		"adkreplay: " + path + ":1: no trace: it begins with \"hello\\n\", and a trace with {\"adkreplay\":\"trace\"\n",
	}, adkreplay("show", path))
}

func TestShowAMalformedTrace(t *testing.T) {
	path := malformed(t)
	got := adkreplay("show", path)
	assert.Equal(t, exitUnreadable, got.code)
	assert.Contains(t, got.out, "turn-input/hydrate\n", "what stands before the bad line is shown")
	assert.Equal(t, "adkreplay: "+path+`:9: malformed trace: there is no kind "subtract"`+"\n", got.err)
}

// A range without any crossings of the trace is an error, in whichever form crossings are shown.
func TestShowNothingOfARange(t *testing.T) {
	path := put(t, "hello.jsonl", fixture(t, "hello"))
	for _, flags := range [][]string{nil, {"--json"}, {"--grep", "executor"}} {
		got := adkreplay(append([]string{"show", path, "--from", "9999"}, flags...)...)
		assert.Equal(t, exitUsage, got.code, "%v", flags)
		assert.Contains(t, got.err, "there is no such crossing as 9999: the trace has 31 crossings, numbered from 1")
		assert.NotContains(t, got.out, `"kind"`)
	}
	got := adkreplay("show", path, "--from", "3", "--to", "5", "--grep", "no such words")
	assert.Equal(t, exitFound, got.code)
	assert.Contains(t, got.err, "nothing in 3 crossings matches")
}
