// Package native are tools that let a model keep what it wants to keep: memories,
// retrievables and standing instructions, through the storage of the turn. [All] makes
// all of them, [Memory], [Retrievables] and [Instructions] the tools of one kind.
//
// They call the sets of the dispatch and nothing else, so that these change with the
// storage. What the storage refuses is an answer that begins with "Error"; an abort, or
// the end of the context, passes through. See package adk/tools for what all batteries
// have in common.
package native

import (
	"context"
	"fmt"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// All are the tools of this package, with all trust tiers.
func All() []*adk.Tool {
	return append(append(Memory(), Retrievables()...), Instructions()...)
}

// moment is a time as answers have it: RFC 3339 in milliseconds.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// pair is a member of an object.
func pair(name string, value any) jsontree.Member { return jsontree.Member{Name: name, Value: value} }

// done is the answer of a change: {"ok": true} and what was changed.
func done(name string, value any) string {
	return jsontree.Indented(jsontree.NewObject(pair("ok", true), pair(name, value)))
}

// record is a type of records of which a handle has a set.
type record interface {
	comparable
	adk.Record
}

// listing is the tool that lists what each record of a set is in an answer.
func listing[T record](name, description string, set func(adk.Handle) adk.Records[T], shown func(T) any) *adk.Tool {
	return spec.Tool{
		Name:        name,
		Description: description,
		JSON:        true,
		Answer: func(ctx context.Context, c spec.Call) (string, error) {
			all, err := set(c.DC.Handle).Fetch(ctx)
			list := make([]any, len(all))
			for i, one := range all {
				list[i] = shown(one)
			}
			return jsontree.Indented(list), err
		},
	}.Make()
}

// deleting is the tool that deletes the record of a set whose key is the argument by.
func deleting[T record](name, description, by string, key spec.Arg, set func(adk.Handle) adk.Records[T]) *adk.Tool {
	return spec.Tool{
		Name:        name,
		Description: description,
		Args:        []spec.Arg{key.Required()},
		Writes:      true, JSON: true,
		Answer: func(ctx context.Context, c spec.Call) (string, error) {
			if err := set(c.DC.Handle).Delete(ctx, c.Text(by)); err != nil {
				return "", err
			}
			return done(by, c.Text(by)), nil
		},
	}.Make()
}

// found is the fetched record of an id.
func found[T record](ctx context.Context, records adk.Records[T], kind, id string) (record T, err error) {
	all, err := records.Fetch(ctx)
	if err != nil {
		return record, err
	}
	for _, one := range all {
		if one.Key() == id {
			return one, nil
		}
	}
	return record, fmt.Errorf("no %s with id %q.", kind, id)
}

// idOr is the id that was given, or a new one.
func idOr(c spec.Call) string {
	if id := c.Text("id"); id != "" {
		return id
	}
	return c.DC.NewID()
}

// after is now, or a record's beginning where the clock stands before it.
func after(now, created time.Time) time.Time {
	if now.Before(created) {
		return created
	}
	return now
}

// given is a number argument as records take it; was where it was not given.
func given(c spec.Call, name string, was *float64) *float64 {
	if c.Has(name) {
		return new(c.Number(name))
	}
	return was
}

// textOr is a text argument, was where it was not given.
func textOr(c spec.Call, name, was string) string {
	if c.Has(name) {
		return c.Text(name)
	}
	return was
}
