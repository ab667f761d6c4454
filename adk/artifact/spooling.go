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
	// Key gives the key of a body, by the record that it belongs to and the media in it.
	// Nil keeps it under tenant/session/, by the ids of the record and the media and the
	// body's hash. Tenant and session are those that the storage has for the scope (its
	// Partition; "-" is the session of a collection that all sessions share) or, where it
	// is none of package storage, that the stash names (storage.tenant, storage.session);
	// each is escaped as url.PathEscape does, and "-" if it is empty. A key must be another
	// for another body: a record that cannot be stored would else have lost its own. Bodies
	// under other keys than those of tenant/session/ may be another's too: they are left to
	// Sweep.
	Key func(scope adk.Scope, record string, media *adk.Media) string
	// Messages says to keep the artifacts among the attachments of messages too.
	Messages bool
	// Media says to keep media that bear no mark as well, as they are: they get a mark of
	// the flavour media, which no tool is forged of.
	Media bool
}

// Spooling is a storage that keeps the bodies of artifacts in a spool (SPL-9): storing or
// mutating a tool call writes each body that has no key yet, and then hands on the record
// with the keys in its marks; a failure of the spool is the obligation's, and no record
// is stored. A fetch gives the readers back. Deleting forgets the record, and then those of
// its bodies that are under the tenant and the session of the storage, if no other tool call
// or message names them; the others, which another partition may name, are left to Sweep. A
// crash between leaves a body without a record, which Sweep removes, and never a record
// without its body. Under the host of a session, whose deletions count with the commit,
// bodies are left to Sweep.
//
// The record in the set of the turn is the one that was given; the stored one has the
// keys (SPL-10).
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

// keeper writes bodies and finds them again.
type keeper struct {
	spool   Spool
	options SpoolingOptions
}

// keep writes the body of a media that has no key, and gives the media with that of
// keyOf.
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

// readerOf is the media as a reader of its bytes.
func readerOf(media *adk.Media) adk.MediaReader { return adk.MediaFunc(media.Open) }

// FlavourMedia is the flavour of the mark of a media that is kept and is no artifact; it
// has no questions.
const FlavourMedia = "media"

// found gives a media the reader that the spool has for it.
func (k keeper) found(media *adk.Media) *adk.Media {
	if reader := Readers(k.spool)(media); reader != nil {
		return media.WithReader(reader)
	}
	return media
}

// Readers gives each media whose mark has a key its reader in a spool, and others none:
// for adk.RecordParser.MediaReader.
func Readers(spool Spool) func(*adk.Media) adk.MediaReader {
	return func(media *adk.Media) adk.MediaReader {
		mark, marked := markOf(media)
		if !marked || mark.Key == "" {
			return nil
		}
		return &bodyReader{media: media.WithReader(nil), mark: mark, spool: spool}
	}
}

// markOf is the mark of an artifact, or of a media that is kept.
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
	own    namers // those of the collection
	others namers // and of the one beside it
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

// keep gives the record with the keys of its bodies; the record itself if it has none.
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
		return c.Collection.Delete(ctx, scope, key) // the record may be there again
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

// bodies are the keys of those bodies of a record that are known to be nobody else's: they
// are under the partition's own prefix, and no other record names them. Where it is not
// certain that all records are seen, it has to be the default key of this one.
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

// namers gives the keys of records by the keys of the bodies that they name, and whether
// the records are all there are.
type namers func(ctx context.Context, scope adk.Scope) (named map[string]map[string]bool, all bool, err error)

// naming are the namers of a collection.
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

// prefix is what the default keys of a scope begin with, tenant/session/, and whether it is
// known that no other partition's do: the storage has said whose records they are, or the
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

// defaultKey is record~media~hash, each escaped.
func defaultKey(record string, media *adk.Media) string {
	mark, _ := markOf(media)
	hash := mark.SHA256
	if hash == "" {
		hash = media.Digest().String()
	}
	return escaped(record) + "~" + escaped(media.ID()) + "~" + hash[:16]
}

// maxSegment is how long a segment of a key is before its end becomes a hash.
const maxSegment = 100

// escaped is a text as a segment of a key: percent signs for what keys must not have, a
// line for nothing.
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
