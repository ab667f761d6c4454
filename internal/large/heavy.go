package large

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// Heavy are the ways in which traces grow to a number of megabytes: the argument of Turn is
// approximately that number. They include turns of Shapes, and others that are heavy because of a
// few crossings, or because of many that say next to nothing.
var Heavy = []Shape{
	{"stream", of(stream, 21_900)},
	{"streams", of(streams, 21_700)},
	{"history", of(history, 13_300)},
	{"parallel", of(parallel, 12_300)},
	{"arguments", of(arguments, 7_200)},
	{"times", times},
	{"texts", texts},
	{"depth", depth},
	{"asks", of(asks, 10_000)},
	{"strands", strands},
	{"fetches", fetches},
	{"fetch", fetch},
	{"film", film},
	{"again", again},
	{"keys", keys},
	{"lists", lists},
	{"payloads", payloads},
	{"tiny", tiny},
}

// of returns a turn by its megabytes. Each megabyte corresponds to the given number of crossings.
func of(turn func(int) adk.Config, crossings int) func(int) adk.Config {
	return func(megabytes int) adk.Config { return turn(megabytes * crossings) }
}

// times reads the clock, which makes the shortest possible lines. No trace may have more crossings
// than these lines in 92 MB.
func times(megabytes int) adk.Config {
	const ofOne = 41_600
	return agent(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for range min(megabytes*ofOne, 4_000_000) {
			dc.Now()
		}
		return dc.Ack()
	})
}

// texts stores a few messages, each as long as a line may be.
func texts(megabytes int) adk.Config {
	const longest = 30 << 20
	return agent(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for left := megabytes * 1_000_000; left > 0; left -= longest {
			at := dc.Now()
			message, err := adk.NewMessage(adk.MessageInit{ID: "m" + strconv.Itoa(left), Role: adk.RoleUser,
				Content: strings.Repeat("some words ", min(left, longest)/11), CreatedAt: at, UpdatedAt: at})
			if err != nil {
				return err
			}
			if err := dc.Messages().Store(ctx, message); err != nil {
				return err
			}
		}
		return dc.Ack()
	})
}

// depth is an agent that calls an agent and so on, as deep as traces may nest; each says something.
func depth(megabytes int) adk.Config {
	const levels, ofOne = 9_900, 740 // the bytes of a level that says nothing
	said := strings.Repeat("going down ", max(0, megabytes*1_000_000/levels-ofOne)/11)
	return nested(levels, said)
}

// strands forks ten thousand strands at once, repeatedly.
func strands(megabytes int) adk.Config {
	const width, ofOne = 10_000, 240 // the bytes of a strand
	return agent(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if dc.Iteration() >= max(1, megabytes*1_000_000/(width*ofOne)) {
			return dc.Ack()
		}
		for i := range width {
			_, err := dc.Fork(ctx, fmt.Sprintf("strand %d", i), func(_ context.Context, dc *adk.DispatchContext) error {
				dc.Now()
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// fetches fetches ten thousand messages repeatedly, all of them different.
func fetches(megabytes int) adk.Config {
	const each, ofOne = 10_000, 186 // the bytes of a message
	return fetching(each, megabytes*1_000_000/(each*ofOne))
}

// fetch fetches everything at once.
func fetch(megabytes int) adk.Config { return fetching(megabytes*5_370, 0) }

// fetching fetches each messages in the first iteration, and as many others in each of more
// iterations.
func fetching(each, more int) adk.Config {
	config := agent(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if _, err := dc.Messages().Fetch(ctx); err != nil {
			return err
		}
		if dc.Iteration() >= more {
			return dc.Ack()
		}
		return nil
	})
	round := 0
	messages := fakes.NewStorage().Storage()
	messages.Messages = fetched[*adk.Message]{messages.Messages, func() ([]*adk.Message, error) {
		all := make([]*adk.Message, each)
		for i := range all {
			var err error
			if all[i], err = said(round*each+i, fakes.Epoch); err != nil {
				return nil, err
			}
		}
		round++
		return all, nil
	}}
	config.Storage = messages
	return config
}

// film is one media, which the model opens.
func film(megabytes int) adk.Config {
	return agent(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		media, err := adk.NewMedia(adk.MediaInit{ID: "film", Kind: adk.MediaVideo, MIMEType: "video/mp4", Filename: "film.mp4",
			TrustTier: adk.TrustFirstParty, ModalityHazard: adk.HazardInert,
			Reader: adk.MediaFunc(func(context.Context) (io.ReadCloser, error) {
				return io.NopCloser(bytes.NewReader(make([]byte, megabytes*750_000))), nil // base64 makes it a third longer
			})})
		if err != nil {
			return err
		}
		if _, err := dc.OpenMedia(ctx, media); err != nil {
			return err
		}
		return dc.Ack()
	})
}

// mostStaying is the largest number of megabytes of a trace whose values stay in memory. A larger
// trace would be refused.
const mostStaying = 16

// again sets one key of a stash repeatedly to a list of small objects.
func again(megabytes int) adk.Config {
	return stashing(megabytes, func(int) string { return "k" }, map[string]any{"a": 1})
}

// keys sets many keys of a stash, each to a list of small objects.
func keys(megabytes int) adk.Config {
	return stashing(min(megabytes, mostStaying), func(i int) string { return "k" + strconv.Itoa(i) }, map[string]any{"a": 1})
}

// lists sets many keys of a stash, each to a list of lists of lists.
func lists(megabytes int) adk.Config {
	return stashing(min(megabytes, mostStaying), func(i int) string { return "k" + strconv.Itoa(i) }, []any{[]any{}, []any{}})
}

// stashing sets lists of a hundred thousand values of about eight bytes each, until they have the
// given number of megabytes.
func stashing(megabytes int, path func(i int) string, one any) adk.Config {
	const each, ofOne = 100_000, 8 // the bytes of a value
	return agent(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for i := range max(1, megabytes*1_000_000/(each*ofOne)) {
			if err := dc.Stash().Set(path(i), dense(each, one)); err != nil {
				return err
			}
		}
		return dc.Ack()
	})
}

// dense returns a list of n equal values.
func dense(n int, one any) []any { return slices.Repeat([]any{one}, n) }

// payloads adds thoughts with lists of small objects.
func payloads(megabytes int) adk.Config {
	const each, ofOne = 100_000, 8
	return agent(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for i := range max(1, min(megabytes, mostStaying)*1_000_000/(each*ofOne)) {
			at := dc.Now()
			thought, err := adk.NewThought(adk.ThoughtInit{ID: "t" + strconv.Itoa(i), Content: "so", ReplayCompatibility: "dense",
				Payload: dense(each, map[string]any{"a": 1}), CreatedAt: at, UpdatedAt: at})
			if err != nil {
				return err
			}
			if _, err := dc.Thoughts().Add(thought); err != nil {
				return err
			}
		}
		return dc.Ack()
	})
}

// tiny fetches all standing instructions at once, which are the shortest possible records.
func tiny(megabytes int) adk.Config {
	const ofOne = 40 // the bytes of a record
	config := agent(func(ctx context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		if _, err := dc.Instructions().Fetch(ctx); err != nil {
			return err
		}
		return dc.Ack()
	})
	all := make([]*adk.Tokenizable, megabytes*1_000_000/ofOne)
	for i := range all {
		all[i] = adk.NewTokenizable(strconv.Itoa(i))
	}
	config.Storage.Instructions = fetched[*adk.Tokenizable]{config.Storage.Instructions, func() ([]*adk.Tokenizable, error) { return all, nil }}
	return config
}

// fetched is a collection whose records are made when they are fetched.
type fetched[R adk.Record] struct {
	adk.Collection[R]
	make func() ([]R, error)
}

// Fetch makes the records.
func (f fetched[R]) Fetch(context.Context, adk.Scope) ([]R, error) { return f.make() }
