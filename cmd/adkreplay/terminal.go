package main

import (
	"fmt"
	"io"
	"os"
)

// terminal is where the command writes: results to out, progress and warnings
// to err. Colour and progress are for terminals only, and NO_COLOR is honoured.
type terminal struct {
	out, err io.Writer
	colour   bool
	progress bool
	drawn    bool
}

func newTerminal(out, err io.Writer) *terminal {
	return &terminal{out: out, err: err, colour: isTerminal(out) && os.Getenv("NO_COLOR") == "", progress: isTerminal(err)}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// printf writes a result. What is drawn of the progress goes first.
func (t *terminal) printf(format string, args ...any) {
	t.clear()
	fmt.Fprintf(t.out, format, args...)
}

// good and bad colour a word.
func (t *terminal) good(text string) string { return t.paint("32", text) }
func (t *terminal) bad(text string) string  { return t.paint("31", text) }

func (t *terminal) paint(code, text string) string {
	if !t.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// step draws how far long work is; in a pipe it draws nothing.
func (t *terminal) step(done, all int, what string) {
	if t.progress {
		fmt.Fprintf(t.err, "\r\x1b[K%d/%d %s", done, all, what)
		t.drawn = true
	}
}

// clear takes the progress off the screen.
func (t *terminal) clear() {
	if t.drawn {
		fmt.Fprint(t.err, "\r\x1b[K")
		t.drawn = false
	}
}
