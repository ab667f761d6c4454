// Package native has tools with which a model stores memories, retrievables and standing
// instructions, in the storage of the turn. [All] makes all of them; [Memory], [Retrievables] and
// [Instructions] make the tools of one kind.
//
// They use only the sets of the dispatch, so that the sets change with the storage. An error of the
// storage is an answer that begins with "Error"; an abort, or the end of the context, is returned.
// See package adk/tools for what all batteries have in common.
package native

import (
	"context"
	"fmt"
	"time"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// All returns the tools of this package, with all trust tiers.
func All() []*adk.Tool {
	return append(append(Memory(), Retrievables()...), Instructions()...)
}

// moment returns a time in the form of answers: RFC 3339 in milliseconds.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// pair returns a member of an object.
func pair(name string, value any) jsontree.Member { return jsontree.Member{Name: name, Value: value} }

// done returns the answer after a change: {"ok": true} and what was changed.
func done(name string, value any) string {
	return jsontree.Indented(jsontree.NewObject(pair("ok", true), pair(name, value)))
}

// record is a type of records for which a handle has a set.
type record interface {
	comparable
	adk.Record
}

// listing returns a tool that lists the records of a set, each in the form of shown.
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

// deleting returns a tool that deletes the record of a set whose key is the argument by.
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

// found returns the fetched record with an id.
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

// idOr returns the id in the call, or a new one.
func idOr(c spec.Call) string {
	if id := c.Text("id"); id != "" {
		return id
	}
	return c.DC.NewID()
}

// after returns now, or created if the clock is before that.
func after(now, created time.Time) time.Time {
	if now.Before(created) {
		return created
	}
	return now
}

// given returns a number argument in the form of records; was if it was not given.
func given(c spec.Call, name string, was *float64) *float64 {
	if c.Has(name) {
		return new(c.Number(name))
	}
	return was
}

// textOr returns a text argument; was if it was not given.
func textOr(c spec.Call, name, was string) string {
	if c.Has(name) {
		return c.Text(name)
	}
	return was
}
