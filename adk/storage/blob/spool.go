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

// Spool keeps bodies in a bucket. It may be used by many goroutines, and by many processes
// on one bucket.
//
// A body is an object that never changes, under a name of its own; an entry object names
// the one that counts for a key, and says how long it is. A write puts a new body there and
// then the entry in the place of the old one, as one object each: a crash leaves the old
// body or the new one, and at worst an object that nobody names. Readers keep the object
// that they found: after another write they go on with the old bytes, or fail with
// E_ARTIFACT_CHANGED where those are gone.
type Spool struct {
	// MaxBytes is how long a body may be; 0 is no bound. Set it before the first use.
	MaxBytes int64

	bucket *blob.Bucket
	naming sync.Mutex // so that of two writers the later one forgets what the other wrote
}

// NewSpool keeps bodies in a bucket, which the caller closes. A part of one is shown by
// blob.PrefixedBucket. A bucket of fileblob has to be opened with MetadataDontWrite: what it
// writes beside an object is not written at once with it.
func NewSpool(bucket *blob.Bucket) *Spool { return &Spool{bucket: bucket} }

// entry is what an entry object says.
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

	// Names stay below what any file system or store takes: longer ones go on with a hash.
	maxName   = 100
	nameBegin = 60
)

// entryName is the name of a key's entry. Those of keys with one beginning have one
// beginning too, as far as nameBegin.
func entryName(key string) string {
	name := escaped(key)
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(key))
		name = name[:nameBegin] + "~" + hex.EncodeToString(sum[:])
	}
	return entries + name
}

// escaped is a text in letters, digits and dashes, with what is none as an equals sign and
// two hexadecimal digits.
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

// Write streams body into an object of its own, and then makes it the one of the key.
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

// put writes a new object; one that is not written to its end is not there.
func (s *Spool) put(ctx context.Context, object, key string, body io.Reader) (artifact.Entry, error) {
	within, abandon := context.WithCancel(ctx)
	defer abandon()
	w, err := s.bucket.NewWriter(within, object, &blob.WriterOptions{ContentType: "application/octet-stream"})
	if err != nil {
		return artifact.Entry{}, err
	}
	whole := false
	defer func() { // body may also have panicked
		if !whole {
			abandon() // so that closing keeps nothing
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

// name makes a body the one of its key, and forgets the one before; or the new one, where it fails.
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

// forget deletes a body that nobody names any more, also where the context has ended. One
// that is left is no harm.
func (s *Spool) forget(ctx context.Context, object string) {
	_ = s.bucket.Delete(context.WithoutCancel(ctx), object)
}

// forgetUnnamed forgets a body whose entry was not written. A store may have kept that though it
// failed, and may yet keep it where nobody has waited for it: the body stays then.
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

// Read gives a reader of the body that the key has now.
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

// Delete forgets a body.
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
		if isMissing(err) { // somebody else did
			return false, nil
		}
		return false, err
	}
	s.forget(ctx, found.Object)
	return true, nil
}

// List gives the entries with a prefix, in the order of their keys. It holds them all, and
// reads an object for each.
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
		if known && strings.HasPrefix(one.Key, prefix) { // else it was deleted meanwhile
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

// OpenRange reads a piece of the body.
func (r reader) OpenRange(ctx context.Context, from, length int64) (io.ReadCloser, error) {
	stream, err := r.bucket.NewRangeReader(ctx, r.entry.Object, min(from, r.entry.Bytes), min(length, max(0, r.entry.Bytes-from)), nil)
	if isMissing(err) {
		return nil, &adk.Error{Code: adk.E_ARTIFACT_CHANGED, Message: fmt.Sprintf("the body of key %.40q was replaced or deleted", r.entry.Key)}
	}
	if err != nil {
		return nil, err // not a nil *blob.Reader that is no nil interface
	}
	return stream, nil
}
