// Command costs says what the commands of adkreplay cost, in time and memory, for traces
// of every shape from a thousand crossings to a million: make large runs it. It fails
// where a command takes more than its memory or its time. Its arguments are other
// numbers of crossings.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/replay"
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

// The bounds of one command.
const (
	mostMemory = 1 << 30 // bytes
	mostTime   = 10 * time.Minute
)

func run(ctx context.Context, args []string) error {
	if len(args) == 3 && args[0] == "live" {
		return live(ctx, args[1], args[2])
	}
	sizes := []int{1_000, 10_000, 100_000, 1_000_000}
	if len(args) > 0 {
		sizes = nil
	}
	for _, arg := range args {
		size, err := strconv.Atoi(arg)
		if err != nil || size < 1 {
			return fmt.Errorf("%q is no number of crossings", arg)
		}
		sizes = append(sizes, size)
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
	return t.print(ctx, sizes)
}

// table is what is measured.
type table struct {
	dir, command string
	beyond       []string
}

// commands are what is measured of each trace.
var commands = []struct {
	name string
	args func(file string, crossings int) []string
}{
	{"verify", func(file string, _ int) []string { return []string{"verify", file} }},
	{"check", func(file string, _ int) []string { return []string{"check", file} }},
	{"lint", func(file string, _ int) []string { return []string{"lint", file} }},
	{"show", func(file string, _ int) []string { return []string{"show", file} }},
	{"show --at", func(file string, n int) []string { return []string{"show", "--at", strconv.Itoa(n / 2), file} }},
	{"show --json", func(file string, _ int) []string { return []string{"show", "--json", file} }},
	{"diff", func(file string, _ int) []string { return []string{"diff", file, file} }},
	{"replay", func(file string, _ int) []string { return []string{"replay", file, "--set", "run.prompt=Be long."} }},
	{"shrink", func(file string, _ int) []string { return []string{"shrink", file} }},
}

func (t *table) print(ctx context.Context, sizes []int) error {
	fmt.Println("| shape | crossings | MB | command | CPU s | peak MB | exit |\n| --- | --- | --- | --- | --- | --- | --- |")
	for _, shape := range large.Shapes {
		for _, size := range sizes {
			file := filepath.Join(t.dir, "trace.jsonl")
			bytes, err := write(shape, size, file)
			if err != nil {
				return err
			}
			begin := fmt.Sprintf("| %s | %d | %.1f |", shape.Name, size, float64(bytes)/1e6)
			for _, c := range commands {
				if err := t.row(ctx, begin+" "+c.name, t.command, c.args(file, size)); err != nil {
					return err
				}
			}
			if err := t.row(ctx, begin+" live", os.Args[0], []string{"live", shape.Name, strconv.Itoa(size)}); err != nil {
				return err
			}
		}
	}
	if len(t.beyond) > 0 {
		return fmt.Errorf("beyond a bound:\n%s", strings.Join(t.beyond, "\n"))
	}
	return nil
}

func write(shape large.Shape, crossings int, path string) (size int64, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := errors.Join(shape.Write(w, crossings), w.Flush()); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// row measures one command.
func (t *table) row(ctx context.Context, begin, command string, args []string) error {
	limited, cancel := context.WithTimeout(ctx, mostTime)
	defer cancel()
	cmd := exec.CommandContext(limited, command, args...)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	ended := cmd.ProcessState
	peak := ended.SysUsage().(*syscall.Rusage).Maxrss << 10 // of Linux, in KiB
	line := fmt.Sprintf("%s | %.1f | %d | %d |", begin, (ended.UserTime() + ended.SystemTime()).Seconds(), peak>>20, ended.ExitCode())
	fmt.Println(line)
	if peak > mostMemory || ended.ExitCode() < 0 {
		t.beyond = append(t.beyond, line)
	}
	return nil
}

// live verifies a turn with its own executor and its own tools.
func live(ctx context.Context, name, number string) error {
	shape, ok := large.Named(name)
	crossings, err := strconv.Atoi(number)
	if !ok || err != nil {
		return fmt.Errorf("want a shape and a number, got %q and %q", name, number)
	}
	f, err := os.CreateTemp("", "live")
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) }()
	if _, err := write(shape, crossings, f.Name()); err != nil {
		return err
	}
	debug.SetMemoryLimit(900 << 20) // as the command does
	report, err := replay.Verify(ctx, bufio.NewReader(f), replay.Live{Config: shape.Turn(crossings), Seams: []string{"executor/model"}})
	if err == nil && report.Divergence != nil {
		err = errors.New(report.Divergence.String())
	}
	return err
}
