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

// terminal is where the command writes: results to out, progress and warnings
// to err. Colour and progress are for terminals only, and NO_COLOR is honoured.
type terminal struct {
	out      *output
	page     io.Writer // out, for transcripts and what else has a line for each crossing
	err      io.Writer
	in       io.Reader // where answers come from
	asks     bool      // somebody is there who answers
	colour   bool
	progress bool
	screen   bool          // out is a terminal, on which progress stands behind the dots
	columns  int           // how wide a report may be; 0 is as wide as it likes
	room     int           // the same of a message
	limits   trace.Options // of reading, as far as they were given
	quiet    bool          // what is as it has to be is not said
	dotted   bool          // what is as it has to be is a dot

	mu    sync.Mutex // of what follows, which is drawn from a timer too
	dots  int        // in the row that is under way
	drawn bool
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

// usualColumns are those of a pipe, and of a terminal that does not say.
const usualColumns = 80

// columnsOf is how wide a report may be that is written to w. Nothing is folded that no
// person reads: what is neither a terminal nor a file.
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

// pageColumns is how wide the lines of a page may be that is written to w. In a pipe and a
// file they are as wide as they like, so that programs find them whole.
func pageColumns(w io.Writer, env func(string) string) int {
	if env("COLUMNS") == "" && !isTerminal(w) {
		return 0
	}
	return columnsOf(w, env)
}

// wantsColour reports whether to colour what goes to a terminal, or to something
// else. An empty NO_COLOR says nothing (no-color.org).
func wantsColour(isTerminal bool, env func(string) string) bool {
	return isTerminal && env("NO_COLOR") == "" && env("TERM") != "dumb"
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
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
	fmt.Fprintln(t.out, safetext.Folded(safetext.Lines(fmt.Sprintf(format, args...)), t.columns))
}

// judged writes a result that begins with a verdict, which has a colour.
func (t *terminal) judged(colour, verdict, result string) {
	t.clear()
	rest, _ := strings.CutPrefix(safetext.Folded(verdict+" "+safetext.Lines(result), t.columns), verdict)
	fmt.Fprintln(t.out, t.paint(colour, verdict)+rest)
}

// dotsInARow is how many dots a row has: on a narrow terminal fewer, so that progress has room
// behind them.
func (t *terminal) dotsInARow() int {
	if t.columns > 0 {
		return max(1, min(64, t.columns*4/5))
	}
	return 64
}

// good is judged for what is as it has to be, of which there may be much.
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

// endDots ends the row of dots that is under way.
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
	if t.room > 0 { // what goes on below cannot be rubbed out
		what = safetext.Head(what, t.room-1-at)
	}
	if at > 0 {
		what = " " + what
	}
	fmt.Fprint(t.err, what)
	t.drawn = true
}

// rub takes away what stands behind the row of dots, and gives the column where that is.
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

// busy draws what the command is at, and for how long, while it says nothing itself. The
// work ends with the function that busy gives.
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

// clear takes the progress off the screen, and ends a row of dots.
func (t *terminal) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.erase()
	t.endDots()
}

// erase takes the progress off the screen.
func (t *terminal) erase() {
	if t.drawn {
		t.rub()
		t.drawn = false
	}
}
