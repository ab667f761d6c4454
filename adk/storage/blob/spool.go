package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
)

// Spool keeps bodies in a bucket. It may be used by many goroutines, and by many processes on one
// bucket.
//
// A body is an object that never changes, under a unique name; an entry object names the current
// body of a key and has its length. A write adds a new body and then replaces the entry, each as
// one object, so a crash leaves either the old body or the new one. At worst it leaves an object
// that no entry names. A reader keeps naming the object that it found: after another write it goes
// on with the old bytes, or fails with E_ARTIFACT_CHANGED if they are gone.
type Spool struct {
	// MaxBytes is the greatest length of a body; 0 means no bound. Set it before the first use.
	MaxBytes int64

	bucket *blob.Bucket
	naming sync.Mutex // serializes changes of entries, so that the later of two writers removes the body of the other
}

// NewSpool keeps bodies in a bucket, which the caller closes. Use blob.PrefixedBucket for a part of
// a bucket. Open a bucket of fileblob with MetadataDontWrite, because its metadata is not written
// atomically with the object.
func NewSpool(bucket *blob.Bucket) *Spool { return &Spool{bucket: bucket} }

// entry is the content of an entry object.
type entry struct {
	Key    string `json:"key"`
	Object string `json:"object"`
	Bytes  int64  `json:"bytes"`
	Lines  int    `json:"lines"`
	SHA256 string `json:"sha256"`
}

const (
	entries = "entries/"
	bodies  = "bodies/"

	// Names stay below the limits of any file system or store: a longer name is cut and gets a
	// hash.
	maxName   = 100
	nameBegin = 60
)

// entryName returns the name of a key's entry. Keys with a common beginning have names with a
// common beginning, up to nameBegin bytes.
func entryName(key string) string {
	name := escaped(key)
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(key))
		name = name[:nameBegin] + "~" + hex.EncodeToString(sum[:])
	}
	return entries + name
}

// escaped returns a text with each byte that is no letter, digit or dash replaced by an equals sign
// and two hexadecimal digits.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02x", c)
		}
	}
	return b.String()
}

// Write streams body into a new object, and then makes that the body of the key.
func (s *Spool) Write(ctx context.Context, key string, body io.Reader) (artifact.Entry, error) {
	if err := artifact.CheckKey(key); err != nil {
		return artifact.Entry{}, err
	}
	object := bodies + uuid.NewString()
	found, err := s.put(ctx, object, key, body)
	if err != nil {
		return artifact.Entry{}, err
	}
	if err := s.name(ctx, entry{key, object, found.Bytes, found.Lines, found.SHA256}); err != nil {
		return artifact.Entry{}, err
	}
	return found, nil
}

// put writes a new object. If body is not read to its end, there is no object.
func (s *Spool) put(ctx context.Context, object, key string, body io.Reader) (artifact.Entry, error) {
	within, abandon := context.WithCancel(ctx)
	defer abandon()
	w, err := s.bucket.NewWriter(within, object, &blob.WriterOptions{ContentType: "application/octet-stream"})
	if err != nil {
		return artifact.Entry{}, err
	}
	whole := false
	defer func() { // deferred, since body may panic
		if !whole {
			abandon() // makes Close discard the object
			_ = w.Close()
		}
	}()
	found, err := artifact.CopyBody(ctx, w, key, body, s.MaxBytes)
	if err != nil {
		return artifact.Entry{}, err
	}
	whole = true
	return found, w.Close()
}

// name makes a body the one of its key, and removes the one before. If it fails, it removes the new
// body.
func (s *Spool) name(ctx context.Context, now entry) error {
	s.naming.Lock()
	defer s.naming.Unlock()
	before, known, err := s.entry(ctx, now.Key)
	var text []byte
	if err == nil {
		text, err = json.Marshal(now)
	}
	if err != nil {
		s.forget(ctx, now.Object)
		return err
	}
	if err := s.bucket.WriteAll(ctx, entryName(now.Key), text, &blob.WriterOptions{ContentType: "application/json"}); err != nil {
		s.forgetUnnamed(ctx, now)
		return err
	}
	if known {
		s.forget(ctx, before.Object)
	}
	return nil
}

// forget deletes a body that no entry names any more, even if ctx is done. An error is ignored,
// since a body that stays does no harm.
func (s *Spool) forget(ctx context.Context, object string) {
	_ = s.bucket.Delete(context.WithoutCancel(ctx), object)
}

// forgetUnnamed deletes a body whose entry could not be written. The store may have written the
// entry in spite of the error. If ctx is done, it may even write it later; in that case the body
// stays.
func (s *Spool) forgetUnnamed(ctx context.Context, failed entry) {
	if ctx.Err() != nil {
		return
	}
	if counts, _, err := s.entry(ctx, failed.Key); err == nil && counts.Object != failed.Object {
		s.forget(ctx, failed.Object)
	}
}

// entry reads the entry of a key.
func (s *Spool) entry(ctx context.Context, key string) (found entry, known bool, err error) {
	return s.readEntry(ctx, entryName(key))
}

func (s *Spool) readEntry(ctx context.Context, name string) (found entry, known bool, err error) {
	text, err := s.bucket.ReadAll(ctx, name)
	switch {
	case isMissing(err):
		return entry{}, false, nil
	case err != nil:
		return entry{}, false, err
	}
	if err := json.Unmarshal(text, &found); err != nil {
		return entry{}, false, fmt.Errorf("the entry %s: %w", name, err)
	}
	return found, true, nil
}

func isMissing(err error) bool { return err != nil && gcerrors.Code(err) == gcerrors.NotFound }

// Read returns a reader of the key's current body.
func (s *Spool) Read(ctx context.Context, key string) (adk.MediaReader, bool, error) {
	if err := artifact.CheckKey(key); err != nil {
		return nil, false, err
	}
	found, known, err := s.entry(ctx, key)
	if err != nil || !known {
		return nil, false, err
	}
	return reader{s.bucket, found}, true, nil
}

// Delete removes a body.
func (s *Spool) Delete(ctx context.Context, key string) (bool, error) {
	if err := artifact.CheckKey(key); err != nil {
		return false, err
	}
	s.naming.Lock()
	defer s.naming.Unlock()
	found, known, err := s.entry(ctx, key)
	if err != nil || !known {
		return false, err
	}
	if err := s.bucket.Delete(ctx, entryName(key)); err != nil {
		if isMissing(err) { // another caller did
			return false, nil
		}
		return false, err
	}
	s.forget(ctx, found.Object)
	return true, nil
}

// List returns the entries with a prefix, ordered by key. It holds them all in memory, and reads an
// object for each.
func (s *Spool) List(ctx context.Context, prefix string) iter.Seq2[artifact.Entry, error] {
	return func(yield func(artifact.Entry, error) bool) {
		all, err := s.list(ctx, prefix)
		if err != nil {
			yield(artifact.Entry{}, err)
			return
		}
		for _, one := range all {
			if !yield(one, nil) {
				return
			}
		}
	}
}

func (s *Spool) list(ctx context.Context, prefix string) (all []artifact.Entry, err error) {
	begin := escaped(prefix)
	begin = begin[:min(len(begin), nameBegin)]
	objects := s.bucket.List(&blob.ListOptions{Prefix: entries + begin})
	for {
		object, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		one, known, err := s.readEntry(ctx, object.Key)
		if err != nil {
			return nil, err
		}
		if known && strings.HasPrefix(one.Key, prefix) { // otherwise it was deleted meanwhile
			all = append(all, artifact.Entry{Key: one.Key, Bytes: one.Bytes, Lines: one.Lines, SHA256: one.SHA256, Written: object.ModTime})
		}
	}
	slices.SortFunc(all, func(a, b artifact.Entry) int { return strings.Compare(a.Key, b.Key) })
	return all, nil
}

// reader reads one body.
type reader struct {
	bucket *blob.Bucket
	entry  entry
}

func (r reader) Size() (n int64, known bool) { return r.entry.Bytes, true }

func (r reader) Open(ctx context.Context) (io.ReadCloser, error) {
	return r.OpenRange(ctx, 0, r.entry.Bytes)
}

// OpenRange reads a part of the body.
func (r reader) OpenRange(ctx context.Context, from, length int64) (io.ReadCloser, error) {
	stream, err := r.bucket.NewRangeReader(ctx, r.entry.Object, min(from, r.entry.Bytes), min(length, max(0, r.entry.Bytes-from)), nil)
	if isMissing(err) {
		return nil, &adk.Error{Code: adk.E_ARTIFACT_CHANGED, Message: fmt.Sprintf("the body of key %.40q was replaced or deleted", r.entry.Key)}
	}
	if err != nil {
		return nil, err // a nil *blob.Reader would be a non-nil interface
	}
	return stream, nil
}
