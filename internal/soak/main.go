// Command soak checks every random property of the module repeatedly, with new seeds, for a given
// time; make soak runs it. It reports its progress once a minute, and a summary at the end. If a
// property fails, it prints the seed and goes on with the others; the failing case is kept in the
// tree. The exit status is 1 if any property failed.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	held, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
	}
	if err != nil || !held {
		stop()
		os.Exit(1)
	}
}

// run checks the properties for the time in args, from the folder of the module, and reports
// whether all held.
func run(ctx context.Context, args []string) (held bool, err error) {
	if len(args) != 1 {
		return false, fmt.Errorf("want one argument, how long to draw, as in 10m: got %q", args)
	}
	long, err := time.ParseDuration(args[0])
	if err != nil || long <= 0 {
		return false, fmt.Errorf("%q is no time to draw for: want one as in 10m or 1h", args[0])
	}
	bin, err := os.MkdirTemp("", "soak")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(bin) }()
	all, err := found(ctx, ".", bin)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	s := newSoak(os.Stdout, all, checked)
	return s.run(ctx), nil
}
