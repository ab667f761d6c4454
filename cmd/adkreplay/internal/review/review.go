// Package review asks a person what to do with each change: accept it with a reason, in all of its
// files or in some, or leave it. It reads and writes lines, so it works the same on a terminal and
// in a test. It writes no file: the person confirms the decisions at the end, and the caller
// carries them out.
package review

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/internal/safetext"
)

// Change is one change, and the files in which it occurs.
type Change struct {
	// Shown is the text that the person sees; its first line says what the change is.
	Shown string
	Files []string
}

// Dialog is a conversation with a person.
type Dialog struct {
	In  *bufio.Reader
	Out io.Writer
	// Edit opens a file for the person to look at. Its error is printed.
	Edit func(file string) error
}

// Decision is what to do with one file.
type Decision struct {
	File string
	// Reason is why the file is accepted, with all changes in it. If it is empty, the file is left.
	Reason string
	// Left names a change that is left, if that is why the file is left although other changes in
	// it are accepted.
	Left string
}

// verdict is the answer for one change.
type verdict struct {
	reason string // empty leaves it
	files  []string
}

// help lists the possible answers.
const help = `a  accept it, with a reason
s  accept some of its files
l  leave it as it is
o  open the first of its files in an editor
b  go back to the change before
q  end here, and write nothing
`

// Ask asks about each change, then shows the decisions and asks for confirmation. It returns a
// decision for each file, in the order of appearance, and whether the person confirmed them. If the
// person ends the dialog, or the input ends, nothing is confirmed.
func (d *Dialog) Ask(changes []Change) (decisions []Decision, meant bool) {
	verdicts := make([]verdict, len(changes))
	for at := 0; at < len(changes); {
		d.say("\n%d of %d: %s\n", at+1, len(changes), strings.TrimRight(changes[at].Shown, "\n"))
		move, goesOn := d.judge(changes[at], &verdicts[at])
		if !goesOn {
			d.say("nothing is written\n")
			return nil, false
		}
		at = max(at+move, 0)
	}
	decisions = decided(changes, verdicts)
	d.summary(decisions)
	if !slices.ContainsFunc(decisions, func(one Decision) bool { return one.Reason != "" }) {
		return decisions, false
	}
	answer, _ := d.line("write this? [y/N] ")
	if answer != "y" && answer != "yes" {
		d.say("nothing is written\n")
		return decisions, false
	}
	return decisions, true
}

// judge asks about one change until there is a verdict. It returns how many changes to move on, and
// whether to go on at all.
func (d *Dialog) judge(c Change, v *verdict) (move int, goesOn bool) {
	for {
		answer, more := d.line("[a]ccept, [s]ome files, [l]eave, [o]pen, [b]ack, [q]uit, [?] ")
		if !more {
			return 0, false
		}
		switch answer {
		case "a":
			if accepted, more := d.accept(c.Files, v); accepted {
				return 1, more
			}
		case "s":
			if some := d.some(c.Files); len(some) > 0 {
				if accepted, more := d.accept(some, v); accepted {
					return 1, more
				}
			}
		case "l":
			*v = verdict{}
			return 1, true
		case "o":
			if err := d.Edit(c.Files[0]); err != nil {
				d.say("%s\n", safetext.Line(err.Error()))
			}
		case "b":
			return -1, true
		case "q":
			return 0, false
		default:
			d.say(help)
		}
	}
}

// accept asks for the reason. Without one, the verdict does not change.
func (d *Dialog) accept(files []string, v *verdict) (accepted, more bool) {
	reason, more := d.line("why is it meant? ")
	if reason == "" {
		d.say("without a reason nothing is accepted\n")
		return false, more
	}
	*v = verdict{reason, files}
	return true, more
}

// some asks which of the files to accept. It returns nil if the answer names none.
func (d *Dialog) some(files []string) []string {
	for i, file := range files {
		d.say("%4d  %s\n", i+1, safetext.Line(file))
	}
	answer, _ := d.line("which ones? such as 1 3-5: ")
	some, err := chosen(files, answer)
	if err != nil {
		d.say("%v\n", err)
	}
	return some
}

// chosen returns the files whose numbers a text lists.
func chosen(files []string, text string) (some []string, err error) {
	take := make([]bool, len(files))
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		from, to, isRange := strings.Cut(word, "-")
		if !isRange {
			to = from
		}
		first, errFirst := strconv.Atoi(from)
		last, errLast := strconv.Atoi(to)
		if errFirst != nil || errLast != nil || first < 1 || last > len(files) || first > last {
			return nil, fmt.Errorf("%s names none of the numbers 1 to %d", safetext.Quoted(word), len(files))
		}
		for n := first; n <= last; n++ {
			take[n-1] = true
		}
	}
	for i, file := range files {
		if take[i] {
			some = append(some, file)
		}
	}
	return some, nil
}

// decided returns the decision for each file: it is accepted if all changes in it are.
func decided(changes []Change, verdicts []verdict) (all []Decision) {
	places := map[string]int{}
	reasons := map[string][]string{}
	for i, c := range changes {
		for _, file := range c.Files {
			at, known := places[file]
			if !known {
				at = len(all)
				places[file], all = at, append(all, Decision{File: file})
			}
			if reason := verdicts[i].reason; !slices.Contains(verdicts[i].files, file) {
				if all[at].Left == "" {
					all[at].Left = strconv.Itoa(i + 1)
				}
			} else if !slices.Contains(reasons[file], reason) {
				reasons[file] = append(reasons[file], reason)
			}
		}
	}
	for i := range all {
		if one := &all[i]; one.Left == "" {
			one.Reason = strings.Join(reasons[one.File], "; ")
		} else if len(reasons[one.File]) > 0 {
			one.Left = "change " + one.Left + " in it is left"
		} else {
			one.Left = ""
		}
	}
	return all
}

func (d *Dialog) summary(decisions []Decision) {
	accepted := 0
	d.say("\n")
	for _, one := range decisions {
		switch {
		case one.Reason != "":
			accepted++
			d.say("accept %s: %s\n", safetext.Line(one.File), safetext.Line(one.Reason))
		case one.Left != "":
			d.say("leave  %s: %s\n", safetext.Line(one.File), one.Left)
		default:
			d.say("leave  %s\n", safetext.Line(one.File))
		}
	}
	d.say("%d of %s to be accepted\n", accepted, safetext.Counted(len(decisions), "file"))
}

func (d *Dialog) say(format string, args ...any) { fmt.Fprintf(d.Out, format, args...) }

// line asks for a line, and reports whether there was one.
func (d *Dialog) line(prompt string) (string, bool) {
	d.say("%s", prompt)
	text, err := d.In.ReadString('\n')
	if err != nil {
		d.say("\n")
	}
	return strings.TrimSpace(text), err == nil || text != ""
}
