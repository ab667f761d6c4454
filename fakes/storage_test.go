package fakes_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/samples"
)

func message(t *testing.T, id, text string) *adk.Message {
	t.Helper()
	m, err := adk.NewMessage(adk.MessageInit{ID: id, Role: adk.RoleUser, Content: text, CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// RUN-2, DEL-4: a record stays in the place of its first store when it is replaced.
func TestStorageKeepsOrder(t *testing.T) {
	tool := fakes.NewTool("weather", "tells the weather").Tool()
	storage := fakes.NewStorage(message(t, "m1", "one"), message(t, "m2", "two"), adk.Text("Be kind."), tool)
	s := storage.Storage()
	scope := adk.Scope{TurnID: "turn", DispatchID: "dispatch"}
	for _, err := range []error{
		s.Messages.Store(t.Context(), scope, message(t, "m3", "three")),
		s.Messages.Mutate(t.Context(), scope, message(t, "m1", "uno")),
		s.Messages.Delete(t.Context(), scope, "m2"),
		s.Messages.Delete(t.Context(), scope, "nobody"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	fetched, err := s.Messages.Fetch(t.Context(), scope)
	if got := keys(fetched); err != nil || got != "m1 m3" || fetched[0].Content().String() != "uno" {
		t.Errorf("fetched %q, %v", got, err)
	}
	if tools, _ := s.Tools.Fetch(t.Context(), scope); len(tools) != 1 || tools[0] != tool {
		t.Errorf("fetched tools %v", tools)
	}
	if got := keys(storage.Instructions()); got != "Be kind." {
		t.Errorf("holds instructions %q", got)
	}
	var log []string
	for _, c := range storage.Calls() {
		log = append(log, fmt.Sprintf("%s.%s %s %s/%s", c.Collection, c.Op, c.Key, c.TurnID, c.DispatchID))
	}
	want := []string{"messages.store m3 turn/dispatch", "messages.mutate m1 turn/dispatch", "messages.delete m2 turn/dispatch",
		"messages.delete nobody turn/dispatch", "messages.fetch  turn/dispatch", "tools.fetch  turn/dispatch"}
	if !slices.Equal(log, want) {
		t.Errorf("log %q\nwant %q", log, want)
	}
}

// DEL-1: when the storage fails, nothing else has changed.
func TestStorageFaults(t *testing.T) {
	full := errors.New("disk full")
	storage := fakes.NewStorage()
	storage.Fail(fakes.Fault{Collection: adk.Messages, Op: fakes.OpStore, Occurrence: 2, Err: full})
	h := play(t, t.Context(), config(fakes.Script{{fakes.Think("hm"), fakes.Say("one"), fakes.Say("two"), fakes.Say("three")}}, storage))
	if h.status != adk.StatusNack || !errors.Is(h.err, full) {
		t.Errorf("%s: %v, want a nack because the disk is full", h.status, h.err)
	}
	if got := keys(storage.Messages()); got != "m0.1" {
		t.Errorf("holds %q, want m0.1", got)
	}
	if calls := storage.Calls(); len(calls) != 3 || calls[2].Err != full {
		t.Errorf("calls %v, want the third to have failed", calls)
	}
}

func TestStorageFaultAfterWriteAndPanic(t *testing.T) {
	storage := fakes.NewStorage()
	storage.Fail(fakes.Fault{Op: fakes.OpStore, Occurrence: 1, AfterWrite: true}, fakes.Fault{Op: fakes.OpDelete, Panic: "lost"})
	s := storage.Storage()
	if err := s.Messages.Store(t.Context(), adk.Scope{}, message(t, "m1", "one")); err == nil || keys(storage.Messages()) != "m1" {
		t.Errorf("got %v and holds %q, want an error and m1", err, keys(storage.Messages()))
	}
	defer func() {
		if recover() != "lost" || len(storage.Calls()) != 2 {
			t.Error("want a panic, and two calls remembered")
		}
	}()
	_ = s.Messages.Delete(t.Context(), adk.Scope{}, "m1")
}

// RUN-2: a storage that stores nothing is legal.
func TestNoOpStorage(t *testing.T) {
	h := play(t, t.Context(), adk.Config{
		Executor: fakes.Script{{fakes.Say("gone"), fakes.Ack()}}.Executor("model"), Storage: fakes.NoOpStorage()})
	if h.status != adk.StatusAck {
		t.Errorf("%s: %v", h.status, h.err)
	}
}

// An obligation whose context has ended does nothing and returns the context's error, and is in the log.
func TestStorageHeedsItsContext(t *testing.T) {
	s := fakes.NewStorage()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := s.Storage().Memories
	fetched, err := c.Fetch(ctx, adk.Scope{})
	if len(fetched) > 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("fetched %v, %v", fetched, err)
	}
	if err := c.Delete(ctx, adk.Scope{}, "m1"); !errors.Is(err, context.Canceled) {
		t.Errorf("delete: %v", err)
	}
	if calls := s.Calls(); len(calls) != 2 || calls[0].Err == nil {
		t.Errorf("the log is %v", calls)
	}
}

// A storage that ignores contexts does its work after an abort, and still fails where a fault is set.
func TestStorageThatIgnoresContexts(t *testing.T) {
	s := fakes.NewStorage()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	s.IgnoreContexts()
	full := errors.New("the disk is full")
	s.Fail(fakes.Fault{Op: "store", Occurrence: 2, Err: full})
	store := s.Storage().Messages.Store
	if err := store(ended, adk.Scope{}, message(t, "m1", "hello")); err != nil || len(s.Messages()) != 1 {
		t.Errorf("stored %v, %v", s.Messages(), err)
	}
	if err := store(ended, adk.Scope{}, message(t, "m2", "hello")); !errors.Is(err, full) {
		t.Errorf("the second store: %v", err)
	}
	if calls := s.Calls(); len(calls) != 2 || calls[0].Err != nil {
		t.Errorf("the log is %v", calls)
	}
}

// RUN-2: each record with which a storage begins is in the collection of its type.
func TestStorageHoldsByType(t *testing.T) {
	var seed []adk.Record
	want := map[adk.CollectionName]string{adk.Tools: samples.Tools[0].Key()}
	for _, of := range samples.Collections {
		seed = append(seed, samples.Records[of][0])
		want[of] = samples.Records[of][0].Key()
	}
	s := fakes.NewStorage(append(seed, samples.Tools[0])...)
	got := map[adk.CollectionName]string{
		adk.Messages: keys(s.Messages()), adk.Memories: keys(s.Memories()), adk.Retrievables: keys(s.Retrievables()), adk.Thoughts: keys(s.Thoughts()),
		adk.ToolCalls: keys(s.ToolCalls()), adk.Instructions: keys(s.Instructions()), adk.Tools: keys(s.Tools()),
	}
	if !maps.Equal(got, want) {
		t.Errorf("holds %v, want %v", got, want)
	}
}
