// Package steady compares two runs of the same schedule, and ignores differences that the operating
// system caused.
package steady

import (
	"net"
	"regexp"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/state"
)

// PartAt returns the index of the first crossing in which two runs differ, and -1 if they do not
// differ. bySystem says whether anything before it differed that the system chose.
func PartAt(first, second []adk.Crossing) (at int, bySystem bool) {
	var known *chosen
	for i := range min(len(first), len(second)) {
		diffs := compare.Common(&first[i], &second[i])
		if len(diffs) == 0 {
			continue
		}
		if known == nil {
			known = ChosenIn(first, second)
		}
		if !known.explains(diffs) {
			return i, known.met
		}
	}
	if len(first) == len(second) {
		return -1, known != nil
	}
	return min(len(first), len(second)), known != nil
}

// BothSides returns the two crossings at index at, where two runs differ, and the fields in which
// they differ. Each line is preceded by a newline.
func BothSides(first, second []adk.Crossing, at int) string {
	names := describe.New(state.New())
	for i := range first[:at] {
		_ = names.Pass(&first[i]) // whether an engine can make it does not matter here
	}
	line := func(run []adk.Crossing) string {
		if at == len(run) {
			return "(nothing more)"
		}
		return names.Line(&run[at])
	}
	said := "\n- " + line(first) + "\n+ " + line(second)
	if at < len(first) && at < len(second) {
		for _, f := range compare.Common(&first[at], &second[at]) {
			said += "\n  " + f.String()
		}
	}
	return said
}

// chosen are addresses of the machine that the system chose: they have other ports in another run.
// They are named by the errors of package net and, for loopback addresses, by any text.
type chosen struct {
	texts map[string]bool
	// Ports are those of loopback addresses, which have several names.
	Ports map[string]bool
	// met is set once something differed in nothing else. From then on, what is computed from it,
	// such as a digest, may differ too.
	met bool
}

// ChosenIn finds the addresses that the errors of runs name.
func ChosenIn(runs ...[]adk.Crossing) *chosen {
	c := &chosen{texts: map[string]bool{}, Ports: map[string]bool{}}
	for _, run := range runs {
		for i := range run {
			for _, err := range []error{run[i].Err, run[i].Cause} {
				left := mostCauses
				c.find(err, &left)
			}
		}
	}
	return c
}

// mostCauses is how many causes are looked at: an error may wrap itself.
const mostCauses = 1000

// find adds the addresses in an error and its causes. left is how many more errors it looks at. If
// a method of an error panics, find ignores that error.
func (c *chosen) find(err error, left *int) {
	defer func() { _ = recover() }()
	if *left--; *left < 0 || err == nil {
		return
	}
	if op, ok := err.(*net.OpError); ok {
		c.add(op.Source, true)
		c.add(op.Addr, false)
	}
	switch err := err.(type) {
	case interface{ Unwrap() error }:
		c.find(err.Unwrap(), left)
	case interface{ Unwrap() []error }:
		for _, cause := range err.Unwrap() {
			c.find(cause, left)
		}
	}
}

// add adds an address: the run's own end of a connection, whose port the system always chooses, or
// the other end if it is on this machine.
func (c *chosen) add(address net.Addr, own bool) {
	if address == nil {
		return
	}
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return
	}
	if compare.IsLoopback(host) {
		c.Ports[port] = true
	} else if own {
		c.texts[address.String()] = true
	}
}

var digestText = regexp.MustCompile(`\b(?:[0-9a-f]{32}|[0-9a-f]{64})\b`)

// explains reports whether fields differ only in what the system chose, and in what is computed
// from it. It also learns loopback addresses from the fields themselves: a text may hold an address
// whose error has lost its type, or that no trace has as an error.
func (c *chosen) explains(diffs []compare.FieldDiff) bool {
	for _, d := range diffs {
		c.learn(d.Want)
		c.learn(d.Got)
		if d.Want == "" || d.Got == "" || c.without(d.Want) != c.without(d.Got) {
			return false
		}
	}
	c.met = true
	return true
}

func (c *chosen) learn(text string) {
	compare.Addresses(text, func(host, port string) string {
		if compare.IsLoopback(host) {
			c.Ports[port] = true
		}
		return host
	})
}

// without returns a text without what the system chose.
func (c *chosen) without(text string) string {
	text = compare.Addresses(text, func(host, port string) string {
		address := host + ":" + port
		if c.texts[address] || compare.IsLoopback(host) && c.Ports[port] {
			return host
		}
		return address
	})
	if c.met {
		text = digestText.ReplaceAllString(text, "")
	}
	return text
}
