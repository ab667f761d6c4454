package blob_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"
	"gocloud.dev/gcerrors"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	adkblob "github.com/adkreplay/adkreplay/adk/storage/blob"
	"github.com/adkreplay/adkreplay/fakes"
)

// opened opens a bucket of each kind that needs no cloud.
var opened = map[string]func(t *testing.T) *blob.Bucket{
	"memory": func(*testing.T) *blob.Bucket { return memblob.OpenBucket(nil) },
	"files": func(t *testing.T) *blob.Bucket {
		bucket, err := fileblob.OpenBucket(t.TempDir(), &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
		require.NoError(t, err)
		return bucket
	},
}

// SPL-1 to SPL-8, SPL-11: the spool in a bucket passes the suite of all spools.
func TestSpool(t *testing.T) {
	for name, open := range opened {
		t.Run(name, func(t *testing.T) {
			assert.NoError(t, fakes.TestSpool(func() artifact.Spool {
				bucket := open(t)
				t.Cleanup(func() { _ = bucket.Close() })
				return adkblob.NewSpool(bucket)
			}))
		})
	}
}

// SPL-7: a body that is too long is refused, and no part of it is kept.
func TestSpoolIsBounded(t *testing.T) {
	for name, open := range opened {
		t.Run(name, func(t *testing.T) {
			bucket := open(t)
			defer bucket.Close()
			spool := adkblob.NewSpool(bucket)
			spool.MaxBytes = 4
			_, err := spool.Write(t.Context(), "k", strings.NewReader("1234"))
			require.NoError(t, err)
			_, err = spool.Write(t.Context(), "k", strings.NewReader("12345"))
			require.ErrorIs(t, err, adk.E_SPOOL_TOO_LARGE)
			assert.Equal(t, "1234", body(t, spool, "k"))
			assert.Len(t, objects(t, bucket), 2, "a body and its entry")
		})
	}
}

// SPL-2: a body that was replaced, deleted or broken off leaves no object behind.
func TestNothingIsLeftBehind(t *testing.T) {
	for name, open := range opened {
		t.Run(name, func(t *testing.T) {
			bucket := open(t)
			defer bucket.Close()
			spool := adkblob.NewSpool(bucket)
			for n := range 3 {
				_, err := spool.Write(t.Context(), "k", strings.NewReader(fmt.Sprint("body ", n)))
				require.NoError(t, err)
			}
			_, err := spool.Write(t.Context(), "other", io.MultiReader(strings.NewReader("half"), broken{}))
			require.ErrorIs(t, err, errBroken)
			assert.Len(t, objects(t, bucket), 2)
			was, err := spool.Delete(t.Context(), "k")
			require.NoError(t, err)
			assert.True(t, was)
			assert.Empty(t, objects(t, bucket))
		})
	}
}

// SPL-2: when the store kept an entry without answering so, or may still keep it, the write leaves the new
// body there.
func TestEntryThatNobodyAnswersFor(t *testing.T) {
	for name, c := range map[string]struct {
		kept, left bool
		body       string
		objects    int
	}{
		// The old body is left over without an entry, which does no harm.
		"kept":                {true, false, "new", 3},
		"kept, caller gone":   {true, true, "new", 3},
		"lost":                {false, false, "old", 2},
		"on the way for long": {false, true, "old", 3}, // the entry may still come, because the caller did not wait
	} {
		t.Run(name, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			driven := &unanswered{in: memblob.OpenBucket(nil), kept: c.kept}
			bucket := blob.NewBucket(driven)
			defer bucket.Close()
			spool := adkblob.NewSpool(bucket)
			_, err := spool.Write(ctx, "k", strings.NewReader("old"))
			require.NoError(t, err)
			driven.leave = func() {}
			if c.left {
				driven.leave = leave
			}
			_, err = spool.Write(ctx, "k", strings.NewReader("new"))
			require.ErrorIs(t, err, errBroken)
			assert.Equal(t, c.body, body(t, spool, "k"))
			assert.Len(t, objects(t, driven.in), c.objects)
		})
	}
}

// SPL-2: a body whose reader panics leaves nothing behind.
func TestBodyThatPanics(t *testing.T) {
	dir := t.TempDir()
	bucket, err := fileblob.OpenBucket(dir, &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	require.NoError(t, err)
	defer bucket.Close()
	assert.Panics(t, func() {
		_, _ = adkblob.NewSpool(bucket).Write(t.Context(), "k", io.MultiReader(strings.NewReader("half"), panicking{}))
	})
	left, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("gone") }

// unanswered is a bucket in which writing an entry fails, once leave is set: after the entry was kept, or
// before.
type unanswered struct {
	driver.Bucket
	in    *blob.Bucket
	kept  bool
	leave func()
}

func (u *unanswered) ErrorCode(err error) gcerrors.ErrorCode { return gcerrors.Code(err) }
func (u *unanswered) Delete(ctx context.Context, key string, _ *driver.DeleteOptions) error {
	return u.in.Delete(ctx, key)
}
func (u *unanswered) Close() error { return u.in.Close() }

func (u *unanswered) NewRangeReader(ctx context.Context, key string, offset, length int64, _ *driver.ReaderOptions) (driver.Reader, error) {
	r, err := u.in.NewRangeReader(ctx, key, offset, length, nil)
	if err != nil {
		return nil, err
	}
	return reading{r}, nil
}

type reading struct{ *blob.Reader }

func (r reading) Attributes() *driver.ReaderAttributes {
	return &driver.ReaderAttributes{Size: r.Size()}
}

func (u *unanswered) NewTypedWriter(ctx context.Context, key, contentType string, _ *driver.WriterOptions) (driver.Writer, error) {
	w, err := u.in.NewWriter(ctx, key, &blob.WriterOptions{ContentType: contentType})
	if err != nil || u.leave == nil || !strings.HasPrefix(key, "entries/") {
		return w, err
	}
	return leaving{w, u}, nil
}

type leaving struct {
	*blob.Writer
	of *unanswered
}

func (l leaving) Close() error {
	if l.of.kept {
		if err := l.Writer.Close(); err != nil {
			return err
		}
	}
	l.of.leave()
	return errBroken
}

// SPL-4, SPL-5: keys whose object names would be too long for a store are kept, can be listed by any
// prefix, and stay distinct.
func TestLongKeys(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer bucket.Close()
	spool := adkblob.NewSpool(bucket)
	long := strings.Repeat("é/ü", 90)
	for _, key := range []string{long + "a", long + "b", "é/other"} {
		_, err := spool.Write(t.Context(), key, strings.NewReader(key))
		require.NoError(t, err)
	}
	assert.Equal(t, long+"b", body(t, spool, long+"b"))
	for prefix, want := range map[string]int{"": 3, "é/": 3, "é/ü": 2, long: 2, long + "a": 1, "u": 0} {
		n := 0
		for entry, err := range spool.List(t.Context(), prefix) {
			require.NoError(t, err)
			assert.True(t, strings.HasPrefix(entry.Key, prefix))
			assert.False(t, entry.Written.IsZero())
			n++
		}
		assert.Equal(t, want, n, "%.20q", prefix)
	}
	for _, name := range objects(t, bucket) {
		assert.Less(t, len(name), 200)
	}
}

// SPL-9: the results of a turn are kept in a bucket, and are found again.
func TestSpooling(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer bucket.Close()
	spool := adkblob.NewSpool(bucket)
	storage := artifact.Spooling(fakes.NewStorage().Storage(), spool, artifact.SpoolingOptions{
		Key: func(_ adk.Scope, record string, _ *adk.Media) string { return "ada/" + record }})
	result, err := artifact.Text(t.Context(), adk.Text("alpha\nbeta\n"))
	require.NoError(t, err)
	call, err := adk.NewToolCall(adk.ToolCallInit{ID: "call-1", Tool: "fetch", Args: map[string]any{}, Results: result, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch, CompletedAt: fakes.Epoch})
	require.NoError(t, err)
	require.NoError(t, storage.ToolCalls.Store(t.Context(), adk.Scope{}, call))
	calls, err := storage.ToolCalls.Fetch(t.Context(), adk.Scope{})
	require.NoError(t, err)
	require.Len(t, calls, 1)
	data, err := calls[0].Results().(*adk.Media).Bytes(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "alpha\nbeta\n", string(data))
}

var errBroken = errors.New("broke off")

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }

func body(t *testing.T, spool artifact.Spool, key string) string {
	t.Helper()
	reader, found, err := spool.Read(t.Context(), key)
	require.NoError(t, err)
	require.True(t, found)
	stream, err := reader.Open(t.Context())
	require.NoError(t, err)
	defer stream.Close()
	data, err := io.ReadAll(stream)
	require.NoError(t, err)
	return string(data)
}

// objects returns the names of all objects in a bucket.
func objects(t *testing.T, bucket *blob.Bucket) (names []string) {
	t.Helper()
	for all := bucket.List(nil); ; {
		object, err := all.Next(context.Background())
		if err == io.EOF {
			return names
		}
		require.NoError(t, err)
		names = append(names, object.Key)
	}
}
