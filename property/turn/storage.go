package turn

import (
	"context"
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
)

// storage is the storage of a stage: it does what the scripts of its seams say,
// and otherwise keeps records in memory.
func (s *interpreter) storage() adk.Storage {
	kept := s.kept.Storage()
	return adk.Storage{
		Messages:     shelf[*adk.Message]{s, adk.Messages, kept.Messages},
		Memories:     shelf[*adk.Memory]{s, adk.Memories, kept.Memories},
		Retrievables: shelf[*adk.Retrievable]{s, adk.Retrievables, kept.Retrievables},
		Thoughts:     shelf[*adk.Thought]{s, adk.Thoughts, kept.Thoughts},
		ToolCalls:    shelf[*adk.ToolCall]{s, adk.ToolCalls, kept.ToolCalls},
		Instructions: shelf[*adk.Tokenizable]{s, adk.Instructions, kept.Instructions},
		Tools:        toolShelf{s, kept.Tools},
	}
}

// oblige makes a call of an obligation: work is what is usual.
func (s *interpreter) oblige(ctx context.Context, of adk.CollectionName, verb string, work func(*Body) error) error {
	a := &actor{scope: s.root, ctx: ctx}
	body := s.enter(StoragePath(of, verb), a)
	if body == nil {
		return work(nil)
	}
	fails := body.End.How != "" && body.End.How != adk.OutcomeOK
	if !fails || body.End.Kept {
		if err := work(body); err != nil {
			return err
		}
	}
	return s.play(a, body)
}

// recordsOf is what a script says that a fetch gives; ok is false if it does not.
func recordsOf[T adk.Record](s *interpreter, body *Body) (all []T, ok bool) {
	if body == nil || body.End.Records == nil {
		return nil, false
	}
	for _, r := range body.End.Records {
		if one, fits := s.own(r.Record).(T); fits {
			all = append(all, one)
		}
	}
	return all, true
}

// StoragePath is the path of the seam of an obligation: messages.store, say.
func StoragePath(of adk.CollectionName, verb string) string {
	return adk.Seam{Label: adk.LabelStorage, Name: fmt.Sprintf("%s.%s", of, verb)}.String()
}

// shelf is the four obligations of one kind of record. What it keeps it keeps although
// the context has ended: that a storage refuses is for its script to say.
type shelf[T adk.Record] struct {
	stage *interpreter
	name  adk.CollectionName
	kept  adk.Collection[T]
}

func (c shelf[T]) verb() string {
	if c.name == adk.Instructions {
		return adk.KindRefresh.String()
	}
	return adk.KindFetch.String()
}

// Fetch gives what the script says, or what is kept.
func (c shelf[T]) Fetch(ctx context.Context, scope adk.Scope) ([]T, error) {
	return fetch(ctx, c.stage, c.name, c.verb(), func() ([]T, error) { return c.kept.Fetch(context.WithoutCancel(ctx), scope) })
}

// Store keeps a record.
func (c shelf[T]) Store(ctx context.Context, scope adk.Scope, r T) error {
	return c.stage.oblige(ctx, c.name, "store", func(*Body) error { return c.kept.Store(context.WithoutCancel(ctx), scope, r) })
}

// Mutate puts a record in the place of the one with its key.
func (c shelf[T]) Mutate(ctx context.Context, scope adk.Scope, r T) error {
	return c.stage.oblige(ctx, c.name, "mutate", func(*Body) error { return c.kept.Mutate(context.WithoutCancel(ctx), scope, r) })
}

// Delete removes the record with the key.
func (c shelf[T]) Delete(ctx context.Context, scope adk.Scope, key string) error {
	return c.stage.oblige(ctx, c.name, "delete", func(*Body) error { return c.kept.Delete(context.WithoutCancel(ctx), scope, key) })
}

// toolShelf is the obligation of the tools.
type toolShelf struct {
	stage *interpreter
	kept  adk.ToolSource
}

// Fetch gives what the script says, or what is kept.
func (c toolShelf) Fetch(ctx context.Context, scope adk.Scope) ([]*adk.Tool, error) {
	return fetch(ctx, c.stage, adk.Tools, "fetch", func() ([]*adk.Tool, error) { return c.kept.Fetch(context.WithoutCancel(ctx), scope) })
}

// fetch makes a call of an obligation that gives records.
func fetch[T adk.Record](ctx context.Context, s *interpreter, of adk.CollectionName, verb string, kept func() ([]T, error)) (all []T, err error) {
	err = s.oblige(ctx, of, verb, func(body *Body) (err error) {
		var scripted bool
		if all, scripted = recordsOf[T](s, body); !scripted {
			all, err = kept()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
