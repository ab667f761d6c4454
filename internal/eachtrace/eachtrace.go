// Package eachtrace reads many traces, crossing by crossing, without holding any of them in memory.
package eachtrace

import (
	"context"
	"errors"
	"io"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Options says how to read traces.
type Options struct {
	// Reading applies to each trace. Its File is ignored: errors name the source.
	Reading trace.Options
	// Each is called after every trace was read, with the error, if any. It may be nil.
	Each func(name string, err error)
}

// Taker receives the crossings of one trace.
type Taker interface {
	// Take is called with each crossing, in order.
	Take(x *adk.Crossing)
	// Ended is called after the last crossing, if the trace could be read to its end.
	Ended()
}

// Read passes the crossings of each source to the taker that open returns for it. It returns how
// many traces were read, and how many of them could not be read to their end. If ctx ends, Read
// returns its cause; the trace that it was reading does not count.
func Read(ctx context.Context, sources []corpus.Source, o Options, open func(corpus.Source, trace.Header) Taker) (traces, unreadable int, err error) {
	for _, source := range sources {
		err := read(ctx, source, o.Reading, open)
		if ctx.Err() != nil {
			return traces, unreadable, context.Cause(ctx)
		}
		traces++
		if err != nil {
			unreadable++
		}
		if o.Each != nil {
			o.Each(source.Name, err)
		}
	}
	return traces, unreadable, nil
}

func read(ctx context.Context, source corpus.Source, reading trace.Options, open func(corpus.Source, trace.Header) Taker) error {
	content, err := source.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	reading.File = source.Name
	r, err := trace.NewReader(content, reading)
	if err != nil {
		return err
	}
	taker := open(source, r.Header())
	for ctx.Err() == nil {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			taker.Ended()
			return nil
		}
		if err != nil {
			return err
		}
		taker.Take(&line.Crossing)
	}
	return ctx.Err()
}
