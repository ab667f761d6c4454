package fakes_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

func TestStorageSuitePasses(t *testing.T) {
	if err := fakes.TestStorage(func() adk.Storage { return fakes.NewStorage().Storage() }); err != nil {
		t.Error(err)
	}
}

// broken is a collection of messages that breaks rules.
type broken struct {
	adk.Collection[*adk.Message]
	shuffles, strict, panics bool
}

func (b broken) Fetch(ctx context.Context, scope adk.Scope) ([]*adk.Message, error) {
	if b.panics {
		panic("no connection")
	}
	fetched, err := b.Collection.Fetch(ctx, scope)
	if b.shuffles {
		rand.Shuffle(len(fetched), func(i, j int) { fetched[i], fetched[j] = fetched[j], fetched[i] })
	}
	return fetched, err
}

func (b broken) Delete(ctx context.Context, scope adk.Scope, key string) error {
	if fetched, _ := b.Collection.Fetch(ctx, scope); b.strict && !slices.ContainsFunc(fetched, func(m *adk.Message) bool { return m.ID() == key }) {
		return errors.New("not found")
	}
	return b.Collection.Delete(ctx, scope, key)
}

// The suite finds what is wrong, names the rule, and says all of it at once.
func TestStorageSuiteFinds(t *testing.T) {
	for name, c := range map[string]struct {
		broken broken
		says   []string
	}{
		"shuffled": {broken{shuffles: true}, []string{"messages: DET-3"}},
		"strict":   {broken{strict: true}, []string{"messages: DEL-4: delete removes by key, and an unknown key is no error", "not found"}},
		"panics":   {broken{panics: true}, []string{"messages: RUN-2: obligations do not panic: panic: no connection"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := fakes.TestStorage(func() adk.Storage {
				s := fakes.NewStorage().Storage()
				c.broken.Collection = s.Messages
				s.Messages = c.broken
				return s
			})
			for _, want := range c.says {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant it to say %s", err, want)
				}
			}
			if err != nil && strings.Contains(err.Error(), "thoughts") {
				t.Errorf("a fault of the thoughts, which are sound: %v", err)
			}
		})
	}
}

func TestStorageSuiteOfNothing(t *testing.T) {
	err := fakes.TestStorage(func() adk.Storage { return adk.Storage{} })
	if err == nil || !strings.Contains(err.Error(), "RUN-2") || !strings.Contains(err.Error(), "Storage.Tools is missing") {
		t.Errorf("got %v, want RUN-2 and every missing field", err)
	}
	for _, rule := range []string{"RUN-13", "DEL-4: storing", "DEL-4: mutate", "RUN-11"} {
		if err := fakes.TestStorage(fakes.NoOpStorage); err == nil || !strings.Contains(err.Error(), "toolCalls: "+rule) {
			t.Errorf("a storage that keeps nothing: got %v, want it to name %s", err, rule)
		}
	}
}
