package adk

import (
	"time"

	"github.com/adkreplay/adkreplay/adk/internal/fields"
)

// TrustTier says where content came from, and so how far a model should trust it. There is no
// default and no "unknown".
type TrustTier string

// The trust tiers.
const (
	TrustFirstParty        TrustTier = "first-party"
	TrustThirdPartyPublic  TrustTier = "third-party-public"
	TrustThirdPartyPrivate TrustTier = "third-party-private"
)

func (c *fieldCheck) trustTier(field string, tier TrustTier) {
	fields.OneOf(&c.Check, field, tier, TrustFirstParty, TrustThirdPartyPublic, TrustThirdPartyPrivate)
}

// RetrievableInit is what a retrievable is made from.
type RetrievableInit struct {
	// ID is the caller's id of the retrievable; required.
	ID string
	// Content is the text; required.
	Content string
	// TrustTier says where the content came from; required, without default.
	TrustTier TrustTier
	// Source is where the content was found, such as a URL; optional.
	Source string
	// Kind is what the retriever calls this kind of content; optional.
	Kind string
	// Score is how relevant the content is, within [0,1]; optional.
	Score *float64
	// CreatedAt is when the retrievable came to be; required.
	CreatedAt time.Time
	// UpdatedAt is when it last changed; required, not before CreatedAt.
	UpdatedAt time.Time
}

// Retrievable is content that was retrieved for this turn (PRM-5). It is immutable.
type Retrievable struct {
	init    RetrievableInit // with its own copy of the score, and normalized times
	content *Tokenizable
	digestOnce
}

// NewRetrievable makes a retrievable. E_INVALID_INITIAL_RETRIEVABLE_VALUE names
// every field that is wrong.
func NewRetrievable(init RetrievableInit) (*Retrievable, error) {
	var c fieldCheck
	c.Required("id", init.ID, "the id that the caller gives the retrievable")
	c.Required("content", init.Content, "the text that was retrieved")
	c.trustTier("trustTier", init.TrustTier)
	c.Optional("source", init.Source)
	c.Optional("kind", init.Kind)
	c.Score("score", init.Score)
	init.Score = copyOf(init.Score)
	init.CreatedAt, init.UpdatedAt = c.Moments(init.CreatedAt, init.UpdatedAt)
	if err := c.err(E_INVALID_INITIAL_RETRIEVABLE_VALUE); err != nil {
		return nil, err
	}
	return &Retrievable{init: init, content: NewTokenizable(init.Content)}, nil
}

// copyOf returns a pointer to a copy of *p, or nil.
func copyOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// ID is the caller's id of the retrievable.
func (r *Retrievable) ID() string { return r.init.ID }

// Content is the text.
func (r *Retrievable) Content() *Tokenizable { return r.content }

// TrustTier says where the content came from.
func (r *Retrievable) TrustTier() TrustTier { return r.init.TrustTier }

// Source is where the content was found, or "" if that was not given.
func (r *Retrievable) Source() string { return r.init.Source }

// Kind is what the retriever calls this kind of content, or "" if that was not given.
func (r *Retrievable) Kind() string { return r.init.Kind }

// Score returns how relevant the content is, within [0,1], and whether that was given.
func (r *Retrievable) Score() (score float64, given bool) {
	if r.init.Score == nil {
		return 0, false
	}
	return *r.init.Score, true
}

// CreatedAt is when the retrievable came to be, in UTC.
func (r *Retrievable) CreatedAt() time.Time { return r.init.CreatedAt }

// UpdatedAt is when it last changed, in UTC.
func (r *Retrievable) UpdatedAt() time.Time { return r.init.UpdatedAt }

// Init returns what a retrievable like this one is made from. Change what should differ and pass it
// to NewRetrievable.
func (r *Retrievable) Init() RetrievableInit {
	init := r.init
	init.Score = copyOf(init.Score)
	return init
}

// RecordKind is RecordRetrievable.
func (r *Retrievable) RecordKind() RecordKind { return RecordRetrievable }

// PlainTag is the tag that marks a retrievable inside plain data.
func (r *Retrievable) PlainTag() string { return string(RecordRetrievable) }

// Key is the id.
func (r *Retrievable) Key() string { return r.init.ID }

// Digest is the digest of the retrievable's JSON, computed once.
func (r *Retrievable) Digest() Digest { return r.of(r) }

// MarshalJSON returns the retrievable in the form that ParseRecord reads.
func (r *Retrievable) MarshalJSON() ([]byte, error) { return recordJSONOf(r) }

// AppendJSON appends what MarshalJSON returns.
func (r *Retrievable) AppendJSON(dst []byte) []byte {
	j := openRecord(dst)
	j.Text("id", r.init.ID)
	j.Text("content", r.init.Content)
	j.Text("trustTier", string(r.init.TrustTier))
	j.SomeText("source", r.init.Source)
	j.SomeText("kind", r.init.Kind)
	if r.init.Score != nil {
		j.Number("score", *r.init.Score)
	}
	j.Moment("createdAt", r.init.CreatedAt)
	j.Moment("updatedAt", r.init.UpdatedAt)
	return j.Close()
}
