package storage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
	"github.com/adkreplay/adkreplay/internal/storages"
)

// The places in a scope's stash that name the partition, unless the config says otherwise.
const (
	StashTenant  = "storage.tenant"
	StashSession = "storage.session"
)

// MaxID is the greatest length in bytes of the name of a tenant or a session.
const MaxID = 255

// Partition says whose records an obligation reads and writes (STO-3). The names are UTF-8 without
// NUL of at most MaxID bytes; either may be empty if the storage is not strict.
type Partition struct{ Tenant, Session string }

// Config configures a storage. The zero Config is for one tenant and one session.
type Config struct {
	// Partition returns the partition for which an obligation is called. Nil reads the texts at
	// StashTenant and StashSession of the scope's stash; a missing one is empty.
	Partition func(adk.Scope) (Partition, error)
	// Strict refuses a partition without a tenant or a session. Nil is the storage's default:
	// databases are strict, memory and files are not.
	Strict *bool
	// Share says, for a collection, whether all sessions of a tenant share it. For collections that
	// it does not name, memories, retrievables and standing instructions are shared, and messages,
	// thoughts and tool calls belong to their session.
	Share map[adk.CollectionName]bool
	// Limit says, for a collection, how many of its records a fetch returns: the last ones, in
	// order. Of other collections a fetch returns all records.
	Limit map[adk.CollectionName]int
	// Tools returns the tools of a scope, which cannot be stored because of their handlers. Nil
	// means no tools.
	Tools func(ctx context.Context, scope adk.Scope) ([]*adk.Tool, error)
	// Spool has the readers for fetched media, by the keys that artifact.Spooling put into their
	// marks. With nil they have none, and opening one is E_NOT_A_MEDIA_READER. This field does not
	// write to the spool; artifact.Spooling does.
	Spool artifact.Spool
}

// check returns E_INVALID_STORAGE_CONFIG with every fault, or nil.
func (c Config) check() error {
	var faults []adk.Fault
	fault := func(path, message string) { faults = append(faults, adk.Fault{Path: path, Message: message}) }
	for _, of := range slices.Sorted(maps.Keys(c.Share)) {
		if !isCollection(of) {
			fault("Share", fmt.Sprintf("Share names %.40q, want a collection of records", of))
		}
	}
	for _, of := range slices.Sorted(maps.Keys(c.Limit)) {
		if !isCollection(of) {
			fault("Limit", fmt.Sprintf("Limit names %.40q, want a collection of records", of))
		}
		if c.Limit[of] < 1 {
			fault("Limit", fmt.Sprintf("Limit of %.40q is %d, want at least 1", of, c.Limit[of]))
		}
	}
	if faults == nil {
		return nil
	}
	messages := make([]string, len(faults))
	for i, f := range faults {
		messages[i] = f.Message
	}
	return &adk.Error{Code: adk.E_INVALID_STORAGE_CONFIG, Message: strings.Join(messages, "; "), Faults: faults}
}

// isCollection reports whether records of the collection are stored; tools are not.
func isCollection(of adk.CollectionName) bool {
	return of.Holds() != "" && of.Holds() != adk.RecordTool
}

// place returns where the records of a collection are, for a scope.
func (c Config) place(scope adk.Scope, of adk.CollectionName) (Place, error) {
	given := c.Partition
	if given == nil {
		given = stashedPartition
	}
	p, err := given(scope)
	if err != nil {
		return Place{}, err
	}
	return c.Place(p, of)
}

// Place returns where the records of a collection are, for a partition. If the sessions of a tenant
// share the collection, that is the tenant's place. The error is E_STORAGE_PARTITION, for a name
// that no partition can have or, with Strict, for an empty one.
func (c Config) Place(p Partition, of adk.CollectionName) (Place, error) {
	for _, one := range []struct{ what, name, path string }{{"tenant", p.Tenant, StashTenant}, {"session", p.Session, StashSession}} {
		wrong := ""
		switch {
		case one.name == "" && c.Strict != nil && *c.Strict:
			wrong = fmt.Sprintf("is empty: set %s in the stash of the turn, or Config.Strict to false", one.path)
		case len(one.name) > MaxID:
			wrong = fmt.Sprintf("has %d bytes, want at most %d", len(one.name), MaxID)
		case !utf8.ValidString(one.name) || strings.ContainsRune(one.name, 0):
			wrong = "is not UTF-8 without NUL"
		}
		if wrong != "" {
			return Place{}, partitionError(one.what, wrong)
		}
	}
	if c.shared(of) {
		p.Session = ""
	}
	return Place{Partition: p, Collection: of}, nil
}

// shared reports whether all sessions of a tenant share a collection.
func (c Config) shared(of adk.CollectionName) bool {
	if shared, said := c.Share[of]; said {
		return shared
	}
	return storages.OutlivesSession(of)
}

func partitionError(what, wrong string) error {
	return &adk.Error{Code: adk.E_STORAGE_PARTITION, Message: "the " + what + " " + wrong}
}

// stashedPartition reads the partition from the stash of a scope.
func stashedPartition(scope adk.Scope) (p Partition, err error) {
	if scope.Stash == nil {
		return p, nil
	}
	for _, one := range []struct {
		what, path string
		name       *string
	}{{"tenant", StashTenant, &p.Tenant}, {"session", StashSession, &p.Session}} {
		switch value := scope.Stash.Get(one.path, nil).(type) {
		case nil:
		case string:
			*one.name = value
		default:
			return Partition{}, partitionError(one.what, fmt.Sprintf("at %s in the stash is a %T, want a text", one.path, value))
		}
	}
	return p, nil
}
