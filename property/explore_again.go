package property

import (
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay"
)

// This file holds a run against another of the same schedule.

// unsteadyRun is what a run breaks that is another one the second time.
const unsteadyRun = "a run is the same every time"

// sameAgain holds the second run of a schedule against the first: it has to do the
// same (DET-2).
func sameAgain(first []adk.Crossing, b *attempt, ended bool) []Violation {
	second := b.crossings
	if !ended {
		second = nil
	}
	at, _ := partAt(first, second)
	if at < 0 {
		return nil
	}
	return []Violation{{Invariant: unsteadyRun, Rule: "DET-2", Crossing: at + 1, Seam: adk.LabelRun,
		Text: "a second run of the same schedule made another crossing here" + bothSides(b.info, first, second, at)}}
}

// partAt is the index of the first crossing in which two runs part; -1 where they
// do not. It tells, too, whether before that anything differed that the system
// chose.
func partAt(first, second []adk.Crossing) (at int, bySystem bool) {
	var known *chosen
	for i := range min(len(first), len(second)) {
		diffs := replay.CompareCrossings(&first[i], &second[i])
		if len(diffs) == 0 {
			continue
		}
		if known == nil {
			known = chosenIn(first, second)
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

// bothSides are the two crossings at which two runs part, and the fields in which
// they differ.
func bothSides(info adk.RunInfo, first, second []adk.Crossing, at int) string {
	want, got := &replay.Trace{Header: replay.Header{Info: info}}, &replay.Trace{Header: replay.Header{Info: info}}
	for _, x := range first[:min(at+1, len(first))] {
		want.Lines = append(want.Lines, replay.Line{Crossing: x})
	}
	got.Lines = slices.Clone(want.Lines[:at]) // but for what the system chose
	if at < len(second) {
		got.Lines = append(got.Lines, replay.Line{Crossing: second[at]})
	}
	d := replay.CompareTraces(want, got)
	if d == nil {
		return ""
	}
	lines := []string{"", "- " + orEnd(d.Expected), "+ " + orEnd(d.Got)}
	for _, f := range d.Fields {
		lines = append(lines, "  "+f.String())
	}
	return strings.Join(lines, "\n")
}

func orEnd(line string) string {
	if line == "" {
		return "(nothing more)"
	}
	return line
}

// chosen are the addresses of a machine's own that nobody asked for: the system
// chose their ports, and chooses others the next time. The errors of package net
// say which they are.
type chosen struct {
	texts map[string]bool
	// ports are those of loopback addresses, which have several names.
	ports map[string]bool
	// met tells that something differed in nothing else: then what is computed of
	// it differs too.
	met bool
}

// chosenIn finds the addresses that the errors of runs name.
func chosenIn(runs ...[]adk.Crossing) *chosen {
	c := &chosen{texts: map[string]bool{}, ports: map[string]bool{}}
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

// mostCauses is how many causes are looked at: an error may lead back to itself.
const mostCauses = 1000

// find goes through the causes of an error; left is how many more. What an error's
// own method panics at is found by nobody.
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

// add takes an address in: one's own end of a connection, whose port the system
// always chooses, or the other end, where it is on this machine.
func (c *chosen) add(address net.Addr, own bool) {
	if address == nil {
		return
	}
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return
	}
	if isLoopback(host) {
		c.ports[port] = true
	} else if own {
		c.texts[address.String()] = true
	}
}

func isLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(strings.Trim(host, "[]")).IsLoopback()
}

var (
	// addressText finds addresses in texts, and the port of each.
	addressText = regexp.MustCompile(`(\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:.%]+\]|localhost):(\d{1,5})\b`)
	digestText  = regexp.MustCompile(`\b(?:[0-9a-f]{32}|[0-9a-f]{64})\b`)
)

// explains reports whether fields differ in nothing but what the system chose and
// what is computed of it. An error's text says of loopback addresses, too, what
// its type may have lost.
func (c *chosen) explains(diffs []replay.FieldDiff) bool {
	for _, d := range diffs {
		if slices.Contains([]string{"err", "cause", "reason"}, d.Field) {
			c.learn(d.Want)
			c.learn(d.Got)
		}
		if d.Want == "" || d.Got == "" || c.without(d.Want) != c.without(d.Got) {
			return false
		}
	}
	c.met = true
	return true
}

func (c *chosen) learn(text string) {
	for _, found := range addressText.FindAllStringSubmatch(text, -1) {
		if isLoopback(found[1]) {
			c.ports[found[2]] = true
		}
	}
}

// without is a text without what the system chose.
func (c *chosen) without(text string) string {
	text = addressText.ReplaceAllStringFunc(text, func(address string) string {
		at := strings.LastIndexByte(address, ':')
		if c.texts[address] || isLoopback(address[:at]) && c.ports[address[at+1:]] {
			return address[:at]
		}
		return address
	})
	if c.met {
		text = digestText.ReplaceAllString(text, "")
	}
	return text
}
