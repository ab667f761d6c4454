// Package eachtrace reads many traces, one crossing after the other, and holds none.
package eachtrace

import (
	"context"
	"errors"
	"io"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Options say how traces are read.
type Options struct {
	// Reading is how each is read. Its File is not used: errors name the source.
	Reading trace.Options
	// Each is told of every trace when it was read, with what was wrong with it; nil tells
	// nobody.
	Each func(name string, err error)
}

// Taker takes what one trace has.
type Taker interface {
	// Take is given each crossing in order.
	Take(x *adk.Crossing)
	// Ended is called behind the last crossing of a trace that was read to its end.
	Ended()
}

// Read gives the crossings of each source to the taker that open makes for it. It gives how
// many traces were read, and how many of them not to their end. The error is that of ctx: the
// trace that it came in counts in neither.
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
