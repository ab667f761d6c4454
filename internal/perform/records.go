package perform

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/storages"
)

// This file performs the operations on the collections.

// onRecords performs an operation on the collection that it names. It cannot if the record belongs
// to another collection.
func onRecords(j job) (a Answer, can bool) {
	h, has := j.h.handle()
	if !has {
		return a, false
	}
	if j.x.Collection == adk.Tools && j.x.Kind == adk.KindFetch {
		tools, err := h.Tools().Fetch(j.ctx)
		for _, tool := range tools {
			a.Records = append(a.Records, tool)
		}
		a.Err = err
		return a, true
	}
	set := storages.SetOf(h, j.x.Collection)
	if set == nil || !set.Takes(j.x.Record) {
		return a, false
	}
	switch j.x.Kind {
	case adk.KindFetch, adk.KindRefresh:
		if a.Records, a.Err = set.Fetch(j.ctx); len(a.Records) == 0 {
			a.Records = nil
		}
	case adk.KindAdd:
		a.Flag, a.Err = set.Add(j.x.Record)
	case adk.KindRemove:
		a.Flag, a.Err = set.Remove(j.x.Key)
	case adk.KindStore:
		a.Err = set.Store(j.ctx, j.x.Record)
	case adk.KindMutate:
		a.Err = set.Mutate(j.ctx, j.x.Record)
	case adk.KindDelete:
		a.Err = set.Delete(j.ctx, j.x.Key)
	}
	return a, true
}
