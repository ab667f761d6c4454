//go:build linux

// Command costs measures the time and memory that the commands of adkreplay need for traces of
// every shape: from a thousand to a million crossings (make large), or of a hundred megabytes (make
// weigh). It fails if a command exceeds its limit of memory or time. Its arguments are other
// numbers of crossings, or the word heavy and other numbers of megabytes, and names of shapes to
// measure only those. It needs Linux, which reports the memory that a command used in KiB.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/adkreplay/adkreplay/internal/large"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "costs:", err)
		stop()
		os.Exit(1)
	}
}

// list is one of the lists of shapes, with its default sizes.
type list struct {
	name   string
	shapes []large.Shape
	sizes  []int
}

var lists = []list{
	{"crossings", large.Shapes, []int{1_000, 10_000, 100_000, 1_000_000}},
	{"heavy", large.Heavy, []int{100}},
}

// choose restricts the list to the sizes and shapes that the arguments name, if they name any.
func (l *list) choose(args []string) error {
	var sizes []int
	var shapes []large.Shape
	for _, arg := range args {
		size, err := strconv.Atoi(arg)
		at := slices.IndexFunc(l.shapes, func(s large.Shape) bool { return s.Name == arg })
		switch {
		case err == nil && size > 0:
			sizes = append(sizes, size)
		case at >= 0:
			shapes = append(shapes, l.shapes[at])
		default:
			return fmt.Errorf("%q is neither a number nor a shape of %s", arg, l.name)
		}
	}
	if sizes != nil {
		l.sizes = sizes
	}
	if shapes != nil {
		l.shapes = shapes
	}
	return nil
}

func run(ctx context.Context, args []string) error {
	if task, ok := taskOf(args); ok {
		return task.do(ctx)
	}
	measured := lists[0]
	if len(args) > 0 && args[0] == lists[1].name {
		measured, args = lists[1], args[1:]
	}
	if err := measured.choose(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "costs")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	t := &table{dir: dir, command: filepath.Join(dir, "adkreplay")}
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", t.command, "./cmd/adkreplay").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	return t.print(ctx, measured)
}
