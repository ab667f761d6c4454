// Command costs says what the commands of adkreplay cost, in time and memory, for traces
// of every shape: from a thousand crossings to a million (make large), or of a hundred
// megabytes (make weigh). It fails where a command takes more than its memory or its time.
// Its arguments are other numbers of crossings; or heavy, and other numbers of megabytes.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
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

// list is one of the lists of shapes, with the sizes that they have unless others are
// given.
type list struct {
	name   string
	shapes []large.Shape
	sizes  []int
}

var lists = []list{
	{"crossings", large.Shapes, []int{1_000, 10_000, 100_000, 1_000_000}},
	{"heavy", large.Heavy, []int{100}},
}

func run(ctx context.Context, args []string) error {
	if task, is := taskOf(args); is {
		return task.do(ctx)
	}
	measured := lists[0]
	if len(args) > 0 && args[0] == lists[1].name {
		measured, args = lists[1], args[1:]
	}
	if len(args) > 0 {
		measured.sizes = nil
	}
	for _, arg := range args {
		size, err := strconv.Atoi(arg)
		if err != nil || size < 1 {
			return fmt.Errorf("%q is no number of %s", arg, measured.name)
		}
		measured.sizes = append(measured.sizes, size)
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
