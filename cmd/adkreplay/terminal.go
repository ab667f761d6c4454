package main

import (
	"fmt"
	"io"
	"os"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// terminal is where the command writes: results to out, progress and warnings
// to err. Colour and progress are for terminals only, and NO_COLOR is honoured.
type terminal struct {
	out      *output
	err      io.Writer
	colour   bool
	progress bool
	drawn    bool
	limits   trace.Options // of reading, as far as they were given
}

func newTerminal(out, err io.Writer) *terminal {
	return &terminal{
		out:      &output{w: out},
		err:      err,
		colour:   wantsColour(isTerminal(out), os.Getenv),
		progress: isTerminal(err) && os.Getenv("TERM") != "dumb",
	}
}

// wantsColour reports whether to colour what goes to a terminal, or to something
// else. An empty NO_COLOR says nothing (no-color.org).
func wantsColour(isTerminal bool, env func(string) string) bool {
	return isTerminal && env("NO_COLOR") == "" && env("TERM") != "dumb"
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// output writes until a write fails, and remembers why: a result that nobody
// got is a failure of the command, wherever in it that was noticed.
type output struct {
	w   io.Writer
	err error
}

// Write writes to the underlying writer, unless it failed before.
func (o *output) Write(text []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(text)
	o.err = err
	return n, err
}

// printf writes a line of a result. What is drawn of the progress goes first.
func (t *terminal) printf(format string, args ...any) {
	t.clear()
	fmt.Fprintln(t.out, safetext.Lines(fmt.Sprintf(format, args...)))
}

// judged writes a result that begins with a verdict, which has a colour.
func (t *terminal) judged(colour, verdict, result string) {
	t.clear()
	fmt.Fprintln(t.out, t.paint(colour, verdict), safetext.Lines(result))
}

// warn writes a message for the person who called the command.
func (t *terminal) warn(message string) {
	t.clear()
	fmt.Fprintf(t.err, "adkreplay: %s\n", safetext.Lines(message))
}

// The colours, as terminals number them.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (t *terminal) paint(colour, text string) string {
	if !t.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// step draws how far long work is; in a pipe it draws nothing.
func (t *terminal) step(done, all int, what string) {
	if t.progress {
		fmt.Fprintf(t.err, "\r\x1b[K%d/%d %s", done, all, safetext.Line(what))
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
