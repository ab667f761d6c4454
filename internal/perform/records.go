package perform

import (
	"context"

	"github.com/adkreplay/adkreplay/adk"
)

// This file makes the operations on the collections.

// onRecords makes an operation on the collection that it names.
func onRecords(j job) (Answer, bool) {
	h, has := j.h.handle()
	if !has {
		return Answer{}, false
	}
	switch j.x.Collection {
	case adk.Messages:
		return onSet(j, h.Messages())
	case adk.Memories:
		return onSet(j, h.Memories())
	case adk.Retrievables:
		return onSet(j, h.Retrievables())
	case adk.Thoughts:
		return onSet(j, h.Thoughts())
	case adk.ToolCalls:
		return onSet(j, h.ToolCalls())
	case adk.Instructions:
		return onSet(j, h.Instructions())
	case adk.Tools:
		if j.x.Kind == adk.KindFetch {
			return fetchAnswer(h.Tools().Fetch(j.ctx))
		}
	}
	return Answer{}, false
}

// set is what adk.Records offers for one kind of record.
type set[T any] interface {
	Add(T) (bool, error)
	Remove(string) (bool, error)
	Fetch(context.Context) ([]T, error)
	Store(context.Context, T) error
	Mutate(context.Context, T) error
	Delete(context.Context, string) error
}

// onSet makes an operation on a set. No record is a nil one, which the engine refuses;
// one of another kind cannot be given.
func onSet[T adk.Record](j job, records set[T]) (a Answer, can bool) {
	record, is := j.x.Record.(T)
	if !is && j.x.Record != nil {
		return a, false
	}
	switch j.x.Kind {
	case adk.KindFetch, adk.KindRefresh:
		return fetchAnswer(records.Fetch(j.ctx))
	case adk.KindAdd:
		a.Flag, a.Err = records.Add(record)
	case adk.KindRemove:
		a.Flag, a.Err = records.Remove(j.x.Key)
	case adk.KindStore:
		a.Err = records.Store(j.ctx, record)
	case adk.KindMutate:
		a.Err = records.Mutate(j.ctx, record)
	case adk.KindDelete:
		a.Err = records.Delete(j.ctx, j.x.Key)
	}
	return a, true
}

func fetchAnswer[T adk.Record](all []T, err error) (Answer, bool) {
	a := Answer{Err: err}
	if len(all) > 0 {
		a.Records = make([]adk.Record, len(all))
		for i, record := range all {
			a.Records[i] = record
		}
	}
	return a, true
}
