package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

func TestWantsColour(t *testing.T) {
	cases := []struct {
		name     string
		terminal bool
		env      map[string]string
		want     bool
	}{
		{"a terminal", true, nil, true},
		{"a pipe", false, nil, false},
		{"NO_COLOR", true, map[string]string{"NO_COLOR": "1"}, false},
		{"an empty NO_COLOR says nothing", true, map[string]string{"NO_COLOR": ""}, true},
		{"a terminal that knows no colour", true, map[string]string{"TERM": "dumb"}, false},
	}
	for _, c := range cases {
		env := func(name string) string { return c.env[name] }
		assert.Equal(t, c.want, wantsColour(c.terminal, env), c.name)
	}
}

// onTerminal returns a terminal for a test, and the buffers of its outputs.
func onTerminal() (t *terminal, out, err *bytes.Buffer) {
	out, err = &bytes.Buffer{}, &bytes.Buffer{}
	t = newTerminal(out, err)
	t.colour, t.progress = true, true
	return t, out, err
}

func TestOnATerminal(t *testing.T) {
	term, out, stderr := onTerminal()
	err := runVerify(t.Context(), term, verifyOptions{paths: []string{good(t), "nosuch.jsonl"}})
	assert.Equal(t, exitUnreadable, classified(err).code)
	assert.Contains(t, out.String(), "\x1b[32msame\x1b[0m ")
	assert.Contains(t, out.String(), "\x1b[31munreadable\x1b[0m nosuch.jsonl: ")
	// Each step overwrites the one before it, and is removed before a result.
	assert.Regexp(t, `\A\r\x1b\[K1/2 \S+good.jsonl\r\x1b\[K\r\x1b\[K2/2 nosuch.jsonl\r\x1b\[K\z`, stderr.String())
}

// screen returns the rows that a terminal with this many columns shows of the written text.
func screen(written string, columns int) (rows []string) {
	row, at := []rune{}, 0
	for len(written) > 0 {
		var to int
		if n, _ := fmt.Sscanf(written, "\x1b[%dG", &to); n == 1 {
			_, written, _ = strings.Cut(written, "G")
			at = to - 1
			continue
		}
		if rest, ok := strings.CutPrefix(written, "\x1b[K"); ok {
			row, written = row[:min(at, len(row))], rest
			continue
		}
		r, size := utf8.DecodeRuneInString(written)
		written = written[size:]
		if r == '\n' || at == columns && r != '\r' {
			rows = append(rows, strings.TrimRight(string(row), " "))
			row, at = nil, 0
		}
		switch r {
		case '\r':
			at = 0
		case '\n':
		default:
			row = append(row[:min(at, len(row))], slices.Repeat([]rune{' '}, max(0, at-len(row)))...)
			row, at = append(row, r), at+1
		}
	}
	return append(rows, strings.TrimRight(string(row), " "))
}

// Progress is shown after the dots, erases none of them, and leaves nothing behind, however narrow
// the terminal and however long the name of the current work.
func TestDotsStayOnATerminal(t *testing.T) {
	for columns, want := range map[int][]int{80: {64, 36}, 60: {48, 48, 4}, 20: {16, 16, 16, 16, 16, 16, 4}} {
		var both bytes.Buffer
		term := newTerminal(&both, &both)
		term.progress, term.screen, term.dotted, term.columns, term.room = true, true, true, columns, columns
		var rows []string
		for i := range 100 {
			term.good("same", "a trace")
			term.step(i+1, 100, strings.Repeat("long/", 30)+"界界.jsonl")
			if rows = screen(both.String(), columns); i == 10 {
				assert.Regexp(t, `^\.{11} 11/1`, rows[0])
			}
		}
		assert.Len(t, rows, len(want), "progress is in the row of the dots")
		term.printf("done")
		var shown []string
		for _, n := range want {
			shown = append(shown, strings.Repeat(".", n))
		}
		assert.Equal(t, append(shown, "done", ""), screen(both.String(), columns), "%d columns", columns)
	}
}

// Silent work shows how long it has been running, and erases that when it ends. Quick work, and
// work whose errors go into a pipe, shows nothing.
func TestLongWorkSaysThatItGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term, _, stderr := onTerminal()
		term.busy("shrinking a.jsonl")()
		assert.Empty(t, stderr.String())
		done := term.busy("shrinking a.jsonl")
		time.Sleep(2*patience + patience/2)
		done()
		time.Sleep(10 * patience)
		assert.Equal(t, "\r\x1b[Kshrinking a.jsonl, 1s\r\x1b[Kshrinking a.jsonl, 2s\r\x1b[K", stderr.String())
		term, _, stderr = onTerminal()
		term.progress = false
		done = term.busy("shrinking a.jsonl")
		time.Sleep(5 * patience)
		done()
		assert.Empty(t, stderr.String())
	})
}

func TestJSONHasNoColour(t *testing.T) {
	term, out, _ := onTerminal()
	err := runVerify(t.Context(), term, verifyOptions{paths: []string{divergent(t), "nosuch.jsonl"}, parallel: 1, reports: reportOptions{json: stdout}})
	assert.Equal(t, exitUnreadable, classified(err).code)
	assert.NotContains(t, out.String(), "\x1b")
}

func TestPipesAreNoTerminals(t *testing.T) {
	var out, err bytes.Buffer
	term := newTerminal(&out, &err)
	term.step(1, 2, "a trace")
	term.judged(green, "same", "a trace")
	assert.Equal(t, "same a trace\n", out.String())
	assert.Empty(t, err.String())
}

// Control sequences in names and traces must not reach the terminal.
func TestHostileTextIsEscaped(t *testing.T) {
	assert.Equal(t, `a\x1b[31mb\rc\td`, safetext.Lines("a\x1b[31mb\rc\td"))
	assert.Equal(t, `\u009b2J \u202egpj.exe`, safetext.Lines("\u009b2J \u202egpj.exe"))
	assert.Equal(t, "Grüße, 世界 \"quoted\" \\ 'single'\nnext", safetext.Lines("Grüße, 世界 \"quoted\" \\ 'single'\nnext"))

	got := adkreplay("verify", "\x1b]0;owned\a.jsonl")
	assert.Contains(t, got.out, `unreadable \x1b]0;owned\a.jsonl: no such file or directory`)
	assert.NotContains(t, got.out, "\x1b")
	got = adkreplay("show", "\x1b]0;owned\a.jsonl")
	assert.Equal(t, "adkreplay: "+`\x1b]0;owned\a.jsonl: no such file or directory`+"\n", got.err)
}

// After a failed write, nothing more is written:
// the rest without its beginning would mislead.
func TestOutputStopsAtTheFirstFailure(t *testing.T) {
	failure := errors.New("gone")
	var tries int
	o := &output{w: writerFunc(func([]byte) (int, error) { tries++; return 0, failure })}
	for range 3 {
		_, err := o.Write([]byte("x"))
		assert.Equal(t, failure, err)
	}
	assert.Equal(t, 1, tries)
}
