package fakes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"sync"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
)

// TestSpool checks a spool. It reports all faults together, each with the rule that it breaks; nil
// means there are none. newSpool is called for each check, and must return a spool that holds
// nothing written by the checks.
//
//	if err := fakes.TestSpool(newSpool); err != nil {
//		t.Error(err)
//	}
func TestSpool(newSpool func() artifact.Spool) error {
	var faults []error
	for _, check := range spoolChecks {
		t := &spoolTrial{spool: newSpool(), rule: check.rule}
		t.run(check.check)
		faults = append(faults, t.faults...)
	}
	return errors.Join(faults...)
}

var spoolChecks = []struct {
	rule  string
	check func(t *spoolTrial)
}{
	{"SPL-1: any bytes come back as they went in, and are counted", (*spoolTrial).keepsBytes},
	{"SPL-2: a write replaces, whole or not at all", (*spoolTrial).replacesWhole},
	{"SPL-2: a reader gives one body, or says that it changed", (*spoolTrial).readsOneBody},
	{"SPL-3: what is not there is no error, and readers open again", (*spoolTrial).readsAgain},
	{"SPL-4: keys that no spool takes are E_SPOOL_KEY", (*spoolTrial).refusesKeys},
	{"SPL-5: a prefix shows its part alone, in order", (*spoolTrial).showsPrefixes},
	{"SPL-6: lines are the same from memory and from the spool", (*spoolTrial).givesLines},
	{"SPL-8: many writers of one key leave one body, whole", (*spoolTrial).servesMany},
	{"SPL-1: a body of 32 MiB is streamed", (*spoolTrial).streams},
}

// spoolTrial is one check of one spool.
type spoolTrial struct {
	spool artifact.Spool
	rule  string

	mu     sync.Mutex
	faults []error
}

// run runs a check and turns a panic of the spool into a fault.
func (t *spoolTrial) run(check func(t *spoolTrial)) {
	defer func() {
		if value := recover(); value != nil {
			t.fault("panic: %s", adk.PanicText(value))
		}
	}()
	check(t)
}

func (t *spoolTrial) fault(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = append(t.faults, fmt.Errorf(t.rule+": "+format, args...))
}

func (t *spoolTrial) write(key, body string) {
	entry, err := t.spool.Write(context.Background(), key, strings.NewReader(body))
	if err != nil {
		t.fault("write of %d bytes: %w", len(body), err)
		return
	}
	lines := strings.Count(body, "\n") + 1
	if body == "" {
		lines = 0
	}
	if entry.Key != key || entry.Bytes != int64(len(body)) || entry.Lines != lines || entry.SHA256 != hashText(body) {
		t.fault("a write of %d bytes and %d lines gave the entry %+v", len(body), lines, entry)
	}
}

// reader returns the reader of a key; if there is none, that is a fault.
func (t *spoolTrial) reader(key string) adk.MediaReader {
	reader, found, err := t.spool.Read(context.Background(), key)
	if err != nil || !found || reader == nil {
		t.fault("read of %q: found %t, %v", key, found, err)
		return nil
	}
	return reader
}

// spooledBody reads a reader to its end.
func spooledBody(reader adk.MediaReader) (string, error) {
	stream, err := reader.Open(context.Background())
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(stream)
	return string(data), errors.Join(err, stream.Close())
}

func (t *spoolTrial) holds(key, want string) {
	if reader := t.reader(key); reader != nil {
		if got, err := spooledBody(reader); err != nil || got != want {
			t.fault("key %q: %d bytes came back otherwise: %d, %v", key, len(want), len(got), err)
		}
	}
}

func (t *spoolTrial) keepsBytes() {
	for i, text := range []string{"", "a", "\xff\xfe\x00\x01\x80", "a\r\nb\r\n", "a\nb\n", "é世界🎉", "\n", strings.Repeat("line\n", 5000)} {
		key := fmt.Sprintf("bodies/%d", i)
		t.write(key, text)
		t.holds(key, text)
		if ranges, has := t.reader(key).(artifact.RangeReader); has && len(text) > 3 {
			stream, err := ranges.OpenRange(context.Background(), 1, 2)
			if err != nil {
				t.fault("a range: %w", err)
				continue
			}
			piece, err := io.ReadAll(stream)
			if err := errors.Join(err, stream.Close()); err != nil || string(piece) != text[1:3] {
				t.fault("a range from 1 of 2 bytes gave %q, %v", piece, err)
			}
		}
	}
}

// brokenBody is a reader that fails after some bytes.
type brokenBody struct{ left int }

func (b *brokenBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errBroken
	}
	n := min(len(p), b.left)
	b.left -= n
	return n, nil
}

var errBroken = errors.New("the body broke off")

func (t *spoolTrial) replacesWhole() {
	t.write("k", "old")
	t.write("k", "newer")
	t.holds("k", "newer")
	if _, err := t.spool.Write(context.Background(), "k", &brokenBody{100_000}); !errors.Is(err, errBroken) {
		t.fault("a body that breaks off: want its error, got %v", err)
	}
	t.holds("k", "newer")
	if _, err := t.spool.Write(context.Background(), "fresh", &brokenBody{10}); err == nil {
		t.fault("a body that breaks off was kept")
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if _, err := t.spool.Write(ended, "fresh", strings.NewReader("x")); err == nil {
		t.fault("a write whose context has ended was done")
	}
	if _, found, err := t.spool.Read(context.Background(), "fresh"); found || err != nil {
		t.fault("a write that failed left something: %t, %v", found, err)
	}
}

func (t *spoolTrial) readsOneBody() {
	old, next := strings.Repeat("a", 300_000), strings.Repeat("b", 200_000)
	t.write("k", old)
	reader := t.reader("k")
	if reader == nil {
		return
	}
	stream, err := reader.Open(context.Background())
	if err != nil {
		t.fault("open: %w", err)
		return
	}
	begin := make([]byte, 10)
	_, err = io.ReadFull(stream, begin)
	t.write("k", next)
	rest, restErr := io.ReadAll(stream)
	switch err := errors.Join(err, restErr, stream.Close()); {
	case errors.Is(err, adk.E_ARTIFACT_CHANGED):
	case err != nil:
		t.fault("an open reader, after another write: %w", err)
	case string(begin)+string(rest) != old:
		t.fault("an open reader gave a mixture")
	}
	if got, err := spooledBody(reader); err == nil && got != old || err != nil && !errors.Is(err, adk.E_ARTIFACT_CHANGED) {
		t.fault("a reader from before gives %d bytes, %v", len(got), err)
	}
	t.holds("k", next)
}

func (t *spoolTrial) readsAgain() {
	ctx := context.Background()
	if reader, found, err := t.spool.Read(ctx, "nobody"); reader != nil || found || err != nil {
		t.fault("read of an unknown key: %v, %t, %v", reader, found, err)
	}
	if was, err := t.spool.Delete(ctx, "nobody"); was || err != nil {
		t.fault("delete of an unknown key: %t, %v", was, err)
	}
	t.write("k", "body")
	reader := t.reader("k")
	if reader == nil {
		return
	}
	first, err := reader.Open(ctx)
	second, secondErr := reader.Open(ctx)
	if err := errors.Join(err, secondErr); err != nil {
		t.fault("opened twice: %w", err)
		return
	}
	for _, stream := range []io.ReadCloser{second, first} {
		if data, err := io.ReadAll(stream); string(data) != "body" || err != nil {
			t.fault("two streams at once: %q, %v", data, err)
		}
		_ = stream.Close()
	}
	if was, err := t.spool.Delete(ctx, "k"); !was || err != nil {
		t.fault("delete: %t, %v", was, err)
	}
	if _, found, _ := t.spool.Read(ctx, "k"); found {
		t.fault("a deleted body is found")
	}
}

func (t *spoolTrial) refusesKeys() {
	ctx := context.Background()
	for _, key := range []string{"", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a\x00b", "a\nb", "\xff", strings.Repeat("a", 513)} {
		_, writing := t.spool.Write(ctx, key, strings.NewReader("x"))
		_, _, reading := t.spool.Read(ctx, key)
		_, deleting := t.spool.Delete(ctx, key)
		for _, err := range []error{writing, reading, deleting} {
			if !errors.Is(err, adk.E_SPOOL_KEY) {
				t.fault("key %.20q: want E_SPOOL_KEY, got %v", key, err)
			}
		}
	}
	for i, key := range []string{"a", "A", "a/b/c", "...", "a b", "%2e%2e", "é🎉", "con", "a:b*c?", strings.Repeat("x", 500), "a.entry"} {
		t.write(key, fmt.Sprint("body ", i))
	}
	t.holds("a", "body 0")
	t.holds("A", "body 1")
	t.holds(strings.Repeat("x", 500), "body 9")
}

func (t *spoolTrial) showsPrefixes() {
	ctx := context.Background()
	a, b := artifact.Prefixed(t.spool, "a/"), artifact.Prefixed(t.spool, "b/")
	for _, key := range []string{"2", "1", "x/y"} {
		if entry, err := a.Write(ctx, key, strings.NewReader("of a "+key)); err != nil || entry.Key != key {
			t.fault("write under a prefix: %+v, %v", entry, err)
		}
	}
	t.write("ab", "beside")
	if _, found, err := b.Read(ctx, "1"); found || err != nil {
		t.fault("another prefix sees it: %t, %v", found, err)
	}
	t.holds("a/1", "of a 1")
	list := func(spool artifact.Spool, prefix string) string {
		var keys []string
		for entry, err := range spool.List(ctx, prefix) {
			if err != nil {
				t.fault("list: %w", err)
			}
			keys = append(keys, fmt.Sprint(entry.Key, ":", entry.Bytes))
		}
		return strings.Join(keys, " ")
	}
	for _, c := range [][2]string{{list(t.spool, ""), "a/1:6 a/2:6 a/x/y:8 ab:6"}, {list(a, ""), "1:6 2:6 x/y:8"}, {list(a, "x/"), "x/y:8"}, {list(b, ""), ""}} {
		if c[0] != c[1] {
			t.fault("listed %q, want %q", c[0], c[1])
		}
	}
}

func (t *spoolTrial) givesLines() {
	ctx := context.Background()
	var long strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&long, "line %d é%s\n", i, strings.Repeat("世", i%7))
	}
	for n, text := range []string{long.String(), "alpha\nbeta\ngamma", "a\nb\n", "", "a\r\nb", strings.Repeat("é", 70_000) + "\n" + strings.Repeat("世", 70_000), "\n"} {
		key := fmt.Sprint("lines/", n)
		t.write(key, text)
		want := strings.Split(text, "\n")
		if text == "" {
			want = nil
		}
		for _, threshold := range []int64{0, math.MaxInt64} {
			reader := t.reader(key)
			if reader == nil {
				return
			}
			lines, err := artifact.NewLineReader(reader, threshold)
			if err != nil {
				t.fault("a line reader: %w", err)
				continue
			}
			t.checkLines(ctx, lines, text, want)
		}
	}
}

func (t *spoolTrial) checkLines(ctx context.Context, lines artifact.Reader, text string, want []string) {
	count, err := lines.LineCount(ctx)
	size, sizeErr := lines.ByteLength(ctx)
	whole, wholeErr := lines.ReadAll(ctx)
	if err := errors.Join(err, sizeErr, wholeErr); err != nil || count != len(want) || size != int64(len(text)) || string(whole) != text {
		t.fault("%d lines of %d bytes came back as %d, %d, %d: %v", len(want), len(text), count, size, len(whole), err)
	}
	for _, i := range []int{0, 2500, 1, 255, 256, 257, 4999, len(want) - 1, len(want), -1, 100_000} {
		line, ok, err := lines.Line(ctx, i)
		inside := i >= 0 && i < len(want)
		if err != nil || ok != inside || inside && line != want[i] {
			t.fault("line %d of %d: %t, %v, and other words", i, len(want), ok, err)
		}
	}
}

func (t *spoolTrial) servesMany() {
	var wg sync.WaitGroup
	bodies := map[string]bool{}
	for i := range 16 {
		text := strings.Repeat(fmt.Sprint(i, "\n"), 5000)
		bodies[text] = true
		wg.Go(func() {
			t.run(func(*spoolTrial) {
				t.write("shared", text)
				_, _, _ = t.spool.Read(context.Background(), "shared")
			})
		})
	}
	wg.Wait()
	if reader := t.reader("shared"); reader != nil {
		if got, err := spooledBody(reader); err != nil || !bodies[got] {
			t.fault("16 writers left a body of nobody, of %d bytes: %v", len(got), err)
		}
	}
}

// manyBytes is a body so large that a spool should not hold it in memory.
type manyBytes struct{ left int }

func (b *manyBytes) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), b.left)
	for i := range p[:n] {
		p[i] = byte(b.left - i)
	}
	b.left -= n
	return n, nil
}

func (t *spoolTrial) streams() {
	const size = 32 << 20
	entry, err := t.spool.Write(context.Background(), "large", &manyBytes{size})
	if err != nil || entry.Bytes != size {
		t.fault("a body of 32 MiB: %d bytes, %v", entry.Bytes, err)
		return
	}
	reader := t.reader("large")
	if reader == nil {
		return
	}
	meter := &heapMeter{}
	before := meter.measure()
	stream, err := reader.Open(context.Background())
	if err != nil {
		t.fault("open: %w", err)
		return
	}
	n, err := io.CopyBuffer(meter, struct{ io.Reader }{stream}, make([]byte, 64<<10))
	if err := errors.Join(err, stream.Close()); err != nil || n != size {
		t.fault("%d of 32 MiB came back: %v", n, err)
	}
	if meter.most >= before+size/2 {
		t.fault("reading 32 MiB held %d bytes of memory: the body was loaded", meter.most-before)
	}
}

// heapMeter measures the heap every 4 MiB while a body is written to it.
type heapMeter struct {
	bytes, next int64
	most        uint64
}

func (m *heapMeter) Write(p []byte) (int, error) {
	if m.bytes += int64(len(p)); m.bytes >= m.next {
		m.most = max(m.most, m.measure())
		m.next += 4 << 20
	}
	return len(p), nil
}

// measure returns the size of the heap after a garbage collection.
func (m *heapMeter) measure() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
