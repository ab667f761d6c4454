//go:build linux

package main

import (
	"bufio"

	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/adkreplay/adkreplay/internal/large"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// task is work that this program does in a separate process.
type task struct {
	name, list, shape string
	size              int
	file, other       string
}

// The tasks.
const (
	taskWrite = "write" // a trace, and a similar one
	taskLive  = "live"  // verifies a turn with its own executor and its own tools
)

func (k task) args() []string {
	return []string{k.name, k.list, k.shape, strconv.Itoa(k.size), k.file, k.other}
}

// taskOf parses the arguments of a task, and reports whether they are one.
func taskOf(args []string) (k task, ok bool) {
	if len(args) != len(k.args()) {
		return k, false
	}
	size, err := strconv.Atoi(args[3])
	return task{args[0], args[1], args[2], size, args[4], args[5]}, err == nil
}

func (k task) do(ctx context.Context) error {
	at := slices.IndexFunc(lists, func(l list) bool { return l.name == k.list })
	if at < 0 {
		return fmt.Errorf("there is no list %q", k.list)
	}
	of := slices.IndexFunc(lists[at].shapes, func(s large.Shape) bool { return s.Name == k.shape })
	if of < 0 {
		return fmt.Errorf("there is no shape %q in %s", k.shape, k.list)
	}
	shape := lists[at].shapes[of]
	if k.name == taskLive {
		return k.live(ctx, shape)
	}
	return errors.Join(written(k.file, func(w io.Writer) error { return shape.Write(w, k.size) }), k.writeOther())
}

// written creates a file.
func written(path string, write func(io.Writer) error) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	return errors.Join(write(w), w.Flush())
}

// lastState matches the digest of the state at the end of a turn.
var lastState = regexp.MustCompile(`("kind":"state".*"digest":")[0-9a-f]{8}`)

// writeOther writes the trace with a different digest in its last states, and a valid footer.
func (k task) writeOther() error {
	crossings, size, err := sizeOf(k.file)
	if err != nil {
		return err
	}
	f, err := os.Open(k.file)
	if err != nil {
		return err
	}
	defer f.Close()
	return written(k.other, func(w io.Writer) error {
		sum := sha256.New()
		both, in := io.MultiWriter(w, sum), bufio.NewReaderSize(f, 1<<20)
		for left := size; ; {
			line, err := in.ReadBytes('\n')
			if left -= int64(len(line)); err != nil || left == 0 { // the footer
				break
			}
			if left < 8<<10 {
				line = lastState.ReplaceAll(line, []byte("${1}00000000"))
			}
			if _, err := both.Write(line); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(w, "{\"end\":%d,\"sha256\":\"%x\"}\n", crossings, sum.Sum(nil))
		return err
	})
}

// footer matches a footer and captures its number of crossings.
var footer = regexp.MustCompile(`\{"end":(\d+),[^\n]*\}\n$`)

// sizeOf returns how many crossings and bytes a trace has.
func sizeOf(path string) (crossings int, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	if size, err = f.Seek(0, io.SeekEnd); err != nil {
		return 0, 0, err
	}
	if _, err := f.Seek(max(0, size-1<<10), io.SeekStart); err != nil {
		return 0, 0, err
	}
	end, err := io.ReadAll(f)
	if err != nil {
		return 0, 0, err
	}
	found := footer.FindSubmatch(end)
	if found == nil {
		return 0, 0, fmt.Errorf("%s has no footer", path)
	}
	crossings, err = strconv.Atoi(string(found[1]))
	return crossings, size, err
}

func (k task) live(ctx context.Context, shape large.Shape) error {
	f, err := os.Open(k.file)
	if err != nil {
		return err
	}
	defer f.Close()
	debug.SetMemoryLimit(900 << 20) // as the command does
	report, err := replay.Verify(ctx, bufio.NewReader(f), replay.Live{Config: shape.Turn(k.size), Seams: []string{"executor/model"}})
	if _, ok := errors.AsType[*trace.FormatError](err); ok {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3) // as the command does
	}
	if err == nil && report.Divergence != nil {
		err = errors.New(report.Divergence.String())
	}
	return err
}
