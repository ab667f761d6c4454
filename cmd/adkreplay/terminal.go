package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// terminal is where the command writes: results to out, progress and warnings to err. It uses
// colour and progress only on terminals, and respects NO_COLOR.
type terminal struct {
	out      *output
	page     io.Writer // out, folded, for transcripts and other output with a line per crossing
	err      io.Writer
	in       io.Reader // answers are read from it
	asks     bool      // a person can answer
	colour   bool
	progress bool
	screen   bool          // out is a terminal, so progress is drawn after the dots
	columns  int           // the width of a report; 0 is unlimited
	room     int           // the width of a message; 0 is unlimited
	limits   trace.Options // of reading, as given
	quiet    bool          // do not print good results
	dotted   bool          // print good results as dots

	mu    sync.Mutex // guards the fields below, since a timer draws too
	dots  int        // in the current row
	drawn bool
	told  map[string]string // long reasons that were written, and the places that they were written for
}

func newTerminal(out, err io.Writer) *terminal {
	o := &output{w: out}
	return &terminal{
		out:      o,
		err:      err,
		in:       os.Stdin,
		asks:     isTerminal(out) && term.IsTerminal(int(os.Stdin.Fd())),
		colour:   wantsColour(isTerminal(out), os.Getenv),
		progress: isTerminal(err) && os.Getenv("TERM") != "dumb",
		screen:   isTerminal(out),
		columns:  columnsOf(out, os.Getenv),
		room:     columnsOf(err, os.Getenv),
		page:     safetext.NewFolder(o, pageColumns(out, os.Getenv)),
	}
}

// usualColumns is the width of a pipe, and of a terminal whose width is unknown.
const usualColumns = 80

// columnsOf returns the width of a report that is written to w, or 0 if w is neither a terminal nor
// a file, because nobody reads that directly.
func columnsOf(w io.Writer, env func(string) string) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	if n, err := strconv.Atoi(env("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
		return n
	}
	return usualColumns
}

// pageColumns returns the width of the lines of a page that is written to w. In a pipe or a file,
// lines are not folded, so that programs find them whole.
func pageColumns(w io.Writer, env func(string) string) int {
	if env("COLUMNS") == "" && !isTerminal(w) {
		return 0
	}
	return columnsOf(w, env)
}

// wantsColour reports whether to use colour. An empty NO_COLOR has no effect (no-color.org).
func wantsColour(isTerminal bool, env func(string) string) bool {
	return isTerminal && env("NO_COLOR") == "" && env("TERM") != "dumb"
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// output writes until a write fails, and keeps the error. A result that could not be written is a
// failure of the command, wherever the write happened.
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

// printf writes a line of a result. It removes the drawn progress first.
func (t *terminal) printf(format string, args ...any) {
	t.clear()
	fmt.Fprintln(t.out, safetext.Folded(safetext.Lines(fmt.Sprintf(format, args...)), t.columns))
}

// judged writes a result that begins with a coloured verdict.
func (t *terminal) judged(colour, verdict, result string) {
	t.clear()
	rest, _ := strings.CutPrefix(safetext.Folded(verdict+" "+safetext.Lines(result), t.columns), verdict)
	fmt.Fprintln(t.out, t.paint(colour, verdict)+rest)
}

// unreadable writes that a file cannot be read, and why.
func (t *terminal) unreadable(fault string) {
	t.judged(red, "unreadable", t.once(safetext.Line(fault)))
}

// longReason is the length from which a reason is written once. Shorter ones fit on a line.
const longReason = 80

// once returns a fault, which is a place in a file and a reason. In place of a long reason that it
// has returned before, it names the place that had it.
func (t *terminal) once(fault string) string {
	place, reason, ok := strings.Cut(fault, ": ")
	if !ok || len(reason) < longReason {
		return fault
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if first, again := t.told[reason]; again && first != place {
		return place + ": as in " + first
	}
	if t.told == nil {
		t.told = map[string]string{}
	}
	t.told[reason] = place
	return fault
}

// dotsInARow returns the number of dots in a row. On a narrow terminal there are fewer, so that
// progress fits after them.
func (t *terminal) dotsInARow() int {
	if t.columns > 0 {
		return max(1, min(64, t.columns*4/5))
	}
	return 64
}

// good is judged for a good result, which may be very frequent.
func (t *terminal) good(verdict, result string) {
	switch {
	case t.quiet:
	case !t.dotted:
		t.judged(green, verdict, result)
	default:
		t.mu.Lock()
		defer t.mu.Unlock()
		t.erase()
		fmt.Fprint(t.out, t.paint(green, "."))
		if t.dots++; t.dots >= t.dotsInARow() {
			t.endDots()
		}
	}
}

// endDots ends the current row of dots.
func (t *terminal) endDots() {
	if t.dots > 0 {
		fmt.Fprintln(t.out)
		t.dots = 0
	}
}

// warn writes a message for the person who called the command.
func (t *terminal) warn(message string) {
	t.clear()
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintln(t.err, safetext.Folded("adkreplay: "+safetext.Lines(message), t.room))
}

// The colours, by their terminal codes.
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

// step draws the progress of long work. It draws nothing in a pipe.
func (t *terminal) step(done, all int, what string) {
	t.draw(fmt.Sprintf("%d/%d %s", done, all, what))
}

func (t *terminal) draw(what string) {
	if !t.progress {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.rub()
	what = safetext.Line(what)
	if t.room > 0 { // a second line could not be erased
		what = safetext.Head(what, t.room-1-at)
	}
	if at > 0 {
		what = " " + what
	}
	fmt.Fprint(t.err, what)
	t.drawn = true
}

// rub erases what is after the row of dots, and returns its column.
func (t *terminal) rub() (at int) {
	begin := "\r"
	if t.screen && t.dots > 0 {
		at = t.dots + 1
		begin = fmt.Sprintf("\x1b[%dG", at)
	}
	fmt.Fprint(t.err, begin+"\x1b[K")
	return at
}

// patience is how long work may be silent.
const patience = time.Second

// busy draws what the command does, and for how long, while the work itself draws nothing. Call the
// returned function at the end of the work.
func (t *terminal) busy(what string) (done func()) {
	if !t.progress {
		return func() {}
	}
	begun := time.Now()
	ticks := time.NewTicker(patience)
	ended, drawn := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(drawn)
		for {
			select {
			case <-ended:
				return
			case now := <-ticks.C:
				t.draw(fmt.Sprintf("%s, %s", what, now.Sub(begun).Round(time.Second)))
			}
		}
	}()
	return func() {
		ticks.Stop()
		close(ended)
		<-drawn
		t.clear()
	}
}

// clear erases the progress, and ends a row of dots.
func (t *terminal) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.erase()
	t.endDots()
}

// erase erases the progress.
func (t *terminal) erase() {
	if t.drawn {
		t.rub()
		t.drawn = false
	}
}
