package adk

import (
	"time"

	"github.com/adkreplay/adkreplay/internal/fields"
)

// TrustTier is where content came from, and so how far a model should trust it.
// There is no default and no "unknown".
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
	// TrustTier is where the content came from; required, without default.
	TrustTier TrustTier
	// Source is where it was found, such as a URL; optional.
	Source string
	// Kind is what it is in the words of the retriever; optional.
	Kind string
	// Score is how relevant it is, within [0,1]; optional.
	Score *float64
	// CreatedAt is when the retrievable came to be; required.
	CreatedAt time.Time
	// UpdatedAt is when it last changed; required, not before CreatedAt.
	UpdatedAt time.Time
}

// Retrievable is content brought in for this turn (PRM-5). It is immutable.
type Retrievable struct {
	id        string
	content   *Tokenizable
	trustTier TrustTier
	source    string
	kind      string
	score     *float64
	createdAt time.Time
	updatedAt time.Time
	digest    digestOnce
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
	r := &Retrievable{
		id: init.ID, content: NewTokenizable(init.Content), trustTier: init.TrustTier,
		source: init.Source, kind: init.Kind, score: copyOf(init.Score),
	}
	r.createdAt, r.updatedAt = c.Moments(init.CreatedAt, init.UpdatedAt)
	if err := c.err(E_INVALID_INITIAL_RETRIEVABLE_VALUE); err != nil {
		return nil, err
	}
	return r, nil
}

// copyOf is a pointer to a copy of what p points at.
func copyOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// ID is the caller's id of the retrievable.
func (r *Retrievable) ID() string { return r.id }

// Content is the text.
func (r *Retrievable) Content() *Tokenizable { return r.content }

// TrustTier is where the content came from.
func (r *Retrievable) TrustTier() TrustTier { return r.trustTier }

// Source is where it was found; empty if nobody said.
func (r *Retrievable) Source() string { return r.source }

// Kind is what it is in the words of the retriever; empty if nobody said.
func (r *Retrievable) Kind() string { return r.kind }

// Score is how relevant it is, within [0,1], and whether anybody said.
func (r *Retrievable) Score() (score float64, given bool) {
	if r.score == nil {
		return 0, false
	}
	return *r.score, true
}

// CreatedAt is when the retrievable came to be, in UTC.
func (r *Retrievable) CreatedAt() time.Time { return r.createdAt }

// UpdatedAt is when it last changed, in UTC.
func (r *Retrievable) UpdatedAt() time.Time { return r.updatedAt }

// Init is what a retrievable like this one is made from; change what should
// differ and give it to NewRetrievable.
func (r *Retrievable) Init() RetrievableInit {
	return RetrievableInit{
		ID: r.id, Content: r.content.String(), TrustTier: r.trustTier, Source: r.source, Kind: r.kind,
		Score: copyOf(r.score), CreatedAt: r.createdAt, UpdatedAt: r.updatedAt,
	}
}

// RecordKind is RecordRetrievable.
func (r *Retrievable) RecordKind() RecordKind { return RecordRetrievable }

// PlainTag marks a retrievable inside plain data.
func (r *Retrievable) PlainTag() string { return string(RecordRetrievable) }

// Key is the id.
func (r *Retrievable) Key() string { return r.id }

// Digest is the digest of the retrievable's JSON, computed once.
func (r *Retrievable) Digest() Digest { return r.digest.of(r) }

// MarshalJSON is the retrievable as ParseRecord reads it back.
func (r *Retrievable) MarshalJSON() ([]byte, error) { return recordJSONOf(r) }

// AppendJSON appends what MarshalJSON gives.
func (r *Retrievable) AppendJSON(dst []byte) []byte {
	j := openRecord(dst)
	j.Text("id", r.id)
	j.Text("content", r.content.String())
	j.Text("trustTier", string(r.trustTier))
	j.SomeText("source", r.source)
	j.SomeText("kind", r.kind)
	if r.score != nil {
		j.Number("score", *r.score)
	}
	j.Moment("createdAt", r.createdAt)
	j.Moment("updatedAt", r.updatedAt)
	return j.Close()
}

func (r *Retrievable) isRecord() {}
