//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/adkreplay/adkreplay/internal/large"
)

// The limits of one command.
const (
	mostMemory = 1 << 30 // in bytes
	mostTime   = 10 * time.Minute
)

// table collects the measurements.
type table struct {
	dir, command string
	beyond       []string
}

// measured is a trace that commands are measured with. other is the same trace with a different
// last state.
type measured struct {
	file, other string
	crossings   int
}

// commands are all commands that read a trace, except for those that read many traces in the way
// verify does.
var commands = []struct {
	name string
	args func(m measured) []string
}{
	{"verify", func(m measured) []string { return []string{"verify", m.file} }},
	{"check", func(m measured) []string { return []string{"check", m.file} }},
	{"lint", func(m measured) []string { return []string{"lint", m.file} }},
	{"show", func(m measured) []string { return []string{"show", m.file} }},
	{"show --at", func(m measured) []string { return []string{"show", "--at", strconv.Itoa(m.crossings / 2), m.file} }},
	{"show --grep", func(m measured) []string { return []string{"show", "--grep", "ack", m.file} }},
	{"show --json", func(m measured) []string { return []string{"show", "--json", m.file} }},
	{"diff", func(m measured) []string { return []string{"diff", m.file, m.other} }},
	{"replay", func(m measured) []string { return []string{"replay", m.file, "--set", "run.prompt=Be long."} }},
	{"shrink", func(m measured) []string { return []string{"shrink", m.file} }},
	{"explore", func(m measured) []string { return []string{"explore", "--budget", "5s", m.file} }},
	{"verify other", func(m measured) []string { return []string{"verify", m.other} }},
	{"accept other", func(m measured) []string { return []string{"accept", "--reason", "to see what it takes", m.other} }},
}

func (t *table) print(ctx context.Context, all list) error {
	fmt.Println("| shape | crossings | MB | command | CPU s | peak MB | exit |\n| --- | --- | --- | --- | --- | --- | --- |")
	for _, shape := range all.shapes {
		for _, size := range all.sizes {
			if err := t.measure(ctx, all, shape, size); err != nil {
				return fmt.Errorf("%s of %d: %w", shape.Name, size, err)
			}
		}
	}
	if len(t.beyond) > 0 {
		return fmt.Errorf("beyond a bound:\n%s", strings.Join(t.beyond, "\n"))
	}
	return nil
}

// measure measures all commands with a trace. A separate process makes the trace, so that this does
// not count.
func (t *table) measure(ctx context.Context, all list, shape large.Shape, size int) error {
	m := measured{file: filepath.Join(t.dir, "trace.jsonl"), other: filepath.Join(t.dir, "other.jsonl")}
	made := task{name: taskWrite, list: all.name, shape: shape.Name, size: size, file: m.file, other: m.other}
	ended, err := t.child(ctx, os.Args[0], made.args())
	if err != nil {
		return err
	}
	if !ended.Success() {
		return fmt.Errorf("making the trace ended with %v", ended)
	}
	bytes := int64(0)
	if m.crossings, bytes, err = sizeOf(m.file); err != nil {
		return err
	}
	begin := fmt.Sprintf("| %s | %d | %.1f |", shape.Name, m.crossings, float64(bytes)/1e6)
	for _, c := range commands {
		if err := t.row(ctx, begin+" "+c.name, t.command, c.args(m)); err != nil {
			return err
		}
	}
	made.name = taskLive
	return t.row(ctx, begin+" live", os.Args[0], made.args())
}

// row measures one command.
func (t *table) row(ctx context.Context, begin, command string, args []string) error {
	ended, err := t.child(ctx, command, args)
	if err != nil {
		return err
	}
	peak := int64(ended.SysUsage().(*syscall.Rusage).Maxrss) << 10 // Linux reports KiB
	line := fmt.Sprintf("%s | %.1f | %d | %d |", begin, (ended.UserTime() + ended.SystemTime()).Seconds(), peak>>20, ended.ExitCode())
	fmt.Println(line)
	if peak > mostMemory || ended.ExitCode() < 0 {
		t.beyond = append(t.beyond, line)
	}
	return nil
}

// child runs a command and waits for its end, whatever its exit code.
func (t *table) child(ctx context.Context, command string, args []string) (*os.ProcessState, error) {
	limited, cancel := context.WithTimeout(ctx, mostTime)
	defer cancel()
	cmd := exec.CommandContext(limited, command, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CI=") }) // accept refuses to run in CI
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	return cmd.ProcessState, nil
}
