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

// Where the stash of a scope says whose turn it is, unless the config says otherwise.
const (
	StashTenant  = "storage.tenant"
	StashSession = "storage.session"
)

// MaxID is how many bytes the name of a tenant or a session has at most.
const MaxID = 255

// Partition is whose records an obligation reads and writes (STO-3). The names are UTF-8
// without NUL of at most MaxID bytes; either may be empty, where the storage is not strict.
type Partition struct{ Tenant, Session string }

// Config is what a storage is told. The zero Config is that of one tenant and one session.
type Config struct {
	// Partition says on whose behalf an obligation is called. Nil reads the texts at
	// StashTenant and StashSession of the scope's stash; what is not there is empty.
	Partition func(adk.Scope) (Partition, error)
	// Strict refuses a partition without a tenant or a session. Nil is the storage's own
	// habit: databases are strict, memory and files are not.
	Strict *bool
	// Share says of a collection whether all sessions of a tenant share it. Of those that it
	// does not name, memories, retrievables and standing instructions are shared, and
	// messages, thoughts and tool calls belong to their session.
	Share map[adk.CollectionName]bool
	// Limit says of a collection how many of its records a fetch gives: the last of them,
	// in order. Of those that it does not name a fetch gives all.
	Limit map[adk.CollectionName]int
	// Tools gives the tools of a scope, which cannot be stored with their handlers. Nil
	// means none.
	Tools func(ctx context.Context, scope adk.Scope) ([]*adk.Tool, error)
	// Spool gives the media that are fetched their readers back, by the keys that
	// artifact.Spooling has put into their marks. Nil leaves them without: opening one is
	// E_NOT_A_MEDIA_READER. Giving a spool does not write to it: Spooling does.
	Spool artifact.Spool
}

// check is the error E_INVALID_STORAGE_CONFIG with every fault, or nil.
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

// isCollection reports whether records of the collection are stored: of tools none are.
func isCollection(of adk.CollectionName) bool {
	return of.Holds() != "" && of.Holds() != adk.RecordTool
}

// place is where the records of a collection are, for a scope.
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

// Place is where the records of a collection are, of a partition: that of the tenant, where
// its sessions share the collection. The error is E_STORAGE_PARTITION, of names that no
// partition has or, with Strict, of one that is empty.
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
