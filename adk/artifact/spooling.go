package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/storages"
)

// SpoolingOptions say what Spooling keeps, and where.
type SpoolingOptions struct {
	// Key returns the key of a body, from the id of its record and the media. Nil keeps it under
	// tenant/session/, by the ids of the record and the media and the body's hash. Tenant and
	// session are those of the storage for the scope (its Partition; "-" is the session of a
	// collection that all sessions share). If package storage did not make the storage, they are
	// those in the stash (storage.tenant, storage.session). Each is escaped as by url.PathEscape;
	// an empty one is "-".
	//
	// Different bodies must have different keys; otherwise a record that cannot be stored would
	// have overwritten the body of its stored version. Bodies under other keys than those of
	// tenant/session/ may be shared, so deleting a record leaves them to Sweep.
	Key func(scope adk.Scope, record string, media *adk.Media) string
	// Messages also keeps the artifacts among the attachments of messages.
	Messages bool
	// Media also keeps media without a mark. They get a mark of the flavour media, for which no
	// tool is forged.
	Media bool
}

// Spooling returns a storage that keeps the bodies of artifacts in a spool (SPL-9). Storing or
// mutating a tool call first writes each body that has no key yet, and then passes on the record
// with the keys in its marks. If the spool fails, the obligation fails, and no record is stored. A
// fetch adds readers for the bodies.
//
// Deleting a record deletes it first, and then those of its bodies that are under the tenant and
// the session of the storage, if no other tool call or message names them. Other bodies, which
// another partition may name, are left to Sweep. A crash in between leaves a body without a record,
// which Sweep removes, and never a record without its body. Under a session host, whose deletions
// count with the commit, all bodies are left to Sweep.
//
// The record in the turn's set is the original one; only the stored record has the keys (SPL-10).
func Spooling(storage adk.Storage, spool Spool, options SpoolingOptions) adk.Storage {
	k := keeper{spool, options}
	calls, messages := naming(storage.ToolCalls, toolCallMedia), naming(storage.Messages, messageMedia)
	storage.ToolCalls = &spooled[*adk.ToolCall]{storage.ToolCalls, k, toolCallMedia, withToolCallMedia, calls, messages}
	if options.Messages {
		storage.Messages = &spooled[*adk.Message]{storage.Messages, k, messageMedia, withMessageMedia, messages, calls}
	}
	return storage
}

func toolCallMedia(call *adk.ToolCall) []*adk.Media {
	switch r := call.Results().(type) {
	case *adk.Media:
		return []*adk.Media{r}
	case adk.MediaList:
		return r
	}
	return nil
}

func withToolCallMedia(call *adk.ToolCall, media []*adk.Media) (*adk.ToolCall, error) {
	init := call.Init()
	init.Results = adk.MediaList(media)
	if _, single := call.Results().(*adk.Media); single {
		init.Results = media[0]
	}
	return adk.NewToolCall(init)
}

func messageMedia(m *adk.Message) []*adk.Media { return m.Attachments() }

func withMessageMedia(m *adk.Message, media []*adk.Media) (*adk.Message, error) {
	init := m.Init()
	init.Attachments = media
	return adk.NewMessage(init)
}

// keeper writes bodies into a spool and finds them again.
type keeper struct {
	spool   Spool
	options SpoolingOptions
}

// keep writes the body of a media that has no key yet, under the key of keyOf, and returns the
// media with that key in its mark.
func (k keeper) keep(ctx context.Context, media *adk.Media, keyOf func(*adk.Media) (string, error)) (*adk.Media, error) {
	mark, marked := Of(media)
	if !marked && k.options.Media {
		if _, has := media.Stashed(StashKey); has {
			return media, nil
		}
		known, err := measure(ctx, readerOf(media))
		if err != nil {
			return nil, err
		}
		mark, marked = Mark{Flavour: FlavourMedia, Bytes: known.Bytes, Lines: known.Lines, SHA256: known.SHA256}, true
	}
	if !marked || mark.Key != "" {
		return media, nil
	}
	key, err := keyOf(media)
	if err != nil {
		return nil, err
	}
	stream, err := open(ctx, &bodyReader{media: media, mark: mark})
	if err != nil {
		return nil, err
	}
	entry, err := k.spool.Write(ctx, key, stream)
	if closing := stream.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, fmt.Errorf("keeping the body of %.80q: %w", media.ID(), err)
	}
	mark.Key, mark.Bytes, mark.Lines = entry.Key, entry.Bytes, entry.Lines
	init := media.Init()
	mark.put(&init)
	return adk.NewMedia(init)
}

// readerOf returns a reader of the media's bytes.
func readerOf(media *adk.Media) adk.MediaReader { return adk.MediaFunc(media.Open) }

// FlavourMedia is the flavour in the mark of a media that is kept but is no artifact. It has no
// questions.
const FlavourMedia = "media"

// found returns the media with the spool's reader for it.
func (k keeper) found(media *adk.Media) *adk.Media {
	if reader := Readers(k.spool)(media); reader != nil {
		return media.WithReader(reader)
	}
	return media
}

// Readers returns a function for adk.RecordParser.MediaReader: it returns the reader in a spool of
// a media whose mark has a key, and nil for others.
func Readers(spool Spool) func(*adk.Media) adk.MediaReader {
	return func(media *adk.Media) adk.MediaReader {
		mark, marked := markOf(media)
		if !marked || mark.Key == "" {
			return nil
		}
		return &bodyReader{media: media.WithReader(nil), mark: mark, spool: spool}
	}
}

// markOf returns the mark of an artifact, or of a media that is kept.
func markOf(media *adk.Media) (Mark, bool) {
	if mark, marked := Of(media); marked {
		return mark, true
	}
	return anyMark(media)
}

// spooled is a collection whose media are kept in a spool.
type spooled[T adk.Record] struct {
	adk.Collection[T]
	keeper keeper
	media  func(T) []*adk.Media
	with   func(T, []*adk.Media) (T, error)
	own    namers // bodies named in this collection
	others namers // bodies named in the other collection
}

func (c *spooled[T]) Store(ctx context.Context, scope adk.Scope, record T) error {
	kept, err := c.keep(ctx, scope, record)
	if err != nil {
		return err
	}
	return c.Collection.Store(ctx, scope, kept)
}

func (c *spooled[T]) Mutate(ctx context.Context, scope adk.Scope, record T) error {
	kept, err := c.keep(ctx, scope, record)
	if err != nil {
		return err
	}
	return c.Collection.Mutate(ctx, scope, kept)
}

// keep returns the record with the keys of its bodies; the record itself if nothing changed.
func (c *spooled[T]) keep(ctx context.Context, scope adk.Scope, record T) (T, error) {
	keyOf := func(media *adk.Media) (string, error) {
		if c.keeper.options.Key != nil {
			return c.keeper.options.Key(scope, record.Key(), media), nil
		}
		prefix, _, err := c.prefix(scope)
		return prefix + defaultKey(record.Key(), media), err
	}
	return c.each(record, func(media *adk.Media) (*adk.Media, error) { return c.keeper.keep(ctx, media, keyOf) })
}

func (c *spooled[T]) each(record T, change func(*adk.Media) (*adk.Media, error)) (T, error) {
	media, changed := c.media(record), false
	own := make([]*adk.Media, len(media))
	for i, one := range media {
		other, err := change(one)
		if err != nil {
			return record, err
		}
		own[i], changed = other, changed || other != one
	}
	if !changed {
		return record, nil
	}
	return c.with(record, own)
}

func (c *spooled[T]) Fetch(ctx context.Context, scope adk.Scope) ([]T, error) {
	records, err := c.Collection.Fetch(ctx, scope)
	if err != nil {
		return nil, err
	}
	for i, record := range records {
		if records[i], err = c.each(record, func(media *adk.Media) (*adk.Media, error) { return c.keeper.found(media), nil }); err != nil {
			return nil, err
		}
	}
	return records, nil
}

func (c *spooled[T]) Delete(ctx context.Context, scope adk.Scope, key string) error {
	if under, ok := c.Collection.(interface{ Defers() bool }); ok && under.Defers() {
		return c.Collection.Delete(ctx, scope, key) // the deletion may not be committed, and then the record needs its bodies
	}
	bodies, err := c.bodies(ctx, scope, key)
	if err != nil {
		return err
	}
	if err := c.Collection.Delete(ctx, scope, key); err != nil {
		return err
	}
	for _, body := range bodies {
		if _, err := c.keeper.spool.Delete(ctx, body); err != nil {
			return fmt.Errorf("the record is deleted, its body is not: %w", err)
		}
	}
	return nil
}

// bodies returns the keys of a record's bodies that certainly belong to nobody else: they are under
// the partition's own prefix, and no other record names them. If it is not certain that all records
// are seen, the key must also be the default key of this record.
func (c *spooled[T]) bodies(ctx context.Context, scope adk.Scope, key string) (bodies []string, err error) {
	prefix, own, err := c.prefix(scope)
	if err != nil || !own {
		return nil, err
	}
	named, all, err := c.own(ctx, scope)
	if err != nil {
		return nil, err
	}
	if !all {
		prefix += escaped(key) + "~"
	}
	for body, by := range named {
		if strings.HasPrefix(body, prefix) && by[key] && len(by) == 1 {
			bodies = append(bodies, body)
		}
	}
	if bodies == nil {
		return nil, nil
	}
	beside, _, err := c.others(ctx, scope)
	slices.Sort(bodies)
	return slices.DeleteFunc(bodies, func(body string) bool { return beside[body] != nil }), err
}

// namers returns, for each key of a body, the keys of the records that name it, and whether all
// records were seen.
type namers func(ctx context.Context, scope adk.Scope) (named map[string]map[string]bool, all bool, err error)

// naming returns the namers of a collection.
func naming[T adk.Record](of adk.Collection[T], mediaOf func(T) []*adk.Media) namers {
	return func(ctx context.Context, scope adk.Scope) (named map[string]map[string]bool, all bool, err error) {
		if of == nil {
			return nil, true, nil
		}
		records, all, err := storages.AllOf(ctx, of, scope)
		named = map[string]map[string]bool{}
		for _, record := range records {
			for _, media := range mediaOf(record) {
				mark, marked := markOf(media)
				if !marked || mark.Key == "" {
					continue
				}
				if named[mark.Key] == nil {
					named[mark.Key] = map[string]bool{}
				}
				named[mark.Key][record.Key()] = true
			}
		}
		return named, all, err
	}
}

// prefix returns the beginning of the default keys of a scope, tenant/session/, and whether no
// other partition can have it. That is certain if the storage says whose the records are, or if the
// stash names both.
func (c *spooled[T]) prefix(scope adk.Scope) (prefix string, own bool, err error) {
	owner, err := storages.OwnerOf(c.Collection, scope)
	if err == nil && !owner.Known && scope.Stash != nil {
		owner.Tenant, _ = scope.Stash.Get("storage.tenant", "").(string)
		owner.Session, _ = scope.Stash.Get("storage.session", "").(string)
	}
	own = owner.Known || owner.Tenant != "" && owner.Session != ""
	return escaped(owner.Tenant) + "/" + escaped(owner.Session) + "/", own, err
}

// defaultKey returns record~media~hash, with the first two escaped.
func defaultKey(record string, media *adk.Media) string {
	mark, _ := markOf(media)
	hash := mark.SHA256
	if hash == "" {
		hash = media.Digest().String()
	}
	return escaped(record) + "~" + escaped(media.ID()) + "~" + hash[:16]
}

// maxSegment is the length from which on a key's segment is shortened and gets a hash.
const maxSegment = 100

// escaped returns a text as a segment of a key: characters that keys must not have become percent
// escapes, an empty text "-".
func escaped(text string) string {
	segment := url.PathEscape(text)
	switch segment {
	case "":
		return "-"
	case "-", ".", "..":
		return "%" + hex.EncodeToString([]byte(text))
	}
	if len(segment) > maxSegment {
		sum := sha256.Sum256([]byte(text))
		return segment[:40] + "~" + hex.EncodeToString(sum[:16])
	}
	return segment
}
