package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// property is a test that draws.
type property struct {
	dir    string // of its package
	pkg    string // as go test takes it
	name   string
	binary string // the tests of its package

	checks, seeds int
	took          time.Duration
	broken        bool
}

// All properties are run equally often, each time with a new seed, so those of whole turns, which
// take longest, get most of the time. The number of checks per seed is smaller for slow properties,
// so that none takes all the time.
const (
	fewest, most = 100, 2000        // checks for one seed
	longest      = 10 * time.Second // the desired time of one run
)

// draw returns how many checks to draw from the next seed.
func (p *property) draw() int {
	if p.checks == 0 {
		return fewest
	}
	return int(min(max(longest*time.Duration(p.checks)/max(p.took, 1), fewest), most))
}

// soak is one run of the properties.
type soak struct {
	out  io.Writer
	all  []*property
	hold func(ctx context.Context, p *property, seed uint64, checks int) (output string, held bool)
	now  func() time.Time
	seed func() uint64

	began, told time.Time
}

func newSoak(out io.Writer, all []*property, hold func(context.Context, *property, uint64, int) (string, bool)) *soak {
	return &soak{out: out, all: all, hold: hold, now: time.Now, seed: newSeed}
}

// newSeed returns a seed that is never 0, since that makes rapid choose its own.
func newSeed() uint64 { return 1 + rand.Uint64N(1<<63) }

// run runs one property after the other until ctx is done, and reports whether all held. A property
// that failed is not run again, since it would fail again.
func (s *soak) run(ctx context.Context) bool {
	s.began = s.now()
	s.told = s.began
	for s.whole() > 0 && ctx.Err() == nil {
		for _, p := range s.all {
			if p.broken || ctx.Err() != nil {
				continue
			}
			s.one(ctx, p)
			if s.now().Sub(s.told) >= time.Minute {
				s.told = s.now()
				fmt.Fprintln(s.out, s.sofar())
			}
		}
	}
	s.summary()
	return s.whole() == len(s.all)
}

// one runs one property with a new seed. A run that ctx interrupted does not count.
func (s *soak) one(ctx context.Context, p *property) {
	seed, checks, began := s.seed(), p.draw(), s.now()
	output, held := s.hold(ctx, p, seed, checks)
	if !held && ctx.Err() != nil {
		return
	}
	p.took += s.now().Sub(began)
	p.seeds++
	if held {
		p.checks += checks
		return
	}
	p.broken = true
	fmt.Fprintf(s.out, "%s\n%s breaks. To see it again:\n  go test %s -run '^%s$' -rapid.seed=%d -rapid.checks=%d\n", output, p.name, p.pkg, p.name, seed, checks)
}

// whole returns how many properties have not failed.
func (s *soak) whole() (n int) {
	for _, p := range s.all {
		if !p.broken {
			n++
		}
	}
	return n
}

// sofar summarises the progress in a line.
func (s *soak) sofar() string {
	checks, seeds := 0, 0
	for _, p := range s.all {
		checks, seeds = checks+p.checks, seeds+p.seeds
	}
	broken := len(s.all) - s.whole()
	return fmt.Sprintf("%s: %d properties, %d checks from %d seeds, %d broken", s.now().Sub(s.began).Round(time.Second), len(s.all), checks, seeds, broken)
}

// summary prints the result of each property.
func (s *soak) summary() {
	for _, p := range s.all {
		word := ""
		if p.broken {
			word = "  BROKEN"
		}
		perMinute := 0.0
		if p.took > 0 {
			perMinute = float64(p.checks) / p.took.Minutes()
		}
		fmt.Fprintf(s.out, "%9d checks %4d seeds %8s %9.0f a minute  %s %s%s\n", p.checks, p.seeds, p.took.Round(time.Second), perMinute, p.pkg, p.name, word)
	}
	fmt.Fprintln(s.out, s.sofar())
}
