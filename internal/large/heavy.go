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

// Heavy are the ways in which traces grow to so many megabytes: Turn takes about how
// many. They are the turns of Shapes, and others that are heavy by a few crossings, or by
// many that say next to nothing.
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

// of is a turn by its megabytes, of which each is so many crossings.
func of(turn func(int) adk.Config, crossings int) func(int) adk.Config {
	return func(megabytes int) adk.Config { return turn(megabytes * crossings) }
}

// times are readings of the clock, the shortest lines that there are; no trace has more
// crossings than these of 92 MB.
func times(megabytes int) adk.Config {
	const ofOne = 41_600
	return agent(func(_ context.Context, dc *adk.DispatchContext, _ *adk.Helpers) error {
		for range min(megabytes*ofOne, 4_000_000) {
			dc.Now()
		}
		return dc.Ack()
	})
}

// texts are a few messages that are as long as lines may be.
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

// depth is an agent that calls an agent, as deep as traces may nest, and each has
// something to say.
func depth(megabytes int) adk.Config {
	const levels, ofOne = 9_900, 740 // the bytes of a level that says nothing
	said := strings.Repeat("going down ", max(0, megabytes*1_000_000/levels-ofOne)/11)
	return nested(levels, said)
}

// strands are ten thousand strands at once, and again.
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

// fetches are of ten thousand messages each, all of them others.
func fetches(megabytes int) adk.Config {
	const each, ofOne = 10_000, 186 // the bytes of a message
	return fetching(each, megabytes*1_000_000/(each*ofOne))
}

// fetch is one fetch of all that there is.
func fetch(megabytes int) adk.Config { return fetching(megabytes*5_370, 0) }

// fetching fetches so many messages in the first iteration, and so many others in each of
// so many more.
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
				return io.NopCloser(bytes.NewReader(make([]byte, megabytes*750_000))), nil // of base64, a third more
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

// The most megabytes of a trace whose values stay: any of more is refused as those are.
const mostStaying = 16

// again is one key of a stash, which is set again and again to a list of small objects.
func again(megabytes int) adk.Config {
	return stashing(megabytes, func(int) string { return "k" }, map[string]any{"a": 1})
}

// keys are many keys of a stash, each with a list of small objects.
func keys(megabytes int) adk.Config {
	return stashing(min(megabytes, mostStaying), func(i int) string { return "k" + strconv.Itoa(i) }, map[string]any{"a": 1})
}

// lists are many keys of a stash, each with a list of lists of lists.
func lists(megabytes int) adk.Config {
	return stashing(min(megabytes, mostStaying), func(i int) string { return "k" + strconv.Itoa(i) }, []any{[]any{}, []any{}})
}

// stashing sets lists of a hundred thousand values, each of about eight bytes, until there
// are so many megabytes.
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

// dense is a list of so many values.
func dense(n int, one any) []any { return slices.Repeat([]any{one}, n) }

// payloads are thoughts with lists of small objects.
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

// tiny is one fetch of all standing instructions, which are as short as records get.
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

// fetched is a shelf of records that are made when they are fetched.
type fetched[R adk.Record] struct {
	adk.Collection[R]
	make func() ([]R, error)
}

// Fetch makes them.
func (f fetched[R]) Fetch(context.Context, adk.Scope) ([]R, error) { return f.make() }
